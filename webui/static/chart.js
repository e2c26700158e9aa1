// One time chart with the baseline and the incident shaded, drawn by uPlot.

const HEIGHT = 200;
const LOW = 120;
let loading;

function arrived(tag, settings) {
  return new Promise((done, failed) => {
    document.head.append(Object.assign(document.createElement(tag), { ...settings, onload: done, onerror: failed }));
  });
}

// Style and script both: a chart that is drawn before its style has come moves when it comes.
function loadLibrary() {
  loading ??= Promise.all([
    arrived("link", { rel: "stylesheet", href: "/static/vendor/uplot/uPlot.min.css" }),
    arrived("script", { src: "/static/vendor/uplot/uPlot.iife.min.js" }),
  ]);
  return loading;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const SHARED = "answer";

// Times are seconds from the end of the window; people read them on their own clock.
function moment(end, seconds) {
  return CLOCK.format(new Date((end + seconds) * 1000));
}

function short(value, unit) {
  if (value == null) return "–";
  if (unit === "bytes") {
    let power = 0;
    while (Math.abs(value) >= 1024 && power < 4) { value /= 1024; power += 1; }
    return `${Number(value.toPrecision(3))} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
  }
  if (unit === "ratio" || unit.startsWith("of ")) return `${Number((value * 100).toPrecision(3))} %`;
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`;
  return String(Number(value.toPrecision(3)));
}

function shade(data) {
  return (plot) => {
    const { ctx, bbox } = plot;
    const band = ([from, to], fill) => {
      const left = Math.max(plot.valToPos(from, "x", true), bbox.left);
      const right = Math.min(plot.valToPos(to, "x", true), bbox.left + bbox.width);
      if (right <= left) return;
      ctx.fillStyle = fill;
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
    };
    ctx.save();
    band(data.baseline, colour("--baseline-band"));
    band(data.window, colour("--window-band"));
    ctx.restore();
  };
}

function options(data, width, low) {
  const ink = colour("--muted");
  const grid = { stroke: colour("--line"), width: 1 };
  const axis = { stroke: ink, grid, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  return {
    width,
    height: low ? LOW : HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false }, sync: { key: SHARED, setSeries: false } },
    scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.1 : 1] } },
    axes: [
      { ...axis, values: (_, at) => at.map((t) => moment(data.end, t)), space: 90, size: 30 },
      { ...axis, values: (_, at) => at.map((v) => short(v, data.unit)), size: 58 },
    ],
    series: [
      {},
      ...data.lines.map((line, i) => ({ label: line.name, stroke: colour(`--line-${i}`), width: i ? 1.5 : 2.5, spanGaps: true, points: { show: false } })),
    ],
    hooks: { drawClear: [shade(data)] },
  };
}

export async function drawChart(place) {
  if (place.dataset.drawn || !place.clientWidth) return;
  place.dataset.drawn = "yes";
  const data = JSON.parse(place.dataset.chart);
  const low = place.classList.contains("low");
  await loadLibrary();
  const columns = [data.times, ...data.lines.map((l) => l.values)];
  const tip = document.createElement("p");
  tip.className = "tip";
  const make = () => {
    place.replaceChildren();
    const chosen = options(data, place.clientWidth, low);
    chosen.hooks.setCursor = [(plot) => {
      const i = plot.cursor.idx;
      tip.textContent = i == null ? "" : `${moment(data.end, data.times[i])}: ${data.lines.map((l) => `${l.name} ${short(l.values[i], data.unit)}`).join(", ")}`;
    }];
    const plot = new uPlot(chosen, columns, place);
    place.append(tip);
    return plot;
  };
  let plot = make();
  let width = place.clientWidth;
  new ResizeObserver(() => {
    if (place.clientWidth === width || !place.clientWidth) return;
    width = place.clientWidth;
    plot.setSize({ width, height: low ? LOW : HEIGHT });
  }).observe(place);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { plot.destroy(); plot = make(); });
}
