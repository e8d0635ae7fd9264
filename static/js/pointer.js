// Selecting by mouse and by touch. A mouse highlights when it lets go; a finger first moves the
// handles, so it is given a button.
import { selectedRange } from "./highlighter.js";
import { trimmed } from "./offsets.js";

const SEVERAL_CLICKS = 320;

export function setUpPointer(board, highlightSelection) {
  const button = document.getElementById("highlight");
  let kind = "mouse";
  let from = null;
  let waiting;
  document.addEventListener("pointerdown", (event) => {
    if (button.contains(event.target)) return;
    kind = event.pointerType;
    clearTimeout(waiting);
    from = event.target.closest?.("[data-marks]") ?? null;
  });
  document.addEventListener("mouseup", (event) => {
    if (kind === "touch" || !from || event.button !== 0) return;
    // Two clicks take a word, three a paragraph: wait for the last one.
    waiting = setTimeout(() => from === board.target?.container && highlightSelection(), event.detail > 1 ? SEVERAL_CLICKS : 0);
  });
  document.addEventListener("selectionchange", () => {
    const range = board.target && selectedRange(board.target.container);
    button.hidden = kind !== "touch" || !range || !trimmed(board.target.text, range);
    if (!button.hidden) document.getElementById("highlight-for").textContent = ` for ${board.current.number + 1}`;
  });
  button.addEventListener("pointerdown", (event) => event.preventDefault());
  button.addEventListener("click", () => {
    highlightSelection();
    button.hidden = true;
  });
  setUpMarks(board);
}

// A click on a highlight goes to its question; another click to the next one that lies there.
function setUpMarks(board) {
  for (const { container } of board.texts.values()) {
    container.addEventListener("click", (event) => {
      const mark = event.target.closest("mark");
      if (!mark || !document.getSelection().isCollapsed) return;
      const owners = mark.dataset.units.split(" ").map(Number);
      const next = owners[(owners.indexOf(board.current.number) + 1) % owners.length];
      board.go(board.sheet.units.find((unit) => unit.number === next));
    });
  }
}
