// Sends drafts during the work and the answer at its end, one message at a time and in order. Messages
// that the server has not acknowledged stay in this browser, and are sent again under the same key.
import { Keeping } from "./keeping.js";
import { same } from "./sheet.js";
import { outbox, overflow, setAside, unsaved } from "./store.js";
import { answerFields, fields, post, uuid } from "./wire.js";
import { t } from "./words.js";

const PAUSE = 900;
const LONGEST_PAUSE = 1500; // while a person types without a pause: a draft leaves within 2 s
const LONGEST_WAIT = 60_000;
/**
 * A state that the person has to act on, since sending again does not help.
 * @type {Record<string, string>}
 */
const TO_MEND = { forbidden: t("your account may not answer here"), gone: t("this item is no longer yours") };

/**
 * The functions that the saver needs from the page.
 * @typedef {object} Page
 * @property {(payload: Payload) => void} apply
 * @property {(found: {unit: import("./sheet.js").Unit | string, message: string | null}[]) => void} problems
 * @property {(theirs: import("./conflict_dialog.js").Conflict) => void} conflict
 * @property {(address: string | null) => void} left
 * @property {(now?: boolean) => void} login
 * @property {(who: {name: string}) => void} stranger
 * @property {() => void} welcome
 * @property {(why: string) => void} late
 */

export class Saver {
  /**
   * @param {object} parts
   * @param {HTMLElement} parts.form
   * @param {Pick<import("./sheet.js").Sheet, "payload" | "problems">} parts.sheet
   * @param {Pick<import("./timer.js").Timer, "seconds" | "finish">} parts.timer
   * @param {import("./status.js").Status} parts.status
   * @param {Page} parts.page
   */
  constructor({ form, sheet, timer, status, page }) {
    this.sheet = sheet;
    this.timer = timer;
    this.status = status;
    this.page = page;
    this.uid = form.dataset.uid ?? "";
    this.basis = form.dataset.basis ?? "";
    this.draftUrl = form.dataset.draft;
    this.submitUrl = form.dataset.submit ?? "";
    this.version = Number(form.dataset.version);
    this.seen = Number(form.dataset.seen);
    this.closed = "closed" in form.dataset;
    this.keeping = new Keeping(this.uid, this.basis);
    this.edition = this.kept = this.failures = this.restUntil = 0;
    this.stopped = false; // another person is logged in, or the item has changed
    this.busy = false;
    this.leaving = false; // whether the page opens the next item once the answer is stored
    this.unmended = ""; // why the last answer was not submitted
    /** @type {Payload[]} Drafts that were never acknowledged; the server may have them all the same. */
    this.sent = [];
    /** @type {import("./conflict_dialog.js").Conflict | null} */
    this.conflict = null;
    /** @type {number | null} */
    this.waitingSince = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.waiting = undefined;
    for (const event of ["online", "focus"]) addEventListener(event, () => this.hurry());
    addEventListener("offline", () => this.dirty && this.status.show("offline"));
    addEventListener("pagehide", () => this.lastWords());
    addEventListener("beforeunload", (event) => this.dirty && overflow.now && event.preventDefault());
    document.addEventListener("visibilitychange", () => document.hidden && this.hurry());
  }

  get dirty() {
    return this.edition > this.kept || outbox.of(this.uid).length > 0;
  }

  /**
   * Continue with the work that an earlier visit left in this browser.
   * @param {string} [savedAt]
   */
  resume(savedAt) {
    const shown = this.sheet.payload();
    if (this.closed) return this.status.show("closed");
    if (this.version) this.status.at("saved", savedAt);
    else this.status.at(this.seen ? "submitted" : "fresh", savedAt);
    this.keeping.dropOutdated();
    const local = this.keeping.left;
    const pending = outbox.of(this.uid).at(-1);
    const work = local ?? pending;
    if (work && (pending || !same(work.payload, shown))) this.takeUp(work, shown, savedAt);
    else if (local) unsaved.set(this.uid, null);
    return this.hurry();
  }

  /**
   * @param {Work | OutboxEntry} local
   * @param {Payload} shown
   * @param {string} [savedAt]
   */
  takeUp(local, shown, savedAt) {
    this.page.apply(local.payload);
    this.edition += 1;
    this.sent = local.sent ?? [];
    const current = local.version === this.version && local.seen === this.seen;
    const ours = current || outbox.of(this.uid).length || this.sent.some((one) => same(one, shown));
    if (ours) {
      this.keeping.keep(this.work);
      if (!this.draftUrl) this.stay();
    } else this.startConflict({ theirs: shown, version: this.version, revision: this.seen, saved_at: savedAt });
  }

