// Single keys, and the help that lists them. Every page works without this file.

const STORED = "revelio-single-keys";
const WAIT_MS = 4000;
const dialog = document.getElementById("keys");
const choice = dialog.querySelector("[data-keys-on]");
let leading = -Infinity;

function singleKeys() {
  try { return localStorage.getItem(STORED) !== "off"; } catch { return true; }
}

function remember(on) {
  try { localStorage.setItem(STORED, on ? "on" : "off"); } catch { /* private windows forget, which is fine */ }
}

function typing(element) {
  return element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName);
}

function show() {
  choice.checked = singleKeys();
  dialog.showModal();
}

function rowAt(step) {
  const rows = [...document.querySelectorAll(".row")];
  const here = rows.findIndex((row) => row.hasAttribute("aria-current"));
  rows[Math.min(Math.max(here + step, 0), rows.length - 1)]?.click();
}

function press(key) {
  const card = document.querySelector(".card.selected") ?? document;
  const target = card.querySelector(`[data-key="${key}"]`) ?? (key === "t" ? document.querySelector('[data-key="t"]') : null);
  if (target && !target.hidden) target.click();
  return Boolean(target);
}

function onKey(event) {
  const { key, target } = event;
  if (key === "Enter" && (event.ctrlKey || event.metaKey) && target.tagName === "TEXTAREA") {
    event.preventDefault();
    target.form.requestSubmit();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || typing(target) || dialog.open) return;
  if (key === "?") { event.preventDefault(); show(); return; }
  if (!singleKeys()) return;
  const entry = performance.now() - leading < WAIT_MS && document.querySelector(`[data-go="${CSS.escape(key)}"]`);
  leading = -Infinity;
  if (entry) {
    event.preventDefault();
    entry.click();
  } else if (key === "g") {
    leading = performance.now();
  } else if (key === "/") {
    const box = document.querySelector("[data-slash]");
    if (box) { event.preventDefault(); box.focus(); }
  } else if (key === "j" || key === "k") {
    rowAt(key === "j" ? 1 : -1);
  } else if (/^[rtyofn]$/.test(key) && press(key)) {
    event.preventDefault();
  }
}

document.addEventListener("keydown", onKey);
choice.addEventListener("change", () => remember(choice.checked));
for (const button of document.querySelectorAll("[data-keys]")) {
  button.hidden = false;
  button.addEventListener("click", show);
}
