// What the page shows of the sheet: the question in hand, summaries, highlights here and in the texts.
import { selectedRange } from "./highlighter.js";
import { piece } from "./pieces.js";
import { Spans } from "./spans.js";
import { t, tn } from "./words.js";

export class Board {
  // `texts` maps a field to {container, text}.
  constructor(sheet, texts, { changed, say }) {
    this.sheet = sheet;
    this.texts = texts;
    this.changed = changed;
    this.say = say;
    this.list = sheet.form.querySelector(".units");
    this.current = sheet.units.find((unit) => unit.problem()) ?? sheet.units[0];
    this.spans = new Spans(this);
    this.aimed = null;
    this.movesOn = true; // an answer by a key that owes nothing more moves on to the next open question
  }

  // What is left to answer, in words; a page whose units are no questions has its own.
  left(number) {
    return tn("{n} question left", "{n} questions left", number);
  }

  get place() {
    return this.sheet.units.indexOf(this.current);
  }

  // The text that the question in hand is highlighted in, if it is: {field, container, text}. Of
  // several it is the one with the selection, else with the focus.
  get target() {
    if (!this.current?.marks) return undefined;
    const all = this.current.fields.map((field) => ({ field, ...this.texts.get(field) }));
    if (all.length < 2) return all[0];
    const selected = all.find(({ container }) => selectedRange(container));
    return selected ?? all.find(({ container }) => container.contains(document.activeElement)) ?? all[0];
  }

  go(unit, focus = false) {
    if (!unit) return;
    const before = unit.element.getBoundingClientRect().top;
    if (unit !== this.current) {
      this.aimed = null;
      this.spans.leave(unit);
    }
    this.current = unit;
    this.refresh();
    // What was clicked stays under the pointer, though the question before it folds up.
    this.list.scrollTop += unit.element.getBoundingClientRect().top - before;
    unit.element.scrollIntoView({ block: "nearest" });
    if (focus) this.focus();
  }

  step(by) {
    const next = this.sheet.units[this.place + by];
    if (next) this.go(next, true);
  }

  focus() {
    const group = this.aim();
    const radios = group ? this.current.radios(group) : [];
    const field = radios.find((radio) => radio.checked) ?? radios[0] ?? this.current.prose;
    (
      field ??
      this.current.element.querySelector("a[href], button, input:not([type=hidden]), textarea") ??
      document.getElementById("texts")
    ).focus();
  }

  // The next question that is open, after the one in hand or before it.
  nextOpen() {
    const { units } = this.sheet;
    const around = [...units.slice(this.place + 1), ...units.slice(0, this.place)];
    return around.find((unit) => unit.problem() && unit.element.checkVisibility());
  }

  // Goes there; where there is none it says so.
  goToOpen() {
    const next = this.nextOpen();
    if (next) this.go(next, true);
    else if (!this.current?.problem()) this.say(t("All answered"));
  }

  // The variable that digits answer: the one in hand, else the first without an answer.
  aim() {
    const asked = this.current.asked();
    if (asked.includes(this.aimed)) return this.aimed;
    return asked.find((group) => !this.current.value(group)) ?? asked.at(-1);
  }

  choose(digit) {
    const group = this.aim();
    const radio = group && this.current.radios(group).find((one) => one.parentElement.dataset.key === digit);
    if (!radio) return false;
    const unit = this.current;
    const open = Boolean(unit.problem());
    unit.choose(group, radio.value);
    this.edited(this.current);
    const asked = this.current.asked();
    const next = asked.slice(asked.indexOf(group) + 1).find((one) => !this.current.value(one));
    this.aimed = next ?? group;
    this.say(t("{words}, question {n}", { words: this.current.word(group, radio.value), n: this.current.number + 1 }));
    const reading = Boolean(document.activeElement?.closest("[data-marks]"));
    if (!reading) this.focus();
    this.refresh();
    // Where a highlight may be added, though none is owed, the question stays in hand.
    const whole = open && !unit.problem() && !(unit.marks && unit.counts() && !unit.highlights.length);
    const after = this.movesOn && whole && this.nextOpen();
    if (after) this.go(after, !reading);
    return true;
  }

