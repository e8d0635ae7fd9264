// The layer in which a person edits their own highlights in a report. Saving creates a revision of
// their answer to that report; unsaved changes stay in this browser.
import { selectedRange } from "../highlighter.js";
import { trimmed } from "../offsets.js";
import { Release, Words } from "../selecting.js";
import { Sheet } from "../sheet.js";
import { Spans } from "../spans.js";
import { clock } from "../status.js";
import { NuggetSaving } from "./nugget_saving.js";
import { t } from "../words.js";

const byId = (id) => document.getElementById(id);
const dialog = byId("highlight-editor");
let layer = null;

export async function open(button) {
  const nugget = button.closest("[data-nugget]");
  byId("highlight-editor-report").textContent = button.dataset.edits;
  fill(t("Loading…"));
  tell("");
  dialog.showModal();
  try {
    const response = await fetch(nugget.dataset.nugget, { redirect: "error" });
    if (!response.ok) throw new Error(response.statusText);
    byId("highlight-editor-body").innerHTML = await response.text();
  } catch {
    fill(t("The report could not be loaded. Close this and open it again."));
    return;
  }
  if (dialog.open) layer = new Layer(nugget, button);
}

// It replaces the page's board, with one unit and one text, so that highlights work in the same way.
class Layer {
  constructor(nugget, button) {
    this.nugget = nugget;
    this.button = button;
    this.place = 0;
    const form = dialog.querySelector(".highlight-form");
    const container = form.querySelector("[data-edit]");
    this.container = container;
    this.texts = new Map([["report", { container, text: container.textContent }]]);
    this.sheet = new Sheet(form, this.texts);
    this.current = this.sheet.units[0];
    this.saving = new NuggetSaving(nugget.dataset.nugget, Number(form.dataset.seen), this.evidence);
    this.spans = new Spans(this);
    this.words = new Words(
      container,
      this.text,
      (words) => this.say(words),
      (range) => this.spans.about(container, range),
    );
    container.addEventListener("click", (event) => this.pick(event.target.closest("mark[data-units]")));
    this.restore();
    this.refresh();
    container.focus();
    this.words.enter();
  }

  get text() {
    return this.texts.get("report").text;
  }

  get evidence() {
    return this.current.payload(false).evidence;
  }

  get changed() {
    return this.saving.differs(this.evidence);
  }

  say(words) {
    byId("highlight-editor-said").textContent = words;
  }

  focus() {
    this.container.focus();
  }

  go() {
    this.refresh();
  }

  step() {}

  edited() {
    this.sheet.settle();
    this.keep();
    this.refresh();
  }

  refresh() {
    const some = this.current.highlights.length > 0;
    this.spans.quotes.list(this.current);
    this.current.quotes.dataset.empty = t("Nothing is highlighted yet.");
    this.spans.paint();
    byId("highlight-editor-undo").disabled = !this.sheet.history.length;
    byId("highlight-editor-drop").hidden = !this.changed;
    byId("highlight-editor-save").disabled = !this.changed || this.saving.busy || !some;
    const problem = some ? "" : t("Keep at least one highlight: your answer to the report was yes.");
    if (this.current.problemPlace.textContent !== problem) this.current.problemPlace.textContent = problem;
  }

  keep() {
    this.saving.keep(this.evidence);
    state(this.nugget, this.changed ? t("Not saved") : "", true);
  }

  restore() {
    const kept = this.saving.kept();
    if (!kept) return;
    this.current.readEvidence(kept);
    this.sheet.settle();
    tell(t("Your changes were not saved yet; here they are."));
  }

  // A click on a highlight selects it; another click selects the next one at the same place.
  pick(mark) {
    if (!mark) return this.spans.drop();
    const there = this.spans.under("report", this.container, mark);
    const taken = there.findIndex(({ unit, range }) => this.spans.takes(unit, range));
    const next = there[(taken + 1) % there.length];
    return next && this.spans.take(next.unit, next.range);
  }

  highlight() {
    const selected = selectedRange(this.container);
    const chosen = selected && trimmed(this.text, selected);
    if (!chosen) return false;
    document.getSelection().removeAllRanges();
    const kind = this.words.adjustedTo(selected) ? "exact" : undefined;
    this.spans.add(this.spans.fitted(this.text, chosen, kind));
    return true;
  }

  undo(back = true) {
    if (!(back ? this.sheet.undo() : this.sheet.redo())) return;
    this.keep();
    this.refresh();
    this.say(back ? t("Undone") : t("Redone"));
  }

  put(evidence) {
    this.current.readEvidence(evidence);
    this.edited();
    this.focus();
  }

