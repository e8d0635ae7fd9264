// What this tab keeps in the browser of unsaved work on one item, beside other tabs of the same item.
import { same } from "./sheet.js";
import { outbox, setAside, unsaved } from "./store.js";
import { uuid } from "./wire.js";

// Work is {payload, version, seen, sent}; `basis` is what the page shows and asks.
export class Keeping {
  constructor(uid, basis) {
    Object.assign(this, { uid, basis, tab: uuid() });
  }

  get left() {
    return unsaved.get(this.uid);
  }

  get others() {
    return this.left && this.left.tab !== this.tab;
  }

  // Work of another tab that stands here and reached no server is not written over.
  keep(work) {
    const { uid, tab, left } = this;
    if (this.others && !same(left.payload, work.payload)) setAside.push(uid, left.payload, left.tab);
    setAside.forget(uid, tab);
    this.write(work);
  }

  // The same work with what is known of it by now, unless another tab has put it aside.
  note(work) {
    if (!this.others) this.write(work);
  }

  write(work) {
    unsaved.set(this.uid, { ...work, tab: this.tab, basis: this.basis });
  }

  forget() {
    if (this.left?.tab === this.tab) unsaved.set(this.uid, null);
    setAside.forget(this.uid, this.tab);
  }

  // What was answered to other texts or questions cannot be sent as it is: a copy of it is kept,
  // and what of it fits goes on as a draft.
  dropOutdated() {
    const { uid, left } = this;
    const old = (one) => one && (one.basis ?? this.basis) !== this.basis;
    for (const entry of outbox.of(uid).filter(old)) {
      outbox.remove(entry.key);
      setAside.push(uid, entry.payload, entry.key);
      if (!left) unsaved.set(uid, { ...entry, tab: entry.key });
    }
    if (old(left)) setAside.push(uid, left.payload, left.tab);
  }
}
