// Copying, counting characters, and swapping one card in place. Every page works without this file.

const PART = "X-Revelio-Part";

async function copy(text, button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Press Ctrl+C";
    const code = document.getElementById(button.dataset.copy);
    if (code) getSelection().selectAllChildren(code);
  }
  setTimeout(() => { button.textContent = label; }, 1600);
}

function onClick(event) {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.copy) copy(document.getElementById(button.dataset.copy).textContent, button);
  if ("copyAddress" in button.dataset) copy(location.origin + location.pathname + location.search, button);
}

async function swapCard(form, submitter) {
  const card = form.closest(".card");
  const fields = new URLSearchParams(new FormData(form));
  if (submitter?.name) fields.set(submitter.name, submitter.value);
  const busy = submitter?.dataset.busy;
  if (busy) {
    submitter.dataset.label = submitter.textContent;
    submitter.textContent = busy;
  }
  form.setAttribute("aria-busy", "true");
  const open = card.querySelector(".why").open;
  try {
    const response = await fetch(form.action, { method: "POST", body: fields, headers: { [PART]: "card" } });
    if (!response.ok) throw new Error(String(response.status));
    const holder = document.createElement("template");
    holder.innerHTML = await response.text();
    const fresh = holder.content.querySelector(".card");
    fresh.querySelector(".why").open = open;
    card.replaceWith(fresh);
    reveal(fresh);
    // The new copy of the button that was pressed takes the focus over, so that a keyboard stays where it was.
    const again = submitter?.name
      ? fresh.querySelector(`.${form.className} [value="${submitter.value}"]`)
      : fresh.querySelector(".actions form button");
    again?.focus({ preventScroll: true });
    await draw(fresh);
  } catch (error) {
    if (error instanceof TypeError) unreachable(form);
    else form.submit();
  }
}

// A form that is sent while the server cannot be reached would leave for the browser's own error page, and lose the place.
function unreachable(form) {
  settle(form);
  form.parentElement.querySelector(":scope > .unreachable")?.remove();
  const note = Object.assign(document.createElement("p"), { className: "note warn unreachable", textContent: document.body.dataset.unreachable });
  note.setAttribute("role", "alert");
  form.after(note);
}

function settle(form) {
  form.removeAttribute("aria-busy");
  for (const button of form.querySelectorAll("[data-busy]")) button.textContent = button.dataset.label ?? button.textContent;
}

async function reachable() {
  try {
    await fetch("/healthz", { method: "HEAD", cache: "no-store" });
    return true;
  } catch {
    return false;
  }
}

const DRAFT = "revelio-draft";

function keepDraft(box) {
  try {
    if (!box.value) box.value = sessionStorage.getItem(DRAFT) ?? "";
    box.addEventListener("input", () => sessionStorage.setItem(DRAFT, box.value));
  } catch { /* private windows forget, which is fine */ }
}

function onSubmit(event) {
  const form = event.target;
  if ("part" in form.dataset) {
    event.preventDefault();
    if (form.getAttribute("aria-busy") !== "true") swapCard(form, event.submitter);
  } else if ("once" in form.dataset) {
    if (form.getAttribute("aria-busy") === "true") event.preventDefault();
    form.setAttribute("aria-busy", "true");
    const pressed = event.submitter;
    if (pressed?.dataset.busy) {
      pressed.dataset.label = pressed.textContent;
      pressed.textContent = pressed.dataset.busy;
    }
    stampZone(form);
    event.preventDefault();
    reachable().then((there) => (there ? form.submit() : unreachable(form)));
  }
}

function count(box) {
  const limit = Number(box.dataset.limit);
  const out = document.querySelector("[data-count]");
  const show = () => {
    const length = [...box.value].length;
    out.textContent = length > limit * 0.8 ? `${length.toLocaleString("en")} of ${limit.toLocaleString("en")}.` : "";
    out.classList.toggle("over", length > limit);
  };
  box.addEventListener("input", show);
  show();
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
  input.max = new Date(now - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  part.querySelector("[data-zone]").textContent = "in your time zone";
  // A recorded incident has a moment of its own: the field cannot be used, and what was typed waits in it.
  const fit = () => { input.disabled = select.value.startsWith("incident:"); };
  select.addEventListener("change", fit);
  fit();
}

function reveal(root) {
  for (const button of root.querySelectorAll("button[hidden]")) button.hidden = false;
}

async function draw(root) {
  const plots = root.querySelectorAll("[data-chart]");
  if (!plots.length) return;
  for (const plot of plots) plot.hidden = false;
  const { drawChart } = await import("./chart.js");
  for (const plot of plots) await drawChart(plot);
}

document.addEventListener("click", onClick);
document.addEventListener("submit", onSubmit);
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[aria-busy]")) settle(form);
});
const box = document.querySelector("textarea[data-limit]");
if (box) {
  keepDraft(box);
  count(box);
}
if (document.querySelector("[data-answer]")) {
  try { sessionStorage.removeItem(DRAFT); } catch { /* nothing was kept */ }
}
const part = document.querySelector("[data-when]");
if (part) when(part);
reveal(document);
draw(document);
