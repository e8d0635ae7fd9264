// Two cards of the sheet side by side. They keep their place in the form, so that answers here use the
// same fields; the other cards are hidden.

import { t } from "../words.js";

export class Pair {
  constructor({ form, units, entered, left }) {
    this.form = form;
    this.units = units;
    this.entered = entered;
    this.left = left;
    this.picked = [];
    this.bar = document.getElementById("pair-bar");
    this.words = document.getElementById("pair-words");
  }

  get open() {
    return this.picked.length === 2;
  }

  holds(unit) {
    return this.picked.includes(unit);
  }

  pick(unit) {
    const there = this.holds(unit);
    this.picked = there ? this.picked.filter((one) => one !== unit) : [...this.picked, unit];
    this.picked.sort((a, b) => a.number - b.number);
    this.show();
    if (this.open) this.entered();
  }

  leave() {
    const wasOpen = this.open;
    this.picked = [];
    this.show();
    if (wasOpen) this.left();
  }

  show() {
    const list = this.form.querySelector(".units");
    const [one, two] = this.picked.map((unit) => unit.number + 1);
    list.classList.toggle("side-by-side", this.open);
    list.scrollTop = this.open ? 0 : list.scrollTop;
    this.bar.hidden = !this.picked.length;
    this.words.textContent = this.open
      ? t("Side by side: passages {one} and {two}", { one, two })
      : t("Passage {one} is picked; pick another to see both side by side", { one });
    this.bar.querySelector("#pair-back span").textContent = this.open ? t("Back to all") : t("Put it back");
    for (const unit of this.units) this.showUnit(unit);
  }

  showUnit(unit) {
    const held = this.holds(unit);
    unit.element.classList.toggle("picked", held);
    unit.element.classList.toggle("beside", this.open && !held);
    unit.element.querySelector("[data-pick]").setAttribute("aria-pressed", String(held));
  }
}
