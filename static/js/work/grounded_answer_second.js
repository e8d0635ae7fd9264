// The second round: another person's answer to keep, to modify or to skip. Keeping copies its words and
// ticks; modifying starts with them; the person's own words come back when the choice changes.
import { counts, difference } from "../difference.js";
import { t, tn } from "../words.js";

export function setUpSecondRound({ board, saver }, unit, ticks, cite) {
  const block = document.getElementById("first");
  const group = unit.groups.find(({ dataset }) => dataset.variable === "action");
  if (!group) return null;
  const first = document.getElementById("first-text")?.textContent ?? null;
  const plain = first?.replace(/\r\n?/g, "\n") ?? null; // as a field holds it
  const selected = new Set(JSON.parse(block.dataset.selected ?? "[]"));
  const field = unit.prose;
  const changes = document.getElementById("difference");
  for (const { element } of ticks.units)
    element.querySelector(".ticked").dataset.first = t("ticked for the first answer");
  let last = unit.value(group);
  let own = last === "modify" ? field.value : "";

  function write(words) {
    field.value = words;
    cite();
    saver.changed();
  }

  // `chosen`: the choice was just made, not withdrawn.
  function follow(chosen) {
    const now = unit.value(group);
    if (now === last || first === null) return;
    if (last !== "keep") own = field.value;
    last = now;
    if (now === "keep") write(first);
    else if (now === "modify") write(own.trim() ? own : first);
    else write(own);
    if (chosen && (now === "keep" || (now === "modify" && !ticks.any()))) ticks.tick(selected);
  }

  const edited = board.edited.bind(board);
  board.edited = (one) => {
    follow(true);
    edited(one);
  };
  const turn = board.turn.bind(board);
  board.turn = (...undone) => {
    turn(...undone);
    follow(false);
    board.refresh();
  };

  // A field normalizes line ends, but a kept answer must stay exactly the same.
  const writing = unit.writing.bind(unit);
  unit.writing = () => {
    const found = writing();
    return found && unit.value(group) === "keep" && first !== null ? { ...found, text: first } : found;
  };

  const usual = unit.problem.bind(unit);
  unit.problem = () => {
    const action = unit.value(group);
    if (action && action !== "skip" && first === null) return t("The first answer no longer exists: choose Skip.");
    if (action === "modify" && unit.proseAsked() && field.value === plain)
      return t("Change the answer, or choose to keep it.");
    return usual();
  };

  return {
    show() {
      const action = unit.value(group);
      field.readOnly ||= action === "keep";
      if (!changes) return;
      const changing = action === "modify" && unit.proseAsked();
      block.classList.toggle("changing", changing);
      if (changing) draw(changes, plain, field.value);
      for (const { element, name } of ticks.units) element.classList.toggle("first-ticked", selected.has(name));
    },
  };
}

function draw(place, first, own) {
  const pieces = difference(first, own);
  const number = counts(pieces);
  const parts = pieces.map(({ text, side }) => {
    const element = document.createElement({ both: "span", first: "del", second: "ins" }[side]);
    element.textContent = text;
    return element;
  });
  place.replaceChildren(...parts);
  document.getElementById("changed-words").textContent = pieces.every(({ side }) => side === "both")
    ? t("no change yet")
    : tn("{n} word removed, {added} added", "{n} words removed, {added} added", number.first, { added: number.second });
}
