// Time on task, in seconds: while the page can be seen and somebody is there. Nobody is taken to be
// there longer than IDLE after the last key, pointer, wheel or touch, so that neither a night with
// the page open counts nor a laptop's sleep. The clock is monotonic: setting the date changes nothing.
import { spent } from "./store.js";

const IDLE = 120_000;
const NOTED = 5_000; // a browser that dies takes no more than this along
const SIGNS = ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "touchstart"];

export class Timer {
  constructor(uid, before) {
    this.uid = uid;
    this.total = Math.max(before, spent.get(uid));
    this.since = null;
    this.sign = performance.now();
    this.start();
    document.addEventListener("visibilitychange", () => (document.hidden ? this.stop() : this.start()));
    addEventListener("pagehide", () => this.stop());
    addEventListener("pageshow", ({ persisted }) => persisted && this.start());
    for (const event of SIGNS) addEventListener(event, () => this.someone(), { passive: true, capture: true });
  }

  // Goes on from what the other tabs of this item have counted: the same minute is never two.
  start() {
    if (document.hidden || this.since !== null) return;
    this.total = Math.max(this.total, spent.get(this.uid));
    this.since = this.sign = performance.now();
  }

  stop() {
    this.total = this.exact();
    this.since = null;
    this.note();
  }

  someone() {
    const now = performance.now();
    if (this.since !== null && (now - this.sign > IDLE || now - this.since > NOTED)) {
      this.stop();
      this.sign = now;
      this.start();
    }
    this.sign = now;
  }

  note() {
    spent.set(this.uid, Math.max(this.total, spent.get(this.uid)));
  }

  // The item is left and the server knows its time: this browser need not.
  finish() {
    this.note = () => spent.set(this.uid, null);
    this.note();
  }

  exact() {
    if (this.since === null) return this.total;
    const end = Math.min(performance.now(), this.sign + IDLE);
    return this.total + Math.max(0, end - this.since) / 1000;
  }

  seconds() {
    return Math.round(this.exact() * 10) / 10;
  }
}
