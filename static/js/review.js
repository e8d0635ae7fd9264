// The review of an answer by keys. Without scripts its buttons and links do the same.

const SWITCH = "tandem.keys";
const form = document.getElementById("review");
const accept = document.getElementById("accept");
const note = document.getElementById("note");
const single = document.getElementById("single-keys");
const press = (id) => document.getElementById(id)?.click();
const KEYS = {
  a: () => accept.click(),
  r: () => press("reject"),
  j: () => press("next"),
  k: () => press("previous"),
  n: () => note.focus(),
  e: () => form.querySelector("select, textarea, input[type=text]").focus(),
};

try {
  single.checked = localStorage.getItem(SWITCH) !== "off";
} catch {
  /* storage is switched off: the keys are on */
}
single.addEventListener("change", () => {
  try {
    localStorage.setItem(SWITCH, single.checked ? "on" : "off");
  } catch {
    /* it lasts for this page */
  }
});

// Typed text is saved only with the verdict, so leaving the page earlier asks for confirmation.
let typed = false;
form.addEventListener("input", (event) => {
  if (event.target === single) return;
  typed = true;
  if (event.target !== note) accept.querySelector("span").textContent = accept.dataset.changed;
});
form.addEventListener("submit", () => {
  typed = false;
});
addEventListener("beforeunload", (event) => typed && event.preventDefault());

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.isComposing || event.altKey) return;
  const command = event.ctrlKey || event.metaKey;
  if (command && key === "Enter") {
    event.preventDefault();
    accept.click();
    return;
  }
  const writes = target.closest("textarea, select, input[type=text]");
  if (key === "Escape" && writes) writes.blur();
  if (command || event.shiftKey || writes || !single.checked) return;
  const act = KEYS[key.toLowerCase()];
  if (!act) return;
  event.preventDefault();
  act();
});
