// Converts the form of an item to the payload that the server stores, and back.
import { fromWire, toWire } from "./offsets.js";
import { t } from "./words.js";

const LONGEST_HISTORY = 200; // steps to undo

// Few pages have questions with numbers or several codes, or units that have a place in a text.
export const wide = document.querySelector("[data-scale], [data-several]") ? await import("./wide_answers.js") : null;
const places = document.querySelector("[data-quotes], [data-sentence]") ? await import("./places.js") : null;

/**
 * @typedef {Map<string, {container: HTMLElement, text: string}>} Texts  the texts of the page by field
 * @typedef {Record<string, (string | null)[]>} Conditions  codes by variable
 * @typedef {string | string[] | null} Value  a code, a number of a scale as text, several codes, or no answer
 * @typedef {Record<string, Answer>} Choices  answers and highlights by unit, without what was typed
 */

export class Sheet {
  /**
   * @param {PageElement} form
   * @param {Texts} texts
   */
  constructor(form, texts) {
    this.form = form;
    this.units = [...form.querySelectorAll("[data-unit]")].map((element) => new Unit(element, texts));
    this.comment = form.elements.comment;
    /** @type {Choices[]} */
    this.history = [];
    /** @type {Choices[]} */
    this.undone = [];
    this.last = this.choices();
  }

  /**
   * @param {boolean} [final]  whether it is submitted: then it holds only what is asked
   * @returns {Payload}
   */
  payload(final = false) {
    const units = Object.fromEntries(this.units.map((unit) => [unit.name, unit.payload(final)]));
    return { units, comment: this.comment.value.trim() ? this.comment.value : null };
  }

  /**
   * @param {Partial<Payload> | null | undefined} payload
   * @param {boolean} [withProse]  whether to set what was typed, too
   */
  apply(payload, withProse = true) {
    for (const unit of this.units) unit.apply(payload?.units?.[unit.name], withProse);
    if (withProse) this.comment.value = payload?.comment ?? "";
  }

  /**
   * Return answers and highlights, but not typed text, since fields undo typing themselves.
   * @returns {Choices}
   */
  choices() {
    const units = Object.entries(this.payload().units);
    return Object.fromEntries(units.map(([name, { written, ...answer }]) => [name, answer]));
  }

  // Called after each change: the state before it becomes a step to undo.
  settle() {
    const now = this.choices();
    if (same(now, this.last)) return;
    this.history = [...this.history.slice(-LONGEST_HISTORY), this.last];
    this.undone = [];
    this.last = now;
  }

  // Both return the unit that they changed, or null if nothing is left to undo or redo.
  undo() {
    return this.step(this.history, this.undone);
  }

  redo() {
    return this.step(this.undone, this.history);
  }

