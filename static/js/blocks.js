// A long text is laid out in blocks, so that a highlight costs the layout of one of them and not of
// the whole. They end where a line of the text ends; only a line of several pages is broken at a
// sentence's end or a blank. The server makes them (`laid_out` in annotation/templatetags/annotation_tags.py), and where it has
// not, they are made here by the same rule.

const LONG = 6000; // characters: a shorter text is one block, the container itself
const LEAST = 400;
const MOST = 3000;
const SENTENCES = /^[^]{1000,2990}(?:[.!?]["')\]]* |[。！？])/;
const WORDS = /^[^]{1000,2999} /;

const canvases = new WeakMap();

// {container, text, blocks: [{element, start, end, look, cuts}]}
export function canvasOf(container, text) {
  const known = canvases.get(container);
  if (known && (text === undefined || text === known.text)) return known;
  const canvas = { container, text: text ?? container.textContent };
  const there = [...container.children];
  if (canvas.text.length <= LONG) canvas.blocks = [block(container, 0, canvas.text.length)];
  else if (there.length && there.every((each) => each.matches(".block"))) canvas.blocks = adopted(there);
  else canvas.blocks = made(container, canvas.text);
  canvases.set(container, canvas);
  return canvas;
}

const block = (element, start, end) => ({ element, start, end, look: "", cuts: "" });

function adopted(elements) {
  let at = 0;
  return elements.map((element) => block(element, at, (at += element.textContent.length)));
}

function made(container, text) {
  const elements = cut(text).map((words) => {
    const element = document.createElement("span");
    element.className = "block";
    element.textContent = words;
    return element;
  });
  container.replaceChildren(...elements);
  return adopted(elements);
}

function cut(text) {
  const found = [];
  let open = "";
  for (const line of text.match(/[^\n]*\n|[^\n]+/g)) {
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

// How far a place in the tree is from the start of the text.
export function offsetOf({ container, blocks }, node, offset) {
  const one = blocks.find(({ element }) => element.contains(node));
  const range = document.createRange();
  range.selectNodeContents(one?.element ?? container);
  range.setEnd(node, offset);
  return (one?.start ?? 0) + range.toString().length;
}

// The text node and place of an offset: of two nodes that meet there the later one, or the earlier.
export function point({ container, blocks }, offset, later) {
  const one = blocks.find(({ end }) => offset < end || (!later && offset === end)) ?? blocks.at(-1);
  const walker = document.createTreeWalker(one.element, NodeFilter.SHOW_TEXT);
  let left = offset - one.start;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (left < node.length || (!later && left === node.length)) return [node, left];
    left -= node.length;
  }
  return [container, container.childNodes.length];
}
