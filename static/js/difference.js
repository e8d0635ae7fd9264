// What two texts share, word by word, and what stands in one of them only.
//
// Words that come once in each text and in the same order in both are anchors; between two anchors
// it is done again, and a small rest without any is compared in full. So the time grows with the
// texts and not with their product.

const LARGEST_TABLE = 60_000;

// [{text, side}], side "both", "first" or "second". The pieces of "both" and "first" joined are the
// first text, those of "both" and "second" the second one.
export function difference(first, second) {
  const one = tokens(first);
  const other = tokens(second);
  const pairs = [];
  match(one, other, 0, one.length, 0, other.length, pairs);
  return joined(sided(one, other, pairs));
}

// How many words stand in the first text only, and in the second.
export function counts(pieces) {
  const words = (side) =>
    pieces.filter((piece) => piece.side === side).flatMap((piece) => tokens(piece.text).filter(isWord)).length;
  return { first: words("first"), second: words("second") };
}

// Blanks, words, single signs of scripts that leave no blanks, emoji whole, and any other sign. The
// browser's own segmenter takes time by the square of a long text.
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
const isWord = (token) => /[\p{L}\p{N}]/u.test(token);

function tokens(text) {
  return text.match(TOKEN) ?? [];
}

// The pairs of places [in one, in the other] that hold the same token, in order.
function match(one, other, from, to, start, end, pairs) {
  while (from < to && start < end && one[from] === other[start]) pairs.push([from++, start++]);
  const tail = [];
  while (from < to && start < end && one[to - 1] === other[end - 1]) tail.push([--to, --end]);
  if (from < to && start < end) between(one, other, from, to, start, end, pairs);
  pairs.push(...tail.reverse());
}

function between(one, other, from, to, start, end, pairs) {
  const fixed = anchors(one, other, from, to, start, end);
  if (!fixed.length) {
    if ((to - from) * (end - start) <= LARGEST_TABLE) table(one, other, from, to, start, end, pairs);
    return;
  }
  for (const [here, there] of fixed) {
    match(one, other, from, here, start, there, pairs);
    pairs.push([here, there]);
    [from, start] = [here + 1, there + 1];
  }
  match(one, other, from, to, start, end, pairs);
}

function anchors(one, other, from, to, start, end) {
  const there = once(other, start, end);
  const shared = [...once(one, from, to)].filter(([token]) => there.has(token) && isWord(token));
  return rising(shared.map(([token, place]) => [place, there.get(token)]));
}

// The tokens that come once between two places, with where.
function once(list, from, to) {
  const places = new Map();
  for (let at = from; at < to; at += 1) places.set(list[at], places.has(list[at]) ? -1 : at);
  return new Map([...places].filter(([, at]) => at >= 0));
}

// The longest run of pairs, in order of the first place, whose second place rises too.
function rising(pairs) {
  const ends = [];
  const before = new Map();
  for (const pair of pairs) {
    let [low, high] = [0, ends.length];
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

// The longest common subsequence, by the whole table.
function table(one, other, from, to, start, end, pairs) {
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

function sided(one, other, pairs) {
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

// Neighbours of one side made one. Blanks and stops between two changes belong to the changes:
// words that changed one by one would read as a row of crumbs.
function joined(pieces) {
  const runs = [];
  let change = { first: "", second: "" };
  let held = "";
  const flush = () => {
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