  changed() {
    if (this.closed) return;
    this.edition += 1;
    this.unmended = "";
    this.keeping.keep(this.work);
    if (this.conflict || this.stopped) return;
    if (!this.draftUrl) return this.stay();
    this.waitingSince ??= performance.now();
    this.busyWith("saving");
    this.soon();
  }

  // Work on a page without drafts on the server is stored in this browser until it is submitted.
  stay() {
    this.kept = this.edition;
    this.status.show("kept");
  }

  /**
   * Show what is under way. A failure stays on show until a message arrives, not only until the next try.
   * @param {string} state
   */
  busyWith(state) {
    if (!navigator.onLine) this.status.show("offline");
    else if (!this.failures) this.status.show(state);
    else if (this.status.state === "offline") this.status.show("unsaved");
  }

  submit() {
    if (this.closed || this.stopped) return;
    if (this.conflict) return this.page.conflict(this.conflict);
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

  /** @param {ReturnType<import("./sheet.js").Sheet["problems"]> | {unit: string, message: string}[]} problems */
  refuse(problems) {
    this.leaving = false;
    // Shown until something changes, since a saved draft is not a submitted answer.
    this.unmended = t("{n} to correct", { n: problems.length });
    this.status.show("refused", this.unmended);
    this.page.problems(problems);
  }

  soon() {
    const waited = performance.now() - (this.waitingSince ?? performance.now());
    this.later(Math.max(0, Math.min(PAUSE, LONGEST_PAUSE - waited)));
  }

  /** @param {number} milliseconds */
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
    if (this.busy || this.conflict || this.closed || this.stopped) return;
    this.busy = true;
    try {
      while (await this.step());
    } finally {
      this.busy = false;
    }
  }

  // Sends what is due first; returns whether more may be due at once.
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
      post(this.draftUrl ?? "", fields(payload, { version, seen, basis })),
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

  /** @param {OutboxEntry} entry */
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

  /**
   * @param {number} version
   * @param {number} seen
   */
  acknowledged(version, seen) {
    if (this.failures) this.page.welcome();
    this.version = version;
    this.seen = seen;
    this.sent = [];
    this.failures = 0;
    outbox.change((entry) => entry.uid === this.uid, { version, seen });
  }

  /**
   * Return whether the version on the server is a draft that this tab sent.
   * @param {{theirs?: Payload}} body
   */
  isOurs({ theirs }) {
    return !theirs || this.sent.some((one) => same(one, theirs));
  }

  /**
   * Return whether to go on at once.
   * @param {string} kind
   * @param {Outcome["body"]} body
   * @param {number} [rest]
   */
  failed(kind, body, rest = 0) {
    if (kind === "conflict") return this.conflictOrAdopt(body);
    if (kind === "refused") return this.refusedBy(body);
    if (kind === "changed" || kind === "other") return this.stop(kind, body);
    this.failures += 1;
    this.restUntil = rest ? performance.now() + rest : 0;
    if (TO_MEND[kind]) this.status.show("unsaved", t("{why}; kept in this browser", { why: TO_MEND[kind] }));
    else if (kind === "login") this.status.show("login");
    else this.status.show(navigator.onLine ? "unsaved" : "offline");
    if (kind === "login") this.page.login();
    this.later(Math.min(LONGEST_WAIT, 1000 * 2 ** (this.failures - 1)) * (0.8 + 0.4 * Math.random()));
    return false;
  }

  /**
   * An answer too late to count is kept as a draft by the server; any other one has problems to mend.
   * @param {{problems: {unit: string, message: string}[], kept?: {version: number}}} body
   */
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

  /**
   * @param {string} kind
   * @param {Outcome["body"]} [body]
   */
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

  /** @param {import("./conflict_dialog.js").Conflict} body */
  conflictOrAdopt(body) {
    if (!this.isOurs(body)) {
      this.startConflict(body);
      return false;
    }
    this.acknowledged(body.version, body.revision);
    return true;
  }

  /** @param {import("./conflict_dialog.js").Conflict} body */
  startConflict(body) {
    this.conflict = body;
    this.leaving = false;
    this.keeping.keep(this.work);
    this.status.show("conflict");
    this.page.conflict(body);
  }

  /**
   * Settle a conflict: go on with one version and set the other aside.
   * @param {boolean} keepMine
   */
  settle(keepMine) {
    if (!this.conflict) return;
    const { theirs, version, revision, saved_at: savedAt } = this.conflict;
    this.conflict = null;
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

  // Sends a last draft when the page closes; the browser delivers it after that.
  lastWords() {
    if (!this.draftUrl || this.edition === this.kept || this.busy || this.conflict || this.stopped) return;
    if (outbox.of(this.uid).length) return;
    const { version, seen, basis } = this;
    const payload = this.sheet.payload();
    this.sent = [...this.sent, payload];
    this.keeping.note(this.work);
    post(this.draftUrl, fields(payload, { version, seen, basis }), true);
  }
}
