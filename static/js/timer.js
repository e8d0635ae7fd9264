// Time on task: only while the page can be seen.
import { spent } from "./store.js";

export class Timer {
  constructor(uid, before) {
    this.uid = uid;
    this.total = Math.max(before, spent.get(uid));
    this.since = document.hidden ? null : performance.now();
    document.addEventListener("visibilitychange", () => this.turn());
    addEventListener("pagehide", () => this.keep());
  }

  turn() {
    this.keep();
    this.since = document.hidden ? null : performance.now();
  }

  keep() {
    this.total = this.seconds();
    if (this.since !== null) this.since = performance.now();
    spent.set(this.uid, this.total);
  }

  seconds() {
    const running = this.since === null ? 0 : performance.now() - this.since;
    return Math.round((this.total + running / 1000) * 10) / 10;
  }
}
