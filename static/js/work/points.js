// A list of points that a person writes. Code that highlights treats each point as a unit of the sheet.
// The list is stored as one JSON text in the field of its unit.
import { Unit } from "../sheet.js";
import { t } from "../words.js";

export class Point extends Unit {
  constructor(element, texts, { text: words = "", evidence = [] }) {
    super(element, texts);
    this.prose.value = words;
    this.readEvidence(evidence);
  }

  get blank() {
    return !this.prose.value.trim() && !this.highlights.length;
  }

  stored() {
    return { text: this.prose.value, evidence: this.highlights.map((range) => this.wire(range)) };
  }

  problem() {
    if (this.blank) return null;
    if (!this.prose.value.trim()) return t("Write the point, or delete it.");
    return this.highlights.length ? null : t("Highlight the words of the text that support this point.");
  }
}

export class Points {
  // `changed` is called after every change of the list except typing.
  constructor({ desk, unit, list, template, changed }) {
    this.desk = desk;
    this.unit = unit;
    this.list = list;
    this.template = template;
    this.changed = changed;
    this.field = unit.element.dataset.list;
    this.source = unit.free[0];
    this.others = [...desk.sheet.units];
    this.all = [];
    this.source.addEventListener("tandem:applied", () => this.read());
    list.addEventListener("input", () => this.store());
    list.addEventListener("change", () => desk.sheet.settle());
    list.addEventListener("click", ({ target }) => this.press(target));
    this.read();
  }

  // Shows the stored list on the page. The current point keeps its position if possible.
  read() {
    const { board } = this.desk;
    const before = this.all.indexOf(board.current);
    this.rescue();
    this.list.replaceChildren();
    this.all = (JSON.parse(this.source.value) ?? []).map((given) => this.made(given));
    this.number();
    this.inHand = this.all[Math.min(Math.max(before, 0), this.all.length - 1)];
    if (before >= 0) board.current = this.inHand ?? this.unit;
  }

  // The instructions on highlighting are inside the current unit, and must not be removed with it.
  rescue() {
    const how = this.list.querySelector("#how");
    if (how) this.desk.form.append(how);
  }

  made(given) {
    const element = this.template.content.firstElementChild.cloneNode(true);
    element.dataset.field = this.field;
    element.tabIndex = -1; // where the keys for a whole point are pressed
    this.list.append(element);
    return new Point(element, this.desk.texts, given);
  }

  store() {
    const written = this.all.filter((point) => !point.blank).map((point) => point.stored());
    this.source.value = JSON.stringify(written.length ? written : null);
  }

  // Points come first among the units, so that highlights have their numbers.
  number() {
    const { sheet } = this.desk;
    sheet.units = [...this.all, ...this.others];
    sheet.units.forEach((unit, place) => (unit.number = place));
    this.all.forEach(({ element, prose, quotes }, place) => {
      Object.assign(element.dataset, { unit: place, place: place + 1 });
      prose.setAttribute("aria-label", t("Point {n}", { n: place + 1 }));
      quotes.setAttribute("aria-label", t("Highlights of point {n}", { n: place + 1 }));
    });
    this.others
      .filter((unit) => unit !== this.unit)
      .forEach(({ element }, place) => (element.dataset.place = place + 1));
  }

  edited(point) {
    this.number();
    this.store();
    this.desk.board.edited(point);
    this.changed();
  }

  add() {
    const { board } = this.desk;
    const blank = this.all.find((point) => point.blank);
    const point = blank ?? this.made({});
    if (!blank) this.all.push(point);
    this.number();
    this.changed();
    board.go(point);
    point.prose.focus();
  }

  move(point, by) {
    const place = this.all.indexOf(point);
    const other = this.all[place + by];
    if (!other) return;
    [this.all[place], this.all[place + by]] = [other, point];
    if (by < 0) other.element.before(point.element);
    else other.element.after(point.element);
    this.edited(point);
    this.desk.say(t("Now point {n}", { n: place + by + 1 }));
    point.element.scrollIntoView({ block: "nearest" });
  }

  remove(point) {
    const place = this.all.indexOf(point);
    this.rescue();
    point.element.remove();
    this.all.splice(place, 1);
    this.number();
    const next = this.all[place] ?? this.all[place - 1] ?? this.unit;
    this.edited(next);
    this.desk.board.go(next, true);
    this.desk.say(t("Point {n} deleted", { n: place + 1 }));
  }

  press(target) {
    const point = this.all.find(({ element }) => element.contains(target));
    if (target.closest("[data-up]")) this.move(point, -1);
    if (target.closest("[data-down]")) this.move(point, 1);
    if (target.closest("[data-delete]")) this.remove(point);
  }

  freeze() {
    for (const point of this.all) point.prose.readOnly = true;
  }
}
