// The map of calls, laid out by dagre, drawn as SVG; drag to pan, buttons or Ctrl and wheel to zoom, Enter or a click for details.

import { say } from "./strings.js";
import { Graph, layout } from "./vendor/dagre/dagre.esm.js";

const NS = "http://www.w3.org/2000/svg";
const HEIGHT = 34;
const ROOM = 16;
const LEAST = 0.75;
const FORMS = [
  { rankdir: "LR", nodesep: 18, ranksep: 96 },
  { rankdir: "LR", nodesep: 10, ranksep: 32 },
  { rankdir: "TB", nodesep: 14, ranksep: 44 },
];
const PLACES = [0.5, 0.38, 0.62, 0.28, 0.72];

function make(name, attributes, ...children) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function laidOut({ nodes, calls }, form) {
  const graph = new Graph();
  graph.setGraph(form);
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.name, { width: Math.max(64, node.name.length * 7.6 + 22), height: HEIGHT });
  for (const call of calls) graph.setEdge(call.from, call.to, { width: call.failing ? 90 : 0, height: call.failing ? 14 : 0, labelpos: "c" });
  layout(graph);
  return graph;
}

// The first form whose words can be read when all of it is in view, else the one that comes nearest.
function fitting(data, place) {
  let best = { scale: 0 };
  for (const form of FORMS) {
    const graph = laidOut(data, { ...form });
    const { width, height } = graph.graph();
    const scale = Math.min(place.clientWidth / width, place.clientHeight / height);
    if (scale > best.scale) best = { graph, scale };
    if (scale >= LEAST) break;
  }
  return best.graph;
}

function curve(points) {
  const [first, ...rest] = points;
  let path = `M${first.x} ${first.y}`;
  for (let i = 0; i < rest.length - 1; i += 1) {
    path += `Q${rest[i].x} ${rest[i].y} ${(rest[i].x + rest[i + 1].x) / 2} ${(rest[i].y + rest[i + 1].y) / 2}`;
  }
  const last = rest[rest.length - 1];
  return `${path}L${last.x} ${last.y}`;
}

