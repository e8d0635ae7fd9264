// Two versions of one item: shows how they differ and lets the person choose one.
import { beginning } from "./segments.js";
import { same } from "./sheet.js";
import { clock } from "./status.js";
import { t } from "./words.js";

const LONGEST = 70; // units of a quote

const DIALOG = `<dialog class="dialog wide" id="conflict" aria-labelledby="conflict-title">
<h2 id="conflict-title"><span class="icon fork" aria-hidden="true"></span>${t("Two versions of this item")}</h2>
<p id="conflict-when"></p>
<div class="compare"><table><thead><tr><th scope="col">${t("Where they differ")}</th><th scope="col">${t("Here")}</th>
<th scope="col">${t("Saved elsewhere")}</th></tr></thead><tbody></tbody></table></div>
<p class="choose"><button class="button" type="button" id="take-theirs">${t("Use the other version")}</button>
<button class="button main" type="button" id="keep-mine" autofocus>${t("Keep mine")}</button></p>
</dialog>`;

/** @typedef {{theirs: Payload, version: number, revision: number, saved_at?: string}} Conflict */

/**
 * @param {Conflict} body
 * @param {import("./sheet.js").Sheet} sheet
 * @param {(mine: boolean) => void} settle
 */
export function showConflict(body, sheet, settle) {
  if (!document.querySelector("#conflict")) document.body.insertAdjacentHTML("beforeend", DIALOG);
  const dialog = document.getElementById("conflict");
  const choose = (/** @type {boolean} */ mine) => () => {
    dialog.close();
    settle(mine);
  };
  document.getElementById("keep-mine").onclick = choose(true);
  document.getElementById("take-theirs").onclick = choose(false);
  const when = body.saved_at
    ? t("It was saved elsewhere at {time}, perhaps in another tab, while you worked on it here.", {
        time: clock(body.saved_at),
      })
    : t("It was saved elsewhere, perhaps in another tab, while you worked on it here.");
  const choice = t("Choose the version to continue with. The other is kept in this browser, so nothing is lost.");
  document.getElementById("conflict-when").textContent = `${when} ${choice}`;
  dialog.querySelector("tbody")?.replaceChildren(...differences(sheet, body.theirs));
  if (!dialog.open) dialog.showModal();
}

/**
 * @param {import("./sheet.js").Sheet} sheet
 * @param {Payload} theirs
 */
function differences(sheet, theirs) {
  const mine = sheet.payload();
  const rows = sheet.units
    .filter((unit) => unit.name in mine.units && !same(mine.units[unit.name], theirs.units?.[unit.name] ?? null))
    .flatMap((unit) => {
      const title = sheet.units.length > 1 ? [titleOf(unit)] : [];
      return rowsOf(unit, title, mine.units[unit.name], theirs.units?.[unit.name]);
    });
  if (!same(mine.comment, theirs.comment ?? null)) {
    // An adjudicator's comment is required, and is the reason.
    const title = sheet.comment.required ? t("Reason") : t("Comment");
    rows.push(row([title], [mine.comment ?? t("none")], [theirs.comment ?? t("none")]));
  }
  return rows;
}

/**
 * Return a unit's label, after its number if the page shows numbers.
 * @param {import("./sheet.js").Unit} unit
 */
function titleOf({ element, label }) {
  const { content, display } = getComputedStyle(element, "::before");
  const number = display !== "none" && content !== '""' ? `${element.dataset.place}. ` : "";
  return `${number}${label}`;
}

/**
 * Return a row for each question that two answers to a unit answer differently, and one for all else.
 * @param {import("./sheet.js").Unit} unit
 * @param {string[]} title
 * @param {Answer} mine
 * @param {Answer | undefined} theirs
 */
function rowsOf(unit, title, mine, theirs) {
  const groups = unit.groups.filter((group) => codeOf(mine, group) !== codeOf(theirs, group));
  const asked = theirs && unit.groups.length > 1 && groups.every(questionOf) ? groups : [];
  const word = (/** @type {Answer | undefined} */ answer, /** @type {PageElement} */ group) => [
    unit.word(group, codeOf(answer, group)) ?? t("no answer"),
  ];
  const rows = asked.map((group) => row([...title, questionOf(group)], word(mine, group), word(theirs, group)));
  const [ours, others] = [mine, theirs].map((answer) => describe(unit, answer, asked.length === 0));
  if (!rows.length || !same(ours, others)) rows.push(row(title.length ? title : [unit.label ?? ""], ours, others));
  return rows;
}

/**
 * @param {Answer | undefined} answer
 * @param {PageElement} group
 */
const codeOf = (answer, group) => answer?.[group.dataset.variable ?? ""] ?? null;

/**
 * Return the question above a group of choices, without its number; nothing if the unit's text asks it.
 * @param {PageElement} group
 */
const questionOf = (group) => group.querySelector(".asked")?.lastChild?.textContent?.trim() ?? "";

/**
 * @param {string[]} title
 * @param {string[]} mine
 * @param {string[]} theirs
 */
function row(title, mine, theirs) {
  const line = document.createElement("tr");
  const head = cell(title, "th");
  head.setAttribute("scope", "row");
  line.append(head, cell(mine), cell(theirs));
  return line;
}

/** @param {string[]} lines */
function cell([first, ...rest], tag = "td") {
  const element = document.createElement(tag);
  element.append(first);
  for (const words of rest) {
    const small = document.createElement("small");
    small.textContent = words;
    element.append(small);
  }
  return element;
}

/**
 * Return an answer as lines: the codes, then quotes, points and written texts.
 * @param {import("./sheet.js").Unit} unit
 * @param {Answer | undefined} answer
 * @param {boolean} withCodes
 */
function describe(unit, answer, withCodes) {
  if (!answer) return [t("no answer")];
  const codes = (withCodes ? unit.groups : []).map((group) => unit.word(group, codeOf(answer, group))).filter(Boolean);
  const quotes = (answer.evidence ?? []).map(({ quote }) => t("“{words}”", { words: shortened(quote) }));
  const points = (answer.points ?? []).map(({ text }, n) => `${n + 1}. ${text}`);
  if (answer.matches?.length) codes.push(answer.matches.join(", "));
  const lines = [codes.join(", "), ...quotes, ...points, answer.written?.text ?? ""].filter(Boolean);
  return lines.length ? lines : [t("no answer")];
}

/** @param {string} quote */
const shortened = (quote) => (quote.length > LONGEST ? `${beginning(quote, LONGEST - 2)}…` : quote);
