// Time on task, in seconds: the time for which the page is visible and the person is active. A person
// counts as active for IDLE after the last key, pointer, wheel or touch, so a night with the page open
// does not count, and neither does a laptop's sleep. The clock is monotonic, so setting the date
// changes nothing.
import { spent } from "./store.js";

const IDLE = 120_000;
const NOTED = 5_000; // a browser that dies loses no more than this
const SIGNS = ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "touchstart"];

export class Timer {
  /**
   * @param {string} uid
   * @param {number} before  the seconds that the server knows of
   */
  constructor(uid, before) {
    this.uid = uid;
    this.total = Math.max(before, spent.get(uid));
    /** @type {number | null} */
    this.since = null;
    this.sign = performance.now();
    this.start();
    document.addEventListener("visibilitychange", () => (document.hidden ? this.stop() : this.start()));
    addEventListener("pagehide", () => this.stop());
    addEventListener("pageshow", ({ persisted }) => persisted && this.start());
    for (const event of SIGNS) addEventListener(event, () => this.someone(), { passive: true, capture: true });
  }

  // Continues from what the other tabs of this item have counted, so that no minute counts twice.
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

  // The person leaves the item and the server knows its time, so this browser forgets it.
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
