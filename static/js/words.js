// Selecting by keyboard: a cursor that is always on a word. Arrows move it by word or sentence,
// Shift stretches it from where it was.
import { select } from "./highlighter.js";

function spans(text, granularity) {
  const found = [...new Intl.Segmenter(undefined, { granularity }).segment(text)];
  return found
    .filter((part) => (granularity === "word" ? part.isWordLike : part.segment.trim()))
    .map((part) => ({ start: part.index, end: part.index + part.segment.trimEnd().length }));
}

export class Words {
  constructor(container, text, say) {
    this.container = container;
    this.text = text;
    this.say = say;
    this.anchor = this.head = 0;
  }

  get words() {
    if (!this.found) {
      const words = spans(this.text, "word");
      this.found = words.length ? words : spans(this.text, "sentence");
    }
    return this.found;
  }

  get sentences() {
    return (this.starts ??= spans(this.text, "sentence"));
  }

  enter() {
    if (this.words.length) this.show();
  }

  key(event) {
    const move = {
      ArrowLeft: () => this.head - this.forward,
      ArrowRight: () => this.head + this.forward,
      ArrowUp: () => this.bySentence(-1, event.shiftKey),
      ArrowDown: () => this.bySentence(1, event.shiftKey),
      Home: () => 0,
      End: () => this.words.length - 1,
    }[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey || !this.words.length) return false;
    this.head = Math.max(0, Math.min(this.words.length - 1, move()));
    if (!event.shiftKey) this.anchor = this.head;
    this.show();
    return true;
  }

  // In a text that runs from right to left the left arrow goes on, not back.
  get forward() {
    return getComputedStyle(this.container).direction === "rtl" ? -1 : 1;
  }

  bySentence(step, stretching) {
    const at = this.words[this.head].start;
    const here = Math.max(0, this.sentences.findLastIndex((s) => s.start <= at));
    if (stretching && step > 0) {
      const last = this.lastOf(here);
      return last > this.head ? last : this.lastOf(Math.min(here + 1, this.sentences.length - 1));
    }
    const first = this.firstOf(here);
    if (step < 0 && first < this.head) return first;
    const next = here + step;
    return next in this.sentences ? this.firstOf(next) : step < 0 ? 0 : this.words.length - 1;
  }

  firstOf(sentence) {
    return Math.max(0, this.words.findIndex((w) => w.start >= this.sentences[sentence].start));
  }

  lastOf(sentence) {
    return Math.max(0, this.words.findLastIndex((w) => w.start < this.sentences[sentence].end));
  }

  show() {
    const [first, last] = [this.anchor, this.head].sort((a, b) => a - b);
    const range = { start: this.words[first].start, end: this.words[last].end };
    const shown = select(this.container, range);
    this.say(this.text.slice(range.start, range.end));
    const scroller = this.container.closest(".texts");
    const box = shown.getBoundingClientRect();
    const frame = scroller.getBoundingClientRect();
    const edge = this.head >= this.anchor ? box.bottom : box.top;
    if (edge > frame.bottom - 40) scroller.scrollTop += edge - frame.bottom + 90;
    else if (edge < frame.top + 40) scroller.scrollTop -= frame.top - edge + 90;
  }
}
