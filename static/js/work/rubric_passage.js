// Passage rating: the person's own nuggets, which can be edited.
import { desk } from "../item.js";
import { t } from "../words.js";

const { board, does, say } = desk;

const buttons = (within) => [...within.querySelectorAll("[data-edits]")];

async function edit(button) {
  const { open } = await import("./highlight_editor.js");
  open(button);
}

for (const button of buttons(document)) button.addEventListener("click", () => edit(button));

// A single nugget is opened. If there are several, the next one gets the focus, and Enter opens it.
does.more.m = () => {
  const found = buttons(board.current.element);
  if (found.length === 1) edit(found[0]);
  else if (found.length) found[(found.indexOf(document.activeElement) + 1) % found.length].focus();
  else say(t("You have no highlight to edit for this question"));
};
