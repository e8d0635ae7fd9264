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

/** @typedef {{theirs: Payload, version: number, revision: number, saved_at?: string}} Clash */

/**
 * @param {Clash} body
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
  dialog.querySelector("tbody").replaceChildren(...differences(sheet, body.theirs));
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
    .map((unit) => {
      const words = (/** @type {Payload} */ payload) => describe(unit, payload.units?.[unit.name]);
      return row(`${unit.number + 1}. ${unit.label}`, words(mine), words(theirs));
    });
  if (!same(mine.comment, theirs.comment ?? null)) {
    // An adjudicator's comment is required, and is the reason.
    const title = sheet.comment.required ? t("Reason") : t("Comment");
    rows.push(row(title, [mine.comment ?? t("none")], [theirs.comment ?? t("none")]));
  }
  return rows;
}

/**
 * @param {string} title
 * @param {string[]} mine
 * @param {string[]} theirs
 */
function row(title, mine, theirs) {
  const line = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  head.textContent = title;
  line.append(head, cell(mine), cell(theirs));
  return line;
}

/** @param {string[]} lines */
function cell([first, ...rest]) {
  const element = document.createElement("td");
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
 */
function describe(unit, answer) {
  if (!answer) return [t("no answer")];
  const codes = unit.groups.map((group) => unit.word(group, answer[group.dataset.variable ?? ""])).filter(Boolean);
  const quotes = (answer.evidence ?? []).map(({ quote }) => t("“{words}”", { words: shortened(quote) }));
  const points = (answer.points ?? []).map(({ text }, n) => `${n + 1}. ${text}`);
  if (answer.matches?.length) codes.push(answer.matches.join(", "));
  return [codes.join(", ") || t("no answer"), ...quotes, ...points, ...(answer.written ? [answer.written.text] : [])];
}

/** @param {string} quote */
const shortened = (quote) => (quote.length > LONGEST ? `${beginning(quote, LONGEST - 2)}…` : quote);
