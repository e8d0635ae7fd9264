// A long list of radio buttons with a field that filters it. The radio buttons stay, so the list works
// without the field, too.
import { t } from "../words.js";

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

export class Chooser {
  // `chosen` takes the radio; `before` is called by the up key on the first entry.
  constructor(group, { chosen, say, before }) {
    this.group = group;
    this.chosen = chosen;
    this.say = say;
    this.before = before;
    this.field = group.querySelector("[data-filter]");
    this.none = group.querySelector("[data-none]");
    this.entries = [...group.querySelectorAll(".choice")];
    this.found = this.entries;
    this.at = -1;
    this.field.addEventListener("input", () => this.filter());
    this.field.addEventListener("keydown", (event) => this.key(event) && event.preventDefault());
    this.field.addEventListener("blur", () => this.point(-1));
    group.addEventListener("change", () => this.clear());
  }

  focus() {
    this.field.focus();
    this.group.scrollIntoView({ block: "nearest" });
  }

  // A name that begins with the typed text comes before one that only contains it.
  filter() {
    const typed = plain(this.field.value.trim());
    const names = this.entries.map((entry) => plain(entry.querySelector("span").textContent));
    const rank = names.map((name, n) => {
      if (name.startsWith(typed)) return 0;
      if (name.includes(typed)) return 1;
      return plain(this.entries[n].textContent).includes(typed) ? 2 : 3;
    });
    this.entries.forEach((entry, n) => (entry.hidden = rank[n] === 3));
    const order = this.entries.map((_, n) => n).filter((n) => rank[n] < 3);
    const best = Math.min(...rank);
    this.found = order.map((n) => this.entries[n]);
    this.none.hidden = this.found.length > 0;
    this.point(typed ? order.findIndex((n) => rank[n] === best) : -1);
    if (!this.found.length) this.say(t("None found"));
  }

  point(at) {
    this.entries.forEach((entry) => entry.classList.remove("pointed"));
    this.at = at;
    const entry = this.found[at];
    if (!entry) return;
    entry.classList.add("pointed");
    entry.scrollIntoView({ block: "nearest" });
    const more = this.found.length > 1 ? `, ${t("{done} of {all}", { done: at + 1, all: this.found.length })}` : "";
    this.say(`${entry.querySelector("span").textContent}${more}`);
  }

  key({ key, isComposing, ctrlKey, metaKey }) {
    if (isComposing || ctrlKey || metaKey) return false;
    if (key === "ArrowDown") this.point(Math.min(this.at + 1, this.found.length - 1));
    else if (key === "ArrowUp" && this.at <= 0) this.before();
    else if (key === "ArrowUp") this.point(this.at - 1);
    else if (key === "Enter") this.take();
    else return false;
    return true;
  }

  take() {
    const radio = this.found[this.at]?.querySelector("input");
    if (!radio) return;
    this.chosen(radio);
    this.clear();
  }

  clear() {
    this.field.value = "";
    this.filter();
  }

  // Whether Escape had something to leave: first the typed text, then the field itself.
  escape() {
    if (document.activeElement !== this.field) return false;
    if (this.field.value) this.clear();
    else
      (this.entries.find((entry) => entry.querySelector(":checked")) ?? this.entries[0]).querySelector("input").focus();
    return true;
  }
}
