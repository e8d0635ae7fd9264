// Selecting a part of a text by mouse, by touch and by keyboard.
import { SCROLLS } from "./blocks.js";
import { caretIn, select, selectedRange } from "./highlighter.js";
import { trimmed } from "./offsets.js";
import { CHARACTERS, segmentsOf } from "./segments.js";
import { t } from "./words.js";

const SEVERAL_CLICKS = 320;

// An act that follows the release of the mouse after a wait: before that, what is selected may still
// change. The next key never overtakes it.
export class Release {
  /** @param {() => void} act */
  constructor(act) {
    this.act = act;
    this.waiting = 0;
    document.addEventListener("keydown", () => this.settle(), { capture: true });
  }

  wait(milliseconds = 0) {
    this.drop();
    this.waiting = setTimeout(() => this.settle(), milliseconds);
  }

  settle() {
    if (!this.waiting) return;
    this.drop();
    this.act();
  }

  drop() {
    clearTimeout(this.waiting);
    this.waiting = 0;
  }
}

// Releasing the mouse highlights. On a touch screen people move the handles first, so there is a
// button.
export function setUpPointer(board, highlightSelection, highlightRange) {
  const button = document.getElementById("highlight");
  let kind = "mouse";
  let from = null;
  let held = null; // what is selected when another press comes before the wait is over
  const release = new Release(() => from === board.target?.container && highlightSelection());
  document.addEventListener("pointerdown", (event) => {
    if (!button.contains(/** @type {Node} */ (event.target))) kind = event.pointerType;
  });
  document.addEventListener("mousedown", (event) => {
    const { target } = board;
    const again = event.detail > 1;
    if (release.waiting && !again && from === target?.container) held = [target, selectedRange(from)];
    release.drop();
    from = event.target.closest?.("[data-marks]") ?? null;
  });
  // A new highlight would move what is pressed, so it waits until the press ends, but not for the click.
  const settle = () => {
    if (held) highlightRange(...held);
    held = null;
  };
  document.addEventListener("mouseup", settle, { capture: true });
  document.addEventListener("mouseup", (event) => {
    if (kind === "touch" || !from || event.button !== 0) return;
    // Two clicks select a word and three a paragraph, so wait for the last click.
    release.wait(event.detail > 1 ? SEVERAL_CLICKS : 0);
  });
  document.addEventListener("selectionchange", () => {
    const dragged = document.querySelector(".handle.dragged");
    const range = kind === "touch" && !dragged && board.target && selectedRange(board.target.container);
    button.hidden = !range || !trimmed(board.target.text, range);
    if (!button.hidden)
      document.getElementById("highlight-for").textContent = ` ${t("for {n}", { n: board.current.number + 1 })}`;
  });
  button.addEventListener("pointerdown", (event) => event.preventDefault());
  button.addEventListener("click", () => {
    highlightSelection();
    button.hidden = true;
  });
  setUpMarks(board);
}

// A click on a highlight selects it; another click selects the next one at the same place.
function setUpMarks(board) {
  for (const [field, { container }] of board.texts) {
    container.addEventListener("click", (event) => {
      const mark = event.target.closest("mark[data-units]");
      if (!mark) return board.spans.drop();
      if (!document.getSelection().isCollapsed) return;
      const there = board.spans.under(field, container, mark);
      const taken = there.findIndex(({ unit, range }) => board.spans.takes(unit, range));
      const own = there.findIndex(({ unit }) => unit === board.current);
      const next = there[taken < 0 ? Math.max(0, own) : (taken + 1) % there.length];
      if (next) board.spans.take(next.unit, next.range);
    });
  }
}

// The keyboard has a cursor that covers a word. Arrows move it by word or sentence; Shift extends the
// selection from where it began; full stop and comma move one end by a character.
export class Words {
  /**
   * @param {HTMLElement} container
   * @param {string} text
   * @param {(words: string) => void} say
   * @param {(range: TextRange) => string} about  words to say after those that are selected
   */
  constructor(container, text, say, about = () => "") {
    this.container = container;
    this.text = text;
    this.say = say;
    this.about = about;
    this.segments = segmentsOf(text);
    this.anchor = this.head = null;
    this.adjusted = false; // whether an end was moved by characters, so that it stays there
  }

  enter() {
    if (!this.head || selectedRange(this.container)) this.follow();
    if (this.head || this.move(this.next(0))) this.show();
  }

