// Copying, counting, drafts, times in the reader's zone, charts. Every page works without this file.

import { busy, reachable, settle, unreachable } from "./forms.js";
import { say } from "./strings.js";

// Of the times of a page, one names the zone of all.
const STYLES = {
  time: { timeStyle: "medium" },
  zone: { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" },
};
const DRAFT = "revelio-draft";
const language = document.documentElement.lang;

async function copy(text, button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = say("copied");
  } catch {
    button.textContent = say("copy_by_hand");
    const part = document.getElementById(button.dataset.copy);
    if (part.select) part.select();
    else getSelection().selectAllChildren(part);
  }
  setTimeout(() => { button.textContent = label; }, 1600);
}

function onClick(event) {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const part = document.getElementById(button.dataset.copy);
  copy(part.value ?? part.textContent, button);
}

function onSubmit(event) {
  const form = event.target;
  if (!("once" in form.dataset)) return;
  event.preventDefault();
  if (form.getAttribute("aria-busy") === "true") return;
  stampZone(form);
  const followed = "wait" in form.dataset && form.elements.about.value.startsWith("system:");
  if (!followed) busy(form, event.submitter);
  reachable().then((there) => {
    if (!there) unreachable(form);
    else if (followed) import("./ask.js").then(({ ask }) => ask());
    else form.submit();
  });
}

function count(box) {
  const limit = Number(box.dataset.limit);
  const out = document.querySelector("[data-count]");
  const show = () => {
    const length = [...box.value].length;
    out.textContent = length > limit * 0.8 ? say("length", { length: length.toLocaleString(language), limit: limit.toLocaleString(language) }) : "";
    out.classList.toggle("over", length > limit);
  };
  box.addEventListener("input", show);
  show();
}

function keepDraft(box) {
  try {
    if (!box.value) box.value = sessionStorage.getItem(DRAFT) ?? "";
    box.addEventListener("input", () => sessionStorage.setItem(DRAFT, box.value));
  } catch { /* private windows forget, which is fine */ }
}

function dropDraft() {
  try { sessionStorage.removeItem(DRAFT); } catch { /* nothing was kept */ }
}

// A time is typed on the asker's own clock: the server is told how far that is from UTC at that moment.
function stampZone(form) {
  const typed = form.elements.at?.value;
  if (form.elements.behind) form.elements.behind.value = (typed ? new Date(typed) : new Date()).getTimezoneOffset();
}

function when(part) {
  const input = part.querySelector("input");
  const select = part.closest("form").elements.about;
  const now = new Date();
  const local = (at) => new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  input.max = local(now);
  part.querySelector("[data-zone]").textContent = say("zone");
  for (const preset of part.querySelectorAll("[data-minutes]")) {
    preset.hidden = false;
    preset.addEventListener("click", () => { input.value = preset.dataset.minutes === "0" ? "" : local(new Date(Date.now() - preset.dataset.minutes * 60_000)); });
  }
  // A recorded incident has a moment of its own: the field cannot be used, and what was typed waits in it.
  const fit = () => { input.disabled = select.value.startsWith("incident:"); };
  select.addEventListener("change", fit);
  fit();
}

export function reveal(root) {
  for (const button of root.querySelectorAll("button[hidden]")) if (!("minutes" in button.dataset)) button.hidden = false;
  for (const time of root.querySelectorAll("time[data-local]")) {
    // Never wider than the text in UTC that stands there, so that nothing moves.
    const style = STYLES[time.dataset.local] ?? { dateStyle: "medium", timeStyle: "short" };
    time.textContent = new Intl.DateTimeFormat(undefined, { ...style, hourCycle: "h23" }).format(new Date(time.dateTime));
    time.title = Intl.DateTimeFormat().resolvedOptions().timeZone;
  }
}

export async function draw(root) {
  const plots = [...root.querySelectorAll("[data-chart]")];
  for (const plot of plots) plot.hidden = false;
  if (plots.length) {
    const { drawChart } = await import("./chart.js");
    for (const plot of plots) await drawChart(plot);
  }
  for (const place of root.querySelectorAll("[data-map]")) {
    place.hidden = false;
    const { drawMap } = await import("./map.js");
    drawMap(place);
  }
}

document.addEventListener("click", onClick);
document.addEventListener("submit", onSubmit);
addEventListener("pageshow", () => { for (const form of document.querySelectorAll("form[aria-busy]")) settle(form); });
const box = document.querySelector("textarea[data-limit]");
if (box) {
  keepDraft(box);
  count(box);
}
const part = document.querySelector("[data-when]");
if (part) when(part);
reveal(document);
draw(document);
if (document.querySelector("[data-answer]")) {
  dropDraft();
  import("./answer.js");
}
