// The whole form as a payload and back: {units: {name: answer}, comment}, as the server keeps it.
import { Unit } from "./unit.js";

const LONGEST_HISTORY = 200;

export class Sheet {
  constructor(form, texts) {
    this.form = form;
    this.units = [...form.querySelectorAll("[data-unit]")].map(
      (element) => new Unit(element, texts.get(element.dataset.field)?.text ?? ""),
    );
    this.comment = form.elements.comment;
    this.history = [];
    this.last = this.choices();
  }

  payload(final = false) {
    const units = Object.fromEntries(this.units.map((unit) => [unit.name, unit.payload(final)]));
    return { units, comment: this.comment.value.trim() ? this.comment.value : null };
  }

  apply(payload, withProse = true) {
    for (const unit of this.units) unit.apply(payload?.units?.[unit.name], withProse);
    if (withProse) this.comment.value = payload?.comment ?? "";
  }

  // Answers and highlights, without what was typed: fields undo typing themselves.
  choices() {
    const units = Object.entries(this.payload().units);
    return Object.fromEntries(units.map(([name, { written, ...answer }]) => [name, answer]));
  }

  // After each change: what was there before it becomes a step to undo.
  settle() {
    const now = this.choices();
    if (same(now, this.last)) return;
    this.history = [...this.history.slice(-LONGEST_HISTORY), this.last];
    this.last = now;
  }

  undo() {
    const before = this.history.pop();
    if (!before) return null;
    const touched = this.units.find((u) => !same(before[u.name], this.last[u.name]));
    this.apply({ units: before }, false);
    this.last = before;
    return touched;
  }

  problems() {
    return this.units.map((unit) => ({ unit, message: unit.problem() })).filter((p) => p.message);
  }
}

// The order of keys is the server's in one and ours in the other, so it must not count.
export function same(one, other) {
  return canonical(one) === canonical(other);
}

function canonical(value) {
  return JSON.stringify(value, (_, part) =>
    part && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
