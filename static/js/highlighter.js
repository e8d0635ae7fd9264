// Highlights drawn into a text.
//
// A page with suggestions calls `desk.board.suggest(field, suggested)` once instead of `paint`: the board
// paints at every change and keeps them. Likewise `desk.board.show(unit, range)` scrolls to a range of
// that unit's text and lights it.
//
// All offsets are UTF-16 units of the stored text, which is the container's textContent at all times.
// Overlaps cannot nest in a tree, so the text is cut at every end of a highlight, and each piece knows
// how many highlights cover it. CSS draws the numbers and what screen readers hear. A paint touches
// only the blocks (blocks.js) in which something changed; if there are many, it draws the visible ones
// first.
import { canvasOf, offsetOf, point, SCROLLS, visible } from "./blocks.js";
import { t } from "./words.js";

/**
 * @typedef {object} Highlight
 * @property {number} start
 * @property {number} end
 * @property {number} unit       the number of its question, from 0
 * @property {boolean} [now]     whether its question is the current one
 * @property {boolean} [kept]    whether the chosen answer leaves it aside
 * @property {boolean} [lit]     whether it is pointed at
 */

/**
 * A suggested passage, drawn dashed beneath the highlights, without a number.
 * @typedef {object} Suggestion
 * @property {number} start
 * @property {number} end
 * @property {string} [spoken]   what screen readers hear
 * @property {string} [sign]     what is drawn at its end
 * @property {boolean} [lit]     whether it is pointed at
 */

/** @typedef {Highlight | (Suggestion & {kind: "suggested"})} Cover */

const AT_ONCE = 16; // blocks: more of them are drawn in steps, so that no task is long
const PAUSE = 8; // milliseconds

/**
 * Draw highlights and suggestions into a container, in place of those drawn before.
 * @param {Element} container
 * @param {string} text
 * @param {Highlight[]} highlights
 * @param {{suggested?: Suggestion[]}} [more]
 */
export function paint(container, text, highlights, { suggested = [] } = {}) {
  const canvas = canvasOf(container, text);
  clearTimeout(canvas.later);
  /** @type {Cover[]} */
  const covers = [...suggested.map((each) => ({ ...each, kind: /** @type {const} */ ("suggested") })), ...highlights];
  const all = covers.map((each) => ({ ...each, ...visible(canvas, each) }));
  const changed = canvas.blocks.filter((block) => {
    block.plan = plan(block, all);
    return block.plan.look !== block.look;
  });
  if (changed.length > AT_ONCE) canvas.later = setTimeout(() => draw(canvas, fromView(canvas, changed)));
  else if (changed.length) draw(canvas, changed);
}

/**
 * @param {Canvas} canvas
 * @param {Block[]} blocks
 */
function draw(canvas, blocks) {
  const now = blocks.slice(0, AT_ONCE);
  const rebuilt = now.filter((block) => block.plan?.cuts !== block.cuts);
  const selected = rebuilt.length ? selectedRange(canvas.container) : null;
  for (const block of now) drawBlock(block, canvas.text);
  if (selected && rebuilt.some((block) => meet(block, selected))) select(canvas.container, selected);
  const rest = blocks.slice(AT_ONCE);
  if (rest.length) canvas.later = setTimeout(draw, PAUSE, canvas, rest);
}

/**
 * Return the blocks in the order in which they are drawn: from the visible ones downwards, then those above.
 * @param {Canvas} canvas
 * @param {Block[]} changed
 */
function fromView({ container, blocks }, changed) {
  const top = container.closest(SCROLLS)?.getBoundingClientRect().top ?? 0;
  let low = 0;
  let high = blocks.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (blocks[middle].element.getBoundingClientRect().bottom <= top) low = middle + 1;
    else high = middle;
  }
  const from = blocks[low].start;
  return [...changed.filter((b) => b.start >= from), ...changed.filter((b) => b.start < from)];
}

/**
 * @param {TextRange} one
 * @param {TextRange} other
 */
const meet = (one, other) => one.start < other.end && other.start < one.end;

/**
 * Return the intended content of a block: its pieces, each with the attributes of its mark.
 * @param {Block} block
 * @param {Cover[]} all
 * @returns {Plan}
 */
function plan(block, all) {
  const here = all.filter((one) => meet(block, one));
  if (!here.length) return { look: "", cuts: "", pieces: [[block.start, block.end, null]] };
  const cuts = new Set([block.start, block.end]);
  for (const { start, end } of here) {
    if (start > block.start) cuts.add(start);
    if (end < block.end) cuts.add(end);
  }
  const offsets = [...cuts].sort((a, b) => a - b);
  /** @type {MarkedPiece[]} */
  const pieces = offsets.slice(0, -1).map((start, n) => [start, offsets[n + 1], washOf(start, offsets[n + 1], here)]);
  const outline = pieces.map(([start, , wash]) => (wash ? -start : start));
  return { look: JSON.stringify(pieces), cuts: outline.join(), pieces };
}

