// Characters as people count them, words and sentences of a text. Nothing is cut in advance: each
// question looks at one place of the text, however long that is.

// Keys that move an end by a character, and how far: the last four are what Shift makes of them.
export const CHARACTERS = { ",": -1, ".": 1, "<": -1, ";": -1, ">": 1, ":": 1 };

const MADE = new Map(); // of the latest texts
const REMEMBERED = 16;

export function segmentsOf(text) {
  if (!MADE.has(text)) {
    if (MADE.size >= REMEMBERED) MADE.delete(MADE.keys().next().value);
    MADE.set(text, new Segments(text));
  }
  return MADE.get(text);
}

class Segments {
  constructor(text) {
    this.text = text;
    this.cut = {};
  }

  // The word or sentence at a place: {start, end, solid}, without blanks at its end.
  at(kind, place) {
    this.cut[kind] ??= new Intl.Segmenter(undefined, { granularity: kind }).segment(this.text);
    const found = this.cut[kind].containing(place);
    if (!found) return null;
    const { segment, index: start, isWordLike } = found;
    const solid = kind === "word" ? isWordLike : segment.trim() !== "";
    return {
      start,
      end: start + (solid ? segment.trimEnd().length : segment.length),
      after: start + segment.length,
      solid,
    };
  }

  // The first one that starts there or later, and the last one that ends there or earlier.
  next(kind, place) {
    for (let one = this.at(kind, place); one; one = this.at(kind, one.after)) {
      if (one.solid && one.start >= place) return one;
    }
    return null;
  }

  previous(kind, place) {
    for (let one = place > 0 && this.at(kind, place - 1); one; one = one.start > 0 && this.at(kind, one.start - 1)) {
      if (one.solid && one.end <= place) return one;
    }
    return null;
  }

  // The word to which the end of a range goes when it is moved by one; `later` is which end. A word
  // that the range holds in part is taken whole.
  beside(place, later, step) {
    const kind = this.smallest;
    if (later !== step > 0) return later ? this.previous(kind, place - 1) : this.next(kind, place + 1);
    const here = this.at(kind, place);
    if (here?.solid && here.start < place && place < here.end) return here;
    return later ? this.next(kind, place) : this.previous(kind, place);
  }

  // A text of signs only has no words; there the cursor goes by sentences.
  get smallest() {
    return (this.kind ??= /[\p{L}\p{N}]/u.test(this.text) ? "word" : "sentence");
  }

  // A place moved by characters; never into the middle of one.
  step(place, by) {
    const one = this.at("grapheme", by > 0 ? place : place - 1);
    return one ? (by > 0 ? one.after : one.start) : place;
  }

  // The range widened to whole words or sentences.
  snapped({ start, end }, kind) {
    const [first, last] = [this.at(kind, start), this.at(kind, end - 1)];
    return {
      start: first?.solid ? Math.min(start, first.start) : start,
      end: last?.solid ? Math.max(end, last.end) : end,
    };
  }
}
