// Seven questions about one query: keys move between them, and the page says why some are not asked.
import { desk } from "../item.js";
import { Chooser } from "./chooser.js";
import { t, tn } from "../words.js";

const { board, does, saver, say, sheet } = desk;
const { refresh, focus, problems } = board;
const { escape: leave } = does;
const [unit] = sheet.units;
const gate = document.getElementById("gate");
const GATES = ["valid", "false_premise", "information_seeking"];
const STOPS = {
  valid: ["no", t("it is not valid")],
  false_premise: ["yes", t("it rests on a false premise")],
  information_seeking: ["no", t("it does not seek information")],
};

const chosen = (radio) => {
  if (saver.closed) return;
  radio.checked = true;
  board.aimed = radio.closest("[data-variable]");
  board.edited(unit);
  radio.focus();
  say(t("{word} is chosen", { word: unit.word(board.aimed, radio.value) }));
};
const long = unit.groups.find((group) => group.querySelector("[data-filter]"));
const chooser = long && new Chooser(long, { chosen, say, before: () => does.step(-1) });

const reasons = (values) =>
  Object.entries(STOPS)
    .filter(([name, [code]]) => values[name] === code)
    .map(([, [, why]]) => why);

function gateWords() {
  const values = unit.values();
  const why = reasons(values);
  if (why.length) return t("No more answers are needed for this question: {why}.", { why: why.join(`, ${t("and")} `) });
  const open = GATES.some((name) => name in values && !values[name]);
  return open
    ? t("If the question can be used, more questions follow.")
    : t("The question can be used. What kind of question is it?");
}

board.refresh = () => {
  refresh.call(board);
  const asked = unit.asked();
  const done = asked.filter((group) => unit.value(group)).length;
  const open = asked.length - done;
  document.getElementById("answered").textContent = t("{done} of {all} answered", { done, all: asked.length });
  document.getElementById("left").textContent = open
    ? tn("{n} question left", "{n} questions left", open)
    : t("All answered");
  const words = gate && gateWords();
  if (!gate || gate.textContent === words) return;
  gate.textContent = words;
  gate.classList.toggle("stopped", reasons(unit.values()).length > 0);
};

// On reaching the long list, a person can type at once, unless something is chosen there already.
board.focus = () => {
  const group = board.aim();
  if (chooser && group === chooser.group && !unit.value(group)) chooser.focus();
  else focus.call(board);
  group?.scrollIntoView({ block: "nearest" });
};

board.problems = (found) => {
  board.aimed = null;
  problems.call(board, found);
  if (found.length) board.aim()?.append(unit.problemPlace);
  board.refresh();
};

does.step = (by) => {
  const asked = unit.asked();
  const next = asked[asked.indexOf(board.aim()) + by];
  if (!next) return;
  board.aimed = next;
  board.focus();
  board.refresh();
};

does.escape = () => {
  if (chooser?.escape()) return true;
  return leave();
};

function answer(code) {
  const group = board.aim();
  const radio = group && unit.radio(group, code);
  return radio && !saver.closed ? board.choose(radio.parentElement.dataset.key) : false;
}

Object.assign(does.more, {
  y: () => answer("yes"),
  n: () => answer("no"),
  f: () => {
    if (!chooser || chooser.group.hidden) return false;
    board.aimed = chooser.group;
    chooser.focus();
    board.refresh();
    return true;
  },
});
board.refresh();
