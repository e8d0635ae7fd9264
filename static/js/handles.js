// The selected highlight has a handle at each end to drag, and a button to remove it. They are placed
// over the text, never inside it. Keyboard users have the list under the question.
import { canvasOf, visible } from "./blocks.js";
import { placeAt, rangeOf, select } from "./highlighter.js";
import { wholePairs } from "./offsets.js";
import { piece } from "./pieces.js";
import { t } from "./words.js";

const RIGHT_TO_LEFT = /^[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

export class Handles {
  constructor(spans) {
    this.spans = spans;
    this.ends = { start: this.handle("start"), end: this.handle("end") };
    this.remove = /** @type {HTMLButtonElement} */ (piece("button mark-tool", `${t("Remove")} `, "button"));
    this.remove.type = "button";
    this.what = piece("sr", "");
    this.remove.append(this.what, piece("", t("del"), "kbd"));
    this.remove.addEventListener("click", () => this.removed());
    addEventListener("resize", () => this.show());
  }

  get unit() {
    return this.spans.unitOf(this.spans.taken);
  }

  get text() {
    return this.spans.board.texts.get(this.spans.taken.field);
  }

  removed() {
    const { container } = this.text;
    const number = this.spans.taken.unit + 1;
    this.spans.remove(this.unit, this.spans.taken);
    this.spans.board.say(t("Highlight removed, question {n}", { n: number }));
    container.focus({ preventScroll: true });
  }

  show() {
    const all = [...Object.values(this.ends), this.remove];
    const { taken, closed } = this.spans;
    for (const one of all) one.hidden = !taken || closed;
    if (!taken || closed) return;
    const { container, text } = this.text;
    const place = container.parentElement;
    place.classList.add("has-tools");
    if (this.remove.parentElement !== place) container.after(...all);
    this.what.textContent = `${t("highlight for question {n}", { n: taken.unit + 1 })} `;
    const seen = visible(canvasOf(container), taken);
    const end = this.put("end", container, text, { start: seen.end - 1, end: seen.end });
    this.put("start", container, text, { start: seen.start, end: seen.start + 1 });
    // Below the last line, and not beyond the edge of the text.
    this.remove.style.top = `${end.bottom + 8}px`;
    this.remove.style.left = `${Math.max(0, Math.min(end.left, place.clientWidth - this.remove.offsetWidth - 4))}px`;
  }

  // A handle is where reading starts or ends, such as on the right of a Hebrew word's first letter.
  put(which, container, text, range) {
    const { box, frame } = this.boxes(container, wholePairs(text, range));
    const atLeft = (which === "start") !== RIGHT_TO_LEFT.test(text.slice(range.start, range.end));
    const left = (atLeft ? box.left : box.right) - frame.left;
    const handle = this.ends[which];
    Object.assign(handle.style, { left: `${left}px`, top: `${box.top - frame.top}px`, height: `${box.height}px` });
    return { left, bottom: box.bottom - frame.top };
  }

  boxes(container, range) {
    const place = container.parentElement;
    const outer = place.getBoundingClientRect();
    const frame = {
      left: outer.left + place.clientLeft - place.scrollLeft,
      top: outer.top + place.clientTop - place.scrollTop,
    };
    const rects = rangeOf(container, range).getClientRects();
    return { box: rects[rects.length - 1] ?? container.getBoundingClientRect(), frame };
  }

  handle(which) {
    const handle = piece(`handle ${which}`, "");
    handle.ariaHidden = "true";
    handle.addEventListener("pointerdown", (event) => this.drag(event, which));
    // Releasing a handle with the mouse has not selected any text.
    handle.addEventListener("click", (event) => event.stopPropagation());
    return handle;
  }

  drag(event, which) {
    event.preventDefault();
    event.stopPropagation();
    const handle = this.ends[which];
    const below = event.clientY - handle.getBoundingClientRect().top - handle.offsetHeight / 2;
    const stop = new AbortController();
    const listen = (name, act) => addEventListener(name, act, { signal: stop.signal, capture: true });
    const end = (keep) => {
      stop.abort();
      handle.classList.remove("dragged");
      this.settle(keep);
    };
    handle.setPointerCapture(event.pointerId);
    handle.classList.add("dragged");
    this.wanted = null;
    listen("pointermove", (move) => this.follow(which, move.clientX, move.clientY - below));
    listen("pointerup", () => end(true));
    listen("pointercancel", () => end(false));
    listen("keydown", (key) => key.key === "Escape" && (key.stopPropagation(), end(false)));
  }

  // The new range is shown as a selection, since marks would move the words under the pointer.
  follow(which, x, y) {
    const { taken } = this.spans;
    const { container, text } = this.text;
    const at = placeAt(container, x, y);
    const next = at === null ? null : { start: taken.start, end: taken.end, [which]: at };
    if (!next || next.start >= next.end) return;
    this.wanted = next;
    select(container, next);
    this.put(which, container, text, which === "end" ? { start: at - 1, end: at } : { start: at, end: at + 1 });
  }

  settle(keep) {
    const {
      spans,
      unit,
      wanted,
      text: { container, text },
    } = this;
    const next = keep && wanted && spans.fitted(text, wanted);
    document.getSelection().removeAllRanges();
    if (next && spans.reshape(unit, spans.taken, next))
      spans.board.say(t("Highlight for question {n} moved", { n: unit.number + 1 }));
    else this.show();
    container.focus({ preventScroll: true });
  }
}
