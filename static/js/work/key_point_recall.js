// All key points of a report at a glance: which are made, which are not, which are open.
import { desk } from "../item.js";
import { t, tn } from "../words.js";

// A query's points are made by the report or not; an answer's points are supported by its context or
// not.
const STATES = {
  entailed: { yes: t("made"), no: t("not made"), neutral: t("neutral") },
  grounded: { yes: t("supported"), no: t("not supported") },
};
const { board, does, say, sheet } = desk;
const glance = document.getElementById("glance");
const { refresh } = board;
const dots = sheet.units.map((unit) => {
  const dot = Object.assign(document.createElement("button"), { type: "button", textContent: unit.number + 1 });
  dot.addEventListener("click", () => board.go(unit, true));
  const line = document.createElement("li");
  line.append(dot);
  return line;
});
glance?.firstElementChild.append(...dots);

function groupOf(unit) {
  return unit.groups.find(({ dataset }) => dataset.variable in STATES) ?? unit.groups[0];
}

board.left = (number) => tn("{n} key point left", "{n} key points left", number);

board.refresh = () => {
  refresh.call(board);
  sheet.units.forEach((unit, place) => {
    const dot = /** @type {HTMLElement} */ (dots[place].firstElementChild);
    const group = groupOf(unit);
    const state = /** @type {string | null} */ (group && unit.value(group));
    const open = Boolean(unit.problem());
    const words = STATES[group?.dataset.variable]?.[state] ?? state;
    dot.className = state ?? "";
    dot.classList.toggle("open", open);
    dot.setAttribute("aria-current", String(unit === board.current));
    const said = state ? `${words}${open ? `, ${t("unfinished")}` : ""}` : t("open");
    dot.setAttribute("aria-label", `${t("Point {n}", { n: place + 1 })}, ${said}`);
    dot.title = said;
  });
  document.getElementById("next-open").disabled = !sheet.units.some((unit) => unit.problem());
};

function nextOpen() {
  const from = board.place + 1;
  const around = [...sheet.units.slice(from), ...sheet.units.slice(0, from)];
  const next = around.find((unit) => unit.problem());
  if (next) board.go(next, true);
  else say(t("All points are answered"));
}

does.more.n = nextOpen;
document.getElementById("next-open")?.addEventListener("click", nextOpen);
if (glance) board.refresh();
