// A judge's label beside each question: the person confirms it, one by one, or answers differently.
// Confirming fills the form's own fields, so that a question which nobody looked at stays unanswered.
// There is no way to confirm several at once.
import { desk } from "../item.js";
import { same } from "../sheet.js";
import { drawCited } from "./cited.js";
import { t } from "../words.js";

const { board, saver, texts } = desk;

const WORDS = {
  open: [t("Confirm"), "", ""],
  confirmed: [t("Confirmed"), t("You gave the same answer."), t("you agree")],
  respanned: [t("Use its quotes"), t("You gave the same answer with other highlights."), t("you agree")],
  other: [t("Use its answer"), t("You gave another answer."), t("you answer otherwise")],
};

const verdicts = new Map();
for (const unit of board.sheet.units) {
  const element = document.querySelector(`[data-judged="${unit.number}"]`);
  if (!element) continue;
  place(element, unit);
  const button = element.querySelector(".confirm");
  verdicts.set(unit, { element, button, answer: JSON.parse(element.dataset.verdict), state: "open" });
  stopAtTheVerdict(unit);
  button.addEventListener("click", () => confirm(unit));
  for (const quote of element.querySelectorAll("[data-cited]")) {
    quote.addEventListener("click", () => show(unit, quote));
  }
}

// Before the first question, unless the protocol's own page has placed it.
function place(element, { element: home, groups }) {
  if (home.contains(element)) return;
  let first = groups[0] ?? home.querySelector("[data-written]");
  while (first && first.parentElement !== home) first = first.parentElement;
  if (first) first.before(element);
  else home.querySelector(".unit-text").after(element);
}

function stopAtTheVerdict(unit) {
  const problem = unit.problem.bind(unit);
  unit.problem = () => {
    const found = problem();
    return found && untouched(unit) ? t("Confirm the judge’s label, or answer yourself.") : found;
  };
}

const untouched = (unit) => unit.groups.every((group) => !unit.value(group)) && !unit.prose?.value.trim();

// How the person's answer relates to the judge's label.
function stateOf(unit, { answer }) {
  if (untouched(unit)) return "open";
  const asked = unit.asked();
  const differs = asked.some((group) => {
    const value = unit.value(group);
    return value && !same(value, answer[group.dataset.variable]);
  });
  if (differs || !sameProse(unit, answer)) return "other";
  if (asked.some((group) => !unit.value(group))) return "open";
  return unit.marks && unit.counts() && !sameQuotes(unit, answer) ? "respanned" : "confirmed";
}

function sameProse(unit, answer) {
  if (!unit.prose || !unit.proseAsked()) return true;
  const { written } = answer;
  const mine = unit.writing();
  return (
    (mine?.text ?? "") === (written?.text ?? "") &&
    [...(mine?.citations ?? [])].sort().join("\n") === [...(written?.citations ?? [])].sort().join("\n")
  );
}

function sameQuotes(unit, answer) {
  const key = ({ quote, start, field = "" }) => `${field} ${start} ${quote}`;
  const mine = new Set((unit.payload().evidence ?? []).map(key));
  const theirs = new Set((answer.evidence ?? []).map(key));
  return mine.size === theirs.size && [...mine].every((one) => theirs.has(one));
}

function confirm(unit) {
  const verdict = verdicts.get(unit);
  if (!verdict || saver.closed || verdict.state === "confirmed") return;
  unit.apply(verdict.answer);
  const focused = unit.element.contains(document.activeElement);
  board.go(unit);
  board.edited(unit);
  if (focused && !verdict.element.contains(document.activeElement)) board.focus();
  const left = unit.problem();
  if (left) board.problem(unit, left);
  desk.say(left ?? t("Confirmed, question {n}", { n: unit.number + 1 }));
}

// The key confirms only open questions, so that a slip cannot undo the person's own answer.
desk.does.more.Enter = () => {
  const at = document.activeElement;
  if (at?.closest("button, a, summary, select, [data-marks], .drawer")) return false;
  const verdict = verdicts.get(board.current);
  if (!verdict || saver.closed) return false;
  if (verdict.state === "open") confirm(board.current);
  else if (verdict.state !== "confirmed")
    desk.say(t("You gave another answer; press the button to use the judge’s label."));
  return true;
};

function show(unit, quote) {
  board.go(unit);
  const place = texts.get(quote.dataset.in);
  const cited = place && drawCited.range(place, quote);
  if (!cited) return;
  const box = cited.getBoundingClientRect();
  const scroller = place.container.closest(".texts");
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const top = box.top - scroller.getBoundingClientRect().top - scroller.clientHeight / 3;
  scroller.scrollBy({ top, behavior: still ? "instant" : "smooth" });
}

function refresh() {
  for (const [unit, verdict] of verdicts) {
    const state = stateOf(unit, verdict);
    const [label, words, short] = WORDS[state];
    verdict.state = state;
    verdict.element.dataset.state = state;
    verdict.element.querySelector(".said").dataset.short = `· ${short}`;
    verdict.button.querySelector(".confirm-word").textContent = label;
    verdict.button.querySelector("kbd").hidden = state !== "open";
    verdict.button.setAttribute("aria-disabled", String(state === "confirmed"));
    const told = verdict.element.querySelector(".judged-state");
    if (told.textContent !== words) told.textContent = words;
  }
  drawCited(texts, verdicts.get(board.current)?.element);
}

const before = board.refresh.bind(board);
board.refresh = () => {
  before();
  refresh();
};
board.refresh();
