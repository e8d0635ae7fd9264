// The guideline beside the work, fetched once by htmx.

import { t } from "./words.js";

export function setUpDrawer() {
  const drawer = document.getElementById("guideline");
  const button = document.getElementById("open-guideline");
  const text = document.getElementById("guideline-text");
  const fetchText = () => button.dispatchEvent(new Event("tandem:guideline"));
  const open = (shown) => {
    drawer.hidden = !shown;
    button.setAttribute("aria-expanded", String(shown));
    if (!shown || text.querySelector(".prose")) return;
    // htmx takes the page up at its own DOMContentLoaded, later than this module may run.
    if (document.readyState === "complete") fetchText();
    else addEventListener("load", fetchText, { once: true });
  };
  const toggle = () => {
    const focused = drawer.contains(document.activeElement);
    open(drawer.hidden);
    if (focused && drawer.hidden) button.focus();
  };
  button.addEventListener("click", toggle);
  drawer.querySelector("[data-close]").addEventListener("click", toggle);
  document.body.addEventListener("htmx:sendError", () => failed(text));
  document.body.addEventListener("htmx:responseError", () => failed(text));
  return {
    open,
    toggle,
    get shown() {
      return !drawer.hidden;
    },
  };
}

function failed(text) {
  if (text.querySelector(".prose")) return;
  text.firstElementChild.textContent = t("The guideline could not be loaded; close it and open it again.");
}