  get range() {
    if (!this.head) return null;
    const { anchor, head } = this;
    return { start: Math.min(anchor.start, head.start), end: Math.max(anchor.end, head.end) };
  }

  /** @param {TextRange | null} range */
  adjustedTo(range) {
    return this.adjusted && this.range?.start === range?.start && this.range?.end === range?.end;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    this.follow();
    if (!this.head && !this.move(this.next(0))) return false;
    const to = this.target(event);
    if (to === undefined) return this.byCharacter(event);
    this.move(to, event.shiftKey);
    this.show();
    return true;
  }

  // The mouse may have selected or clicked something since.
  follow() {
    const { container, segments, range } = this;
    const chosen = selectedRange(container);
    const caret = chosen ? null : caretIn(container);
    if (chosen && (chosen.start !== range?.start || chosen.end !== range.end)) this.move(chosen);
    else if (caret !== null)
      this.move(segments.next(segments.smallest, segments.at(segments.smallest, caret)?.start ?? 0));
  }

  target({ key, shiftKey }) {
    const on = this.forward ? "ArrowRight" : "ArrowLeft";
    const { ahead, head, segments } = this;
    if (key === "ArrowLeft" || key === "ArrowRight")
      return segments.beside(ahead ? head.end : head.start, ahead, key === on ? 1 : -1);
    if (key === "ArrowUp" || key === "ArrowDown") return this.bySentence(key === "ArrowDown" ? 1 : -1, shiftKey);
    if (key === "Home") return this.next(0);
    return key === "End" ? this.previous(this.text.length) : undefined;
  }

  // In right-to-left text the left arrow moves forwards, not backwards.
  get forward() {
    return getComputedStyle(this.container).direction !== "rtl";
  }

  // Whether the moving end is the later one.
  get ahead() {
    return this.head.start >= this.anchor.start;
  }

  next(place) {
    return this.segments.next(this.segments.smallest, place);
  }

  previous(place) {
    return this.segments.previous(this.segments.smallest, place);
  }

  move(to, stretching = false) {
    if (!to) return false;
    this.adjusted = false;
    this.head = { start: to.start, end: to.end };
    if (!stretching) this.anchor = this.head;
    return true;
  }

  bySentence(step, stretching) {
    const { segments, head } = this;
    const here = segments.at("sentence", head.start);
    if (step > 0 && stretching) {
      const last = this.previous(here.end);
      if (last && last.end > head.end) return last;
      const next = segments.next("sentence", here.after);
      return (next && this.previous(next.end)) ?? this.previous(this.text.length);
    }
    if (step > 0) return this.next(here.after) ?? this.previous(this.text.length);
    const first = this.next(here.start);
    if (first && first.start < head.start) return first;
    const before = segments.previous("sentence", here.start);
    return before ? this.next(before.start) : this.next(0);
  }

  // Full stop and comma move the moving end, and with Shift the other end.
  byCharacter({ key }) {
    const step = CHARACTERS[key];
    if (!step) return false;
    const { anchor, head, ahead } = this;
    const later = ahead === ".,".includes(key);
    const range = this.range;
    range[later ? "end" : "start"] = this.segments.step(later ? range.end : range.start, step);
    if (range.start >= range.end) return true;
    const within = (place) => Math.min(range.end, Math.max(range.start, place));
    this.anchor = { start: within(anchor.start), end: within(anchor.end) };
    this.head = { start: within(head.start), end: within(head.end) };
    this[later === ahead ? "head" : "anchor"][later ? "end" : "start"] = range[later ? "end" : "start"];
    this.adjusted = true;
    this.show();
    return true;
  }

  show() {
    const shown = select(this.container, this.range);
    this.say(this.text.slice(this.range.start, this.range.end) + this.about(this.range));
    intoView(this.container, shown, this.ahead);
  }
}

// Scrolls only as far as needed to show the moving end of a range.
function intoView(container, shown, later) {
  const scroller = container.closest(SCROLLS);
  const box = shown.getBoundingClientRect();
  const frame = scroller.getBoundingClientRect();
  const edge = later ? box.bottom : box.top;
  if (edge > frame.bottom - 40) scroller.scrollTop += edge - frame.bottom + 90;
  else if (edge < frame.top + 40) scroller.scrollTop -= frame.top - edge + 90;
}
