// The whole form as a payload and back: {units: {name: answer}, comment}, as the server keeps it.
import { fromWire, toWire } from "./offsets.js";

const LONGEST_HISTORY = 200;

export class Sheet {
  constructor(form, texts) {
    this.form = form;
    this.units = [...form.querySelectorAll("[data-unit]")].map((element) => new Unit(element, texts));
    this.comment = form.elements.comment;
    this.history = [];
    this.undone = [];
    this.last = this.choices();
  }

  payload(final = false) {
    const units = Object.fromEntries(this.units.map((unit) => [unit.name, unit.payload(final)]));
    return { units, comment: this.comment.value.trim() ? this.comment.value : null };
  }

  apply(payload, withProse = true) {
    for (const unit of this.units) unit.apply(payload?.units?.[unit.name], withProse);
    if (withProse) this.comment.value = payload?.comment ?? "";
  }

  // Answers and highlights, without what was typed: fields undo typing themselves.
  choices() {
    const units = Object.entries(this.payload().units);
    return Object.fromEntries(units.map(([name, { written, ...answer }]) => [name, answer]));
  }

  // After each change: what was there before it becomes a step to undo.
  settle() {
    const now = this.choices();
    if (same(now, this.last)) return;
    this.history = [...this.history.slice(-LONGEST_HISTORY), this.last];
    this.undone = [];
    this.last = now;
  }

  // Both give the unit that they changed, or null where there is nothing to go back or on to.
  undo() {
    return this.step(this.history, this.undone);
  }

  redo() {
    return this.step(this.undone, this.history);
  }

  step(from, to) {
    const state = from.pop();
    if (!state) return null;
    const touched = this.units.find((u) => !same(state[u.name], this.last[u.name]));
    to.push(this.last);
    this.apply({ units: state }, false);
    this.last = state;
    return touched;
  }

  problems() {
    return this.units.map((unit) => ({ unit, message: unit.problem() })).filter((p) => p.message);
  }
}

// The order of keys is the server's in one and ours in the other, so it must not count.
export function same(one, other) {
  return canonical(one) === canonical(other);
}

