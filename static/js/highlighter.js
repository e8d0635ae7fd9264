// Washes over a text, and selections in it. Overlaps cannot nest in a tree, so the text is cut at
// every end of a highlight, and each piece knows how many lie over it. Numbers are drawn by CSS: the
// textContent of the container is the stored text at all times.

export function paint(container, text, highlights) {
  const selected = selectedRange(container);
  const cuts = new Set([0, text.length]);
  for (const { start, end } of highlights) cuts.add(start).add(end);
  const places = [...cuts].sort((a, b) => a - b);
  const pieces = places.slice(0, -1).map((start, n) => piece(text, start, places[n + 1], highlights));
  container.replaceChildren(...pieces);
  if (selected) select(container, selected);
}

function piece(text, start, end, highlights) {
  const over = highlights.filter((h) => h.start <= start && end <= h.end);
  const words = text.slice(start, end);
  if (!over.length) return words;
  const mark = document.createElement("mark");
  mark.textContent = words;
  mark.dataset.depth = Math.min(over.length, 3);
  mark.dataset.units = over.map((h) => h.unit).join(" ");
  mark.classList.toggle("now", over.some((h) => h.now));
  mark.classList.toggle("kept", over.every((h) => h.kept));
  mark.classList.toggle("lit", over.some((h) => h.lit));
  const ends = over.filter((h) => h.end === end).map((h) => h.unit + 1);
  if (ends.length) mark.dataset.ends = ends.join(" ");
  return mark;
}

function length(container, node, offset) {
  const range = document.createRange();
  range.selectNodeContents(container);
  range.setEnd(node, offset);
  return range.toString().length;
}

// What is selected inside a container, in UTF-16 units of its text; null for nothing.
export function selectedRange(container) {
  const selection = document.getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  if (!range.intersectsNode(container)) return null;
  const inside = (node) => container.contains(node);
  const start = inside(range.startContainer) ? length(container, range.startContainer, range.startOffset) : 0;
  const end = inside(range.endContainer)
    ? length(container, range.endContainer, range.endOffset)
    : container.textContent.length;
  return start < end ? { start, end } : null;
}

export function rangeOf(container, { start, end }) {
  const range = document.createRange();
  range.setStart(...point(container, start));
  range.setEnd(...point(container, end));
  return range;
}

export function select(container, place) {
  const range = rangeOf(container, place);
  const selection = document.getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
  return range;
}

function point(container, offset) {
  const walker = document.createTreeWalker(container, NodeFilter.SHOW_TEXT);
  let left = offset;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (left <= node.length) return [node, left];
    left -= node.length;
  }
  return [container, container.childNodes.length];
}
