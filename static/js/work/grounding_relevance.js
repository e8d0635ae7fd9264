// Passages as cards: a letter for the first choice, long texts folded, any two side by side.
import { desk } from "../item.js";
import { Pair } from "./pair.js";
import { reachable } from "./reachable.js";
import { t, tn } from "../words.js";

const { board, does, drawer, form, saver, say, sheet } = desk;
const { refresh, go } = board;
const { escape: leave, step } = does;
const cardAt = (target) => sheet.units.find((unit) => unit.element.contains(target));
const named = (unit, name) => unit.groups.find((group) => group.dataset.variable === name);

const pair = new Pair({ form, units: sheet.units, entered, left });

function entered() {
  refold();
  board.focus();
  board.refresh();
}

function left() {
  refold();
  board.go(board.current, true);
}

board.refresh = () => {
  refresh.call(board);
  const done = sheet.units.filter((unit) => !unit.problem()).length;
  document.getElementById("answered").textContent = t("{done} of {all} answered", { done, all: sheet.units.length });
  const open = sheet.units.length - done;
  const words = open ? tn("{n} passage left", "{n} passages left", open) : t("All answered");
  document.getElementById("left").textContent = words;
};

// The unit to show is not always in the pair, such as after an undo or a refused answer.
board.go = (unit, focus) => {
  if (unit && pair.open && !pair.holds(unit)) pair.leave();
  go.call(board, unit, focus);
};

does.step = (by) => {
  if (!pair.open) return step(by);
  const other = pair.picked.find((unit) => unit !== board.current);
  return by > 0 === other.number > board.current.number ? board.go(other, true) : undefined;
};

does.escape = () => {
  if (!pair.picked.length || document.activeElement?.matches("textarea")) return leave();
  if (drawer.shown && innerWidth < 1240) return leave();
  pair.leave();
  return true;
};

function relevant(code) {
  const group = named(board.current, "relevant");
  if (!group || saver.closed) return false;
  board.aimed = group;
  return board.choose(board.current.radio(group, code).parentElement.dataset.key);
}

function pick(unit) {
  if (pair.open) return pair.leave();
  pair.pick(unit);
  if (!pair.open) say(document.getElementById("pair-words").textContent);
}

Object.assign(does.more, {
  y: () => relevant("yes"),
  n: () => relevant("no"),
  x: () => pick(board.current),
  f: () => fold(board.current),
});

form.addEventListener("click", ({ target }) => {
  const unit = cardAt(target);
  if (target.closest("[data-pick]")) pick(unit);
  if (target.closest("[data-fold]")) fold(unit);
});
document.getElementById("pair-back").addEventListener("click", () => pair.leave());

// A click moves on to the second choice, as keys do; arrow keys only move through the choices.
let pointing = false;
form.addEventListener("pointerdown", () => (pointing = true));
document.addEventListener("keydown", () => (pointing = false));
form.addEventListener("change", ({ target }) => {
  const unit = cardAt(target);
  const use = unit && named(unit, "use");
  if (!pointing || !use || use.hidden || use.contains(target) || unit.value(use)) return;
  board.aimed = use;
  board.focus();
  board.refresh();
});

const readingOf = (unit) => unit.element.querySelector(".reading");
const unfolded = new Set();

function fold(unit) {
  if (unit.element.querySelector("[data-fold]").hidden) return false;
  if (!unfolded.delete(unit)) unfolded.add(unit);
  refold();
  unit.element.scrollIntoView({ block: "nearest" });
  say(unfolded.has(unit) ? t("Unfolded") : t("Folded"));
  return true;
}

function refold() {
  for (const unit of sheet.units) {
    const button = unit.element.querySelector("[data-fold]");
    const reading = readingOf(unit);
    reading.classList.add("folded");
    const long = !pair.open && reading.scrollHeight > reading.clientHeight + 1;
    reading.classList.toggle("folded", long && !unfolded.has(unit));
    button.hidden = !long;
    button.setAttribute("aria-expanded", String(unfolded.has(unit)));
    button.firstElementChild.textContent = unfolded.has(unit) ? t("Collapse the passage") : t("Show the whole passage");
  }
}

// Lines break elsewhere in a narrower window, and once the reading typeface has loaded.
new ResizeObserver(refold).observe(form.querySelector(".units"));
reachable([document.getElementById("texts"), ...sheet.units.map(readingOf)]);
board.refresh();
