// Compares two texts word by word: which words both have, and which only one of them has.
//
// Words that occur once in each text, and in the same order in both, are anchors. The texts between two
// anchors are compared in the same way, and a small rest without anchors is compared in full. So the
// time grows with the texts and not with their product.

const LARGEST_TABLE = 60_000;

/**
 * @typedef {"both" | "first" | "second"} Side
 * @typedef {{text: string, side: Side}} Piece
 * @typedef {[number, number]} Pair  indices of one token, in the first text and in the second
 * @typedef {{one: string[], other: string[], from: number, to: number, start: number, end: number}} Region
 *   tokens from `from` to `to` of the first text, and from `start` to `end` of the second
 */

/**
 * Return the pieces of two texts. The pieces of "both" and "first" form the first text, and those of
 * "both" and "second" form the second one.
 * @param {string} first
 * @param {string} second
 */
export function difference(first, second) {
  const one = tokens(first);
  const other = tokens(second);
  /** @type {Pair[]} */
  const pairs = [];
  match({ one, other, from: 0, to: one.length, start: 0, end: other.length }, pairs);
  return joined(sided(one, other, pairs));
}

/**
 * Return how many words only the first text has, and how many only the second one has.
 * @param {Piece[]} pieces
 */
export function counts(pieces) {
  const words = (/** @type {Side} */ side) =>
    pieces.filter((piece) => piece.side === side).flatMap((piece) => tokens(piece.text).filter(isWord)).length;
  return { first: words("first"), second: words("second") };
}

// A token is a run of blanks, a word, one character of a script without blanks, a whole emoji, or any
// other character. The browser's own segmenter takes quadratic time on long texts.
const TOKEN = new RegExp(
  [
    "\\s+",
    "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}]\\p{M}*",
    "(?:(?![\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}])[\\p{L}\\p{N}\\p{M}'’_])+",
    "\\p{Extended_Pictographic}(?:[\\p{M}\\p{Emoji_Modifier}\\u200d]\\p{Extended_Pictographic}?)*",
    ".",
  ].join("|"),
  "gsu",
);
const isWord = (/** @type {string} */ token) => /[\p{L}\p{N}]/u.test(token);

/**
 * @param {string} text
 * @returns {string[]}
 */
function tokens(text) {
  return text.match(TOKEN) ?? [];
}

/**
 * Add the pairs of equal tokens in a region, in order.
 * @param {Region} region
 * @param {Pair[]} pairs
 */
function match({ one, other, from, to, start, end }, pairs) {
  while (from < to && start < end && one[from] === other[start]) pairs.push([from++, start++]);
  /** @type {Pair[]} */
  const tail = [];
  while (from < to && start < end && one[to - 1] === other[end - 1]) tail.push([--to, --end]);
  if (from < to && start < end) between({ one, other, from, to, start, end }, pairs);
  // Pushed one by one, since a long text has more pairs than a call takes arguments.
  for (const pair of tail.reverse()) pairs.push(pair);
}

/**
 * @param {Region} region
 * @param {Pair[]} pairs
 */
function between(region, pairs) {
  const fixed = anchors(region);
  let { from, start } = region;
  if (!fixed.length) {
    if ((region.to - from) * (region.end - start) <= LARGEST_TABLE) table(region, pairs);
    return;
  }
  for (const [here, there] of fixed) {
    match({ ...region, from, to: here, start, end: there }, pairs);
    pairs.push([here, there]);
    [from, start] = [here + 1, there + 1];
  }
  match({ ...region, from, start }, pairs);
}

/** @param {Region} region */
function anchors({ one, other, from, to, start, end }) {
  const there = once(other, start, end);
  /** @type {Pair[]} */
  const shared = [];
  for (const [token, at] of once(one, from, to)) {
    const found = there.get(token);
    if (found !== undefined && isWord(token)) shared.push([at, found]);
  }
  return rising(shared);
}

/**
 * Return the tokens that occur once between two indices, each with its index.
 * @param {string[]} list
 * @param {number} from
 * @param {number} to
 */
function once(list, from, to) {
  /** @type {Map<string, number>} */
  const found = new Map();
  for (let at = from; at < to; at += 1) found.set(list[at], found.has(list[at]) ? -1 : at);
  return new Map([...found].filter(([, at]) => at >= 0));
}

/**
 * Return the longest run of pairs, in order of the first index, whose second index rises too.
 * @param {Pair[]} pairs
 */
function rising(pairs) {
  /** @type {Pair[]} */
  const ends = [];
  /** @type {Map<Pair, Pair | undefined>} */
  const before = new Map();
  for (const pair of pairs) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle][1] < pair[1]) low = middle + 1;
      else high = middle;
    }
    before.set(pair, ends[low - 1]);
    ends[low] = pair;
  }
  const run = [];
  for (let pair = ends.at(-1); pair; pair = before.get(pair)) run.push(pair);
  return run.reverse();
}

/**
 * Add the pairs of the longest common subsequence, computed with the full table.
 * @param {Region} region
 * @param {Pair[]} pairs
 */
function table({ one, other, from, to, start, end }, pairs) {
  const width = end - start + 1;
  const best = new Uint32Array((to - from + 1) * width);
  for (let row = to - from - 1; row >= 0; row -= 1) {
    for (let column = width - 2; column >= 0; column -= 1) {
      const at = row * width + column;
      const same = one[from + row] === other[start + column];
      best[at] = same ? best[at + width + 1] + 1 : Math.max(best[at + width], best[at + 1]);
    }
  }
  let [row, column] = [0, 0];
  while (from + row < to && start + column < end) {
    const at = row * width + column;
    if (one[from + row] === other[start + column]) pairs.push([from + row++, start + column++]);
    else if (best[at + width] >= best[at + 1]) row += 1;
    else column += 1;
  }
}

/**
 * @param {string[]} one
 * @param {string[]} other
 * @param {Pair[]} pairs
 */
function sided(one, other, pairs) {
  /** @type {Piece[]} */
  const pieces = [];
  let [here, there] = [0, 0];
  for (const [from, start] of [...pairs, [one.length, other.length]]) {
    const first = one.slice(here, from).join("");
    const second = other.slice(there, start).join("");
    pieces.push({ text: first, side: "first" }, { text: second, side: "second" });
    pieces.push({ text: one[from] ?? "", side: "both" });
    [here, there] = [from + 1, start + 1];
  }
  return pieces.filter((piece) => piece.text);
}

/**
 * Join neighbouring pieces of one side. Blanks and punctuation between two changes are added to the
 * changes, since many small changes in a row are hard to read.
 * @param {Piece[]} pieces
 */
function joined(pieces) {
  /** @type {Piece[]} */
  const runs = [];
  let change = { first: "", second: "" };
  let held = "";
  const flush = () => {
    /** @type {Piece[]} */
    const all = [
      { text: change.first, side: "first" },
      { text: change.second, side: "second" },
      { text: held, side: "both" },
    ];
    runs.push(...all.filter((run) => run.text));
    change = { first: "", second: "" };
    held = "";
  };
  for (const { text, side } of pieces) {
    if (side === "both") {
      held += text;
      continue;
    }
    if (held && (isWord(held) || !(change.first && change.second))) flush();
    change.first += held;
    change.second += held;
    held = "";
    change[side] += text;
  }
  flush();
  return runs;
}
