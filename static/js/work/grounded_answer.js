// The page of grounded answers: puts its parts together.
import { desk } from "../item.js";
import { setUpAnswer } from "./grounded_answer_writing.js";
import { setUpTicks } from "./grounded_answer_ticks.js";
import { setUpValidating } from "./grounded_answer_validating.js";
import { reachable } from "./reachable.js";

const { form, sheet, board } = desk;
const ticks = setUpTicks(desk);
const unit = sheet.units.find(({ element }) => element.matches(".writes"));
const answer = unit?.prose ? setUpAnswer(desk, unit, ticks) : null;
const validating = form.querySelector("[data-cites]");
if (validating) setUpValidating(desk);

const refresh = board.refresh.bind(board);
board.refresh = () => {
  ticks.settle();
  refresh();
  ticks.show();
  answer?.show();
};
board.refresh();
reachable([...(validating ? [] : [document.getElementById("texts")]), ...document.querySelectorAll(".first-text")]);
