// A long text is laid out in blocks, so that a highlight costs the layout of one block and not of the
// whole text. Blocks end where a line of the text ends; only a line of several pages is broken at a
// sentence's end or a blank. The server creates them (`laid_out` in
// annotation/templatetags/annotation_tags.py). If it has not, this module does, by the same rule.

export const SCROLLS = ".pane, .texts"; // what a text scrolls in
const LONG = 6000; // characters: a shorter text is one block, the container itself
const LEAST = 400;
const MOST = 3000;
const SENTENCES = /^.{1000,2990}(?:[.!?]["')\]]* |[。！？])/s;
const WORDS = /^.{1000,2999} /s;

/** @type {WeakMap<Element, Canvas>} */
const canvases = new WeakMap();

/**
 * Return a text in blocks, by default the text of the container.
 * @param {Element} container
 * @param {string} [text]
 * @returns {Canvas}
 */
export function canvasOf(container, text) {
  const known = canvases.get(container);
  if (known && (text === undefined || text === known.text)) return known;
  const whole = text ?? container.textContent ?? "";
  const canvas = { container, text: whole, blocks: blocksOf(container, whole) };
  canvases.set(container, canvas);
  return canvas;
}

/**
 * @param {Element} container
 * @param {string} text
 */
function blocksOf(container, text) {
  const runs = [...container.querySelectorAll(".markdown .run")];
  if (runs.length) return adopted(runs);
  if (text.length <= LONG) return [block(container, 0, text.length)];
  const children = [...container.children];
  if (children.length && children.every((each) => each.matches(".block"))) return adopted(children);
  return created(container, text);
}

/**
 * @param {Element} element
 * @param {number} start
 * @param {number} end
 * @returns {Block}
 */
const block = (element, start, end) => ({ element, start, end, look: "", cuts: "", sign: element.matches(".sign") });

/** @param {Element[]} elements */
function adopted(elements) {
  let at = 0;
  return elements.map((element) => block(element, at, (at += (element.textContent ?? "").length)));
}

/**
 * @param {Element} container
 * @param {string} text
 */
function created(container, text) {
  const elements = cut(text).map((words) => {
    const element = document.createElement("span");
    element.className = "block";
    element.textContent = words;
    return element;
  });
  container.replaceChildren(...elements);
  return adopted(elements);
}

/**
 * Return the pieces of a long text.
 * @param {string} text
 */
export function cut(text) {
  const found = [];
  let open = "";
  for (const line of text.match(/[^\n]*\n|[^\n]+/g) ?? []) {
    open += line;
    while (open.length > MOST) {
      const [part] = SENTENCES.exec(open) ?? WORDS.exec(open) ?? [open];
      found.push(part);
      open = open.slice(part.length);
    }
    if (open.length >= LEAST) {
      found.push(open);
      open = "";
    }
  }
  return open ? [...found, open] : found;
}

/**
 * Return a range without the hidden Markdown signs at its ends, or the range itself if nothing would be
 * left.
 * @param {Canvas} canvas
 * @param {TextRange} range
 * @returns {TextRange}
 */
export function visible({ container, blocks }, range) {
  if (!container.querySelector(".markdown:not(.as-source)")) return range;
  const shown = blocks.filter(({ sign, start, end }) => !sign && start < range.end && range.start < end);
  if (!shown.length) return range;
  const [first, last] = [shown[0], shown[shown.length - 1]];
  return { ...range, start: Math.max(range.start, first.start), end: Math.min(range.end, last.end) };
}

/**
 * Return the ranges of a text that are currently hidden.
 * @param {Element} container
 * @returns {TextRange[]}
 */
export function hiddenIn(container) {
  if (!container.querySelector(".markdown:not(.as-source)")) return [];
  return canvasOf(container).blocks.filter(({ sign }) => sign);
}

/**
 * Return the offset in the text of a position in the tree.
 * @param {Canvas} canvas
 * @param {Node} node
 * @param {number} offset
 */
export function offsetOf({ container, blocks }, node, offset) {
  const one = blocks.find(({ element }) => element.contains(node));
  const range = document.createRange();
  range.selectNodeContents(one?.element ?? container);
  range.setEnd(node, offset);
  return (one?.start ?? 0) + range.toString().length;
}

/**
 * Return the text node at an offset, and the offset in it. If two nodes meet there, it is the later or
 * the earlier one, as requested.
 * @param {Canvas} canvas
 * @param {number} offset
 * @param {boolean} later
 * @returns {[Node, number]}
 */
export function point({ container, blocks }, offset, later) {
  const one = blocks.find(({ end }) => offset < end || (!later && offset === end)) ?? blocks[blocks.length - 1];
  const walker = document.createTreeWalker(one.element, NodeFilter.SHOW_TEXT);
  let left = offset - one.start;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const { length } = /** @type {Text} */ (node);
    if (left < length || (!later && left === length)) return [node, left];
    left -= length;
  }
  return [container, container.childNodes.length];
}
