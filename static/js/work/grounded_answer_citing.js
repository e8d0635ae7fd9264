// Citing while writing: `[` opens a list of the passages that may be cited. Arrow keys move through it,
// while the focus stays in the field.

import { writeOn } from "../pieces.js";
import { t, tn } from "../words.js";

const MARKERS = /\[(\d{1,4}(?:\s*,\s*\d{1,4})*)\]/g;
const BEGUN = /\[(\d*)$/;

// The numbers that a text cites, each once, in order.
export function numbersIn(text) {
  const found = [...text.matchAll(MARKERS)].flatMap(([, many]) => many.split(",").map(Number));
  return [...new Set(found)];
}

export function withoutMarkers(text) {
  return text.replace(MARKERS, " ");
}

export class Citing {
  constructor({ field, list, citable, say, closed }) {
    this.field = field;
    this.list = list;
    this.citable = citable;
    this.say = say;
    this.closed = closed;
    this.at = 0;
    field.addEventListener("input", () => this.look());
    field.addEventListener("click", () => this.look());
    field.addEventListener("blur", () => this.close());
    field.addEventListener("keydown", (event) => this.key(event));
    // The field keeps the focus and the cursor's position.
    list.addEventListener("pointerdown", (event) => event.preventDefault());
    list.addEventListener("click", ({ target }) => this.take(target.closest("[data-number]")?.dataset.number));
  }

  get shown() {
    return !this.list.hidden;
  }

  begin() {
    writeOn(this.field);
    if (!this.closed()) this.type("[", this.field.selectionStart);
  }

  look() {
    const { selectionStart, selectionEnd, value } = this.field;
    const begun = selectionStart === selectionEnd && value.slice(0, selectionStart).match(BEGUN);
    if (!begun || this.closed()) return this.close();
    const found = this.citable().filter(({ number }) => String(number).startsWith(begun[1]));
    this.offers = found;
    this.at = 0;
    this.draw();
    const one = tn("{n} passage to cite.", "{n} passages to cite.", found.length);
    this.say(found.length ? `${one} ${label(found[0])}` : t("Nothing to cite: tick a sentence first."));
  }

  draw() {
    const lines = this.offers.map((source, n) => this.line(source, n));
    this.list.replaceChildren(...(lines.length ? lines : [this.none()]));
    this.list.hidden = false;
    if (lines.length) this.field.setAttribute("aria-activedescendant", lines[this.at].id);
    else this.field.removeAttribute("aria-activedescendant");
    lines[this.at]?.scrollIntoView({ block: "nearest" });
  }

  line(source, n) {
    const line = document.createElement("li");
    Object.assign(line, { id: `offer-${source.number}`, role: "option", ariaSelected: String(n === this.at) });
    line.dataset.number = source.number;
    const number = document.createElement("span");
    number.className = "card-number";
    number.textContent = source.number;
    line.append(number, ` ${source.heading || source.opening}`);
    line.dir = "auto";
    return line;
  }

  none() {
    const line = document.createElement("li");
    Object.assign(line, { role: "option", ariaDisabled: "true", ariaSelected: "false" });
    line.textContent = t("Tick a sentence first: only passages with a tick can be cited.");
    return line;
  }

  key(event) {
    if (!this.shown || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const does = {
      ArrowDown: () => this.move(1),
      ArrowUp: () => this.move(-1),
      Enter: () => this.take(this.offers[this.at]?.number),
      Tab: () => this.take(this.offers[this.at]?.number),
      Escape: () => this.close(),
    }[event.key];
    if (!does || ((event.key === "Tab" || event.key === "Enter") && !this.offers.length)) return;
    event.preventDefault();
    event.stopPropagation();
    does();
  }

  move(by) {
    if (!this.offers.length) return;
    this.at = (this.at + by + this.offers.length) % this.offers.length;
    this.draw();
    this.say(label(this.offers[this.at]));
  }

  take(number) {
    if (number === undefined) return;
    const end = this.field.selectionStart;
    const from = end - this.field.value.slice(0, end).match(BEGUN)?.[0].length;
    this.close();
    if (Number.isNaN(from)) return;
    this.type(`[${number}]`, from);
    this.say(t("Cites passage {n}", { n: number }));
  }

  // Uses the browser's own command, so that its undo covers the change.
  type(words, from) {
    this.field.setSelectionRange(from, this.field.selectionEnd);
    if (document.execCommand("insertText", false, words)) return;
    this.field.setRangeText(words, from, this.field.selectionEnd, "end");
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  close() {
    this.list.hidden = true;
    this.field.removeAttribute("aria-activedescendant");
  }
}

function label({ number, heading, opening }) {
  return `${t("Passage {n}", { n: number })}, ${heading || opening}`;
}
