// Drafts while the work goes on, the answer at its end. One message at a time, in order; what is not
// acknowledged stays in this browser and is sent again under the same key.
import { Keeping } from "./keeping.js";
import { same } from "./sheet.js";
import { outbox, overflow, setAside, unsaved } from "./store.js";
import { answerFields, fields, post, uuid } from "./wire.js";

const PAUSE = 900;
const LONGEST_PAUSE = 1500; // of somebody who types on and on: a draft leaves within 2 s
const LONGEST_WAIT = 60_000;
const TO_MEND = { forbidden: "your account may not answer here", gone: "this item is not yours any more" };

export class Saver {
  // `page` brings: apply(payload), problems(list), conflict(theirs), left(address), login(now),
  // stranger(who), welcome(), late(why).
  constructor({ form, sheet, timer, status, page }) {
    Object.assign(this, { sheet, timer, status, page });
    this.uid = form.dataset.uid;
    this.basis = form.dataset.basis;
    this.draftUrl = form.dataset.draft;
    this.submitUrl = form.dataset.submit;
    this.version = Number(form.dataset.version);
    this.seen = Number(form.dataset.seen);
    this.closed = "closed" in form.dataset;
    this.keeping = new Keeping(this.uid, this.basis);
    this.edition = this.kept = this.failures = this.restUntil = 0;
    this.stopped = false; // somebody else is logged in, or the item is another one by now
    this.unmended = ""; // what keeps the last answer from being submitted
    this.sent = []; // drafts whose answer never came: what they say is ours, not another's
    for (const event of ["online", "focus"]) addEventListener(event, () => this.hurry());
    addEventListener("offline", () => this.dirty && this.status.show("offline"));
    addEventListener("pagehide", () => this.lastWords());
    addEventListener("beforeunload", (event) => this.dirty && overflow.now && event.preventDefault());
    document.addEventListener("visibilitychange", () => document.hidden && this.hurry());
  }

  get dirty() {
    return this.edition > this.kept || outbox.of(this.uid).length > 0;
  }

  // Takes up what an earlier visit left in this browser.
  resume(savedAt) {
    const shown = this.sheet.payload();
    if (this.closed) return this.status.show("closed");
    if (this.version) this.status.at("saved", savedAt);
    else this.status.at(this.seen ? "submitted" : "fresh", savedAt);
    this.keeping.dropOutdated();
    const local = this.keeping.left;
    const pending = outbox.of(this.uid).at(-1);
    const payload = local?.payload ?? pending?.payload;
    if (payload && (pending || !same(payload, shown))) this.takeUp(local ?? pending, shown, savedAt);
    else if (local) unsaved.set(this.uid, null);
    return this.hurry();
  }

  takeUp(local, shown, savedAt) {
    this.page.apply(local.payload);
    this.edition += 1;
    this.sent = local.sent ?? [];
    const current = local.version === this.version && local.seen === this.seen;
    const ours = current || outbox.of(this.uid).length || this.sent.some((one) => same(one, shown));
    if (ours) {
      this.keeping.keep(this.work);
      if (!this.draftUrl) this.stay();
    } else this.clash({ theirs: shown, version: this.version, revision: this.seen, saved_at: savedAt });
  }

  changed() {
    if (this.closed) return;
    this.edition += 1;
    this.unmended = "";
    this.keeping.keep(this.work);
    if (this.clashing || this.stopped) return;
    if (!this.draftUrl) return this.stay();
    this.waitingSince ??= performance.now();
    this.busyWith("saving");
    this.soon();
  }

  // A page without drafts on the server: until it is submitted, its work is kept in this browser.
  stay() {
    this.kept = this.edition;
    this.status.show("kept");
  }

  // What did not work is said until it works, not only until it is tried again.
  busyWith(state) {
    if (!navigator.onLine) this.status.show("offline");
    else if (!this.failures) this.status.show(state);
    else if (this.status.state === "offline") this.status.show("unsaved");
  }

  submit() {
    if (this.closed || this.stopped) return;
    if (this.clashing) return this.page.conflict(this.clashing);
    const problems = this.sheet.problems();
    if (problems.length) return this.refuse(problems);
    this.unmended = "";
    const payload = this.sheet.payload(true);
    const last = outbox.of(this.uid).at(-1);
    if (!last || !same(last.payload, payload)) {
      const { uid, submitUrl: url, version, seen, basis } = this;
      const seconds = this.timer.seconds();
      outbox.add({ key: uuid(), uid, url, page: location.pathname, payload, version, seen, basis, seconds });
    }
    this.leaving = true;
    if (this.status.state === "login") this.page.login(true);
    return this.hurry();
  }

  refuse(problems) {
    this.leaving = false;
    // Said until something changes: that the draft is saved does not make the answer submitted.
    this.unmended = `${problems.length} to mend`;
    this.status.show("refused", this.unmended);
    this.page.problems(problems);
  }

  soon() {
    const waited = performance.now() - (this.waitingSince ?? performance.now());
    this.later(Math.max(0, Math.min(PAUSE, LONGEST_PAUSE - waited)));
  }

  later(milliseconds) {
    clearTimeout(this.waiting);
    const rest = this.restUntil - performance.now();
    this.waiting = setTimeout(() => this.pump(), Math.max(milliseconds, rest));
  }

  hurry() {
    if (this.dirty) return performance.now() < this.restUntil ? this.later(0) : this.pump();
  }

