// Sending forms: what cannot be sent is said on the page, and nothing typed is lost.

import { say } from "./strings.js";

const PART = "X-Revelio-Part";

export function settle(form) {
  form.removeAttribute("aria-busy");
  for (const button of form.querySelectorAll("[data-label]")) {
    button.textContent = button.dataset.label;
    delete button.dataset.label;
  }
}

export function busy(form, pressed) {
  form.setAttribute("aria-busy", "true");
  if (!pressed?.dataset.busy) return;
  pressed.dataset.label = pressed.textContent;
  pressed.textContent = pressed.dataset.busy;
}

// A form that is sent while the server cannot be reached would leave for the browser's own error page, and lose the place.
export function unreachable(form) {
  settle(form);
  form.parentElement.querySelector(":scope > .unreachable")?.remove();
  const note = Object.assign(document.createElement("p"), { className: "note warn unreachable", textContent: say("unreachable") });
  note.setAttribute("role", "alert");
  form.after(note);
}

export async function reachable() {
  try {
    await fetch("/healthz", { cache: "no-store" });
    return true;
  } catch {
    return false;
  }
}

// The card that the server makes of a form, or null where only a whole page can say what happened.
export async function cardFor(action, fields) {
  const response = await fetch(action, { method: "POST", body: fields, headers: { [PART]: "card" } });
  if (!response.ok) return null;
  const holder = document.createElement("template");
  holder.innerHTML = await response.text();
  return holder.content.querySelector(".card");
}
