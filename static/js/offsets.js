// The DOM counts UTF-16 units, the server counts code points. Everything in the page is in UTF-16;
// these functions stand at the border.

const REMEMBERED = 16;
const pairs = new Map(); // of the latest texts: where their characters of two units are

function pairsOf(text) {
  if (!pairs.has(text)) {
    if (pairs.size >= REMEMBERED) pairs.delete(pairs.keys().next().value);
    pairs.set(
      text,
      Array.from(text.matchAll(/[\ud800-\udbff][\udc00-\udfff]/g), (pair) => pair.index),
    );
  }
  return pairs.get(text);
}

// How many of the first places satisfy a test that holds up to some place and then no more.
function countWhile(places, test) {
  let [low, high] = [0, places.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(places[middle], middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function toCodePoints(text, units) {
  return units - countWhile(pairsOf(text), (place) => place + 1 < units);
}

export function toUnits(text, codePoints) {
  return Math.min(text.length, codePoints + countWhile(pairsOf(text), (place, n) => place - n < codePoints));
}

// A stored quote as a range of the text, or null where it does not stand there.
export function fromWire(text, { quote, start }) {
  if (typeof quote !== "string" || !quote) return null;
  const at = Number.isInteger(start) ? toUnits(text, start) : text.indexOf(quote);
  return at >= 0 && text.startsWith(quote, at) ? { start: at, end: at + quote.length } : null;
}

export function toWire(text, { start, end }) {
  return { quote: text.slice(start, end), start: toCodePoints(text, start) };
}

// The range without blanks at its ends, or null if nothing is left.
export function trimmed(text, { start, end }) {
  const piece = text.slice(start, end);
  const from = start + piece.length - piece.trimStart().length;
  const to = end - (piece.length - piece.trimEnd().length);
  return from < to ? { start: from, end: to } : null;
}
