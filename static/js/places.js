// Units with a place in the texts: a sentence, and quotes that are owed in each of two texts.
import { toUnits, trimmed } from "./offsets.js";
import { t } from "./words.js";

/** @typedef {{fields: string[], owed: string[], where: string}} QuoteRule  quotes of one of two texts */

/**
 * Return the places of a unit, or null if it has none.
 * @param {SheetUnit} unit
 */
export function placesOf(unit) {
  const { quotes, sentence } = unit.element.dataset;
  return quotes || sentence ? new Places(unit) : null;
}

class Places {
  /** @param {SheetUnit} unit */
  constructor(unit) {
    const { quotes = "[]", sentence, within } = unit.element.dataset;
    this.unit = unit;
    /** @type {QuoteRule[]} */
    this.rules = JSON.parse(quotes);
    this.within = within !== undefined;
    /** @type {TextRange | null} */
    this.sentence = sentence ? this.located(JSON.parse(sentence)) : null;
  }

  /**
   * Return a place of the server, which counts code points, as a range of the text.
   * @param {[string, number, number]} place
   */
  located([field, start, end]) {
    const text = this.unit.textOf({ field });
    return { field, start: toUnits(text, start), end: toUnits(text, end) };
  }

  /**
   * Return the part of a range that may be highlighted, which may be that in the unit's own sentence; null
   * if there is none.
   * @param {TextRange} range
   */
  quotable(range) {
    const { sentence, unit, within } = this;
    if (!sentence || !within || unit.fieldOf(range) !== sentence.field) return range;
    const start = Math.max(range.start, sentence.start);
    const end = Math.max(start, Math.min(range.end, sentence.end));
    const part = trimmed(unit.textOf(range), { start, end });
    return part && { ...range, ...part };
  }

  outside() {
    return t("Of this text, only the marked sentence can be highlighted for this question.");
  }

  get chosen() {
    const { rule = "" } = this.unit.element.dataset;
    return [this.unit.values()[rule]].flat();
  }

  // The rules of the texts that still lack a highlight for the chosen answer.
  owing() {
    const { chosen } = this;
    return this.rules.filter((rule) => rule.owed.some((code) => chosen.includes(code)) && !this.has(rule));
  }

  /** @param {QuoteRule} rule */
  has(rule) {
    return this.unit.highlights.some(({ field = "" }) => rule.fields.includes(field));
  }

  // Says which highlights the chosen answer owes, or nothing without rules of its own.
  problem() {
    const where = this.owing().map((each) => each.where);
    if (!where.length) return undefined;
    const { element, groups } = this.unit;
    const group = groups.find((one) => one.dataset.variable === element.dataset.rule);
    const word = group && this.unit.word(group, this.unit.value(group));
    return t("{word} needs a highlight {where}.", { word, where: where.join(` ${t("and")} `) });
  }
}