  highlight(range) {
    this.spans.add(range);
  }

  // Passages that someone else proposed, drawn beneath the highlights: see highlighter.js.
  suggest(field, ranges) {
    this.spans.suggested.set(field, ranges);
    this.refresh();
  }

  edited(unit) {
    this.problem(unit, "");
    this.sheet.settle();
    this.refresh();
    this.changed();
  }

  undo() {
    this.turn(this.sheet.undo(), t("Undone"));
  }

  redo() {
    this.turn(this.sheet.redo(), t("Redone"));
  }

  turn(touched, words) {
    if (!touched) return;
    this.aimed = null;
    this.go(touched);
    this.changed();
    this.say(t("{words}, question {n}", { words, n: touched.number + 1 }));
  }

  problem(unit, message) {
    if (unit.problemPlace.textContent !== message) unit.problemPlace.textContent = message;
  }

  // [{unit, message}], from here or by name from the server; the first one is gone to.
  problems(found) {
    for (const unit of this.sheet.units) this.problem(unit, "");
    for (const { unit, message } of found) this.problem(unit, message);
    if (found.length) this.go(found[0].unit, true);
  }

  refresh() {
    const focused = document.activeElement;
    for (const unit of this.sheet.units) this.refreshUnit(unit);
    this.spans.paint();
    const { units, history, undone } = this.sheet;
    const left = units.filter((unit) => unit.problem()).length;
    document.getElementById("answered").textContent = t("{done} of {all}", {
      done: units.length - left,
      all: units.length,
    });
    document.getElementById("left").textContent = left ? this.left(left) : t("All answered");
    document.getElementById("undo").disabled = !history.length;
    document.getElementById("redo").disabled = !undone.length;
    this.keepFocus(focused);
  }

  // What had the focus may have gone, or be of no more use: then its question has it.
  keepFocus(focused) {
    if (!focused || focused === document.body || focused.closest("dialog")) return;
    const there = document.activeElement === focused && !focused.disabled && focused.checkVisibility();
    if (there) return;
    if (focused.isConnected && !focused.disabled && focused.checkVisibility()) focused.focus({ preventScroll: true });
    else this.focus();
  }

  refreshUnit(unit) {
    const { element } = unit;
    const asked = unit.asked();
    const now = unit === this.current;
    element.classList.toggle("now", now);
    element.classList.toggle(
      "answered",
      asked.length > 0 && asked.every((group) => unit.value(group)) && !unit.proseAsked(),
    );
    element.setAttribute("aria-current", String(now));
    for (const group of unit.groups) {
      group.hidden = !asked.includes(group);
      group.classList.toggle("aimed", now && unit.groups.length > 1 && group === this.aim());
    }
    const written = element.querySelector("[data-written]");
    if (written) written.hidden = !unit.proseAsked();
    unit.summary.replaceChildren(...this.summary(unit, asked));
    if (unit.marks) {
      this.spans.quotes.list(unit);
      unit.evidence.value = JSON.stringify(unit.payload(false).evidence);
    }
    if (!now) return;
    const how = document.getElementById("how");
    how.hidden = !unit.marks;
    if (unit.problemPlace.previousElementSibling !== how) unit.problemPlace.before(how);
  }

  summary(unit, asked) {
    const parts = asked
      .filter((group) => unit.value(group))
      .map((group) => {
        const tone = unit.radio(group, unit.value(group)).closest(".choice").classList[1];
        return piece(`pill ${tone}`, unit.word(group, unit.value(group)));
      });
    const count = unit.highlights.length;
    if (unit.owes()) parts.push(piece("missing", t("highlight missing")));
    else if (count) {
      const kept = unit.keeps() ? `, ${t("kept aside")}` : "";
      parts.push(piece("", `${tn("{n} highlight", "{n} highlights", count)}${kept}`));
    }
    return parts;
  }

  remove(unit, range) {
    this.spans.remove(unit, range);
  }

  // Scrolls to a range of the unit's text and lights it.
  show(unit, range) {
    this.spans.show(unit, range);
  }
}
