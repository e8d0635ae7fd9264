// The state of the work: a word, an icon, and the time or the reason.
import { overflow } from "./store.js";
import { t } from "./words.js";

/** @type {Record<string, string>} */
const WORDS = {
  fresh: t("Nothing to save yet"),
  saving: t("Saving…"),
  saved: t("Saved"),
  kept: t("Kept"),
  submitting: t("Submitting…"),
  submitted: t("Submitted"),
  unsaved: t("Not saved"),
  refused: t("Not submitted"),
  offline: t("Offline"),
  conflict: t("Conflict"),
  login: t("Not saved"),
  changed: t("Not saved"),
  late: t("Kept as a draft"),
  closed: t("Closed"),
};
/** @type {Record<string, string>} */
const MORE = {
  kept: t("in this browser, not submitted"),
  unsaved: t("will be sent later"),
  offline: t("kept in this browser"),
  conflict: t("two versions"),
  login: t("log in again"),
  changed: t("reload the item"),
  late: t("it does not count"),
  closed: t("read only"),
};
const SLOW = 900;
const SAFE = ["fresh", "saved", "submitted", "late", "closed"];

export class Status {
  /**
   * @param {HTMLElement} element
   * @param {Record<"login" | "changed" | "late" | "full", HTMLElement>} notices  each is shown in one state
   */
  constructor(element, notices) {
    this.element = element;
    this.notices = notices;
    this.word = /** @type {PageElement} */ (element.querySelector(".state-word"));
    this.more = /** @type {PageElement} */ (element.querySelector(".state-more"));
  }

  get state() {
    return this.element.dataset.state ?? "";
  }

  /** @param {string} state */
  show(state, more = MORE[state] ?? "") {
    this.element.dataset.state = state;
    if (this.word.textContent !== WORDS[state]) this.word.textContent = WORDS[state];
    if (this.more.textContent !== more) this.more.textContent = more;
    this.notices.login.hidden = state !== "login";
    this.notices.changed.hidden = state !== "changed";
    this.notices.late.hidden = state !== "late";
    this.notices.full.hidden = !overflow.now || SAFE.includes(state);
  }

  /**
   * Wait for a message, and show soon that a network does not answer.
   * @template T
   * @param {Promise<T>} message
   */
  async during(message) {
    const { state } = this;
    const slow = setTimeout(() => {
      if (this.state === state) this.show(state, t("no answer yet, kept in this browser"));
    }, SLOW);
    try {
      return await message;
    } finally {
      clearTimeout(slow);
    }
  }

  /**
   * @param {string} state
   * @param {string | number | undefined} time
   */
  at(state, time) {
    this.show(state, time ? clock(time) : "");
  }
}

/**
 * Return the time of day, with the date unless it is today.
 * @param {string | number} time
 */
export function clock(time) {
  const at = new Date(time);
  const language = document.documentElement.lang || []; // as the page is written, not as the browser is
  const sameDay = at.toDateString() === new Date().toDateString();
  const hours = at.toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  return sameDay ? hours : `${at.toLocaleDateString(language, { day: "numeric", month: "short" })}, ${hours}`;
}
