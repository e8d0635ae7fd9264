// Conversion of offsets: the DOM counts UTF-16 units, the server counts code points. Everything in
// the page is in UTF-16 units; these functions convert what comes from the server or goes to it.

const REMEMBERED = 16; // texts

/** @type {Map<string, number[]>} The offsets of the characters of two units, for the latest texts. */
const pairs = new Map();

/** @param {string} text */
function pairsOf(text) {
  const known = pairs.get(text);
  if (known) return known;
  const found = Array.from(text.matchAll(/[\ud800-\udbff][\udc00-\udfff]/g), (pair) => pair.index);
  if (pairs.size >= REMEMBERED) pairs.delete([...pairs.keys()][0]);
  pairs.set(text, found);
  return found;
}

/**
 * Count the leading offsets that satisfy a test. The test must hold up to some offset and fail after it.
 * @param {number[]} offsets
 * @param {(offset: number, n: number) => boolean} test
 */
function countWhile(offsets, test) {
  let [low, high] = [0, offsets.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(offsets[middle], middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Return the number of code points before an offset in UTF-16 units.
 * @param {string} text
 * @param {number} units
 */
export function toCodePoints(text, units) {
  return units - countWhile(pairsOf(text), (at) => at + 1 < units);
}

/**
 * Return the offset in UTF-16 units after a number of code points, at most the text's length.
 * @param {string} text
 * @param {number} codePoints
 */
export function toUnits(text, codePoints) {
  return Math.min(text.length, codePoints + countWhile(pairsOf(text), (at, n) => at - n < codePoints));
}

/**
 * Return a stored quote as a range of the text, or null if the text does not have it at its start.
 * Only the server searches for quotes, so that there is one rule for which occurrence is meant.
 * @param {string} text
 * @param {Partial<Quote> | null | undefined} stored
 * @returns {TextRange | null}
 */
export function fromWire(text, stored) {
  const { quote, start } = stored ?? {};
  if (typeof quote !== "string" || !quote || !Number.isInteger(start)) return null;
  const at = toUnits(text, Number(start));
  return at >= 0 && text.startsWith(quote, at) ? { start: at, end: at + quote.length } : null;
}

/**
 * Return a range of the text as the quote that the server stores.
 * @param {string} text
 * @param {TextRange} range
 * @returns {Quote}
 */
export function toWire(text, { start, end }) {
  return { quote: text.slice(start, end), start: toCodePoints(text, start) };
}

/**
 * Return the range without blanks at its ends, or null if nothing is left.
 * @param {string} text
 * @param {TextRange} range
 * @returns {TextRange | null}
 */
export function trimmed(text, { start, end }) {
  const piece = text.slice(start, end);
  const from = start + piece.length - piece.trimStart().length;
  const to = end - (piece.length - piece.trimEnd().length);
  return from < to ? { start: from, end: to } : null;
}

/**
 * Return the range extended so that it splits no surrogate pair, since half of one has an empty box.
 * @param {string} text
 * @param {TextRange} range
 * @returns {TextRange}
 */
export function wholePairs(text, { start, end }) {
  const low = (/** @type {number} */ at) => /[\udc00-\udfff]/.test(text.charAt(at));
  return { start: low(start) ? start - 1 : start, end: low(end) ? end + 1 : end };
}
