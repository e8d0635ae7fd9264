// The judge's quotes as outlines over the texts. They are in a separate layer, so that they can cross
// highlights and the text itself stays unchanged.
import { SCROLLS } from "../blocks.js";
import { rangeOf } from "../highlighter.js";
import { fromWire } from "../offsets.js";

const layers = new Map(); // by the text's container
let drawn = null;

export function drawCited(texts, verdict) {
  drawn = { texts, verdict };
  for (const layer of layers.values()) layer.replaceChildren();
  for (const quote of verdict?.querySelectorAll("[data-cited]") ?? []) {
    const place = texts.get(quote.dataset.in);
    const range = place && rangeIn(place, quote);
    if (range) outline(layerOf(place.container), range);
  }
}

function rangeIn({ container, text }, quote) {
  const found = fromWire(text, { quote: quote.textContent, start: Number(quote.dataset.cited) });
  return found && rangeOf(container, found);
}
drawCited.range = rangeIn;

function layerOf(container) {
  if (!layers.has(container)) {
    const layer = document.createElement("div");
    layer.className = "cited-layer";
    layer.setAttribute("aria-hidden", "true");
    container.after(layer);
    container.parentElement.classList.add("cited-frame");
    new ResizeObserver(again).observe(container);
    container.closest(SCROLLS)?.addEventListener("scroll", again, { passive: true });
    layers.set(container, layer);
  }
  return layers.get(container);
}

let waiting = 0;
function again() {
  if (!waiting) waiting = requestAnimationFrame(redraw);
}

function redraw() {
  waiting = 0;
  if (drawn) drawCited(drawn.texts, drawn.verdict);
}

function outline(layer, range) {
  const frame = layer.getBoundingClientRect();
  const boxes = [...range.getClientRects()].filter((box) => box.width > 1);
  for (const box of joined(boxes)) {
    const piece = document.createElement("i");
    piece.style.left = `${box.left - frame.left - 2}px`;
    piece.style.top = `${box.top - frame.top - 1}px`;
    piece.style.width = `${box.right - box.left + 4}px`;
    piece.style.height = `${box.bottom - box.top + 2}px`;
    layer.append(piece);
  }
}

// One box per line, since marks and changes of script split a line into several boxes.
function joined(boxes) {
  const lines = [];
  for (const { left, right, top, bottom } of boxes) {
    const line = lines.at(-1);
    const middle = (top + bottom) / 2;
    if (line && line.top < middle && middle < line.bottom) {
      Object.assign(line, {
        left: Math.min(line.left, left),
        right: Math.max(line.right, right),
        top: Math.min(line.top, top),
        bottom: Math.max(line.bottom, bottom),
      });
    } else lines.push({ left, right, top, bottom });
  }
  return lines;
}
