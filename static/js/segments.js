// Characters as people count them, words and sentences of a text. The text is never segmented in
// full: each question looks at one offset of it, however long the text is.

/**
 * @typedef {"grapheme" | "word" | "sentence"} Kind
 * @typedef {{start: number, end: number, after: number, solid: boolean}} Segment  `end` is before the
 *   blanks at its end, `after` behind them; a segment that is not solid is a blank or a sign
 */

/**
 * Keys that move an end by a character, and how far. The last four are the same keys with Shift.
 * @type {Record<string, 1 | -1>}
 */
export const CHARACTERS = { ",": -1, ".": 1, "<": -1, ";": -1, ">": 1, ":": 1 };

if (!Intl.Segmenter) Object.assign(Intl, { Segmenter: (await import("./plain_segments.js")).PlainSegmenter });

const REMEMBERED = 16; // texts
/** @type {Map<string, Segments>} */
const latest = new Map();

/**
 * The signs of Markdown that are hidden in a text: the cursor passes over them, and no highlight starts
 * or ends with one.
 * @type {Map<string, TextRange[]>}
 */
const signs = new Map();

/**
 * @param {string} text
 * @param {TextRange[]} ranges
 */
export function hideSigns(text, ranges) {
  signs.set(text, ranges);
}

/**
 * @param {string} text
 * @param {TextRange} range
 * @returns {TextRange}
 */
export function withoutSigns(text, { start, end }) {
  for (const sign of signs.get(text) ?? [])
    if (sign.start <= start && start < sign.end) start = Math.min(end, sign.end);
  for (const sign of [...(signs.get(text) ?? [])].reverse())
    if (sign.start < end && end <= sign.end) end = Math.max(start, sign.start);
  return { start, end };
}

/** @param {string} text */
export function segmentsOf(text) {
  const known = latest.get(text);
  if (known) return known;
  const segments = new Segments(text);
  if (latest.size >= REMEMBERED) latest.delete([...latest.keys()][0]);
  latest.set(text, segments);
  return segments;
}

class Segments {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    /** @type {Partial<Record<Kind, Intl.Segments>>} */
    this.segmented = {};
    /** @type {Kind | null} */
    this.kind = null;
  }

  /**
   * Return the segment at an offset, or null outside of the text.
   * @param {Kind} kind
   * @param {number} offset
   * @returns {Segment | null}
   */
  at(kind, offset) {
    this.segmented[kind] ??= new Intl.Segmenter(undefined, { granularity: kind }).segment(this.text);
    const found = this.segmented[kind].containing(offset);
    if (!found) return null;
    const { segment, index: start, isWordLike } = found;
    const after = start + segment.length;
    const hidden = (signs.get(this.text) ?? []).some((sign) => sign.start <= start && after <= sign.end);
    const solid = !hidden && (kind === "word" ? Boolean(isWordLike) : segment.trim() !== "");
    return { start, end: start + (solid ? segment.trimEnd() : segment).length, after, solid };
  }

  /**
   * Return the first solid segment that starts at an offset or later.
   * @param {Kind} kind
   * @param {number} offset
   */
  next(kind, offset) {
    for (let one = this.at(kind, offset); one; one = this.at(kind, one.after)) {
      if (one.solid && one.start >= offset) return one;
    }
    return null;
  }

  /**
   * Return the last solid segment that ends at an offset or earlier.
   * @param {Kind} kind
   * @param {number} offset
   */
  previous(kind, offset) {
    for (let one = this.before(kind, offset); one; one = this.before(kind, one.start)) {
      if (one.solid && one.end <= offset) return one;
    }
    return null;
  }

  /**
   * @param {Kind} kind
   * @param {number} offset
   */
  before(kind, offset) {
    return offset > 0 ? this.at(kind, offset - 1) : null;
  }

  /**
   * Return the word to which one end of a range goes when it moves by one word. A word that is partly
   * in the range is taken whole.
   * @param {number} offset
   * @param {boolean} later  whether the end is the later one
   * @param {number} step  1 or -1
   */
  beside(offset, later, step) {
    const kind = this.smallest;
    if (later !== step > 0) return later ? this.previous(kind, offset - 1) : this.next(kind, offset + 1);
    const here = this.at(kind, offset);
    if (here?.solid && here.start < offset && offset < here.end) return here;
    return later ? this.next(kind, offset) : this.previous(kind, offset);
  }

  // A text with signs only has no words, so the cursor moves by sentences there.
  get smallest() {
    return (this.kind ??= /[\p{L}\p{N}]/u.test(this.text) ? "word" : "sentence");
  }

  /**
   * Return an offset moved by one character; it never ends in the middle of one.
   * @param {number} offset
   * @param {number} by  1 or -1
   */
  step(offset, by) {
    const one = this.at("grapheme", by > 0 ? offset : offset - 1);
    return one ? (by > 0 ? one.after : one.start) : offset;
  }

  /**
   * Return the range widened to whole words or sentences, and to whole characters where it ends in
   * signs, such as an emoji of several parts.
   * @param {TextRange} range
   * @param {Kind} kind
   * @returns {TextRange}
   */
  snapped({ start, end }, kind) {
    const [first, last] = [this.whole(kind, start), this.whole(kind, end - 1)];
    return { start: Math.min(start, first?.start ?? start), end: Math.max(end, last?.end ?? end) };
  }

  /**
   * @param {Kind} kind
   * @param {number} offset
   */
  whole(kind, offset) {
    const found = this.at(kind, offset);
    return found?.solid ? found : this.at("grapheme", offset);
  }
}

/**
 * Return a range with its end, or its start, moved; null if nothing would be left.
 * @param {TextRange} range
 * @param {boolean} later
 * @param {number} to
 * @returns {TextRange | null}
 */
function moved(range, later, to) {
  const next = { ...range, [later ? "end" : "start"]: to };
  return next.start < next.end ? next : null;
}

/**
 * Return a range with its end, or its start, moved by a word.
 * @param {string} text
 * @param {TextRange} range
 * @param {boolean} later
 * @param {number} step  1 or -1
 */
export function movedByWord(text, range, later, step) {
  const word = segmentsOf(text).beside(later ? range.end : range.start, later, step);
  return word && moved(range, later, later ? word.end : word.start);
}

/**
 * Return a range with its end, or its start, moved by a character. A range does not end in blanks, so a
 * growing range skips them.
 * @param {string} text
 * @param {TextRange} range
 * @param {boolean} later
 * @param {number} step  1 or -1
 */
export function movedByCharacter(text, range, later, step) {
  const from = later ? range.end : range.start;
  const grows = later === step > 0;
  let to = segmentsOf(text).step(from, step);
  while (grows && to > 0 && to < text.length && !text.slice(Math.min(from, to), Math.max(from, to)).trim()) {
    to = segmentsOf(text).step(to, step);
  }
  return moved(range, later, to);
}

/**
 * Return the beginning of a text, at most `length` units long, without a part of a character at its end.
 * @param {string} text
 * @param {number} length
 */
export function beginning(text, length) {
  if (text.length <= length) return text;
  const last = segmentsOf(text).at("grapheme", length - 1);
  return text.slice(0, last && last.after > length ? last.start : length);
}

/**
 * Return the end of a text, at most `length` units long, without a part of a character at its start.
 * @param {string} text
 * @param {number} length
 */
export function ending(text, length) {
  const from = text.length - length;
  if (from <= 0) return text;
  const first = segmentsOf(text).at("grapheme", from);
  return text.slice(first && first.start < from ? first.after : from);
}
