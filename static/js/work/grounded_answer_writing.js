// The written answer: its text and citations, the problems with them, and the checklist before
// submission.
import { Citing, numbersIn, withoutMarkers } from "./grounded_answer_citing.js";
import { setUpSecondRound } from "./grounded_answer_second.js";
import { writeOn } from "../pieces.js";
import { t, tn } from "../words.js";

export function setUpAnswer(desk, unit, ticks) {
  const { board, saver, does, say } = desk;
  const byId = (id) => document.getElementById(id);
  const field = unit.prose;
  const written = unit.element.querySelector("[data-written]");
  const sources = [...written.querySelectorAll("[data-number]")].map((box) => ({
    ...box.dataset,
    box,
    number: Number(box.dataset.number),
  }));
  const boxes = [...byId("checklist").querySelectorAll("input")];
  const isFree = ({ withoutTicks }) => withoutTicks === "yes";
  const citable = () => {
    const passages = ticks.passages();
    return sources.filter((source) => isFree(source) || passages.has(source.number));
  };

  function cite() {
    const cited = new Set(numbersIn(field.value));
    for (const { box, number } of sources) box.checked = cited.has(number);
  }

  // A message for each marker that names no passage.
  function astray() {
    const allowed = new Set(citable().map(({ number }) => number));
    return numbersIn(field.value)
      .filter((number) => !allowed.has(number))
      .map((number) =>
        sources.some((source) => source.number === number)
          ? t("[{n}] cites a passage without a tick: tick it, or remove the marker.", { n: number })
          : t("[{n}] is not a passage of this item: remove the marker.", { n: number }),
      );
  }

  const usual = unit.problem.bind(unit);
  unit.problem = () => {
    const found = usual();
    return found || !unit.proseAsked() ? found : (astray()[0] ?? unconfirmed());
  };

  function unconfirmed() {
    const left = boxes.filter((box) => !box.checked).length;
    return left ? t("Confirm the checklist: {n} left.", { n: left }) : null;
  }

  // The panel is often taller than the window. The field to correct gets the focus, and the message is
  // scrolled into view.
  const problems = board.problems.bind(board);
  board.problems = (found) => {
    problems(found);
    if (found[0]?.unit !== unit) return;
    const answered = unit.asked().every((group) => unit.value(group));
    if (answered && unit.proseAsked()) {
      const box = unit.problem() === unconfirmed() && boxes.find((one) => !one.checked);
      if (box) box.focus();
      else writeOn(field);
    }
    unit.problemPlace.scrollIntoView({ block: "nearest" });
  };

  const citing = new Citing({
    field,
    list: byId("sources-list"),
    citable,
    say,
    closed: () => saver.closed || field.readOnly,
  });
  const second = setUpSecondRound(desk, unit, ticks, cite);
  field.addEventListener("input", () => {
    cite();
    show();
  });
  byId("cite").addEventListener("click", () => citing.begin());
  does.more["["] = () => !unit.proseRuledOut() && citing.begin();
  does.more.w = () => !unit.proseRuledOut() && writeOn(field);
  does.more.l = () => !byId("checklist").hidden && (boxes.find((box) => !box.checked) ?? boxes[0]).focus();
  for (const box of saver.closed ? boxes : []) box.disabled = true;

  // As with questions, answering with a key moves on to the next open part, and a click does not.
  let byKey = false;
  byId("checklist").addEventListener("keydown", ({ key }) => (byKey = key === " "));
  byId("checklist").addEventListener("pointerdown", () => (byKey = false));
  for (const ticked of boxes)
    ticked.addEventListener("change", () => {
      if (byKey && ticked.checked && board.movesOn) boxes.find((box) => !box.checked)?.focus();
    });

  function showCited() {
    const wrong = astray();
    const cited = sources.filter(({ number }) => numbersIn(field.value).includes(number));
    const lines = cited.map(({ number, heading }) =>
      piece("li", "", [piece("span", "card-number", number), ` ${heading}`]),
    );
    byId("cites").replaceChildren(...lines, ...wrong.map((words) => piece("li", "astray", [words])));
  }

  function show() {
    const asked = unit.proseAsked();
    const ruledOut = unit.proseRuledOut();
    const count = withoutMarkers(field.value).match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’-]*/gu)?.length ?? 0;
    byId("words").textContent = tn("{n} word", "{n} words", count);
    byId("checklist").hidden = !asked;
    byId("only").hidden = ruledOut;
    byId("ruled-out").hidden = !ruledOut;
    field.readOnly = saver.closed || ruledOut;
    second?.show();
    byId("cite").disabled = saver.closed || field.readOnly;
    showCited();
    if (unit.contradicts()) board.problem(unit, unit.problem());
    if (!asked) citing.close();
  }

  return { show };
}

function piece(tag, className, content) {
  const element = document.createElement(tag);
  element.className = className;
  element.append(...(Array.isArray(content) ? content : [String(content)]));
  return element;
}