function tip(id, name) {
  const marker = { id, viewBox: "0 0 8 8", refX: 7.5, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" };
  return make("marker", marker, make("path", { class: name, d: "M0 0.5L7.5 4L0 7.5z" }));
}

function drawing(data, graph) {
  const suspects = new Set(data.nodes.filter((node) => node.mark === "suspect").map((node) => node.name));
  const arrows = data.calls.map((call) => {
    const d = curve(graph.edge(call.from, call.to).points);
    const failing = call.failing ? " failing" : "";
    const line = make("path", { class: `call${failing}`, d, "marker-end": `url(#tip${call.failing ? "-failing" : ""})` });
    const reach = make("path", { class: "reach", d }, make("title", {}, say("call", { caller: call.from, callee: call.to, figures: call.words || say("no_calls") })));
    return { call, line, reach, unusual: call.failing || suspects.has(call.from) || suspects.has(call.to), words: make("text", { class: `words${failing}` }, call.words) };
  });
  const nodes = data.nodes.map((node) => {
    const { x, y, width } = graph.node(node.name);
    const box = make("rect", { x: x - width / 2, y: y - HEIGHT / 2, width, height: HEIGHT, rx: 8 });
    const group = make("g", { class: `node ${node.mark} ${node.inside ? "" : "outside"}`, "data-node": node.name });
    group.append(box, make("text", { x, y }, node.name), make("title", {}, say("component", { name: node.mark ? `${node.name}, ${say(node.mark)}` : node.name })));
    return group;
  });
  const parts = [make("defs", {}, tip("tip", "tip"), tip("tip-failing", "tip-failing"))];
  const body = make("g", {}, ...arrows.map((arrow) => arrow.line), ...arrows.map((arrow) => arrow.reach), ...nodes);
  parts.push(body, ...arrows.map((arrow) => arrow.words));
  return { parts, body, arrows: arrows.sort((one, other) => other.call.failing - one.call.failing) };
}

// Where on its arrow the words meet neither a component nor other words.
function room({ line, words }, taken) {
  const [length, half] = [line.getTotalLength(), words.getComputedTextLength() / 2 + 3];
  for (const share of PLACES) {
    const { x, y } = line.getPointAtLength(length * share);
    const box = { x, y: y - 5, left: x - half, right: x + half, top: y - 16, bottom: y - 2 };
    if (!taken.some((other) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom)) return box;
  }
  return null;
}

// The figures of those arrows; of unusual ones while nothing is pointed at.
function tell(arrows, graph, pointed) {
  const taken = graph.nodes().map((name) => graph.node(name)).map(({ x, y, width }) => (
    { left: x - width / 2, right: x + width / 2, top: y - HEIGHT / 2, bottom: y + HEIGHT / 2 }));
  for (const arrow of arrows) {
    const wanted = pointed ? pointed(arrow) : arrow.unusual;
    const spot = wanted && arrow.call.words ? room(arrow, taken) : null;
    arrow.line.classList.toggle("pointed", Boolean(pointed) && wanted);
    arrow.words.classList.toggle("told", Boolean(spot));
    if (!spot) continue;
    arrow.words.setAttribute("x", spot.x);
    arrow.words.setAttribute("y", spot.y);
    taken.push(spot);
  }
}

// Pointing at a component or an arrow, or reaching a component in the list below with the keyboard, tells the figures of its calls.
function telling(svg, parts, arrows, graph) {
  const about = (name) => tell(arrows, graph, name && (({ call }) => call.from === name || call.to === name));
  svg.addEventListener("pointerover", ({ target }) => {
    const arrow = arrows.find(({ reach }) => reach === target);
    if (arrow) tell(arrows, graph, (one) => one === arrow);
    else about(target.closest("[data-node]")?.dataset.node);
  });
  svg.addEventListener("pointerleave", () => about(null));
  parts?.addEventListener("focusin", ({ target }) => about(target.closest(".node-part")?.id.replace("node-", "")));
  parts?.addEventListener("focusout", () => about(null));
  about(null);
}

function details(name) {
  const part = document.getElementById(`node-${name}`);
  if (!part) return;
  part.open = true;
  part.querySelector("summary").focus();
  part.scrollIntoView({ block: "nearest" });
}

// Where a view of this length begins that has its middle there, or as near as all of the map allows.
function within(middle, length, from, whole) {
  return length < whole ? Math.min(Math.max(middle - length / 2, from), from + whole - length) : from + (whole - length) / 2;
}

// With a suspect, a map whose words would be too small to read begins there, and can be moved.
function start(place, data, graph, all) {
  const scale = Math.min(place.clientWidth / all.width, place.clientHeight / all.height);
  const suspect = data.nodes.find((node) => node.mark === "suspect");
  if (scale >= LEAST || !suspect) return all;
  const [width, height] = [place.clientWidth / LEAST, place.clientHeight / LEAST];
  const { x, y } = graph.node(suspect.name);
  return { x: within(x, width, all.x, all.width), y: within(y, height, all.y, all.height), width, height };
}

function movable(svg, whole, first, tools) {
  let view = { ...first };
  const show = () => svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  const zoom = (by, px = 0.5, py = 0.5) => {
    const width = Math.min(Math.max(view.width * by, whole.width / 8), whole.width * 2);
    const scale = width / view.width;
    view = { x: view.x + view.width * (1 - scale) * px, y: view.y + view.height * (1 - scale) * py, width, height: view.height * scale };
    show();
  };
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    zoom(event.deltaY > 0 ? 1.15 : 0.87, (event.clientX - box.x) / box.width, (event.clientY - box.y) / box.height);
  }, { passive: false });
  let from = null;
  svg.addEventListener("pointerdown", (event) => { from = { x: event.clientX, y: event.clientY, view: { ...view }, moved: false }; });
  svg.addEventListener("pointermove", (event) => {
    if (!from || !event.buttons) return;
    const scale = Math.max(view.width / svg.clientWidth, view.height / svg.clientHeight);
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    if (Math.hypot(dx, dy) < 4 && !from.moved) return;
    from.moved = true;
    view = { ...view, x: from.view.x - dx * scale, y: from.view.y - dy * scale };
    show();
  });
  svg.addEventListener("click", (event) => {
    const node = event.target.closest("[data-node]");
    if (node && !from?.moved) details(node.dataset.node);
  });
  tools?.addEventListener("click", (event) => {
    const kind = event.target.dataset.zoom;
    if (kind === "fit") { view = { ...whole }; show(); } else if (kind) zoom(kind === "in" ? 0.75 : 1.33);
  });
  show();
}

export function drawMap(place) {
  const data = JSON.parse(place.dataset.map);
  const tools = place.parentElement.querySelector(".map-tools");
  const graph = fitting(data, place);
  const { parts, body, arrows } = drawing(data, graph);
  const svg = make("svg", { preserveAspectRatio: "xMidYMid meet", "aria-hidden": "true" }, ...parts);
  place.replaceChildren(svg);
  if (tools) tools.hidden = false;
  // Never larger than life: a small map stands in the middle.
  const drawn = body.getBBox();
  const width = Math.max(drawn.width + 2 * ROOM, place.clientWidth);
  const height = Math.max(drawn.height + 2 * ROOM, place.clientHeight);
  const all = { x: drawn.x + (drawn.width - width) / 2, y: drawn.y + (drawn.height - height) / 2, width, height };
  movable(svg, all, start(place, data, graph, all), tools);
  telling(svg, place.parentElement.querySelector(".node-parts"), arrows, graph);
}
