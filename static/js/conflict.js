// Two versions of one item: what differs, and which to go on with.
import { same } from "./sheet.js";
import { clock } from "./status.js";

const DIALOG = `<dialog class="dialog wide" id="conflict" aria-labelledby="conflict-title">
<h2 id="conflict-title"><span class="icon fork" aria-hidden="true"></span>Two versions of this item</h2>
<p>It was saved somewhere else<span id="conflict-when"></span>, in another tab perhaps, while you
worked on it here. Choose which to go on with. The other one is kept aside, so nothing is lost.</p>
<div class="compare"><table><thead><tr><th scope="col">Where they differ</th><th scope="col">Here</th>
<th scope="col">Saved elsewhere</th></tr></thead><tbody id="differences"></tbody></table></div>
<p class="choose"><button class="button" type="button" id="take-theirs">Take the other</button>
<button class="button main" type="button" id="keep-mine" autofocus>Keep mine</button></p>
</dialog>`;

export function showConflict(body, sheet, settle) {
  if (!document.getElementById("conflict")) document.body.insertAdjacentHTML("beforeend", DIALOG);
  const dialog = document.getElementById("conflict");
  const choose = (mine) => () => {
    dialog.close();
    settle(mine);
  };
  document.getElementById("keep-mine").onclick = choose(true);
  document.getElementById("take-theirs").onclick = choose(false);
  document.getElementById("conflict-when").textContent = body.saved_at ? ` at ${clock(body.saved_at)}` : "";
  document.getElementById("differences").replaceChildren(...differences(sheet, body.theirs));
  if (!dialog.open) dialog.showModal();
}

function differences(sheet, theirs) {
  const mine = sheet.payload();
  const rows = sheet.units
    .filter((unit) => unit.name in mine.units && !same(mine.units[unit.name], theirs.units?.[unit.name] ?? null))
    .map((unit) => {
      const words = (payload) => describe(unit, payload.units?.[unit.name]);
      return row(`${unit.number + 1}. ${unit.label}`, words(mine), words(theirs));
    });
  if (!same(mine.comment, theirs.comment ?? null)) {
    rows.push(row("Comment", [mine.comment ?? "none"], [theirs.comment ?? "none"]));
  }
  return rows;
}

function row(title, mine, theirs) {
  const line = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  head.textContent = title;
  line.append(head, cell(mine), cell(theirs));
  return line;
}

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

function describe(unit, answer) {
  if (!answer) return ["no answer"];
  const words = unit.groups.map((group) => unit.word(group, answer[group.dataset.variable])).filter(Boolean);
  const quotes = (answer.evidence ?? []).map(
    ({ quote }) => `“${quote.length > 70 ? `${quote.slice(0, 68)}…` : quote}”`,
  );
  const points = (answer.points ?? []).map(({ text }, n) => `${n + 1}. ${text}`);
  if (answer.matches?.length) words.push(answer.matches.join(", "));
  return [words.join(", ") || "no answer", ...quotes, ...points, ...(answer.written ? [answer.written.text] : [])];
}
