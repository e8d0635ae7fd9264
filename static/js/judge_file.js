// The field of a judge file: goes to the line of an error, and asks before a text that was typed is
// replaced. Without this script, only these two features are missing.

import { goTo } from "./go_to_line.js";

/** @returns {HTMLTextAreaElement} */
function text() {
  const field = document.getElementById("id_file");
  if (field instanceof HTMLTextAreaElement) return field;
  throw new TypeError("the page has no field for a judge file");
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-line]");
  if (button instanceof HTMLElement) goTo(text(), Number(button.dataset.line));
});

// A loaded text becomes the field's default value, so a text that nobody has edited is replaced at
// once.
document.addEventListener("htmx:confirm", (event) => {
  const { elt, issueRequest } = /** @type {CustomEvent} */ (event).detail;
  const field = text();
  if (!elt.dataset.replaces || !field.value.trim() || field.value === field.defaultValue) return;
  event.preventDefault();
  if (window.confirm("Replace the text in the field? What you typed is lost.")) issueRequest(true);
  else if (elt.type === "file") elt.value = "";
});

// A check of the text before a loaded one must not arrive after the loaded one's own.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (/** @type {CustomEvent} */ (event).detail.target.id !== "file-field") return;
  const stale = new CustomEvent("htmx:abort", { bubbles: true, detail: {} });
  document.getElementById("file-check")?.dispatchEvent(stale);
});

document.addEventListener("htmx:afterSettle", () => {
  const wrong = document.getElementById("id_file_wrong");
  if (wrong) text().setAttribute("aria-invalid", "true");
  else text().removeAttribute("aria-invalid");
});
