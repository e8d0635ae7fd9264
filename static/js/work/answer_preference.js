// Two answers side by side: choosing the better one with one key, scrolling together, and differences.
import { counts, difference } from "../difference.js";
import { desk } from "../item.js";
import { t, tn } from "../words.js";

const { board, does, say, saver } = desk;
const STORE = "tandem.pair";
const PAGE = 0.4;
const CODES = { left: "first", right: "second" };
const byId = (id) => document.getElementById(id);
const sides = byId("sides");
const parts = ["left", "right"].map((name) => {
  const element = sides.querySelector(`[data-side=${name}]`);
  const reading = element.querySelector(".reading");
  const tab = document.querySelector(`[data-show=${name}]`);
  return {
    name,
    element,
    reading,
    tab,
    scroller: element.querySelector(".side-scroll"),
    text: reading.textContent,
    whole: [...reading.childNodes],
  };
});
const [left, right] = parts;
const together = byId("together");
const differences = byId("differences");

function remembered() {
  try {
    return JSON.parse(localStorage.getItem(STORE)) ?? {};
  } catch {
    return {};
  }
}

function remember() {
  try {
    localStorage.setItem(STORE, JSON.stringify({ together: together.checked, differences: differences.checked }));
  } catch {
    /* it lasts for this page */
  }
}

// Scrolling keeps both at the same relative position. Scrolling by script also triggers an event, which
// must not scroll back.
let share = 0;
const ours = new Map();
const way = ({ scroller }) => scroller.scrollHeight - scroller.clientHeight;

function place(part) {
  const to = Math.round(share * way(part));
  if (Math.abs(part.scroller.scrollTop - to) < 1) return;
  part.scroller.scrollTop = to;
  ours.set(part, part.scroller.scrollTop);
}

function scrolled(part) {
  const own = ours.get(part);
  ours.delete(part);
  if (own !== undefined && Math.abs(part.scroller.scrollTop - own) < 2) return;
  if (way(part) <= 0) return;
  share = part.scroller.scrollTop / way(part);
  if (together.checked) place(part === left ? right : left);
}

for (const part of parts) part.scroller.addEventListener("scroll", () => scrolled(part));

function onShow() {
  const focused = parts.find(({ scroller }) => scroller === document.activeElement);
  if (focused) return focused;
  const wide = parts.every(({ element }) => element.offsetParent);
  if (wide) return way(left) >= way(right) ? left : right;
  return parts.find(({ name }) => name === sides.dataset.shown);
}

does.step = (by) => {
  const { scroller } = onShow();
  scroller.scrollBy({ top: by * PAGE * scroller.clientHeight });
};

// The differences, computed once and drawn on demand; the texts themselves never change.
let found = null;

function pieces() {
  return (found ??= difference(left.text, right.text));
}

function draw() {
  const marked = differences.checked;
  for (const part of parts) {
    const side = CODES[part.name];
    const shown = marked
      ? pieces()
          .filter((piece) => [side, "both"].includes(piece.side))
          .map(drawn)
      : part.whole;
    part.reading.replaceChildren(...shown);
  }
  byId("pair-count").textContent = marked ? summary() : "";
}

function drawn({ text, side }) {
  if (side === "both") return text;
  const span = document.createElement("span");
  span.className = `only ${side}`;
  span.textContent = text;
  return span;
}

function summary() {
  if (left.text === right.text) return t("The two answers are identical.");
  const { first, second } = counts(pieces());
  return tn("Only left: {n} word · only right: {second}", "Only left: {n} words · only right: {second}", first, {
    second,
  });
}

function turn(box, words) {
  box.checked = !box.checked;
  box.dispatchEvent(new Event("change"));
  say(`${words} ${box.checked ? t("on") : t("off")}`);
}

// On a narrow screen one answer is shown at a time, scrolled to the same position as the other.
function show(name) {
  sides.dataset.shown = name;
  for (const part of parts) part.tab.setAttribute("aria-pressed", String(part.name === name));
  if (together.checked) place(name === "left" ? left : right);
}

for (const { name, tab } of parts) tab.addEventListener("click", () => show(name));

function choose(code) {
  const radio = board.current.radio(board.current.groups[0], code);
  return saver.closed ? false : board.choose(radio.parentElement.dataset.key);
}

// The chosen side is also shown above the answers, with a sign and a word.
const refresh = board.refresh.bind(board);
board.refresh = () => {
  refresh();
  const code = board.current.value(board.current.groups[0]);
  for (const { name, element, tab } of parts) {
    const word = { [CODES[name]]: "better", "tie-good": "good", "tie-bad": "bad" }[code] ?? "";
    element.dataset.verdict = word;
    element.querySelector(".verdict").textContent = word;
    tab.querySelector(".chosen").textContent = word && ` · ${word}`;
  }
};

Object.assign(does.more, {
  ArrowLeft: () => choose("first"),
  ArrowRight: () => choose("second"),
  s: () => turn(together, t("Scrolling together")),
  d: () => turn(differences, t("Marking differences")),
  x: () => show(sides.dataset.shown === "left" ? "right" : "left"),
});
together.addEventListener("change", () => {
  remember();
  if (together.checked) for (const part of parts) place(part);
});
differences.addEventListener("change", () => {
  remember();
  draw();
});

const before = remembered();
together.checked = before.together ?? true;
differences.checked = before.differences ?? false;
if (differences.checked) draw();
board.refresh();
