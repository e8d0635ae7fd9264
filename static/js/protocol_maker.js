// The page where a protocol is written: numbers of lines, going to an error, and what the server
// being away means. Without this script, only these features are missing.

import { goTo } from "./go_to_line.js";

const form = document.getElementById("protocol-form");
const field = document.getElementById("id_text");
const gutter = document.getElementById("gutter");
const offline = document.getElementById("offline");
let typed = false;

function number() {
  if (!(field instanceof HTMLTextAreaElement) || !gutter) return;
  const wrong = new Set();
  for (const button of document.querySelectorAll("#file-problems [data-line]"))
    if (button instanceof HTMLElement) wrong.add(Number(button.dataset.line));
  const rows = field.value.split("\n").map((_, row) => {
    const line = document.createElement("span");
    line.textContent = `${row + 1}\n`;
    if (wrong.has(row + 1)) line.className = "wrong";
    return line;
  });
  gutter.replaceChildren(...rows);
  gutter.scrollTop = field.scrollTop;
  field.setAttribute("aria-invalid", String(wrong.size > 0));
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-line]");
  if (button instanceof HTMLElement && field instanceof HTMLTextAreaElement) goTo(field, Number(button.dataset.line));
});
field?.addEventListener("input", number);
field?.addEventListener("scroll", () => {
  if (gutter) gutter.scrollTop = field.scrollTop;
});
form?.addEventListener("input", () => (typed = true));
form?.addEventListener("submit", () => (typed = false));
window.addEventListener("beforeunload", (event) => {
  if (typed) event.preventDefault();
});
for (const name of ["htmx:sendError", "htmx:responseError"])
  document.addEventListener(name, () => offline && (offline.hidden = false));
document.addEventListener("htmx:afterOnLoad", () => offline && (offline.hidden = true));
document.addEventListener("htmx:afterSettle", number);
// A link in the annotator's page would leave it.
document.addEventListener(
  "load",
  (event) => {
    if (!(event.target instanceof HTMLIFrameElement)) return;
    event.target.contentDocument?.addEventListener("click", (click) => {
      if (click.target instanceof Element && click.target.closest("a[href]")) click.preventDefault();
    });
  },
  true,
);
number();
