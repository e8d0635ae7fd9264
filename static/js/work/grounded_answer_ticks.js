// Sentences to tick: a box drives the yes and no that the form sends. An unticked sentence counts as
// no, except where a judge's labels are checked, since nothing may be answered by default there.

import { t } from "../words.js";

export function setUpTicks({ sheet, board, does, saver }) {
  const units = sheet.units.filter(({ element }) => element.matches(".tick"));
  const group = (unit) => unit.groups[0];
  const box = (unit) => unit.element.querySelector(".tick-box");
  const isJudged = (unit) => document.querySelector(`[data-judged="${unit.number}"]`) !== null;
  const isTicked = (unit) => unit.value(group(unit)) === "yes";

  const ticks = {
    units,
    // Numbers of the passages in which something is ticked.
    passages: () => new Set(units.filter(isTicked).map(({ element }) => Number(element.dataset.of))),
    tick(names) {
      for (const unit of units) unit.choose(group(unit), names.has(unit.name) ? "yes" : "no");
    },
    any: () => units.some(isTicked),
    settle() {
      for (const unit of units) if (!unit.value(group(unit)) && !isJudged(unit)) unit.choose(group(unit), "no");
    },
    show() {
      const counts = new Map();
      for (const unit of units) {
        box(unit).checked = isTicked(unit);
        box(unit).indeterminate = !unit.value(group(unit));
        unit.element.classList.toggle("is-ticked", isTicked(unit));
        const { of } = unit.element.dataset;
        counts.set(of, (counts.get(of) ?? 0) + isTicked(unit));
      }
      for (const [number, count] of counts) {
        document.querySelector(`[data-source="${number}"] [data-ticked]`).textContent = count
          ? t("{n} ticked", { n: count })
          : "";
      }
      const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
      if (units.length) document.getElementById("answered").textContent = t("{n} ticked", { n: all });
    },
  };

  for (const unit of units) {
    box(unit).disabled = saver.closed;
    // On click instead of change, since the page is redrawn from the radio buttons in between.
    box(unit).addEventListener("click", ({ target }) => unit.choose(group(unit), target.checked ? "yes" : "no"));
  }
  const focus = board.focus.bind(board);
  board.focus = () => (board.current.element.matches(".tick") ? box(board.current).focus() : focus());
  does.more.x = () => {
    if (!board.current?.element.matches(".tick") || saver.closed) return false;
    box(board.current).click();
    return true;
  };
  ticks.settle();
  sheet.last = sheet.choices();
  return ticks;
}