  async pump() {
    clearTimeout(this.waiting);
    if (this.busy || this.clashing || this.closed || this.stopped) return;
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
    return this.draftUrl && this.edition > this.kept ? this.sendDraft() : false;
  }

  async sendDraft() {
    const { edition, version, seen, basis } = this;
    const payload = this.sheet.payload();
    this.waitingSince = null;
    if (!this.unmended) this.busyWith("saving");
    this.sent = [...this.sent.slice(-4), payload];
    this.keeping.note(this.work);
    const { kind, body, rest } = await this.status.during(
      post(this.draftUrl, fields(payload, { version, seen, basis })),
    );
    if (kind === "refused") this.kept = edition; // the same again would be refused again
    if (kind !== "done") return this.failed(kind, body, rest);
    this.acknowledged(body.version, seen);
    this.kept = edition;
    if (edition === this.edition) this.keeping.forget();
    else this.keeping.note(this.work);
    if (edition !== this.edition) this.soon();
    else if (this.unmended) this.status.show("refused", this.unmended);
    else this.status.at("saved", body.saved_at ?? Date.now());
    return outbox.of(this.uid).length > 0;
  }

  async sendAnswer(entry) {
    const { key, payload } = entry;
    this.busyWith("submitting");
    const { kind, body, rest } = await this.status.during(post(entry.url, answerFields(entry)));
    if (["refused", "conflict", "changed"].includes(kind)) outbox.remove(key);
    if (kind === "conflict" && this.isOurs(body)) outbox.add({ ...entry, version: body.version, seen: body.revision });
    if (kind !== "done") return this.failed(kind, body, rest);
    outbox.remove(key);
    this.acknowledged(0, body.revision);
    if (!same(this.sheet.payload(true), payload)) {
      if (!this.draftUrl) return this.stay();
      this.kept = this.edition - 1;
      return true;
    }
    this.kept = this.edition;
    this.keeping.forget();
    this.status.at("submitted", body.saved_at);
    if (this.leaving) this.timer.finish();
    this.page.left(this.leaving ? body.next : null);
    return false;
  }

  acknowledged(version, seen) {
    if (this.failures) this.page.welcome();
    Object.assign(this, { version, seen, sent: [], failures: 0 });
    outbox.change((entry) => entry.uid === this.uid, { version, seen });
  }

  isOurs({ theirs }) {
    return !theirs || this.sent.some((one) => same(one, theirs));
  }

  // Whether to go on at once.
  failed(kind, body, rest = 0) {
    if (kind === "conflict") return this.clashOrAdopt(body);
    if (kind === "refused") return this.refusedBy(body);
    if (kind === "changed" || kind === "other") return this.stop(kind, body);
    this.failures += 1;
    this.restUntil = rest ? performance.now() + rest : 0;
    if (TO_MEND[kind]) this.status.show("unsaved", `${TO_MEND[kind]}; kept in this browser`);
    else if (kind === "login") this.status.show("login");
    else this.status.show(navigator.onLine ? "unsaved" : "offline");
    if (kind === "login") this.page.login();
    this.later(Math.min(LONGEST_WAIT, 1000 * 2 ** (this.failures - 1)) * (0.8 + 0.4 * Math.random()));
    return false;
  }

  // Too late to count, the server has kept it as a draft; else it says what there is to mend.
  refusedBy({ problems, kept }) {
    if (!kept) {
      this.refuse(problems);
      return false;
    }
    this.acknowledged(kept.version, this.seen);
    this.kept = this.edition;
    this.keeping.forget();
    this.leaving = false;
    this.status.show("late");
    this.page.late(problems[0].message);
    return false;
  }

  stop(kind, body) {
    this.keeping.keep(this.work);
    this.stopped = true;
    this.leaving = false;
    this.failures += 1;
    this.status.show(kind === "changed" ? "changed" : "login");
    if (body?.name) this.page.stranger(body);
    return false;
  }

  // The account of this page is back.
  goOn() {
    this.stopped = this.status.state === "changed";
    if (this.dirty) return this.hurry();
    this.failures = 0;
    if (this.status.state === "login") this.status.show("saved", "");
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
    this.keeping.keep(this.work);
    this.status.show("conflict");
    this.page.conflict(body);
  }

  // After a conflict: on with one version, the other kept aside.
  settle(keepMine) {
    const { theirs, version, revision, saved_at: savedAt } = this.clashing;
    this.clashing = null;
    setAside.push(this.uid, keepMine ? theirs : this.sheet.payload());
    this.acknowledged(version, revision);
    if (keepMine) {
      this.edition += 1;
      return this.draftUrl ? this.pump() : this.stay();
    }
    this.page.apply(theirs);
    this.kept = this.edition;
    this.keeping.forget();
    return this.status.at(version ? "saved" : "submitted", savedAt);
  }

  get work() {
    const { version, seen, sent } = this;
    return { payload: this.sheet.payload(), version, seen, sent };
  }

  // The page goes: a last draft that the browser sends on its own.
  lastWords() {
    if (!this.draftUrl || this.edition === this.kept || this.busy || this.clashing || this.stopped) return;
    if (outbox.of(this.uid).length) return;
    const { version, seen, basis } = this;
    const payload = this.sheet.payload();
    this.sent = [...this.sent, payload];
    this.keeping.note(this.work);
    post(this.draftUrl, fields(payload, { version, seen, basis }), true);
  }
}
