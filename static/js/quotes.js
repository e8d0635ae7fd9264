// The highlights of a question as a list under it. Screen readers read them there, and keyboard users
// show, move and remove them there.
import { trimmed } from "./offsets.js";
import { piece } from "./pieces.js";
import { beginning, CHARACTERS, ending, movedByCharacter, movedByWord } from "./segments.js";
import { t } from "./words.js";

const FEW = 60; // characters of a quote that are read out

export const few = (words) => (words.length > FEW ? `${beginning(words, FEW)}…` : words);

export class Quotes {
  constructor(spans) {
    this.spans = spans;
    this.board = spans.board;
  }

  list(unit) {
    const { quotes, highlights } = unit;
    quotes.classList.toggle("kept", unit.keeps());
    const there = new Map([...quotes.children].map((line) => [line.dataset.range, line]));
    const lines = highlights.map((range) => there.get(name(range)) ?? this.line(unit, range));
    const wanted = new Set(lines);
    for (const line of there.values()) if (!wanted.has(line)) line.remove();
    // Entries in the right place are not moved, since they would lose the focus.
    lines.forEach((line, n) => quotes.children[n] !== line && quotes.insertBefore(line, quotes.children[n] ?? null));
    lines.forEach((line, n) => line.classList.toggle("taken", this.spans.takes(unit, highlights[n])));
  }

  line(unit, { field, start, end }) {
    const { spans } = this;
    const range = { field, start, end };
    const line = piece("quote", "", "li");
    line.dataset.range = name(range);
    const words = piece("", unit.textOf(range).slice(start, end), "button");
    Object.assign(words, {
      type: "button",
      dir: "auto",
      title: t("Show it in the text (⏎); del removes it, ← → move its end"),
    });
    words.setAttribute("aria-keyshortcuts", "Enter Delete ArrowLeft ArrowRight");
    words.addEventListener("click", () => spans.show(unit, range));
    words.addEventListener(
      "focus",
      () => words.matches(":focus-visible") && !spans.takes(unit, range) && spans.take(unit, range),
    );
    line.addEventListener("mouseenter", () => spans.light(unit, range));
    line.addEventListener("mouseleave", () => spans.light(null));
    line.append(words, this.cross(unit, range, words.textContent));
    return line;
  }

  cross(unit, range, words) {
    const remove = piece("quiet", "", "button");
    Object.assign(remove, {
      type: "button",
      title: t("Remove (del)"),
      ariaLabel: t("Remove highlight: {words}", { words: few(words) }),
    });
    remove.append(piece("icon cross", ""));
    remove.addEventListener("click", () => this.spans.remove(unit, range));
    return remove;
  }

  // Goes to the list of the current question.
  enter() {
    if (this.board.current?.highlights.length) this.focus(this.board.current, 0);
    else this.board.say(t("No highlights yet"));
  }

  // Returns the action of a key on a listed highlight, or null.
  key({ key, shiftKey }, line) {
    const unit = this.board.sheet.units.find((one) => one.quotes.contains(line));
    const place = [...unit.quotes.children].indexOf(line);
    const range = unit.highlights[place];
    const along = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (along) return () => this.beside(unit, place + along);
    if (this.spans.closed) return null;
    if (key === "Delete" || key === "Backspace") return () => this.spans.remove(unit, range);
    const on = this.spans.runsLeft(unit, range) ? -1 : 1;
    const word = { ArrowRight: on, ArrowLeft: -on }[key];
    const text = unit.textOf(range);
    if (word) return () => this.stretch(unit, range, movedByWord(text, range, !shiftKey, word));
    const step = CHARACTERS[key];
    return step ? () => this.stretch(unit, range, movedByCharacter(text, range, ".,".includes(key), step)) : null;
  }

  beside(unit, place) {
    if (place < 0) this.board.focus();
    else if (place < unit.highlights.length) this.focus(unit, place);
    else if (this.board.place + 1 < this.board.sheet.units.length) this.board.step(1);
  }

  focus(unit, place) {
    unit.quotes.children[place].firstElementChild.focus();
  }

  stretch(unit, range, wanted) {
    const text = unit.textOf(range);
    const kept = wanted && trimmed(text, wanted);
    const next = kept && { ...kept, field: range.field };
    if (!next || name(next) === name(range)) return;
    if (!this.spans.reshape(unit, range, next)) return this.board.say(t("This highlight already exists"));
    const words = text.slice(next.start, next.end);
    this.board.say(
      next.end === range.end
        ? t("Starts with {words}", { words: beginning(words, FEW) })
        : t("Ends with {words}", { words: ending(words, FEW) }),
    );
    this.focus(unit, unit.highlights.indexOf(unit.find(next)));
    this.spans.intoView(unit, next);
  }
}

const name = ({ field, start, end }) => `${field} ${start}-${end}`;
