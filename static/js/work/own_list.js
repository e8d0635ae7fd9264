// The page of a list: the person writes and completes it, then matches the extracted points to it.
import { desk } from "../item.js";
import { piece, writeOn } from "../pieces.js";
import { Matching } from "./matching.js";
import { Points } from "./points.js";
import { t, tn } from "../words.js";

const byId = (id) => document.getElementById(id);
const { board, does, form, saver, say, sheet } = desk;
const unit = sheet.units.find((one) => one.element.dataset.list);
const frame = byId("own-list");
const sealed = "sealed" in frame.dataset;
const waits = Number(frame.dataset.waiting) > 0;
const extracted = sheet.units.filter((one) => one !== unit);
const { payload } = sheet;
const { refresh, focus, summary, highlight, turn } = board;
const points = new Points({ desk, unit, list: byId("points"), template: byId("point"), changed: count });
const matches = new Map(extracted.map((one) => [one, new Matching(desk, one, points.all)]));
let leaving = false;
const fixed = () => sealed || leaving || saver.closed;

// Only answers to the item's own units are stored; points are a part of one of them.
sheet.payload = (final = false) => {
  points.store();
  const { units } = sheet;
  sheet.units = points.others;
  try {
    return payload.call(sheet, final);
  } finally {
    sheet.units = units;
  }
};
sheet.last = sheet.choices();

unit.problem = () => {
  if (!unit.value(unit.groups[0]))
    return waits
      ? t("Say whether your list is complete: the extracted points follow then.")
      : t("Say whether your list is complete.");
  return waits ? t("The extracted points are loading.") : standing(unit.value(unit.groups[0]));
};

function standing(code) {
  const written = points.all.filter((point) => !point.blank).length;
  if (code === "yes" && !written) return t("Your list is empty. Write a point, or say that there is none.");
  return code === "no" && written ? t("Your list contains points. Delete them, or say that all are listed.") : null;
}

function count() {
  const written = points.all.filter((point) => !point.blank).length;
  byId("own-count").textContent = tn("{n} point", "{n} points", written);
}

board.refresh = () => {
  refresh.call(board);
  count();
  const left = extracted.filter((one) => one.problem()).length;
  byId("answered").textContent = extracted.length
    ? t("{done} of {all} matched", { done: extracted.length - left, all: extracted.length })
    : "";
  byId("left").textContent = sealed ? (left ? t("{n} left to match", { n: left }) : t("All matched")) : "";
};
board.turn = (touched, words) => turn.call(board, (touched === unit && points.inHand) || touched, words);
board.focus = () => {
  const matching = matches.get(board.current);
  if (matching) matching.focus();
  else if (points.all.includes(board.current)) board.current.element.focus();
  else focus.call(board);
};
board.summary = (one, asked) => {
  const matching = matches.get(one);
  if (!matching) return one === unit ? [] : summary.call(board, one, asked);
  const words = matching.numbers.length ? [t("matches {numbers}", { numbers: matching.numbers.join(", ") })] : [];
  return one.value(one.groups[0]) === "no"
    ? [piece("pill no", t("none of mine"))]
    : words.map((each) => piece("pill yes", each));
};
board.highlight = (range) => {
  if (fixed()) return say(t("Your list is complete and can no longer change"));
  return highlight.call(board, range);
};

const { choose, escape: leave } = does;
does.escape = () => {
  const words = points.all.find((point) => point.prose === document.activeElement);
  if (!words) return leave();
  words.element.focus();
  return true;
};
does.choose = (digit) => {
  if (saver.closed) return false;
  if (matches.has(board.current)) return matches.get(board.current).toggle(Number(digit));
  if (board.current !== unit) return false;
  if (!waits) return choose(digit);
  const radio = unit.radios(unit.groups[0])[Number(digit) - 1];
  return radio ? declare(radio.value) : false;
};
const inHand = (act) => () => {
  if (fixed() || !points.all.includes(board.current)) return false;
  return act(board.current);
};
Object.assign(does.more, {
  n: () => !fixed() && points.add(),
  e: inHand((point) => writeOn(point.prose)),
  x: inHand((point) => points.remove(point)),
  "[": inHand((point) => points.move(point, -1)),
  "]": inHand((point) => points.move(point, 1)),
  d: () => board.go(unit, true),
});
byId("new-point").addEventListener("click", () => !fixed() && points.add());

// If there are extracted points, a list declared complete can no longer change, so this is confirmed
// once.
form.addEventListener(
  "change",
  (event) => {
    if (!waits || !unit.groups[0].contains(/** @type {Node} */ (event.target))) return;
    event.stopPropagation();
    const code = unit.value(unit.groups[0]);
    unit.choose(unit.groups[0], null);
    declare(code);
  },
  true,
);

function declare(code) {
  const wrong = points.all.map((point) => ({ unit: point, message: point.problem() })).filter(({ message }) => message);
  const why = standing(code);
  board.problems([...wrong, ...(why ? [{ unit, message: why }] : [])]);
  if (wrong.length || why) return true;
  byId("seal-words").textContent =
    code === "yes"
      ? t("You wrote {points}.", { points: byId("own-count").textContent })
      : t("You say that the text contains no key point for the question.");
  const layer = byId("seal");
  layer.returnValue = "";
  layer.onclose = () => (layer.returnValue === "seal" ? seal(code) : board.focus());
  layer.showModal();
  return true;
}

function seal(code) {
  unit.choose(unit.groups[0], code);
  leaving = true;
  points.freeze();
  board.edited(unit);
  byId("list-note").textContent = t("Your list is being saved; the extracted points follow.");
  saver.hurry();
  // The server sends the extracted points only once it has stored the list.
  const waiting = setInterval(() => {
    if (saver.dirty) return;
    clearInterval(waiting);
    location.reload();
  }, 150);
}

if (fixed()) {
  form.dataset.closed = ""; // to the highlights; the saver has its own
  points.freeze();
  byId("new-point").hidden = true;
  for (const radio of unit.radios(unit.groups[0])) radio.disabled = true;
  for (const name of ["remove", "reshape", "removeAt"]) board.spans[name] = () => false;
}
if (sealed && !points.all.length && !saver.closed) {
  for (const [one, matching] of matches) if (one.problem()) matching.write([], "no");
}
if (!sealed && !points.all.length && !saver.closed) points.add();
else board.go(sealed ? (extracted.find((one) => one.problem()) ?? extracted[0]) : points.all.at(-1), true);
sheet.history = [];
board.refresh();