/**
 * @param {number} start
 * @param {number} end
 * @param {Cover[]} here
 * @returns {Wash | null}
 */
function washOf(start, end, here) {
  const over = here.filter((one) => one.start <= start && end <= one.end);
  if (!over.length) return null;
  const own = over.filter(isHighlight);
  const words = (/** @type {Cover[]} */ some) => some.map((one) => spokenOf(one)).join(", ");
  const [first, last] = [over.filter((one) => one.start === start), over.filter((one) => one.end === end)];
  return {
    depth: own.length ? String(Math.min(own.length, 3)) : undefined,
    units: own.length ? own.map((one) => one.unit).join(" ") : undefined,
    kind: own.length < over.length ? "suggested" : undefined,
    ends:
      last
        .map((one) => (isHighlight(one) ? one.unit + 1 : one.sign))
        .filter(Boolean)
        .join(" ") || undefined,
    opens: first.length ? `[${words(first)}: ` : undefined,
    closes: last.length ? ` ${t("end of {words}", { words: words(last) })}]` : undefined,
    className: classesOf(own, over).join(" "),
  };
}

/**
 * @param {Cover} one
 * @returns {one is Highlight}
 */
const isHighlight = (one) => !("kind" in one);

/**
 * @param {Highlight[]} own
 * @param {Cover[]} over
 */
function classesOf(own, over) {
  const names = own.some((one) => one.now) ? ["now"] : [];
  if (own.length && own.every((one) => one.kept)) names.push("kept");
  if (over.some((one) => one.lit)) names.push("lit");
  return names;
}

/** @param {Cover} one */
function spokenOf(one) {
  if (!isHighlight(one)) return one.spoken ?? t("suggested passage");
  return t("highlight for question {n}", { n: one.unit + 1 }) + (one.kept ? `, ${t("kept aside")}` : "");
}

/**
 * @param {Block} block
 * @param {string} text
 */
function drawBlock(block, text) {
  if (!block.plan) return;
  const { pieces, cuts, look } = block.plan;
  if (cuts === block.cuts) {
    const marks = /** @type {HTMLElement[]} */ ([...block.element.children]);
    const washes = pieces.flatMap(([, , wash]) => wash ?? []);
    washes.forEach((wash, n) => dress(marks[n], wash));
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

/**
 * @param {HTMLElement} mark
 * @param {Wash} wash
 */
function dress(mark, { className, ...data }) {
  mark.className = className;
  for (const [name, value] of Object.entries(data)) {
    if (value === undefined) delete mark.dataset[name];
    else mark.dataset[name] = value;
  }
  return mark;
}

/**
 * Return the selected range inside a container, in UTF-16 units of its text, or null.
 * @param {Element} container
 * @returns {TextRange | null}
 */
export function selectedRange(container) {
  const selection = document.getSelection();
  if (!selection?.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  if (!range.intersectsNode(container)) return null;
  const canvas = canvasOf(container);
  const inside = (/** @type {Node} */ node) => container.contains(node);
  const start = inside(range.startContainer) ? offsetOf(canvas, range.startContainer, range.startOffset) : 0;
  const end = inside(range.endContainer) ? offsetOf(canvas, range.endContainer, range.endOffset) : canvas.text.length;
  return start < end ? { start, end } : null;
}

/**
 * Return the position of the caret in a container after a click; null if text is selected, or there is
 * no caret.
 * @param {Element} container
 */
export function caretIn(container) {
  const { anchorNode = null, anchorOffset = 0, isCollapsed } = document.getSelection() ?? {};
  if (!anchorNode || !isCollapsed || !container.contains(anchorNode)) return null;
  return offsetOf(canvasOf(container), anchorNode, anchorOffset);
}

/**
 * Return a range of the text as a range of the document.
 * @param {Element} container
 * @param {TextRange} range
 */
export function rangeOf(container, { start, end }) {
  const canvas = canvasOf(container);
  const range = document.createRange();
  range.setStart(...point(canvas, start, start < end));
  range.setEnd(...point(canvas, end, false));
  return range;
}

/**
 * Select a range of the text.
 * @param {Element} container
 * @param {TextRange} place
 */
export function select(container, place) {
  const range = rangeOf(container, place);
  const selection = document.getSelection();
  selection?.removeAllRanges();
  selection?.addRange(range);
  return range;
}

/**
 * Return the offset in the text under a point of the window, or null.
 * @param {Element} container
 * @param {number} x
 * @param {number} y
 */
export function placeAt(container, x, y) {
  const at = document.caretPositionFromPoint?.(x, y);
  const range = at ? null : document.caretRangeFromPoint?.(x, y);
  const [node, offset] = at ? [at.offsetNode, at.offset] : [range?.startContainer, range?.startOffset];
  return node && container.contains(node) ? offsetOf(canvasOf(container), node, offset ?? 0) : null;
}
