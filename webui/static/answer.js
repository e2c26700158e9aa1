// An open answer: one query in view, results as they arrive, and what others do to it. The page works without this file.

import { busy, cardFor, settle, unreachable } from "./forms.js";
import { draw, reveal } from "./revelio.js";
import { say } from "./strings.js";
import { Idiomorph } from "./vendor/idiomorph/idiomorph.esm.js";

const head = document.querySelector("[data-answer]");
let revision = head.dataset.revision;
let asking = false;

function select(id, { focus = false } = {}) {
  const card = document.getElementById(`query-${id}`);
  if (!card) return false;
  for (const one of document.querySelectorAll(".card.selected")) one.classList.remove("selected");
  card.classList.add("selected");
  markRow(id);
  draw(card);
  if (focus) card.focus({ preventScroll: true });
  const top = card.getBoundingClientRect().top;
  if (top < 0 || top > innerHeight * 0.75) card.scrollIntoView({ block: "start" });
  const address = new URL(location);
  address.searchParams.set("query", id);
  address.hash = "";
  history.replaceState(null, "", address);
  return true;
}

function markRow(id) {
  for (const row of document.querySelectorAll(".row")) {
    if (row.dataset.select === id) {
      row.setAttribute("aria-current", "true");
      row.closest("details")?.setAttribute("open", "");
    } else row.removeAttribute("aria-current");
  }
}

function onClick(event) {
  const link = event.target.closest("[data-select]");
  if (link && !event.ctrlKey && !event.metaKey && select(link.dataset.select, { focus: true })) event.preventDefault();
}

// Text that was typed and not sent yet.
function typed(node) {
  if (node.tagName === "SELECT") return [...node.options].some((o) => o.selected !== o.defaultSelected);
  return /^(INPUT|TEXTAREA)$/.test(node.tagName) && node.value !== node.defaultValue;
}

// What was typed, opened or drawn stays when somebody else acts.
const kept = {
  beforeNodeMorphed: (old, fresh) => !typed(old) && !(old.dataset?.chart && old.dataset.chart === fresh.dataset?.chart),
  beforeNodeRemoved: (node) => ![...(node.querySelectorAll?.("input, textarea") ?? [])].some(typed),
  beforeAttributeUpdated: (name, node) => !(name === "open" && node.tagName === "DETAILS"),
};

// A live part becomes its new copy.
function put(fresh) {
  const old = document.getElementById(fresh.id);
  if (!old || old.dataset.rev === fresh.dataset.rev) return;
  fresh.classList.toggle("selected", old.classList.contains("selected"));
  Idiomorph.morph(old, fresh, { callbacks: kept });
  reveal(old);
  draw(old);
}

async function refresh() {
  const response = await fetch(location.pathname + location.search, { cache: "no-store" });
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const chosen = document.querySelector(".card.selected")?.dataset.query;
  revision = page.querySelector("[data-answer]")?.dataset.revision ?? revision;
  for (const card of page.querySelectorAll(".card")) {
    if (document.getElementById(card.id)) continue;
    card.classList.remove("selected");
    document.querySelector(".details").append(document.adoptNode(card));
    reveal(card);
  }
  for (const part of page.querySelectorAll("[data-live]")) put(document.adoptNode(part));
  if (chosen) markRow(chosen);
}

async function poll() {
  if (document.visibilityState !== "visible" || asking) return;
  asking = true;
  try {
    const response = await fetch(`${head.dataset.address}/revision`, { cache: "no-store" });
    if (response.ok && (await response.text()) !== revision) await refresh();
  } catch { /* the server is away for a moment: the next poll asks again */ } finally {
    asking = false;
  }
}

async function swap(form, fields) {
  const card = form.closest(".card");
  const fresh = await cardFor(form.action, fields);
  if (!fresh) return false;
  for (const field of form.elements) if ("defaultValue" in field) field.defaultValue = field.value; // it is sent
  delete card.dataset.rev;
  put(fresh);
  await refresh();
  return true;
}

async function onSubmit(event) {
  const form = event.target;
  if (!("part" in form.dataset)) return;
  event.preventDefault();
  if (form.getAttribute("aria-busy") === "true") return;
  const fields = new URLSearchParams(new FormData(form));
  const pressed = event.submitter;
  if (pressed?.name) fields.set(pressed.name, pressed.value);
  busy(form, pressed);
  document.activeElement?.blur?.();
  try {
    if (!(await swap(form, fields))) form.submit();
    else document.querySelector(`.card.selected .${form.className} button`)?.focus({ preventScroll: true });
  } catch {
    settle(form);
    unreachable(form);
  }
}

// Opening an answer runs its first queries; each result comes in as it arrives.
async function runNow() {
  const ids = (head.dataset.runNow ?? "").split(" ").filter(Boolean);
  delete head.dataset.runNow;
  await Promise.all(ids.map(async (id) => {
    const form = document.querySelector(`#${CSS.escape(`query-${id}`)} form.run`);
    const state = document.querySelector(`[data-state="${CSS.escape(id)}"]`);
    if (!form) return;
    if (state) state.textContent = say("running");
    try { await swap(form, new URLSearchParams(new FormData(form))); } catch { if (state) state.textContent = ""; }
  }));
}

document.addEventListener("click", onClick);
document.addEventListener("submit", onSubmit);
document.addEventListener("visibilitychange", poll);
const named = decodeURIComponent(location.hash).replace(/^#query-/, "");
if (named && named !== location.hash) select(named);
setInterval(poll, Number(head.dataset.every));
runNow();
