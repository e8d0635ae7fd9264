// Highlights drawn into a text.
//
//   paint(container, text, highlights, { suggested })
//     highlights  [{ start, end, unit, now, kept, lit }]: `unit` counts from 0; `now` is the
//                 question in hand, `kept` is left aside by its answer, `lit` is pointed at
//     suggested   [{ start, end, said, sign, lit }]: passages that someone else proposed, drawn
//                 dashed beneath the highlights, without number; `sign` stands at the end if it is
//                 given; `said` is for screen readers, "suggested passage" where it is left out
//   selectedRange(container), select(container, range), rangeOf(container, range),
//   placeAt(container, x, y): selections and places in it
//
// A page with suggestions calls `desk.board.suggest(field, suggested)` once, not paint: the board
// paints at every change, and they stay. Likewise `desk.board.show(unit, range)` scrolls to a range
// of that unit's text and lights it.
//
// All offsets are UTF-16 units of the stored text, which is the container's textContent at all
// times. Overlaps cannot nest in a tree, so the text is cut at every end of a highlight, and each
// piece knows how many lie over it. Numbers and what screen readers hear are drawn by CSS. A paint
// touches only the blocks (blocks.js) in which something changed, and of many those on show first.
import { canvasOf, offsetOf, point } from "./blocks.js";

const AT_ONCE = 16; // blocks: more of them are drawn in steps, so that no task is long
const PAUSE = 8; // milliseconds

export function paint(container, text, highlights, { suggested = [] } = {}) {
  const canvas = canvasOf(container, text);
  clearTimeout(canvas.later);
  const all = [...suggested.map((each) => ({ ...each, kind: "suggested" })), ...highlights];
  const changed = canvas.blocks.filter((block) => {
    block.plan = plan(block, all);
    return block.plan.look !== block.look;
  });
  if (changed.length > AT_ONCE) canvas.later = setTimeout(() => draw(canvas, fromView(canvas, changed)));
  else if (changed.length) draw(canvas, changed);
}

function draw(canvas, blocks) {
  const now = blocks.slice(0, AT_ONCE);
  const rebuilt = now.filter((block) => block.plan.cuts !== block.cuts);
  const selected = rebuilt.length ? selectedRange(canvas.container) : null;
  for (const block of now) drawBlock(block, canvas.text);
  if (selected && rebuilt.some((block) => meet(block, selected))) select(canvas.container, selected);
  const rest = blocks.slice(AT_ONCE);
  if (rest.length) canvas.later = setTimeout(draw, PAUSE, canvas, rest);
}

// Those on show and below them, then those above.
function fromView({ container, blocks }, changed) {
  const top = container.closest(".texts")?.getBoundingClientRect().top ?? 0;
  let [low, high] = [0, blocks.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (blocks[middle].element.getBoundingClientRect().bottom <= top) low = middle + 1;
    else high = middle;
  }
  const from = blocks[low].start;
  return [...changed.filter((b) => b.start >= from), ...changed.filter((b) => b.start < from)];
}

const meet = (one, other) => one.start < other.end && other.start < one.end;

// How a block is to look: its pieces, each with the attributes of its mark or none.
function plan(block, all) {
  const here = all.filter((one) => meet(block, one));
  if (!here.length) return { look: "", cuts: "", pieces: [[block.start, block.end, null]] };
  const cuts = new Set([block.start, block.end]);
  for (const { start, end } of here) {
    if (start > block.start) cuts.add(start);
    if (end < block.end) cuts.add(end);
  }
  const places = [...cuts].sort((a, b) => a - b);
  const pieces = places.slice(0, -1).map((start, n) => [start, places[n + 1], washes(start, places[n + 1], here)]);
  const shape = pieces.map(([start, , wash]) => (wash ? -start : start));
  return { look: JSON.stringify(pieces), cuts: shape.join(), pieces };
}

function washes(start, end, here) {
  const over = here.filter((one) => one.start <= start && end <= one.end);
  if (!over.length) return null;
  const own = over.filter((one) => !one.kind);
  const words = (some) => some.map((one) => said(one)).join(", ");
  const [first, last] = [over.filter((one) => one.start === start), over.filter((one) => one.end === end)];
  return {
    depth: own.length ? String(Math.min(own.length, 3)) : undefined,
    units: own.length ? own.map((one) => one.unit).join(" ") : undefined,
    kind: own.length < over.length ? "suggested" : undefined,
    ends:
      last
        .map((one) => (one.kind ? one.sign : one.unit + 1))
        .filter(Boolean)
        .join(" ") || undefined,
    opens: first.length ? `[${words(first)}: ` : undefined,
    closes: last.length ? ` end of ${words(last)}]` : undefined,
    className: ["now", "kept", "lit"].filter((name) => worn(name, own, over)).join(" "),
  };
}

function worn(name, own, over) {
  if (name === "kept") return own.length > 0 && own.every((one) => one.kept);
  return over.some((one) => one[name]);
}

function said({ kind, said: words, unit, kept }) {
  if (kind) return words ?? "suggested passage";
  return `highlight for question ${unit + 1}${kept ? ", kept aside" : ""}`;
}

function drawBlock(block, text) {
  const { pieces, cuts, look } = block.plan;
  if (cuts === block.cuts) {
    const marks = [...block.element.children];
    pieces.filter(([, , wash]) => wash).forEach(([, , wash], n) => dress(marks[n], wash));
  } else {
    block.element.replaceChildren(
      ...pieces.map(([start, end, wash]) => {
        const words = text.slice(start, end);
        return wash ? dress(Object.assign(document.createElement("mark"), { textContent: words }), wash) : words;
      }),
    );
  }
  Object.assign(block, { look, cuts });
}

function dress(mark, { className, ...data }) {
  mark.className = className;
  for (const [name, value] of Object.entries(data)) {
    if (value === undefined) delete mark.dataset[name];
    else mark.dataset[name] = value;
  }
  return mark;
}

// What is selected inside a container, in UTF-16 units of its text; null for nothing.
export function selectedRange(container) {
  const selection = document.getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  if (!range.intersectsNode(container)) return null;
  const canvas = canvasOf(container);
  const inside = (node) => container.contains(node);
  const start = inside(range.startContainer) ? offsetOf(canvas, range.startContainer, range.startOffset) : 0;
  const end = inside(range.endContainer) ? offsetOf(canvas, range.endContainer, range.endOffset) : canvas.text.length;
  return start < end ? { start, end } : null;
}

// Where a click left the caret in a container; null where something is selected, or nothing there.
export function caretIn(container) {
  const selection = document.getSelection();
  if (!selection.rangeCount || !selection.isCollapsed || !container.contains(selection.anchorNode)) return null;
  return offsetOf(canvasOf(container), selection.anchorNode, selection.anchorOffset);
}

export function rangeOf(container, { start, end }) {
  const canvas = canvasOf(container);
  const range = document.createRange();
  range.setStart(...point(canvas, start, start < end));
  range.setEnd(...point(canvas, end, false));
  return range;
}

export function select(container, place) {
  const range = rangeOf(container, place);
  const selection = document.getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
  return range;
}

// The place in the text that lies under a point of the window, or null.
export function placeAt(container, x, y) {
  const at = document.caretPositionFromPoint?.(x, y);
  const range = at ? null : document.caretRangeFromPoint?.(x, y);
  const [node, offset] = at ? [at.offsetNode, at.offset] : [range?.startContainer, range?.startOffset];
  return node && container.contains(node) ? offsetOf(canvasOf(container), node, offset) : null;
}