  /**
   * @param {Choices[]} from
   * @param {Choices[]} to
   */
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

/**
 * Return whether two payloads, or parts of them, are equal. The order of keys does not count, since one
 * may come from the server.
 * @param {unknown} one
 * @param {unknown} other
 */
export function same(one, other) {
  return canonical(one) === canonical(other);
}

/** @param {unknown} value */
function canonical(value) {
  return JSON.stringify(value, (_, part) =>
    part && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

// One unit of the sheet. The form's own fields hold its answers; this object holds its highlights, as
// ranges in UTF-16 units. Where an item shows several texts of a kind, each range names its own.
export class Unit {
  /**
   * @param {PageElement} element
   * @param {Texts} texts
   */
  constructor(element, texts) {
    const { field = "", fields } = element.dataset;
    this.element = element;
    this.texts = texts;
    this.several = Boolean(fields) || !texts.has(field);
    /** @type {string[]} */
    this.fields = this.several ? [...texts.keys()].filter((name) => name.startsWith(`${field}:`)) : [field];
    if (fields) this.fields = JSON.parse(fields);
    this.places = places?.placesOf(this) ?? null;
    this.number = Number(element.dataset.unit);
    this.name = /** @type {PageElement} */ (element.querySelector("input")).value;
    this.groups = [...element.querySelectorAll("[data-variable]")];
    this.prose = element.querySelector("[data-written] textarea");
    this.evidence = element.querySelector("input[name$='-evidence']");
    this.free = [...element.querySelectorAll("input[data-free]")]; // JSON that a page of its own edits
    /** @type {TextRange[]} */
    this.highlights = [];
    if (this.evidence) this.readEvidence(JSON.parse(this.evidence.value));
    element.dataset.place = String(this.number + 1);
    this.summary = part(element, "p", "summary", { ariaHidden: "true" });
    this.quotes = part(element, "ul", "quotes", {
      role: "list",
      ariaLabel: t("Highlights for question {n}", { n: this.number + 1 }),
    });
    this.problemPlace = part(element, "p", "problem", { role: "alert" });
    element.querySelector(".unit-text")?.after(this.summary);
  }

  /** @param {Quote[] | null | undefined} quotes */
  readEvidence(quotes) {
    const found = (Array.isArray(quotes) ? quotes : []).map((quote) => this.place(quote));
    this.highlights = found.filter((range) => range !== null);
  }

  /**
   * Return the range of a quote: in the text that it names, or else in the first text that contains it.
   * @param {Quote} quote
   */
  place(quote) {
    for (const field of quote?.field && this.fields.includes(quote.field) ? [quote.field] : this.fields) {
      const range = fromWire(this.textOf({ field }), quote);
      if (range) return { field, ...range };
    }
    return null;
  }

  /** @param {{field?: string}} range */
  fieldOf({ field }) {
    return field ?? this.fields[0];
  }

  /** @param {{field?: string}} range */
  textOf(range) {
    return this.texts.get(this.fieldOf(range))?.text ?? "";
  }

  /**
   * @param {TextRange} range
   * @returns {Quote}
   */
  wire(range) {
    const quote = toWire(this.textOf(range), range);
    return this.several ? { ...quote, field: range.field } : quote;
  }

  /**
   * Return the fields of a group's choices: radio buttons, or boxes if it takes several codes.
   * @param {PageElement} group
   */
  radios(group) {
    return [...group.querySelectorAll(`input[type=${"several" in group.dataset ? "checkbox" : "radio"}]`)];
  }

  /**
   * @param {PageElement} group
   * @returns {Value}
   */
  value(group) {
    const chosen = this.radios(group).filter((radio) => radio.checked);
    return wide?.value(group, chosen) ?? chosen[0]?.value ?? null;
  }

  /**
   * @param {PageElement} group
   * @param {unknown} value
   */
  choose(group, value) {
    const codes = codesIn(value);
    for (const radio of this.radios(group)) radio.checked = codes.includes(radio.value);
    wide?.scaleOf(group)?.set(value === null || codes.some((code) => this.radio(group, code)) ? null : String(value));
  }

  get label() {
    return this.element.querySelector(".unit-text")?.textContent;
  }

  /**
   * @param {PageElement} group
   * @param {unknown} code
   */
  radio(group, code) {
    return this.radios(group).find((radio) => radio.value === code);
  }

  /**
   * Return the words of a value: those of several codes are joined by commas.
   * @param {PageElement} group
   * @param {unknown} value
   */
  word(group, value) {
    const words = codesIn(value).map(
      (code) => this.radio(group, code)?.parentElement.querySelector("span")?.textContent,
    );
    return words.filter(Boolean).join(", ") || wide?.number(group, value);
  }

  // Returns the groups whose conditions hold, in order; a variable that is not asked satisfies none.
  asked() {
    /** @type {Record<string, Value>} */
    const values = {};
    return this.groups.filter((group) => {
      if (!holds(group, values)) return false;
      values[variableOf(group)] = this.value(group);
      return true;
    });
  }

  /** @returns {Record<string, Value>} */
  values() {
    return Object.fromEntries(this.asked().map((group) => [variableOf(group), this.value(group)]));
  }

  proseAsked() {
    const written = this.prose?.closest("[data-written]");
    return Boolean(written && holds(written, this.values()));
  }

  // Whether the choices so far rule a text out, as opposed to leaving it open.
  proseRuledOut() {
    const written = this.prose?.closest("[data-written]");
    return written ? !holds(written, this.values(), true) : false;
  }

  // Whether answers are chosen that the protocol does not allow together.
  contradicts() {
    const values = this.values();
    /** @type {Conditions[]} */
    const never = JSON.parse(this.element.dataset.never ?? "[]");
    return never.some((each) => meets(each, values));
  }

  get marks() {
    return Boolean(this.evidence);
  }

  // Whether highlights count for the chosen answer; they always do if no rule names a code.
  counts() {
    const { rule = "", owed } = this.element.dataset;
    const chosen = [this.values()[rule]].flat();
    return !owed || owed.split(" ").some((code) => chosen.includes(code));
  }

  // Whether the chosen answer ignores highlights.
  keeps() {
    return this.highlights.length > 0 && !this.counts() && Boolean(this.values()[this.element.dataset.rule ?? ""]);
  }

  owes() {
    if (this.places?.rules.length) return this.places.owing().length > 0;
    return this.marks && Boolean(this.element.dataset.owed) && this.counts() && !this.highlights.length;
  }

  /**
   * Return the answer. A draft contains everything, a submitted answer only what is asked.
   * @param {boolean} final
   */
  payload(final) {
    const asked = new Set(final ? this.asked() : this.groups);
    /** @type {Answer} */
    const answer = {};
    for (const group of this.groups) {
      answer[variableOf(group)] = asked.has(group) ? this.value(group) : null;
    }
    if (this.marks) {
      const quotes = !final || this.counts() ? this.highlights : [];
      answer.evidence = quotes.map((range) => this.wire(range));
    }
    for (const part of this.free) {
      const counts = !final || holds(part, this.values());
      answer[part.dataset.free ?? ""] = JSON.parse(counts ? part.value : (part.dataset.none ?? "null"));
    }
    if (this.prose) answer.written = !final || this.proseAsked() ? this.writing() : null;
    return answer;
  }

  /** @returns {Written | null} */
  writing() {
    const cited = this.element.querySelectorAll("[data-written] input:checked");
    const text = this.prose?.value ?? "";
    return text.trim() ? { text, citations: [...cited].map((box) => box.value) } : null;
  }

  /**
   * @param {Answer | undefined} answer
   * @param {boolean} [withProse]
   */
  apply(answer, withProse = true) {
    for (const group of this.groups) this.choose(group, answer?.[variableOf(group)] ?? null);
    if (this.marks) this.readEvidence(answer?.evidence);
    for (const part of this.free) {
      part.value = JSON.stringify(answer?.[part.dataset.free ?? ""] ?? JSON.parse(part.dataset.none ?? "null"));
      part.dispatchEvent(new Event("tandem:applied", { bubbles: true }));
    }
    if (!this.prose || !withProse) return;
    this.prose.value = answer?.written?.text ?? "";
    for (const box of this.element.querySelectorAll("[data-written] input[type=checkbox]")) {
      box.checked = (answer?.written?.citations ?? []).includes(box.value);
    }
  }

  /**
   * Add a highlight; return whether it is new.
   * @param {TextRange} range
   */
  add(range) {
    if (this.find(range)) return false;
    const place = (/** @type {TextRange} */ { field = "" }) => this.fields.indexOf(field);
    const all = [...this.highlights, { ...range, field: this.fieldOf(range) }];
    this.highlights = all.sort((a, b) => place(a) - place(b) || a.start - b.start || a.end - b.end);
    return true;
  }

  /** @param {TextRange} range */
  remove(range) {
    const gone = this.find(range);
    this.highlights = this.highlights.filter((h) => h !== gone);
  }

  /** @param {TextRange} range */
  find(range) {
    const { start, end } = range;
    return this.highlights.find((h) => h.start === start && h.end === end && h.field === this.fieldOf(range));
  }

  missing() {
    const group = this.groups.find((one) => variableOf(one) === this.element.dataset.rule);
    const word = group && this.word(group, this.value(group));
    return t("{word} needs a highlight: select the words that give the answer.", { word });
  }

  /**
   * Return why this unit cannot be submitted, as a message for the page, or null.
   * @returns {string | null}
   */
  problem() {
    const open = this.asked().find((group) => !this.value(group));
    if (open) return wide?.scaleOf(open)?.problem() ?? t("Choose an answer.");
    if (this.contradicts()) return t("These answers contradict each other: change one of them.");
    if (this.owes()) return this.places?.problem() ?? this.missing();
    return this.proseAsked() && !this.prose?.value.trim() ? t("Write the answer.") : null;
  }
}

/**
 * An empty list is the code of "None of these".
 * @param {unknown} value
 */
const codesIn = (value) => (Array.isArray(value) && !value.length ? [""] : [value].flat());

/** @param {HTMLElement} group */
const variableOf = (group) => group.dataset.variable ?? "";

/**
 * Return whether the conditions of an element hold, or may still hold if variables without a value are
 * left `open`.
 * @param {HTMLElement} element
 * @param {Record<string, Value>} values
 */
function holds(element, values, open = false) {
  return meets(JSON.parse(element.dataset.if ?? "{}"), values, open);
}

/**
 * A value of several codes meets a condition that names one of them.
 * @param {Conditions} conditions
 * @param {Record<string, Value>} values
 */
function meets(conditions, values, open = false) {
  const fits = (/** @type {[string, (string | null)[]]} */ [name, codes]) =>
    [values[name]].flat().some((code) => codes.includes(code)) || (open && values[name] === null);
  return Object.entries(conditions).every(fits);
}

/**
 * @param {HTMLElement} element
 * @param {string} tag
 * @param {string} className
 * @param {Record<string, string>} more
 */
function part(element, tag, className, more) {
  const created = Object.assign(document.createElement(tag), { className, ...more });
  element.append(created);
  return created;
}
