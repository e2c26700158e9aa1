// The map of calls, laid out by dagre, drawn as SVG; drag to pan, buttons or Ctrl and wheel to zoom, Enter or a click for details.

import { Graph, layout } from "./vendor/dagre/dagre.esm.js";

const NS = "http://www.w3.org/2000/svg";
const HEIGHT = 34;
const ROOM = 16;
const LEAST = 0.85;

function make(name, attributes, ...children) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function laidOut({ nodes, calls }, narrow) {
  const graph = new Graph();
  graph.setGraph({ rankdir: narrow ? "TB" : "LR", nodesep: narrow ? 14 : 18, ranksep: narrow ? 44 : 96, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.name, { width: Math.max(64, node.name.length * 7.6 + 22), height: HEIGHT });
  for (const call of calls) graph.setEdge(call.from, call.to, { width: call.failing ? 90 : 0, height: call.failing ? 14 : 0, labelpos: "c" });
  layout(graph);
  return graph;
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
  const calls = data.calls.map((call) => {
    const line = make("path", { class: call.failing ? "call failing" : "call", d: curve(graph.edge(call.from, call.to).points), "marker-end": `url(#tip${call.failing ? "-failing" : ""})` });
    line.append(make("title", {}, `${call.from} calls ${call.to}: ${call.words || "no calls seen"}`));
    return line;
  });
  const marks = new Map(data.nodes.map((n) => [n.name, n.mark]));
  const told = data.calls.filter((c) => c.words && (c.failing || marks.get(c.to) === "suspect" || marks.get(c.from) === "suspect"));
  const words = told.map((call) => {
    const { points } = graph.edge(call.from, call.to);
    const at = points[Math.floor(points.length / 2)];
    return make("text", { class: call.failing ? "words failing" : "words", x: at.x, y: at.y - 4 }, call.words);
  });
  const nodes = data.nodes.map((node) => {
    const { x, y, width } = graph.node(node.name);
    const box = make("rect", { x: x - width / 2, y: y - HEIGHT / 2, width, height: HEIGHT, rx: 8 });
    const group = make("g", { class: `node ${node.mark} ${node.inside ? "" : "outside"}`, "data-node": node.name });
    group.append(box, make("text", { x, y }, node.name), make("title", {}, `${node.name}${node.mark ? `, ${node.mark}` : ""}: details below`));
    return group;
  });
  return [make("defs", {}, tip("tip", "tip"), tip("tip-failing", "tip-failing")), ...calls, ...nodes, ...words];
}

function details(name) {
  const part = document.getElementById(`node-${name}`);
  if (!part) return;
  part.open = true;
  part.querySelector("summary").focus();
  part.scrollIntoView({ block: "nearest" });
}

// Words that would be too small to read: the map then begins at the suspect, or at its first caller, and can be moved.
function start(place, data, graph, all) {
  const scale = Math.min(place.clientWidth / all.width, place.clientHeight / all.height);
  if (scale >= LEAST) return all;
  const [width, height] = [place.clientWidth / LEAST, place.clientHeight / LEAST];
  const first = data.nodes.find((node) => node.mark === "suspect") ?? data.nodes.find((node) => data.calls.some((c) => c.from === node.name) && !data.calls.some((c) => c.to === node.name));
  const at = first ? graph.node(first.name) : { x: all.x + all.width / 2, y: all.y + all.height / 2 };
  return { x: at.x - width / 2, y: at.y - height / 2, width, height };
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
  const graph = laidOut(data, place.clientWidth < 600);
  const { width, height } = graph.graph();
  const svg = make("svg", { preserveAspectRatio: "xMidYMid meet", "aria-hidden": "true" }, ...drawing(data, graph));
  place.replaceChildren(svg);
  if (tools) tools.hidden = false;
  // Never larger than life: a small map stands in the middle.
  const whole = { width: Math.max(width, place.clientWidth), height: Math.max(height + 2 * ROOM, place.clientHeight) };
  const all = { x: (width - whole.width) / 2, y: (height - whole.height) / 2, ...whole };
  movable(svg, all, start(place, data, graph, all), tools);
}
