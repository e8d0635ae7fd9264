// One answer after the other: its grades without the passages, then with them, then its sentences; last
// the passages. Parts that are not due yet are hidden.
import { desk } from "../item.js";
import { Cards } from "./rating_cards.js";
import { t } from "../words.js";

const { board, does, saver, say, sheet } = desk;
const GRADE = "appropriate";
const byId = (id) => document.getElementById(id);
const gate = byId("gate");
const passages = byId("passages");
const closed = gate?.dataset.closed ?? t("The passages"); // what waits for the grade
const rounds = [...document.querySelectorAll("[data-round]")];
const articles = [...document.querySelectorAll("[data-shown]")];
for (const head of document.querySelectorAll(".answers .source h2")) head.dataset.now = t("in hand");
// A sentence of a rendered text has several pieces. Its sign is after the last visible one.
const sentences = new Map();
for (const span of document.querySelectorAll("[data-sentence]")) {
  const number = Number(span.dataset.sentence);
  sentences.set(number, [...(sentences.get(number) ?? []), span]);
}
for (const spans of sentences.values()) spans.at(-1).classList.add("last");
const heads = document.querySelectorAll("[data-head]");
const cards = new Cards({ board, sheet, saver, say });
const early = new Set(); // answers whose passages were opened before all was said without them
let shown = 1;
let beside = 0;

const answerOf = ({ element }) => Number(element.dataset.answer ?? 0);
const groups = new Map(articles.map(({ dataset }) => [Number(dataset.shown), []]));
for (const unit of sheet.units) groups.get(answerOf(unit))?.push(unit);
const unitsOf = (answer) => groups.get(answer) ?? [];
const isFirst = ({ element }) => "first" in element.dataset; // of the request, before all answers
const isRating = ({ element }) => element.classList.contains("rates");
const ratings = new Map(
  sheet.units.filter((unit) => isRating(unit) && !isFirst(unit)).map((unit) => [answerOf(unit), unit]),
);
const rating = (answer) => ratings.get(answer);

function graded(answer) {
  return !gate || Boolean(rating(answer)?.values()[GRADE]);
}

// Whether the passages are visible while this answer is rated; read from the form once per change.
let open = new Map();
let allGraded = false;
const opened = (answer) => open.get(answer) ?? !gate;

function isOpen(answer) {
  if (!gate) return true;
  if (!graded(answer)) return false;
  const first = rating(answer).groups.filter((group) => !group.dataset.if);
  return early.has(answer) || first.every((group) => rating(answer).value(group));
}

function look() {
  open = new Map([...groups.keys()].map((answer) => [answer, isOpen(answer)]));
  allGraded = [...groups.keys()].every(graded);
}

function due(unit) {
  if ("passage" in unit.element.dataset) return allGraded;
  return isRating(unit) || opened(answerOf(unit));
}

const atPassages = () => "passage" in board.current.element.dataset;

function show() {
  look();
  if (!due(board.current)) board.current = rating(answerOf(board.current)) ?? sheet.units.find(due);
  const before = shown;
  shown = answerOf(board.current) || shown;
  if (beside === shown) beside = before === shown ? 0 : before;
  const here = atPassages();
  for (const unit of sheet.units) {
    const elsewhere = here ? answerOf(unit) > 0 || isFirst(unit) : answerOf(unit) !== shown && !isFirst(unit);
    unit.element.hidden = !due(unit) || elsewhere;
  }
  for (const head of heads) head.hidden = here || Number(head.dataset.head) !== shown || !opened(shown);
  showAnswers();
  showPassages(here);
  for (const round of rounds) showRound(round, here);
  for (const unit of sheet.units) colour(unit);
}

function showAnswers() {
  for (const article of articles) {
    const number = Number(article.dataset.shown);
    article.hidden = number !== shown && number !== beside;
    article.classList.toggle("now", number === shown && beside > 0);
  }
  byId("material").classList.toggle("two", beside > 0);
  byId("beside")?.setAttribute("aria-pressed", String(beside > 0));
  if (byId("other")) byId("other").hidden = !beside;
}

function showPassages(here) {
  const free = here || opened(shown);
  if (passages) passages.hidden = !free;
  cards.show(here);
  byId("material").classList.toggle("open", Boolean(passages) && free);
  if (!gate) return;
  gate.hidden = free;
  byId("open-passages").hidden = !graded(shown);
  byId("gate-words").textContent = graded(shown)
    ? t("{closed} appear when the rest is answered.", { closed })
    : t("{closed} are hidden: rate this answer without them first.", { closed });
}

function showRound(round, here) {
  const number = Number(round.dataset.round);
  const units = number ? unitsOf(number) : cards.units;
  const done = units.length > 0 && units.every((unit) => !unit.problem());
  const locked = !number && !allGraded;
  round.setAttribute("aria-pressed", String(number ? number === shown && (!here || !units.length) : here));
  round.setAttribute("aria-disabled", String(locked));
  round.dataset.state = locked ? "locked" : done ? "done" : "";
  round.querySelector(".round-state").textContent = locked ? `, ${t("closed")}` : done ? `, ${t("done")}` : "";
}

