// Drafts while the work goes on, the answer at its end. One message at a time, in order; what is not
// acknowledged stays in this browser and is sent again under the same key.
import { same } from "./sheet.js";
import { outbox, setAside, unsaved } from "./store.js";
import { fields, post, uuid } from "./wire.js";

const PAUSE = 900;
const LONGEST_WAIT = 60_000;

export class Saver {
  // `page` brings: apply(payload), problems(list), conflict(theirs), left(address).
  constructor({ form, sheet, timer, status, page }) {
    Object.assign(this, { sheet, timer, status, page });
    this.uid = form.dataset.uid;
    this.draftUrl = form.dataset.draft;
    this.submitUrl = form.dataset.submit;
    this.version = Number(form.dataset.version);
    this.seen = Number(form.dataset.seen);
    this.closed = "closed" in form.dataset;
    this.tab = uuid();
    this.edition = this.kept = this.failures = 0;
    this.sent = []; // drafts whose answer never came: what they say is ours, not another's
    for (const event of ["online", "focus"]) addEventListener(event, () => this.hurry());
    addEventListener("offline", () => this.dirty && this.status.show("offline"));
    addEventListener("pagehide", () => this.lastWords());
    document.addEventListener("visibilitychange", () => document.hidden && this.hurry());
  }

  get dirty() {
    return this.edition > this.kept || outbox.of(this.uid).length > 0;
  }

  // Takes up what an earlier visit left in this browser.
  resume(savedAt) {
    const shown = this.sheet.payload();
    const local = unsaved.get(this.uid);
    const pending = outbox.of(this.uid).at(-1);
    if (this.closed) return this.status.show("closed");
    if (this.version) this.status.at("saved", savedAt);
    else this.status.at(this.seen ? "submitted" : "fresh", savedAt);
    if (pending) this.page.apply(local?.payload ?? pending.payload);
    if (local && !same(local.payload, shown)) this.takeUp(local, shown, savedAt);
    else if (local) unsaved.set(this.uid, null);
    return this.hurry();
  }

  takeUp(local, shown, savedAt) {
    this.page.apply(local.payload);
    this.edition += 1;
    this.sent = local.sent ?? [];
    const current = local.version === this.version && local.seen === this.seen;
    if (current || outbox.of(this.uid).length || this.sent.some((one) => same(one, shown))) return;
    this.clash({ theirs: shown, version: this.version, revision: this.seen, saved_at: savedAt });
  }

  changed() {
    if (this.closed) return;
    this.edition += 1;
    this.keep();
    if (this.clashing) return;
    this.status.show(navigator.onLine ? "saving" : "offline");
    this.later(PAUSE);
  }

  submit() {
    if (this.closed || this.clashing) return this.clashing && this.page.conflict(this.clashing);
    const problems = this.sheet.problems();
    if (problems.length) return this.refuse(problems);
    const payload = this.sheet.payload(true);
    const last = outbox.of(this.uid).at(-1);
    if (!last || !same(last.payload, payload)) {
      const { uid, submitUrl: url, version, seen } = this;
      const seconds = this.timer.seconds();
      outbox.add({ key: uuid(), uid, url, page: location.pathname, payload, version, seen, seconds });
    }
    this.leaving = true;
    return this.hurry();
  }

  refuse(problems) {
    this.leaving = false;
    this.status.show("refused", `${problems.length} to mend`);
    this.page.problems(problems);
  }

