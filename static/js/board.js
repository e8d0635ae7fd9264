// What the page shows of the sheet: the question in hand, summaries, highlights here and in the texts.
import { paint, rangeOf } from "./highlighter.js";

export class Board {
  // `texts` maps a field to {container, text}.
  constructor(sheet, texts, { changed, say }) {
    Object.assign(this, { sheet, texts, changed, say });
    this.list = sheet.form.querySelector(".units");
    this.current = sheet.units.find((unit) => unit.problem()) ?? sheet.units[0];
    this.lit = null;
    this.aimed = null;
  }

  get place() {
    return this.sheet.units.indexOf(this.current);
  }

  // The container that the question in hand is highlighted in, if it is.
  get target() {
    return this.current?.marks ? this.texts.get(this.current.element.dataset.field) : undefined;
  }

  go(unit, focus = false) {
    if (!unit) return;
    const before = unit.element.getBoundingClientRect().top;
    if (unit !== this.current) this.aimed = null;
    this.current = unit;
    this.refresh();
    // What was clicked stays under the pointer, though the question before it folds up.
    this.list.scrollTop += unit.element.getBoundingClientRect().top - before;
    unit.element.scrollIntoView({ block: "nearest" });
    if (focus) this.focus();
  }

  step(by) {
    const next = this.sheet.units[this.place + by];
    if (next) this.go(next, true);
  }

  focus() {
    const group = this.aim();
    const radios = group ? this.current.radios(group) : [];
    const field = radios.find((radio) => radio.checked) ?? radios[0] ?? this.current.prose;
    field?.focus();
  }

  // The variable that digits answer: the one in hand, else the first without an answer.
  aim() {
    const asked = this.current.asked();
    if (asked.includes(this.aimed)) return this.aimed;
    return asked.find((group) => !this.current.value(group)) ?? asked.at(-1);
  }

  choose(digit) {
    const group = this.aim();
    const radio = group && this.current.radios(group).find((one) => one.parentElement.dataset.key === digit);
    if (!radio) return false;
    this.current.choose(group, radio.value);
    this.edited(this.current);
    const asked = this.current.asked();
    const next = asked.slice(asked.indexOf(group) + 1).find((one) => !this.current.value(one));
    this.aimed = next ?? group;
    this.say(`${this.current.word(group, radio.value)}, question ${this.current.number + 1}`);
    if (!document.activeElement?.closest("[data-marks]")) this.focus();
    this.refresh();
    return true;
  }

  highlight(range) {
    if (!this.current.add(range)) return;
    this.edited(this.current);
    this.say(`Highlighted for question ${this.current.number + 1}`);
  }

  edited(unit) {
    this.problem(unit, "");
    this.sheet.settle();
    this.refresh();
    this.changed();
  }

  undo() {
    const touched = this.sheet.undo();
    if (!touched) return;
    this.go(touched);
    this.changed();
  }

  problem(unit, message) {
    if (unit.problemPlace.textContent !== message) unit.problemPlace.textContent = message;
  }

  // [{unit, message}], from here or by name from the server; the first one is gone to.
  problems(found) {
    for (const unit of this.sheet.units) this.problem(unit, "");
    for (const { unit, message } of found) this.problem(unit, message);
    if (found.length) this.go(found[0].unit, true);
  }

  refresh() {
    for (const unit of this.sheet.units) this.refreshUnit(unit);
    for (const [field, { container, text }] of this.texts) {
      if (container.hasAttribute("data-marks")) paint(container, text, this.highlights(field));
    }
    const { units, history } = this.sheet;
    const left = units.filter((unit) => unit.problem()).length;
    document.getElementById("answered").textContent = `${units.length - left} of ${units.length}`;
    const questions = left === 1 ? "question" : "questions";
    document.getElementById("left").textContent = left ? `${left} ${questions} left` : "All answered";
    document.getElementById("undo").disabled = !history.length;
  }

  highlights(field) {
    return this.sheet.units
      .filter((unit) => unit.element.dataset.field === field)
      .flatMap((unit) => unit.highlights.map((range) => this.drawn(unit, range)));
  }

  drawn(unit, range) {
    const now = unit === this.current;
    return { ...range, unit: unit.number, now, kept: unit.keeps(), lit: range === this.lit };
  }

  refreshUnit(unit) {
    const { element } = unit;
    const asked = unit.asked();
    const now = unit === this.current;
    element.classList.toggle("now", now);
    element.classList.toggle("answered", asked.length > 0 && asked.every((group) => unit.value(group)) && !unit.proseAsked());
    element.toggleAttribute("aria-current", now);
    for (const group of unit.groups) {
      group.hidden = !asked.includes(group);
      group.classList.toggle("aimed", now && unit.groups.length > 1 && group === this.aim());
    }
    const written = element.querySelector("[data-written]");
    if (written) written.hidden = !unit.proseAsked();
    unit.summary.replaceChildren(...this.summary(unit, asked));
    if (unit.marks) this.listQuotes(unit);
    if (!now) return;
    const how = document.getElementById("how");
    how.hidden = !unit.marks;
    unit.problemPlace.before(how);
  }

  summary(unit, asked) {
    const parts = asked.filter((group) => unit.value(group)).map((group) => {
      const tone = unit.radio(group, unit.value(group)).closest(".choice").classList[1];
      return piece(`pill ${tone}`, unit.word(group, unit.value(group)));
    });
    const count = unit.highlights.length;
    if (unit.owes()) parts.push(piece("missing", "highlight missing"));
    else if (count) {
      const kept = unit.keeps() ? ", kept aside" : "";
      parts.push(piece("", `${count} highlight${count > 1 ? "s" : ""}${kept}`));
    }
    return parts;
  }

  listQuotes(unit) {
    const list = unit.quotes;
    list.classList.toggle("kept", unit.keeps());
    const shown = list.querySelectorAll(".quote");
    const fresh = unit.highlights.length === shown.length
      && unit.highlights.every((range, n) => shown[n].range === range);
    if (!fresh) list.replaceChildren(...unit.highlights.map((range) => this.quote(unit, range)));
    unit.evidence.value = JSON.stringify(unit.payload(false).evidence);
  }

  quote(unit, range) {
    const line = piece("quote", "", "li");
    line.range = range;
    const words = piece("", unit.text.slice(range.start, range.end), "button");
    words.type = "button";
    words.title = "Show it in the text";
    words.addEventListener("click", () => this.show(unit, range));
    const light = (on) => () => {
      this.lit = on ? range : null;
      this.refresh();
    };
    line.addEventListener("mouseenter", light(true));
    line.addEventListener("mouseleave", light(false));
    const remove = piece("quiet", "", "button");
    remove.type = "button";
    remove.setAttribute("aria-label", `Remove highlight: ${words.textContent.slice(0, 60)}`);
    remove.append(piece("icon cross", ""));
    remove.addEventListener("click", () => this.remove(unit, range));
    line.append(words, remove);
    return line;
  }

  remove(unit, range) {
    this.lit = null;
    unit.remove(range);
    this.edited(unit);
    this.say("Highlight removed");
    const next = unit.quotes.querySelector(".quiet");
    if (next) next.focus();
    else this.focus();
  }

  show(unit, range) {
    const { container } = this.texts.get(unit.element.dataset.field);
    const scroller = container.closest(".texts");
    const box = rangeOf(container, range).getBoundingClientRect();
    const frame = scroller.getBoundingClientRect();
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    scroller.scrollBy({ top: box.top - frame.top - frame.height / 3, behavior: still ? "instant" : "smooth" });
  }
}

function piece(className, text, tag = "span") {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}