function colour(unit) {
  const [group] = unit.groups;
  const code = unit.value(group) ?? "";
  for (const span of sentences.get(unit.number) ?? []) {
    if (span.dataset.state !== code) {
      span.dataset.state = code;
      span.title = code ? unit.word(group, code) : "";
    }
    span.classList.toggle("now", unit === board.current);
    span.classList.toggle("live", due(unit) && answerOf(unit) > 0);
  }
}

const refresh = board.refresh.bind(board);
board.refresh = () => {
  show();
  refresh();
};

// The current sentence is scrolled into view in the answer, too, if that is longer than its frame.
const go = board.go.bind(board);
board.go = (unit, focus = false) => {
  // The answer beside which a passage is judged can be read there too.
  const asked = Number(unit?.element.dataset.beside ?? 0);
  if (asked && asked !== beside) shown = asked;
  const elsewhere = answerOf(unit ?? board.current) !== answerOf(board.current);
  go(unit, focus);
  if (elsewhere) board.list.scrollTop = byId("texts").scrollTop = 0;
  const place = sentences.get(board.current.number)?.[0] ?? document.querySelector(".card.now");
  place?.scrollIntoView({ block: "nearest" });
};

does.step = (by) => {
  const all = sheet.units.filter(due);
  const next = all[all.indexOf(board.current) + by];
  if (next) board.go(next, true);
};

// An answer by digit moves on to the next question of this answer, or to the next passage.
const choose = does.choose;
does.moves = () => {}; // by rules of its own, below
board.movesOn = false;
does.choose = (digit) => {
  const unit = board.current;
  const fresh = Boolean(unit.problem());
  const done = choose(digit);
  const whole = done && fresh && !unit.problem();
  if (whole) forward(unit);
  return done;
};

function forward(unit) {
  const rest = sheet.units.slice(sheet.units.indexOf(unit) + 1);
  const near = isFirst(unit) ? shown : answerOf(unit);
  const next = rest.find((one) => one.problem() && due(one) && answerOf(one) === near);
  if (next) board.go(next, true);
}

// Goes to an open part of a round: an answer by its number, the passages by 0.
function turnTo(number) {
  if (!number && !allGraded) return say(t("{closed} appear when every answer is rated without them.", { closed }));
  const units = number ? unitsOf(number) : cards.units;
  const unit = units.filter(due).find((one) => one.problem()) ?? units[0];
  board.aimed = null;
  if (unit) return board.go(unit, true);
  shown = number || shown; // an answer of which nothing is asked is only read
  return board.refresh();
}

function turn(by) {
  const at = rounds.findIndex((round) => round.getAttribute("aria-pressed") === "true");
  const next = rounds[at + by];
  if (next) turnTo(Number(next.dataset.round) || 0);
}

function openPassages() {
  if (!passages) return false;
  if (!graded(shown) && !atPassages()) return say(byId("gate-words").textContent);
  if (passages.hidden) {
    early.add(shown);
    board.refresh();
    return say(t("{closed} are shown.", { closed }));
  }
  passages.focus({ preventScroll: true });
  passages.scrollIntoView({ block: "nearest" });
  return true;
}

function setBeside(on) {
  if (articles.length < 2) return false;
  beside = on ? (shown % articles.length) + 1 : 0;
  board.refresh();
  return say(
    on
      ? t("Answers {one} and {other} side by side", { one: shown, other: beside })
      : t("Answer {n} alone", { n: shown }),
  );
}

function another() {
  if (!beside || articles.length < 3) return false;
  do beside = (beside % articles.length) + 1;
  while (beside === shown);
  board.refresh();
  return say(t("Answer {one} beside answer {other}", { one: beside, other: shown }));
}

const { escape: leave } = does;
does.escape = () => {
  if (!document.activeElement?.closest("#texts")) return leave();
  board.focus();
  return true;
};
Object.assign(does.more, {
  n: () => turn(1),
  b: () => turn(-1),
  p: openPassages,
  s: () => setBeside(!beside),
  o: another,
  r: () => cards.refuseRest(),
});
for (const round of rounds) round.addEventListener("click", () => turnTo(Number(round.dataset.round) || 0));
byId("beside")?.addEventListener("click", () => setBeside(!beside));
byId("other")?.addEventListener("click", another);
byId("open-passages")?.addEventListener("click", openPassages);
byId("answers").addEventListener("click", ({ target }) => {
  const span = target.closest("[data-sentence]");
  const unit = span && sheet.units.find(({ number }) => number === Number(span.dataset.sentence));
  const number = Number(target.closest("[data-shown]")?.dataset.shown);
  if (!document.getSelection().isCollapsed) return;
  if (unit && due(unit)) board.go(unit, true);
  else if (number && number !== shown) turnTo(number);
});
board.refresh();
