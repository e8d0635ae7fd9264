// The highlights of the sheet as they are drawn in the texts, and the selected one, whose ends can be
// moved.
import { canvasOf, offsetOf, SCROLLS, visible } from "./blocks.js";
import { paint, rangeOf } from "./highlighter.js";
import { trimmed } from "./offsets.js";
import { few, Quotes } from "./quotes.js";
import { segmentsOf, withoutSigns } from "./segments.js";
import { snap } from "./snap.js";
import { t } from "./words.js";

export class Spans {
  constructor(board) {
    this.board = board;
    this.quotes = new Quotes(this);
    this.suggested = new Map(); // by field
    this.lit = null; // {field, unit, start, end}: pointed at
    this.taken = null; // the same, its ends are shown
  }

  paint() {
    const { texts, current } = this.board;
    const { taken } = this;
    if (taken && !this.unitOf(taken)?.find(taken)) this.taken = null;
    for (const [field, { container, text }] of texts) {
      const suggested = (this.suggested.get(field) ?? []).map((one) => ({ ...one, lit: this.isLit(field, null, one) }));
      if (!this.suggested.has(field) && !container.hasAttribute("data-marks")) continue;
      paint(container, text, this.in(field, current), { suggested });
    }
    this.showTools();
  }

  in(field, current) {
    return this.board.sheet.units
      .filter((unit) => unit.marks)
      .flatMap((unit) => {
        const more = { unit: unit.number, now: unit === current, kept: unit.keeps() };
        const here = unit.highlights.filter((range) => range.field === field);
        return here.map((range) => ({ ...range, ...more, lit: this.isLit(field, unit.number, range) }));
      });
  }

  isLit(field, unit, { start, end }) {
    const fits = (one) =>
      one?.start === start && one.end === end && one.field === field && (unit === null || one.unit === unit);
    return fits(this.lit) || fits(this.taken);
  }

  at(unit, range) {
    return { field: unit.fieldOf(range), unit: unit.number, start: range.start, end: range.end };
  }

  takes(unit, range) {
    return this.taken?.unit === unit.number && this.isTaken(unit.fieldOf(range), range);
  }

  isTaken(field, { start, end }) {
    return this.taken.field === field && this.taken.start === start && this.taken.end === end;
  }

  unitOf({ unit }) {
    return this.board.sheet.units.find((one) => one.number === unit);
  }

  light(unit, range) {
    this.lit = unit && this.at(unit, range);
    this.paint();
  }

  take(unit, range) {
    this.taken = this.at(unit, range);
    if (unit === this.board.current) this.board.refresh();
    else this.board.go(unit);
  }

  drop() {
    if (!this.taken && !this.lit) return false;
    this.taken = this.lit = null;
    this.board.refresh();
    return true;
  }

  leave(unit) {
    if (this.taken?.unit !== unit.number) this.taken = null;
  }

  // The highlights that cover a mark, in the order of the list.
  under(field, container, mark) {
    const at = offsetOf(canvasOf(container), mark, 0);
    return this.board.sheet.units
      .filter((unit) => unit.marks)
      .flatMap((unit) => unit.highlights.map((range) => ({ unit, range })))
      .filter(({ range }) => range.field === field && range.start <= at && at < range.end);
  }

  add(wanted) {
    const { current, say } = this.board;
    const range = current.places ? current.places.quotable(wanted) : wanted;
    if (!range) return this.board.problem(current, current.places.outside());
    if (!current.add(range)) return say(t("Already highlighted for question {n}", { n: current.number + 1 }));
    this.taken = null;
    this.board.edited(current);
    return say(
      t("Highlighted for question {n}: {words}", {
        n: current.number + 1,
        words: few(current.textOf(range).slice(range.start, range.end)),
      }),
    );
  }

  remove(unit, range) {
    const place = unit.highlights.indexOf(unit.find(range));
    const inList = unit.quotes.contains(document.activeElement);
    this.lit = this.taken = null;
    unit.remove(range);
    this.board.edited(unit);
    this.board.say(t("Highlight removed"));
    if (!inList) return;
    const left = unit.highlights.length;
    if (left) this.quotes.focus(unit, Math.min(place, left - 1));
    else this.board.focus();
  }

  // Replaces a range by another; returns false if that range exists already.
  reshape(unit, range, wanted) {
    const whole = { ...wanted, field: range.field };
    const next = unit.places ? unit.places.quotable(whole) : whole;
    if (!next) return false;
    const same = range.start === next.start && range.end === next.end;
    if (!same && unit.find(next)) return false;
    unit.remove(range);
    unit.add(next);
    this.lit = null;
    this.taken = this.at(unit, next);
    this.board.edited(unit);
    return true;
  }

  show(unit, range) {
    this.intoView(unit, range, true);
    const at = this.at(unit, range);
    if (unit.find(range)) this.taken = at;
    else this.lit = at;
    this.board.refresh();
  }

  intoView(unit, range, always = false) {
    const { container } = this.board.texts.get(unit.fieldOf(range));
    const scroller = container.closest(SCROLLS);
    const box = rangeOf(container, visible(canvasOf(container), range)).getBoundingClientRect();
    const frame = scroller.getBoundingClientRect();
    if (!always && box.top > frame.top + 20 && box.bottom < frame.bottom - 20) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    scroller.scrollBy({ top: box.top - frame.top - frame.height / 3, behavior: still ? "instant" : "smooth" });
  }

  // The range adjusted to the page's setting: as selected, or whole words or sentences.
  fitted(text, range, kind = snap.kind) {
    const whole = kind === "exact" ? range : segmentsOf(text).snapped(range, kind);
    return trimmed(text, withoutSigns(text, whole));
  }

  showTools() {
    if (this.tools) return this.tools.show();
    if (!this.taken || this.waiting) return;
    this.waiting = import("./handles.js").then(
      ({ Handles }) => {
        this.tools = new Handles(this);
        this.tools.show();
      },
      () => (this.waiting = null),
    );
  }

  get closed() {
    return "closed" in this.board.sheet.form.dataset;
  }

  // Whether the text of a highlight runs from right to left.
  runsLeft(unit, range) {
    const { container } = this.board.texts.get(unit.fieldOf(range));
    return getComputedStyle(container).direction === "rtl";
  }

  // The text by which screen readers announce the highlights over a selection.
  about(container, range) {
    const [field] = [...this.board.texts].find(([, one]) => one.container === container);
    const over = this.in(field).filter((one) => one.start < range.end && range.start < one.end);
    const numbers = [...new Set(over.map((one) => one.unit + 1))];
    return numbers.length ? `, ${t("highlighted for question {n}", { n: numbers.join(", ") })}` : "";
  }

  // Removes the selected highlight in a text, or else the question's shortest highlight at a position.
  removeAt(container, range) {
    const { current, texts } = this.board;
    if (this.taken && texts.get(this.taken.field)?.container === container) {
      this.remove(this.unitOf(this.taken), this.taken);
      return true;
    }
    const field = current?.fields.find((name) => texts.get(name)?.container === container);
    if (field === undefined || !range) return false;
    const here = current.highlights.filter(
      (one) => one.field === field && one.start < range.end && range.start < one.end,
    );
    if (!here.length) return false;
    this.remove(
      current,
      here.reduce((a, b) => (b.end - b.start < a.end - a.start ? b : a)),
    );
    return true;
  }
}
