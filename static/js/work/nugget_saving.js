// Saves a person's own highlights in a report. They are sent with a key, so that sending again stores
// nothing twice, and stay in this browser until the server has them.
import { same } from "../sheet.js";
import { unsaved } from "../store.js";
import { post, uuid } from "../wire.js";
import { t, tn } from "../words.js";

const WHY = {
  lost: t("Not saved: the server cannot be reached. Your changes are kept in this browser; try again."),
  login: t(
    "Not saved: you are no longer logged in. Your changes are kept in this browser; log in again and come back.",
  ),
  other: t("Not saved: another account is logged in now."),
  gone: t("Not saved: this report is no longer yours to answer."),
};

export class NuggetSaving {
  // `standing` is the evidence stored on the server at revision `seen`.
  constructor(address, seen, standing) {
    this.address = address;
    this.seen = seen;
    this.standing = standing;
    this.busy = false;
    this.last = null;
    this.store = `nugget.${address}`;
  }

  differs(evidence) {
    return !same(evidence, this.standing);
  }

  keep(evidence) {
    unsaved.set(this.store, this.differs(evidence) ? { evidence, seen: this.seen } : null);
  }

  // The changes that were not saved last time, or null.
  kept() {
    const found = unsaved.get(this.store);
    if (found) this.seen = found.seen;
    return found?.evidence ?? null;
  }

  // {kind: "done", at}, {kind: "conflict", quotes, words} or {kind: "failed", words}
  async send(evidence) {
    this.busy = true;
    const { kind, body } = await post(this.address, this.form(evidence));
    this.busy = false;
    if (kind === "done") {
      this.standing = evidence;
      this.seen = body.revision;
      this.keep(evidence);
      return { kind, at: body.saved_at };
    }
    if (kind !== "conflict") return { kind: "failed", words: reason(kind, body) };
    this.seen = body.revision;
    this.keep(evidence);
    return { kind, quotes: body.quotes, words: conflictWords(body) };
  }

  form(evidence) {
    const sent = JSON.stringify(evidence);
    if (this.last?.sent !== sent || this.last.seen !== this.seen) this.last = { sent, seen: this.seen, key: uuid() };
    return new URLSearchParams({ evidence: sent, seen: this.seen, key: this.last.key });
  }
}

function reason(kind, body) {
  const [problem] = body?.problems ?? [];
  return problem ? t("Not saved: {why}.", { why: problem.message }) : (WHY[kind] ?? WHY.lost);
}

function conflictWords({ quotes, answer }) {
  const words = tn("{n} highlight", "{n} highlights", quotes.length);
  return answer === "yes"
    ? t(
        "Not saved: this answer was changed elsewhere in the meantime, and has {words} there. Save again to keep yours, or use the other version.",
        { words },
      )
    : t(
        "Not saved: this answer was changed elsewhere in the meantime, and is no longer yes. Use the other version, or revise the report itself.",
      );
}
