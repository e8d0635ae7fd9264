// A judge's answers: j and k move through the cards, and from the last one to the next page. Without
// this script, Tab and the links move.

import { singleKeys } from "./site_keys.js";

const PAGE = { 1: "next", [-1]: "prev" };

/** @param {1 | -1} step */
function move(step) {
  const cards = [...document.querySelectorAll(".answer-card")].filter((e) => e instanceof HTMLElement);
  const here = cards.findIndex((card) => card.contains(document.activeElement));
  const next = here < 0 ? cards[0] : cards[here + step];
  if (next) {
    if (next instanceof HTMLDetailsElement) next.open = true;
    const stop = next.querySelector(":scope > summary") ?? next;
    if (stop instanceof HTMLElement) stop.focus({ preventScroll: true });
    next.scrollIntoView({ block: "start" });
    return;
  }
  const link = document.querySelector(`.pages a[rel="${PAGE[step]}"]`);
  if (link instanceof HTMLElement) link.click();
}

document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input:not([type=radio]), select, textarea");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (!singleKeys() || document.querySelector("dialog[open]")) return;
  if (event.key === "j" || event.key === "k") {
    move(event.key === "j" ? 1 : -1);
    event.preventDefault();
  }
});
