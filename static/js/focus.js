// Keeps the keyboard's place when htmx replaces the part that has it. htmx does so for elements with
// an id; others would lose the focus to the top of the page.

/** @param {Element} element */
function described(element) {
  return [
    element.tagName,
    element.getAttribute("name"),
    element.getAttribute("href"),
    element.textContent?.trim(),
  ].join();
}

export function setUpFocus() {
  /** What had the focus within a part that is replaced. */
  let lost = "";
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const { target } = /** @type {CustomEvent} */ (event).detail;
    const had = document.activeElement;
    if (had && had !== document.body && target.contains(had)) lost = described(had);
  });
  document.body.addEventListener("htmx:afterSettle", (event) => {
    const part = /** @type {CustomEvent} */ (event).detail.elt;
    if (!lost || document.activeElement !== document.body || !(part instanceof HTMLElement)) return;
    const same = [...part.querySelectorAll("a, button, input, select, summary")].find(
      (each) => described(each) === lost,
    );
    lost = "";
    if (same instanceof HTMLElement) return same.focus({ preventScroll: true });
    // What had it is gone, such as the button that cancels: the next press of Tab begins here.
    part.tabIndex = -1;
    part.focus({ preventScroll: true });
  });
}
