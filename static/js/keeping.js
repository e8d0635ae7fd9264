// Unsaved work of this tab on one item, kept in the browser beside the work of other tabs on the item.
import { same } from "./sheet.js";
import { outbox, setAside, unsaved } from "./store.js";
import { uuid } from "./wire.js";

export class Keeping {
  /**
   * @param {string} uid
   * @param {string} basis  identifies the texts and questions that the page shows
   */
  constructor(uid, basis) {
    this.uid = uid;
    this.basis = basis;
    this.tab = uuid();
  }

  /** @returns {Work | null} */
  get left() {
    return unsaved.get(this.uid);
  }

  // The stored work, if it belongs to another tab.
  get others() {
    const { left } = this;
    return left && left.tab !== this.tab ? left : null;
  }

  /**
   * Store work. Stored work of another tab that has not reached the server is set aside first.
   * @param {Work} work
   */
  keep(work) {
    const { uid, tab, others } = this;
    if (others && !same(others.payload, work.payload)) setAside.push(uid, others.payload, others.tab);
    setAside.forget(uid, tab);
    this.write(work);
  }

  /**
   * Store the same work with its newest state, unless another tab has set it aside.
   * @param {Work} work
   */
  note(work) {
    if (!this.others) this.write(work);
  }

  /** @param {Work} work */
  write(work) {
    unsaved.set(this.uid, { ...work, tab: this.tab, basis: this.basis });
  }

  forget() {
    if (this.left?.tab === this.tab) unsaved.set(this.uid, null);
    setAside.forget(this.uid, this.tab);
  }

  // Answers to other texts or questions cannot be sent unchanged. A copy of each is set aside, and the
  // parts that still fit continue as a draft.
  dropOutdated() {
    const { uid, left } = this;
    const outdated = (/** @type {Work | OutboxEntry} */ one) => (one.basis ?? this.basis) !== this.basis;
    for (const entry of outbox.of(uid).filter(outdated)) {
      outbox.remove(entry.key);
      setAside.push(uid, entry.payload, entry.key);
      if (!left) unsaved.set(uid, { ...entry, tab: entry.key });
    }
    if (left && outdated(left)) setAside.push(uid, left.payload, left.tab);
  }
}
