// Units that are judged in a report, perhaps beside a passage. The sentence of the current unit is marked in
// its report, its passage is open, and the other passages are folded to their titles.
import { desk } from "../item.js";
import { piece } from "../pieces.js";
import { t } from "../words.js";

const { board, cursor, does, sheet, texts } = desk;
const { spans } = board;
const panes = /** @type {HTMLElement} */ (document.querySelector(".panes"));
const tabs = /** @type {HTMLElement[]} */ ([...panes.querySelectorAll("[role=tab]")]);
const sides = /** @type {HTMLElement[]} */ ([...panes.querySelectorAll(".pane")]);
const owed = Object.assign(piece("owed", "", "p"), { role: "status" });
const articleOf = (field) => texts.get(field)?.container.closest(".source");
const fieldsOf = (unit) => JSON.parse(unit.element.dataset.of ?? "[]");
const kindOf = (field) => field.split(":")[0];

// Texts of which a unit has one of several. Each gets a button that opens it.
const own = new Set(sheet.units.flatMap(fieldsOf).map(kindOf));
const fields = [...texts.keys()];
const several = fields.filter(
  (field) => own.has(kindOf(field)) && fields.filter((f) => kindOf(f) === kindOf(field)).length > 1,
);
for (const field of several) {
  const article = articleOf(field);
  const title = article.querySelector("h2");
  const button = Object.assign(piece("unfold", "", "button"), { type: "button" });
  button.append(piece("", title.textContent));
  title.replaceChildren(button);
  button.addEventListener("click", () => open(field, article.classList.contains("folded")));
}

function open(field, on) {
  const article = articleOf(field);
  const button = article.querySelector(".unfold");
  if (!button || button.ariaExpanded === String(on)) return;
  article.classList.toggle("folded", !on);
  button.ariaExpanded = String(on);
}

function show(side) {
  panes.dataset.side = String(side);
  tabs.forEach((tab, n) => {
    tab.setAttribute("aria-selected", String(n === side));
    tab.tabIndex = n === side ? 0 : -1;
  });
}
tabs.forEach((tab, n) => {
  tab.addEventListener("click", () => show(n));
  tab.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    show(1 - n);
    tabs[1 - n].focus();
  });
});
const sideOf = (element) => sides.findIndex((pane) => pane.contains(element));
panes.addEventListener("focusin", ({ target }) => {
  const side = sideOf(target);
  if (side >= 0 && tabs.length) show(side);
});

// The word cursor starts at the sentence that is asked about.
panes.addEventListener(
  "focus",
  ({ target }) => {
    const sentence = board.current?.places?.sentence;
    if (!sentence || texts.get(sentence.field)?.container !== target) return;
    const words = cursor(target);
    const { range } = words;
    const inside = range && range.start < sentence.end && sentence.start < range.end;
    if (!inside) words.move(words.next(sentence.start));
  },
  true,
);

const intoView = spans.intoView.bind(spans);
spans.intoView = (unit, range, always) => {
  const field = unit.fieldOf(range);
  open(field, true);
  if (tabs.length) show(sideOf(texts.get(field).container));
  intoView(unit, range, always);
};

const marked = new Set(sheet.units.flatMap(({ places }) => places?.sentence?.field ?? []));
const paint = spans.paint.bind(spans);
spans.paint = () => {
  const { places, number } = board.current ?? {};
  const sentence = places?.sentence;
  for (const field of marked) {
    const here = sentence?.field === field;
    const spoken = here && t("the sentence of question {n}", { n: number + 1 });
    spans.suggested.set(field, here ? [{ ...sentence, spoken }] : []);
  }
  paint();
};

// Brings the texts of a unit into view, unless they are its only ones.
function bring(unit) {
  const here = fieldsOf(unit);
  for (const field of several) open(field, here.includes(field));
  for (const field of several.filter((each) => here.includes(each))) {
    const pane = articleOf(field).closest(".pane");
    pane.scrollTop += articleOf(field).getBoundingClientRect().top - pane.getBoundingClientRect().top - 8;
  }
  if (unit.places?.sentence) intoView(unit, unit.places.sentence);
}

function capital(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function sayOwed(unit) {
  const rules = unit.counts() ? (unit.places?.rules ?? []) : [];
  const owing = unit.places?.owing() ?? [];
  const parts = rules.map((rule) => {
    const where = capital(rule.where);
    if (owing.includes(rule)) return piece("missing", t("{where}: missing", { where }));
    return unit.places.has(rule)
      ? piece("there", t("{where}: done", { where }))
      : piece("", t("{where}: not needed", { where }));
  });
  if (owed.nextElementSibling !== unit.quotes) unit.quotes.before(owed);
  const words = parts.map((part) => part.textContent).join();
  if (words !== [...owed.children].map((part) => part.textContent).join()) owed.replaceChildren(...parts);
}

function nameQuotes(unit) {
  const lines = [...unit.quotes.children];
  let before = null;
  lines.forEach((line, n) => {
    const { field } = unit.highlights[n];
    const rule = unit.places.rules.find((each) => each.fields.includes(field));
    if (rule && rule !== before) line.dataset.caption = capital(rule.where);
    else delete line.dataset.caption;
    before = rule;
  });
}

let shown = null;
const refresh = board.refresh.bind(board);
board.refresh = () => {
  refresh();
  const { current } = board;
  if (!current) return;
  for (const unit of sheet.units) if (unit.places?.rules.length && unit.highlights.length) nameQuotes(unit);
  sayOwed(current);
  if (current === shown) return;
  shown = current;
  bring(current);
};

// The side that is not in use. From the questions of a wide page: that of a text that lacks a highlight.
function otherSide() {
  const here = sideOf(document.activeElement);
  if (!tabs.length) return 0;
  if (here >= 0) return 1 - here;
  if (tabs[0].checkVisibility()) return 1 - Number(panes.dataset.side);
  return sideOf(texts.get(board.current.places?.owing()[0]?.fields[0])?.container) === 0 ? 0 : 1;
}

does.more.x = () => {
  const side = sides[otherSide()];
  const own = [...board.current.fields, ...fieldsOf(board.current)].map((field) => texts.get(field)?.container);
  const shownThere = [...side.querySelectorAll("[data-text]")].find((each) => each.checkVisibility());
  const text = own.find((each) => each && side.contains(each)) ?? shownThere;
  if (!text) return;
  if (!text.matches("[tabindex]")) text.tabIndex = -1;
  text.focus();
};

board.refresh();
