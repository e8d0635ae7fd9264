// The one place that says how the work stands: a word, an icon, and the time or the reason.
const WORDS = {
  fresh: "Nothing to save yet",
  saving: "Saving…",
  saved: "Saved",
  submitting: "Submitting…",
  submitted: "Submitted",
  unsaved: "Not saved",
  refused: "Not submitted",
  offline: "Offline",
  conflict: "Conflict",
  login: "Not saved",
  closed: "Closed",
};
const MORE = {
  unsaved: "will be sent again",
  offline: "kept in this browser",
  conflict: "two versions",
  login: "log in again",
  closed: "read only",
};

export class Status {
  constructor(element, notice) {
    this.element = element;
    this.notice = notice;
    this.word = element.querySelector(".state-word");
    this.more = element.querySelector(".state-more");
  }

  show(state, more = MORE[state] ?? "") {
    this.element.dataset.state = state;
    if (this.word.textContent !== WORDS[state]) this.word.textContent = WORDS[state];
    if (this.more.textContent !== more) this.more.textContent = more;
    this.notice.hidden = state !== "login";
  }

  at(state, time) {
    this.show(state, time ? clock(time) : "");
  }
}

export function clock(time) {
  const at = new Date(time);
  const sameDay = at.toDateString() === new Date().toDateString();
  const hours = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  return sameDay ? hours : `${at.toLocaleDateString([], { day: "numeric", month: "short" })}, ${hours}`;
}
