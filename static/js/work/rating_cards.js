// The questions of a passage on its card: buttons that set the fields of the form.

import { t } from "../words.js";

export class Cards {
  constructor({ board, sheet, saver, say }) {
    this.board = board;
    this.sheet = sheet;
    this.saver = saver;
    this.say = say;
    this.units = sheet.units.filter(({ element }) => "passage" in element.dataset);
    this.byNumber = new Map(this.units.map((unit) => [unit.number, unit]));
    this.toggles = [...document.querySelectorAll("#passages [data-of]")];
    this.cards = [...document.querySelectorAll("#passages [data-card]")];
    this.asks = [...document.querySelectorAll("#passages [data-asks]")];
    this.rest = document.getElementById("rest");
    for (const button of this.toggles) button.addEventListener("click", () => this.press(button));
    this.rest?.addEventListener("click", () => this.refuseRest());
  }

  of({ dataset }) {
    const unit = this.byNumber.get(Number(dataset.of));
    return { unit, group: unit.groups.find((one) => one.dataset.variable === dataset.gives) };
  }

  press(button) {
    if (this.saver.closed) return;
    const { unit, group } = this.of(button);
    unit.choose(group, button.dataset.code);
    this.board.edited(unit);
    this.board.go(unit);
  }

  // Most passages do not matter, so one button answers no for all that have no answer yet.
  refuseRest() {
    if (this.saver.closed || !this.open) return false;
    const empty = this.units.flatMap((unit) =>
      unit.groups.filter((group) => !unit.value(group)).map((group) => [unit, group]),
    );
    if (!empty.length) return false;
    for (const [unit, group] of empty) unit.choose(group, "no");
    this.board.edited(this.board.current);
    this.say(t("No for {n} answers; undo with z", { n: empty.length }));
    return true;
  }

  show(open) {
    this.open = open;
    for (const button of this.toggles) {
      const { unit, group } = this.of(button);
      button.setAttribute("aria-pressed", String(unit.value(group) === button.dataset.code));
      button.disabled = this.saver.closed || !open;
    }
    const { number, element } = this.board.current;
    for (const card of this.cards) card.classList.toggle("now", open && card.dataset.card === element.dataset.passage);
    for (const ask of this.asks) ask.classList.toggle("now", open && Number(ask.dataset.asks) === number);
    for (const asks of document.querySelectorAll(".card-asks")) asks.hidden = !open;
    if (this.rest) this.rest.hidden = !open || this.units.every((unit) => !unit.problem());
  }
}
