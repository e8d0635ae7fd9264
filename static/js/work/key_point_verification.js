// A key point beside its document: suggested spans one after the other, and adopting them.
import { desk } from "../item.js";
import { toUnits } from "../offsets.js";
import { t } from "../words.js";

const byId = (id) => document.getElementById(id);
const { board, does, form, saver, say, sheet, texts } = desk;
const [unit] = sheet.units;
const [[field, { text }]] = texts;
unit.element.querySelector(".unit-text").dataset.noun = t("Key point");
const list = byId("suggestions");
if (list) setUpSuggestions();

function setUpSuggestions() {
  const all = [...list.querySelectorAll(".suggestion")].map(read).filter(({ ranges }) => ranges.length);
  let at = -1;
  const { refresh } = board;

  board.refresh = () => {
    refresh.call(board);
    all.forEach((one, place) => {
      const adopted = isAdopted(one);
      one.line.classList.toggle("shown", place === at);
      one.line.querySelector(".shows").setAttribute("aria-current", String(place === at));
      one.line.querySelector(".adopted").hidden = !adopted;
    });
    byId("suggested-place").textContent = all.length
      ? t("{done} of {all}", { done: at + 1 || "–", all: all.length })
      : "";
    byId("adopt").disabled = !all[at] || isAdopted(all[at]) || saver.closed || !unit.marks;
  };

  const isAdopted = ({ ranges }) => unit.marks && ranges.every((range) => unit.find(range));

  function show(place) {
    if (!all.length) return false;
    at = (place + all.length) % all.length;
    board.show(unit, all[at].ranges[0]);
    all[at].line.scrollIntoView({ block: "nearest" });
    say(
      t("Suggested span {done} of {all}, may be wrong: {words}", {
        done: at + 1,
        all: all.length,
        words: all[at].words,
      }),
    );
    return true;
  }

  function adopt() {
    if (!all[at]) return show(0);
    if (saver.closed || !unit.marks || isAdopted(all[at])) return false;
    for (const range of all[at].ranges) unit.add({ ...range });
    board.edited(unit);
    say(t("Adopted as your own highlight: {words}", { words: all[at].words }));
    return true;
  }

  const before = () => show(at < 0 ? all.length - 1 : at - 1);
  Object.assign(does.more, { n: () => show(at + 1), p: before, a: adopt });
  byId("suggested-next").addEventListener("click", () => show(at + 1));
  byId("suggested-before").addEventListener("click", before);
  byId("adopt").addEventListener("click", adopt);
  all.forEach(({ line }, place) => line.querySelector(".shows").addEventListener("click", () => show(place)));
  for (const id of ["suggested-next", "suggested-before"]) byId(id).disabled = !all.length;
  board.suggest(
    field,
    all.flatMap(({ ranges }) => ranges),
  );
}

function read(line) {
  const ranges = line.dataset.places
    .split(" ")
    .filter(Boolean)
    .map((place) => {
      const [start, end] = place.split("-").map((count) => toUnits(text, Number(count)));
      return { start, end };
    });
  return {
    line,
    ranges,
    words: ranges
      .map(({ start, end }) => text.slice(start, end))
      .join(" … ")
      .slice(0, 120),
  };
}

// A click moves on to the second question, as keys do; arrow keys only move through the choices.
let pointing = false;
form.addEventListener("pointerdown", () => (pointing = true));
document.addEventListener("keydown", () => (pointing = false));
form.addEventListener("change", ({ target }) => {
  const group = target.closest("[data-variable]");
  const next = group && unit.groups[unit.groups.indexOf(group) + 1];
  if (!pointing || !next || next.hidden || unit.value(next)) return;
  board.aimed = next;
  board.focus();
  board.refresh();
});
board.refresh();