  key(event) {
    const { key, target } = event;
    const command = event.ctrlKey || event.metaKey;
    if (command && key === "Enter") return () => this.save();
    if (command && key.toLowerCase() === "z") return () => this.undo(!event.shiftKey);
    if (command || event.altKey) return null;
    if (key === "Escape") return this.isBusy(target) ? () => this.quiet() : null;
    if (target.closest("[data-edit]")) {
      if (key === "Enter") return () => this.highlight();
      if (key === "Delete" || key === "Backspace")
        return () => this.spans.removeAt(this.container, selectedRange(this.container));
      if (this.words.key(event)) return () => {};
    }
    const line = target.closest(".quote");
    return (line && this.spans.quotes.key(event, line)) || this.letter(key, event.shiftKey);
  }

  letter(key, shift) {
    return {
      z: () => this.undo(!shift),
      h: () => this.highlight() || (this.focus(), this.words.enter()),
      l: () => this.spans.quotes.enter(),
    }[key.toLowerCase()];
  }

  // In the text, Escape first clears the selection, and then closes the layer.
  isBusy(target) {
    return this.container.contains(target) && (this.spans.taken || selectedRange(this.container));
  }

  quiet() {
    document.getSelection().removeAllRanges();
    this.spans.drop();
  }

  async save() {
    if (byId("highlight-editor-save").disabled) return;
    const { evidence } = this;
    const sending = this.saving.send(evidence);
    this.refresh();
    const answer = await sending;
    if (answer.kind === "done") this.saved(evidence, answer.at);
    if (layer !== this) return;
    this.other = answer.quotes;
    byId("highlight-editor-other").hidden = !this.other;
    tell(answer.words ?? "");
    this.refresh();
    if (answer.kind !== "done") return;
    if (this.changed) this.keep();
    else dialog.close();
  }

  saved(evidence, at) {
    const quotes = evidence.map(({ quote }) =>
      Object.assign(document.createElement("li"), { textContent: quote, dir: "auto" }),
    );
    this.nugget.querySelector(".nugget-quotes").replaceChildren(...quotes);
    state(this.nugget, t("Saved {time}", { time: clock(at) }));
  }

  takeOther() {
    this.current.readEvidence(this.other);
    this.saving.standing = this.evidence;
    this.edited();
    byId("highlight-editor-other").hidden = true;
    tell(t("This is the stored version."));
    this.focus();
  }
}

function fill(words) {
  const line = Object.assign(document.createElement("p"), { className: "sub", textContent: words });
  byId("highlight-editor-body").replaceChildren(line);
}

function tell(words) {
  byId("highlight-editor-notice").textContent = words;
  byId("highlight-editor-notice").hidden = !words;
}

function state(nugget, words, open = false) {
  const said = nugget.querySelector(".nugget-state");
  said.textContent = words;
  said.classList.toggle("open", open && Boolean(words));
}

dialog.addEventListener("keydown", (event) => {
  const act = event.isComposing || !layer ? null : layer.key(event);
  if (!act) return;
  event.preventDefault();
  act();
});

// Releasing the mouse highlights. On a touch screen people move the handles first, so there is a
// button.
let pointer = { kind: "mouse", inside: false };
const release = new Release(() => layer?.highlight());
dialog.addEventListener("pointerdown", ({ pointerType, target }) => {
  if (target !== byId("highlight-editor-mark"))
    pointer = { kind: pointerType, inside: Boolean(layer?.container.contains(target)) };
});
document.addEventListener("mouseup", ({ button }) => {
  if (layer && pointer.inside && pointer.kind !== "touch" && button === 0) release.wait();
});
document.addEventListener("selectionchange", () => {
  byId("highlight-editor-mark").hidden = pointer.kind !== "touch" || !layer || !selectedRange(layer.container);
});
byId("highlight-editor-mark").addEventListener("pointerdown", (event) => event.preventDefault());
byId("highlight-editor-mark").addEventListener("click", () => layer?.highlight());

dialog.addEventListener("close", () => {
  layer?.button.focus();
  layer = null;
  byId("highlight-editor-other").hidden = true;
  byId("highlight-editor-body").replaceChildren();
});
byId("highlight-editor-close").addEventListener("click", () => dialog.close());
byId("highlight-editor-save").addEventListener("click", () => layer?.save());
byId("highlight-editor-undo").addEventListener("click", () => layer?.undo());
byId("highlight-editor-drop").addEventListener("click", () => layer?.put(layer.saving.standing));
byId("highlight-editor-other").addEventListener("click", () => layer?.takeOther());