  later(milliseconds) {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.pump(), milliseconds);
  }

  hurry() {
    if (this.dirty) return this.pump();
  }

  async pump() {
    clearTimeout(this.waiting);
    if (this.busy || this.clashing || this.closed) return;
    this.busy = true;
    try {
      while (await this.step());
    } finally {
      this.busy = false;
    }
  }

  // Sends what is due first; whether there may be more to do at once.
  step() {
    const [entry] = outbox.of(this.uid);
    if (entry) return this.sendAnswer(entry);
    return this.edition > this.kept ? this.sendDraft() : false;
  }

  async sendDraft() {
    const { edition, version, seen } = this;
    const payload = this.sheet.payload();
    this.status.show("saving");
    this.sent = [...this.sent.slice(-4), payload];
    this.keep();
    const { kind, body } = await post(this.draftUrl, fields(payload, { version, seen }));
    if (kind === "refused") this.kept = edition; // the same again would be refused again
    if (kind !== "done") return this.failed(kind, body);
    this.acknowledged(body.version, seen);
    this.kept = edition;
    if (edition === this.edition) this.forget();
    else this.keep();
    if (edition === this.edition) this.status.at("saved", body.saved_at ?? Date.now());
    else this.later(PAUSE);
    return outbox.of(this.uid).length > 0;
  }

  async sendAnswer(entry) {
    const { key, payload, version, seen, seconds } = entry;
    this.status.show("submitting");
    const { kind, body } = await post(entry.url, fields(payload, { key, version, seen, seconds }));
    if (kind === "refused" || kind === "conflict") outbox.remove(key);
    if (kind === "conflict" && this.isOurs(body)) outbox.add({ ...entry, version: body.version, seen: body.revision });
    if (kind !== "done") return this.failed(kind, body);
    outbox.remove(key);
    this.acknowledged(0, body.revision);
    if (!same(this.sheet.payload(true), payload)) {
      this.kept = this.edition - 1;
      return true;
    }
    this.kept = this.edition;
    this.forget();
    setAside.set(this.uid, null);
    this.status.at("submitted", body.saved_at);
    this.page.left(this.leaving ? body.next : null);
    return false;
  }

  acknowledged(version, seen) {
    Object.assign(this, { version, seen, sent: [], failures: 0 });
    outbox.change((entry) => entry.uid === this.uid, { version, seen });
  }

  isOurs({ theirs }) {
    return !theirs || this.sent.some((one) => same(one, theirs));
  }

  // Whether to go on at once.
  failed(kind, body) {
    if (kind === "conflict") return this.clashOrAdopt(body);
    if (kind === "refused") {
      this.refuse(body.problems);
      return false;
    }
    if (kind === "gone") this.status.show("unsaved", "the item belongs to another account");
    else if (kind === "login") this.status.show("login");
    else this.status.show(navigator.onLine ? "unsaved" : "offline");
    this.failures += 1;
    this.later(Math.min(LONGEST_WAIT, 1000 * 2 ** (this.failures - 1)) * (0.8 + 0.4 * Math.random()));
    return false;
  }

  clashOrAdopt(body) {
    if (!this.isOurs(body)) {
      this.clash(body);
      return false;
    }
    this.acknowledged(body.version, body.revision);
    return true;
  }

  clash(body) {
    this.clashing = body;
    this.leaving = false;
    this.keep();
    this.status.show("conflict");
    this.page.conflict(body);
  }

  // After a conflict: on with one version, the other kept aside.
  settle(keepMine) {
    const { theirs, version, revision, saved_at: savedAt } = this.clashing;
    this.clashing = null;
    setAside.set(this.uid, keepMine ? theirs : this.sheet.payload());
    this.acknowledged(version, revision);
    if (keepMine) {
      this.edition += 1;
      return this.pump();
    }
    this.page.apply(theirs);
    this.kept = this.edition;
    this.forget();
    return this.status.at(version ? "saved" : "submitted", savedAt);
  }

  keep() {
    const { version, seen, sent, tab } = this;
    unsaved.set(this.uid, { payload: this.sheet.payload(), version, seen, sent, tab });
  }

  forget() {
    if (unsaved.get(this.uid)?.tab === this.tab) unsaved.set(this.uid, null);
  }

  // The page goes: a last draft that the browser sends on its own.
  lastWords() {
    if (this.edition === this.kept || this.busy || this.clashing || outbox.of(this.uid).length) return;
    const { version, seen } = this;
    const payload = this.sheet.payload();
    this.sent = [...this.sent, payload];
    this.keep();
    post(this.draftUrl, fields(payload, { version, seen }), true);
  }
}
