// Disagreements: keys that move through the list, and highlight layers that can be hidden. Without
// this script all layers are shown, Tab moves, and the filters fold again with each choice.

import { singleKeys } from "./site_keys.js";

const LAYERS = 8;

/** @returns {HTMLElement[]} */
function summaries() {
  return [...document.querySelectorAll(".unit > summary")].filter((e) => e instanceof HTMLElement);
}

/** @param {number} step */
function move(step) {
  const all = summaries();
  const here = all.findIndex((each) => each.parentElement?.contains(document.activeElement));
  const next = all[here < 0 ? 0 : here + step];
  const onward = document.querySelector(`.list-foot a[rel="${step > 0 ? "next" : "prev"}"]`);
  if (!next && onward instanceof HTMLElement) onward.click();
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

/** @returns {Element | null} */
function openUnit() {
  const around = document.activeElement?.closest(".unit, .opened");
  return around?.querySelector(".opened") ?? around ?? document.querySelector(".opened");
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

/** Whether the filters were unfolded on a narrow page when the list was replaced. */
let unfolded = false;

document.addEventListener("htmx:beforeSwap", () => {
  unfolded = Boolean(document.querySelector("#finding[open]"));
});

document.addEventListener("htmx:afterSwap", () => {
  if (unfolded) document.querySelector("#finding")?.setAttribute("open", "");
});

document.addEventListener("change", (event) => {
  const box = event.target;
  if (box instanceof HTMLInputElement && box.dataset.layer) {
    const unit = box.closest(".opened");
    if (unit) paint(unit);
  }
});

document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, select, textarea");
  const box = event.target instanceof HTMLInputElement && event.target.type === "checkbox";
  if (!singleKeys() || document.querySelector("dialog[open]")) return;
  if ((typing && !box) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "j" || event.key === "k") {
    move(event.key === "j" ? 1 : -1);
    event.preventDefault();
  } else if (/^[1-8]$/.test(event.key)) {
    const toggle = openUnit()?.querySelector(`[data-layer="${event.key}"]`);
    if (toggle instanceof HTMLInputElement) toggle.click();
  }
});
