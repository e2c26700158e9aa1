// Waiting for an answer about a live system: what each data source does, and a way back. The page works without this file.

import { unreachable } from "./forms.js";
import { reveal } from "./revelio.js";
import { say } from "./strings.js";

const EVERY_MS = 400;
const form = document.querySelector("[data-wait]");
const panel = document.getElementById(form.dataset.wait);
const [rows, told] = [panel.querySelector("[data-rows]"), panel.querySelector("[data-told]")];
let waiting = null;

function show(asking) {
  form.hidden = asking;
  panel.hidden = !asking;
  document.querySelector(".examples")?.toggleAttribute("hidden", asking);
}

function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function follow(one) {
  while (waiting === one) {
    await new Promise((done) => { setTimeout(done, EVERY_MS); });
    const response = await fetch(`/progress/${one.id}`, { cache: "no-store", signal: one.signal }).catch(() => null);
    if (waiting !== one || !response?.ok) continue;
    const text = await response.text();
    const found = new DOMParser().parseFromString(text, "text/html").body;
    rows.replaceChildren(...found.childNodes);
    const [all, asking] = [rows.querySelectorAll("li").length, rows.querySelectorAll(".is-asking").length];
    const words = !all ? "" : asking ? say("done", { done: all - asking, all }) : say("all_done");
    if (told.textContent !== words) told.textContent = words;
  }
}

function back() {
  const one = waiting;
  waiting = null;
  show(false);
  one?.stop();
}

function cancel() {
  if (!waiting) return;
  navigator.sendBeacon(`/progress/${waiting.id}/cancel`);
  back();
  form.querySelector("textarea").focus();
}

function refuse(words) {
  back();
  document.getElementById("refused")?.remove();
  const note = Object.assign(document.createElement("div"), { className: "note bad", id: "refused", textContent: words });
  note.setAttribute("role", "alert");
  form.before(note);
}

async function wait(one) {
  const fields = new URLSearchParams(new FormData(form));
  fields.set("progress", one.id);
  try {
    const response = await fetch(form.action, { method: "POST", body: fields, signal: one.signal });
    if (waiting !== one) return;
    const text = await response.text();
    if (response.redirected || !response.headers.get("content-type")?.startsWith("text/plain")) location.assign(response.url);
    else if (response.ok) location.assign(text);
    else refuse(text);
  } catch {
    if (waiting !== one) return;
    back();
    unreachable(form);
  }
}

export function ask() {
  const stopper = new AbortController();
  waiting = { id: newId(), signal: stopper.signal, stop: () => stopper.abort() };
  panel.querySelector("[data-system]").textContent = form.elements.about.selectedOptions[0].value.replace(/^system:/, "");
  panel.querySelector("[data-report]").textContent = form.elements.report.value;
  rows.replaceChildren();
  told.textContent = "";
  show(true);
  reveal(panel);
  panel.querySelector("h2").focus();
  follow(waiting);
  wait(waiting);
}

panel.querySelector("[data-cancel]").addEventListener("click", cancel);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") cancel(); });
addEventListener("pageshow", (event) => { if (event.persisted) back(); });
