// Disagreements: keys that open the next unit beside the list, tag it, and hide highlight layers. Without
// this script rows and arrows are links, a button saves the tag, and all layers are shown.

import { singleKeys } from "./site_keys.js";

const LAYERS = 8;
/** As in the stylesheet: list and unit are two pages then, and a row is a plain link. */
const narrow = window.matchMedia("(max-width: 899px)");

/** @returns {HTMLElement[]} */
function rows() {
  return [...document.querySelectorAll("#rows .row")].filter((e) => e instanceof HTMLElement);
}

/** @param {Element | null | undefined} row */
function markRow(row) {
  for (const each of document.querySelectorAll("#rows .row[aria-current]")) each.removeAttribute("aria-current");
  row?.setAttribute("aria-current", "true");
}

/** @param {1 | -1} step */
function move(step) {
  const all = rows();
  const here = all.findIndex((row) => row.hasAttribute("aria-current"));
  const next = here < 0 ? all[0] : all[here + step];
  const link = document.querySelector(`#unit a[rel="${step > 0 ? "next" : "prev"}"]`);
  const target = narrow.matches ? link : (next ?? link);
  if (!(target instanceof HTMLElement)) return;
  if (target === next) {
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: "nearest" });
  }
  target.click();
}

/** @param {string} key */
function tagBy(key) {
  const box = document.querySelector(`#unit [data-key="${key}"]`);
  if (!(box instanceof HTMLInputElement)) return false;
  const none = document.getElementById("tag-none");
  (box.checked ? none : box)?.click();
  return true;
}

/**
 * Shows the first layer of each piece that is not hidden.
 * @param {Element} unit
 */
function paint(unit) {
  const hidden = new Set();
  for (const box of unit.querySelectorAll("[data-layer]"))
    if (box instanceof HTMLInputElement && !box.checked) hidden.add(box.dataset.layer);
  for (const mark of unit.querySelectorAll("mark")) {
    for (let n = 1; n <= LAYERS; n += 1) {
      if (mark.classList.contains(`layer-${n}`) || mark.classList.contains(`off-${n}`)) {
        mark.classList.toggle(`layer-${n}`, !hidden.has(String(n)));
        mark.classList.toggle(`off-${n}`, hidden.has(String(n)));
      }
    }
  }
}

/** Scrolls a long text to its first quote, and the list to the opened unit's row. */
function showQuotes() {
  for (const text of document.querySelectorAll("#unit .read")) {
    const mark = text.querySelector("mark");
    if (!(text instanceof HTMLElement) || !(mark instanceof HTMLElement)) continue;
    const below = mark.getBoundingClientRect().top - text.getBoundingClientRect().top;
    if (below > text.clientHeight - 40) text.scrollTop = below - 60;
  }
}

document.addEventListener(
  "click",
  (event) => {
    const row = event.target instanceof Element && event.target.closest("#rows .row");
    if (!row) return;
    const elsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0;
    // The browser follows the link itself.
    if (elsewhere || narrow.matches) event.stopPropagation();
    else markRow(row);
  },
  { capture: true },
);

document.addEventListener("htmx:afterSwap", (event) => {
  showQuotes();
  const unit = document.getElementById("unit");
  const { target } = /** @type {CustomEvent} */ (event).detail;
  const place = unit?.querySelector(".unit-place .numbers")?.textContent ?? "";
  const told = document.getElementById("opened-now");
  if (told && unit && target?.id === "unit")
    told.textContent = `${place}: ${unit.querySelector("h2")?.textContent ?? ""}`;
});

document.addEventListener("change", (event) => {
  const box = event.target;
  if (box instanceof HTMLInputElement && box.dataset.layer) {
    const unit = box.closest("#unit");
    if (unit) paint(unit);
  }
});

document.addEventListener("keydown", (event) => {
  const typing =
    event.target instanceof Element &&
    event.target.closest("input:not([type=radio], [type=checkbox]), select, textarea");
  if (typing && event.key === "Escape" && event.target instanceof HTMLElement) event.target.blur();
  if (typing || !singleKeys() || document.querySelector("dialog[open]")) return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const { key } = event;
  if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
  else if (key === "n") {
    const note = document.querySelector("#unit .note");
    if (!(note instanceof HTMLElement) || !note.offsetParent) return;
    note.focus();
  } else if (/^[1-8]$/.test(key)) {
    const toggle = document.querySelector(`#unit [data-layer="${key}"]`);
    if (toggle instanceof HTMLInputElement) toggle.click();
  } else if (!/^[a-z]$/.test(key) || !tagBy(key)) return;
  event.preventDefault();
});

showQuotes();
document.querySelector("#rows .row[aria-current]")?.scrollIntoView({ block: "nearest" });
