// The DOM counts UTF-16 units, the server counts code points. Everything in the page is in UTF-16;
// these functions stand at the border.

export function toCodePoints(text, units) {
  let count = 0;
  for (let at = 0; at < units; at += text.codePointAt(at) > 0xffff ? 2 : 1) count += 1;
  return count;
}

export function toUnits(text, codePoints) {
  let at = 0;
  for (let count = 0; count < codePoints && at < text.length; count += 1) {
    at += text.codePointAt(at) > 0xffff ? 2 : 1;
  }
  return at;
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
