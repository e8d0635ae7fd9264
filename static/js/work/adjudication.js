// A dispute: what raters answered and highlighted, copying an answer, and the reason.
import { rangeOf } from "../highlighter.js";
import { desk } from "../item.js";
import { toUnits } from "../offsets.js";
import { writeOn } from "../pieces.js";
import { t } from "../words.js";

const byId = (id) => document.getElementById(id);
const { board, does, saver, say, sheet, texts } = desk;
const [unit] = sheet.units;
const reason = sheet.comment;
const cards = [...document.querySelectorAll(".opinion")].map((element) => ({
  element,
  name: element.dataset.name,
  answer: JSON.parse(element.dataset.answer),
}));
const quotes = [...document.querySelectorAll(".opinion .shows")].map(read);
let at = -1;

function read(button) {
  const { field } = button.dataset;
  const { container, text } = texts.get(field);
  const [start, end] = [button.dataset.start, button.dataset.end].map((count) => toUnits(text, Number(count)));
  const { name, sign } = button.closest(".opinion").dataset;
  return { button, field, container, start, end, spoken: t("highlight of {name}", { name }), sign };
}

for (const field of texts.keys()) {
  const here = quotes.filter((quote) => quote.field === field);
  if (here.length)
    board.suggest(
      field,
      here.map(({ start, end, spoken, sign }) => ({ start, end, spoken, sign })),
    );
}

function show(place) {
  if (!quotes.length) return false;
  at = (place + quotes.length) % quotes.length;
  const { button, field, container, start, end } = quotes[at];
  board.spans.lit = { field, unit: null, start, end };
  board.refresh();
  const scroller = container.closest(".texts");
  const gap = rangeOf(container, { start, end }).getBoundingClientRect().top - scroller.getBoundingClientRect().top;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  scroller.scrollBy({ top: gap - scroller.clientHeight / 3, behavior: still ? "instant" : "smooth" });
  for (const one of quotes) one.button.setAttribute("aria-current", String(one.button === button));
  button.scrollIntoView({ block: "nearest" });
  say(
    t("Highlight {n} of {all}, {name}", {
      n: at + 1,
      all: quotes.length,
      name: button.closest(".opinion").dataset.name,
    }),
  );
  return true;
}

function take({ name, answer }) {
  if (saver.closed) return false;
  unit.apply(answer);
  board.edited(unit);
  say(t("Copied from {name}", { name }));
  return true;
}

cards.forEach((card) => {
  card.element.querySelector(".take").addEventListener("click", () => take(card));
  const { key } = card.element.dataset;
  if (key) does.more[key] = () => take(card);
});
quotes.forEach(({ button }, place) => button.addEventListener("click", () => show(place)));
Object.assign(does.more, { n: () => show(at + 1), p: () => show(at < 0 ? quotes.length - 1 : at - 1) });
does.jump = () => false;

// A decision needs a reason; the server checks that, too.
const submit = saver.submit.bind(saver);
saver.submit = () => {
  const missing = !reason.value.trim() && !sheet.problems().length;
  byId("refused").textContent = missing ? t("Give a reason.") : "";
  if (!missing) return submit();
  saver.status.show("refused", t("reason missing"));
  return writeOn(reason);
};