function canonical(value) {
  return JSON.stringify(value, (_, part) =>
    part && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

// One unit of the sheet: its answers live in the form's own fields, its highlights here, in UTF-16.
// A highlight is {field, start, end}: where items show several texts of a kind, quotes name theirs.
export class Unit {
  constructor(element, texts) {
    const { field } = element.dataset;
    this.element = element;
    this.texts = texts;
    this.several = !texts.has(field);
    this.fields = this.several ? [...texts.keys()].filter((name) => name.startsWith(`${field}:`)) : [field];
    this.number = Number(element.dataset.unit);
    this.name = element.querySelector("input").value;
    this.groups = [...element.querySelectorAll("[data-variable]")];
    this.prose = element.querySelector("[data-written] textarea");
    this.evidence = element.querySelector("input[name$='-evidence']");
    this.free = [...element.querySelectorAll("input[data-free]")]; // JSON that a page of its own edits
    this.highlights = [];
    if (this.evidence) this.readEvidence(JSON.parse(this.evidence.value));
    element.dataset.place = this.number + 1;
    this.summary = part(element, "p", "summary", { ariaHidden: "true" });
    this.quotes = part(element, "ul", "quotes", {
      role: "list",
      ariaLabel: `Highlights for question ${this.number + 1}`,
    });
    this.problemPlace = part(element, "p", "problem", { role: "alert" });
    element.querySelector(".unit-text").after(this.summary);
  }

  readEvidence(quotes) {
    const found = (Array.isArray(quotes) ? quotes : []).map((quote) => this.place(quote));
    this.highlights = found.filter(Boolean);
  }

  // Where a quote stands: in the text that it names, else in the first that holds it.
  place(quote) {
    for (const field of this.fields.includes(quote?.field) ? [quote.field] : this.fields) {
      const range = fromWire(this.textOf({ field }), quote);
      if (range) return { field, ...range };
    }
    return null;
  }

  fieldOf({ field }) {
    return field ?? this.fields[0];
  }

  textOf(range) {
    return this.texts.get(this.fieldOf(range))?.text ?? "";
  }

  wire(range) {
    const quote = toWire(this.textOf(range), range);
    return this.several ? { ...quote, field: range.field } : quote;
  }

  radios(group) {
    return [...group.querySelectorAll("input[type=radio]")];
  }

  value(group) {
    return this.radios(group).find((radio) => radio.checked)?.value ?? null;
  }

  choose(group, code) {
    for (const radio of this.radios(group)) radio.checked = radio.value === code;
  }

  get label() {
    return this.element.querySelector(".unit-text").textContent;
  }

  radio(group, code) {
    return this.radios(group).find((radio) => radio.value === code);
  }

  word(group, code) {
    return this.radio(group, code)?.parentElement.querySelector("span").textContent;
  }

  // The groups whose conditions hold, in order; a variable that is not asked satisfies none.
  asked() {
    const values = {};
    return this.groups.filter((group) => {
      if (!holds(group, values)) return false;
      values[group.dataset.variable] = this.value(group);
      return true;
    });
  }

  values() {
    return Object.fromEntries(this.asked().map((group) => [group.dataset.variable, this.value(group)]));
  }

  proseAsked() {
    return Boolean(this.prose) && holds(this.prose.closest("[data-written]"), this.values());
  }

  get marks() {
    return Boolean(this.evidence);
  }

  // Whether highlights count for the answer that is chosen: without a rule for one code, always.
  counts() {
    const { rule, owed } = this.element.dataset;
    return !owed || this.values()[rule] === owed;
  }

  // Whether there are highlights that the chosen answer leaves aside.
  keeps() {
    return this.highlights.length > 0 && !this.counts() && Boolean(this.values()[this.element.dataset.rule]);
  }

  owes() {
    return this.marks && Boolean(this.element.dataset.owed) && this.counts() && !this.highlights.length;
  }

  // In a draft everything is kept; in an answer only what is asked.
  payload(final) {
    const asked = new Set(final ? this.asked() : this.groups);
    const answer = {};
    for (const group of this.groups) {
      answer[group.dataset.variable] = asked.has(group) ? this.value(group) : null;
    }
    if (this.marks) {
      const quotes = !final || this.counts() ? this.highlights : [];
      answer.evidence = quotes.map((range) => this.wire(range));
    }
    for (const part of this.free) {
      const counts = !final || holds(part, this.values());
      answer[part.dataset.free] = JSON.parse(counts ? part.value : (part.dataset.none ?? "null"));
    }
    if (this.prose) answer.written = !final || this.proseAsked() ? this.writing() : null;
    return answer;
  }

  writing() {
    const cited = this.element.querySelectorAll("[data-written] input:checked");
    const text = this.prose.value;
    return text.trim() ? { text, citations: [...cited].map((box) => box.value) } : null;
  }

  apply(answer, withProse = true) {
    for (const group of this.groups) this.choose(group, answer?.[group.dataset.variable] ?? null);
    if (this.marks) this.readEvidence(answer?.evidence);
    for (const part of this.free) {
      part.value = JSON.stringify(answer?.[part.dataset.free] ?? JSON.parse(part.dataset.none ?? "null"));
      part.dispatchEvent(new Event("tandem:applied", { bubbles: true }));
    }
    if (!this.prose || !withProse) return;
    this.prose.value = answer?.written?.text ?? "";
    for (const box of this.element.querySelectorAll("[data-written] input[type=checkbox]")) {
      box.checked = (answer?.written?.citations ?? []).includes(box.value);
    }
  }

  // Whether it was not there before.
  add(range) {
    if (this.find(range)) return false;
    const place = ({ field }) => this.fields.indexOf(field);
    const all = [...this.highlights, { ...range, field: this.fieldOf(range) }];
    this.highlights = all.sort((a, b) => place(a) - place(b) || a.start - b.start || a.end - b.end);
    return true;
  }

  remove(range) {
    const gone = this.find(range);
    this.highlights = this.highlights.filter((h) => h !== gone);
  }

  find(range) {
    const { start, end } = range;
    return this.highlights.find((h) => h.start === start && h.end === end && h.field === this.fieldOf(range));
  }

  // What keeps this unit from being submitted, in words for its place on the page; null if nothing.
  problem() {
    if (this.asked().some((group) => !this.value(group))) return "Choose an answer.";
    if (this.owes()) return "Yes needs a highlight: select the words that give the answer.";
    return this.proseAsked() && !this.prose.value.trim() ? "Write the answer." : null;
  }
}

function holds(element, values) {
  const conditions = JSON.parse(element.dataset.if ?? "{}");
  return Object.entries(conditions).every(([name, codes]) => codes.includes(values[name]));
}

function part(element, tag, className, more = {}) {
  const made = Object.assign(document.createElement(tag), { className, ...more });
  element.append(made);
  return made;
}
