// Scrollable parts can be reached by the keyboard, but are skipped while all of their content is shown.

export function reachable(elements) {
  const check = ({ target }) => {
    const scrolls =
      /auto|scroll/.test(getComputedStyle(target).overflowY) && target.scrollHeight > target.clientHeight + 1;
    if (scrolls) target.tabIndex = 0;
    else if (target.id === "texts") target.tabIndex = -1;
    else target.removeAttribute("tabindex");
  };
  const observer = new ResizeObserver((entries) => entries.forEach(check));
  elements.forEach((element) => observer.observe(element));
}
