// Shows the sheet on the page: the current question, summaries, and highlights in the lists and the
// texts.
import { selectedRange } from "./highlighter.js";
import { piece, writeOn } from "./pieces.js";
import { wide } from "./sheet.js";
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

  // The number of open questions, in words. A page whose units are not questions has its own words.
  left(number) {
    return tn("{n} question left", "{n} questions left", number);
  }

  get place() {
    return this.sheet.units.indexOf(this.current);
  }

  // The text to highlight in for the current question, if any: {field, container, text}. If there are
  // several, it is the one with the selection, or else the one with the focus, or that lacks a highlight.
  get target() {
    if (!this.current?.marks) return undefined;
    const all = this.current.fields.map((field) => ({ field, ...this.texts.get(field) }));
    if (all.length < 2) return all[0];
    const owing = this.current.places?.owing()[0]?.fields ?? [];
    return (
      all.find(({ container }) => selectedRange(container)) ??
      all.find(({ container }) => container.contains(document.activeElement)) ??
      all.find(({ field }) => owing.includes(field)) ??
      all[0]
    );
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
    // The clicked element stays under the pointer when the question above it collapses.
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
    const slider = group && wide?.scaleOf(group)?.slider;
    const field = radios.find((radio) => radio.checked) ?? slider ?? radios[0] ?? this.current.prose;
    (
      field ??
      this.current.element.querySelector("a[href], button, input:not([type=hidden]), textarea") ??
      document.getElementById("texts")
    ).focus();
  }

  // The next open question after the current one, or the previous one.
  nextOpen() {
    const { units } = this.sheet;
    const around = [...units.slice(this.place + 1), ...units.slice(0, this.place)];
    return around.find((unit) => unit.problem() && unit.element.checkVisibility());
  }

  // Goes to the next open question, or says that there is none.
  goToOpen() {
    const next = this.nextOpen();
    if (next) this.go(next, true);
    else if (!this.current?.problem()) this.say(t("All answered"));
  }

  // The variable that digits answer: the current one, or else the first without an answer.
  aim() {
    const asked = this.current.asked();
    if (asked.includes(this.aimed)) return this.aimed;
    return asked.find((group) => !this.current.value(group)) ?? asked.at(-1);
  }

  choose(digit) {
    const group = this.aim();
    const answered = group && wide?.choose(this, group, digit);
    if (answered !== undefined) return answered;
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
    if (!reading && !this.write(unit)) this.focus();
    this.refresh();
    // If a highlight may be added, even if none is owed, the question stays the current one.
    const whole = open && !unit.problem() && !(unit.marks && unit.counts() && !unit.highlights.length);
    const after = this.movesOn && whole && this.nextOpen();
    if (after) this.go(after, !reading);
    return true;
  }

  // After a choice that owes a text, what is typed next is that text and no command.
  write(unit) {
    if (!unit.proseAsked() || unit.prose.readOnly || unit.prose.disabled) return false;
    writeOn(unit.prose);
    return true;
  }

  highlight(range) {
    this.spans.add(range);
  }

  // Suggested passages, drawn beneath the highlights; see highlighter.js.
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

  // Shows problems, [{unit, message}], from this page or by name from the server, and goes to the first
  // one.
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

  // If the focused element has disappeared or is disabled, its question gets the focus.
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
    element.querySelector("[data-written]")?.classList.toggle("ruled-out", unit.proseRuledOut());
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
        const value = unit.value(group);
        const chosen = unit.radios(group).filter((radio) => radio.checked);
        const tone = chosen.length === 1 ? chosen[0].closest(".choice").classList[1] : "plain";
        return piece(`pill ${tone}`, unit.word(group, value));
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

  // Scrolls to a range of the unit's text and flashes it.
  show(unit, range) {
    this.spans.show(unit, range);
  }
}
