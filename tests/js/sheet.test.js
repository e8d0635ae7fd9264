import { element } from "./page.js";
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { showConflict } from "../../static/js/conflict_dialog.js";
import { Quotes } from "../../static/js/quotes.js";
import { Sheet, same } from "../../static/js/sheet.js";
import { toggle } from "../../static/js/wide_answers.js";

const TEXT = "Zoë 🛶 crossed at dawn.\r\nThe 👩‍👩‍👧 crew slept.";
const choice = (unit, variable, code, word) =>
  `<label class="choice ${code}"><input type="radio" name="unit-${unit}-${variable}" value="${code}"><span>${word}</span></label>`;
const unit = (n, more = "") => `<li data-unit="${n}" data-field="report" data-rule="answerable" data-owed="yes">
  <p class="unit-text">Question ${n + 1}?</p><input type="hidden" value="q:${n}">
  <fieldset data-variable="answerable">${choice(n, "answerable", "yes", "Yes")}${choice(n, "answerable", "no", "No")}</fieldset>
  <fieldset data-variable="sure" data-if='{"answerable": ["yes"]}'>${choice(n, "sure", "very", "Very")}</fieldset>
  <input type="hidden" name="unit-${n}-evidence" value="[]">${more}</li>`;
const WRITTEN = `<div data-written data-if='{"answerable": ["yes"]}'><textarea></textarea>
  <input type="checkbox" value="p1"><input type="checkbox" value="p2"></div>`;
const range = (words) => ({ start: TEXT.indexOf(words), end: TEXT.indexOf(words) + words.length });

let sheet;
let one;
let two;
let group;
beforeEach(() => {
  const form = element(`<form><ul>${unit(0)}${unit(1, WRITTEN)}</ul><textarea name="comment"></textarea></form>`);
  form.querySelectorAll("[data-unit]").forEach((each, n) => (each.dataset.unit = n));
  sheet = new Sheet(form, new Map([["report", { container: form, text: TEXT }]]));
  [one, two] = sheet.units;
  [group] = one.groups;
});

describe("a draft", () => {
  test("holds each unit's codes, highlights as quotes in code points, and the comment", () => {
    one.choose(group, "yes");
    one.add(range("crossed"));
    sheet.comment.value = "שלום";
    assert.deepEqual(sheet.payload(), {
      units: {
        "q:0": { answerable: "yes", sure: null, evidence: [{ quote: "crossed", start: 6 }] },
        "q:1": { answerable: null, sure: null, evidence: [], written: null },
      },
      comment: "שלום",
    });
  });

  test("comes back as it was", () => {
    one.choose(group, "yes");
    one.add(range("👩‍👩‍👧 crew"));
    two.choose(two.groups[0], "yes");
    two.prose.value = "Written 🛶.";
    two.element.querySelector("[value=p2]").checked = true;
    const before = sheet.payload();
    sheet.apply(null);
    assert.equal(sheet.payload().units["q:0"].answerable, null);
    assert.deepEqual(sheet.payload().units["q:0"].evidence, []);
    sheet.apply(before);
    assert.deepEqual(sheet.payload(), before);
    assert.deepEqual(before.units["q:1"].written, { text: "Written 🛶.", citations: ["p2"] });
  });

  test("does not show a quote that its text does not hold", () => {
    sheet.apply({
      units: {
        "q:0": {
          evidence: [
            { quote: "sank", start: 3 },
            { quote: "dawn", start: 17 },
          ],
        },
      },
    });
    assert.deepEqual(one.highlights, [{ field: "report", ...range("dawn") }]);
  });

  test("has no comment of blanks", () => {
    sheet.comment.value = " \r\n";
    assert.equal(sheet.payload().comment, null);
  });
});

describe("a submitted answer", () => {
  test("leaves out what the chosen codes do not ask for, and a draft keeps it", () => {
    one.choose(group, "yes");
    one.choose(one.groups[1], "very");
    one.add(range("crossed"));
    one.choose(group, "no");
    assert.deepEqual(sheet.payload(true).units["q:0"], { answerable: "no", sure: null, evidence: [] });
    assert.equal(sheet.payload().units["q:0"].sure, "very");
    assert.equal(sheet.payload().units["q:0"].evidence.length, 1);
    assert.equal(one.keeps(), true);
  });

  test("needs each code, the highlight that is owed, and the written answer", () => {
    assert.equal(one.problem(), "Choose an answer.");
    one.choose(group, "yes");
    one.choose(one.groups[1], "very");
    assert.match(one.problem(), /needs a highlight/);
    one.add(range("crossed"));
    assert.equal(one.problem(), null);
    two.choose(two.groups[0], "yes");
    two.choose(two.groups[1], "very");
    two.add(range("crossed"));
    assert.equal(two.problem(), "Write the answer.");
    assert.deepEqual(sheet.problems(), [{ unit: two, message: "Write the answer." }]);
    two.choose(two.groups[0], "no");
    assert.deepEqual(sheet.problems(), []);
  });
});

describe("answers that contradict each other", () => {
  test("are a problem until one of them changes", () => {
    two.element.dataset.never = '[{"answerable": ["no"], "sure": ["very"]}, {"answerable": ["no"]}]';
    two.choose(two.groups[0], "no");
    assert.equal(two.problem(), "These answers contradict each other: change one of them.");
    two.element.dataset.never = '[{"answerable": ["no"], "sure": ["very"]}]';
    assert.equal(two.problem(), null);
  });
});

describe("a text", () => {
  test("is ruled out by a choice, and not by one that is still open", () => {
    assert.deepEqual([two.proseRuledOut(), two.proseAsked()], [false, false]);
    two.choose(two.groups[0], "no");
    assert.deepEqual([two.proseRuledOut(), two.proseAsked()], [true, false]);
    two.choose(two.groups[0], "yes");
    assert.deepEqual([two.proseRuledOut(), two.proseAsked()], [false, true]);
    assert.equal(one.proseRuledOut(), false);
  });
});

describe("highlights of a question", () => {
  test("are in the order of the text, each once", () => {
    assert.equal(one.add(range("dawn")), true);
    assert.equal(one.add(range("crossed")), true);
    assert.equal(one.add(range("dawn")), false);
    assert.deepEqual(
      one.highlights.map((each) => TEXT.slice(each.start, each.end)),
      ["crossed", "dawn"],
    );
    one.remove(range("crossed"));
    assert.equal(one.highlights.length, 1);
  });

  test("are listed under it, and what is listed already is not replaced", () => {
    const quotes = new Quotes({ board: {}, takes: () => false });
    one.add(range("dawn"));
    quotes.list(one);
    const [dawn] = one.quotes.children;
    one.add(range("crossed"));
    quotes.list(one);
    assert.deepEqual(
      [...one.quotes.children].map((line) => line.firstChild.textContent),
      ["crossed", "dawn"],
    );
    assert.equal(one.quotes.children[1], dawn);
    one.remove(range("dawn"));
    quotes.list(one);
    assert.equal(one.quotes.children.length, 1);
  });
});

describe("undoing", () => {
  test("goes back and forth, step by step, and says which question it changed", () => {
    one.choose(group, "yes");
    sheet.settle();
    one.add(range("crossed"));
    sheet.settle();
    assert.equal(sheet.undo(), one);
    assert.deepEqual(one.highlights, []);
    sheet.undo();
    assert.equal(one.value(group), null);
    assert.equal(sheet.undo(), null);
    sheet.redo();
    sheet.redo();
    assert.equal(one.highlights.length, 1);
    assert.equal(sheet.redo(), null);
  });

  test("leaves what was typed, which fields undo themselves", () => {
    one.choose(group, "yes");
    sheet.settle();
    two.prose.value = "typed";
    sheet.comment.value = "typed too";
    sheet.undo();
    assert.deepEqual([two.prose.value, sheet.comment.value], ["typed", "typed too"]);
  });

  test("forgets what was undone after a new change, and is no step where nothing changed", () => {
    one.choose(group, "yes");
    sheet.settle();
    sheet.settle();
    assert.equal(sheet.history.length, 1);
    sheet.undo();
    one.choose(group, "no");
    sheet.settle();
    assert.equal(sheet.redo(), null);
  });
});

describe("two payloads", () => {
  test("are the same in whatever order their keys are, at any depth", () => {
    assert.equal(same({ a: { b: 1, c: [1, 2] }, d: null }, { d: null, a: { c: [1, 2], b: 1 } }), true);
  });

  test("differ by a value, the order of a list, or a missing key", () => {
    assert.equal(same({ a: "é" }, { a: "e\u0301" }), false);
    assert.equal(same([1, 2], [2, 1]), false);
    assert.equal(same({ a: null }, {}), false);
  });
});

describe("two versions of an item", () => {
  // jsdom shows no dialogs.
  const show = (theirs, settle = () => {}) => {
    const { createElement } = document;
    const prototype = Object.getPrototypeOf(createElement.call(document, "dialog"));
    Object.assign(prototype, { showModal: () => {}, close: () => {} });
    showConflict({ theirs, version: 2, revision: 0 }, sheet, settle);
    const cells = (row) => [...row.children].map((cell) => [...cell.childNodes].map((node) => node.textContent));
    return [...document.querySelectorAll("#conflict tbody tr")].map(cells);
  };

  test("are shown side by side where they differ, and only there", () => {
    one.choose(group, "yes");
    one.add(range("crossed"));
    const theirs = sheet.payload();
    theirs.units["q:0"] = { answerable: "no", sure: null, evidence: [] };
    theirs.comment = "Theirs";
    assert.deepEqual(show(theirs), [
      [["1. Question 1?"], ["Yes", "“crossed”"], ["No"]],
      [["Comment"], ["none"], ["Theirs"]],
    ]);
  });

  test("have a row for each question with another answer, and one for all else", () => {
    for (const [n, asked] of ["Is it?", "How sure?"].entries())
      one.groups[n].insertAdjacentHTML("afterbegin", `<p class="asked"><span>${n + 1}</span>${asked}</p>`);
    one.choose(group, "yes");
    const theirs = sheet.payload();
    one.choose(one.groups[1], "very");
    assert.deepEqual(show(theirs), [[["1. Question 1?", "How sure?"], ["Very"], ["no answer"]]]);
    one.add(range("crossed"));
    assert.deepEqual(show(theirs).at(-1), [["1. Question 1?"], ["“crossed”"], ["no answer"]]);
  });

  test("show a long quote shortened, without a part of an emoji at its end", () => {
    const theirs = sheet.payload();
    theirs.units["q:0"] = { answerable: null, sure: null, evidence: [{ quote: `${"x".repeat(67)}🛶 and more` }] };
    const [[, , [quote]]] = show(theirs);
    assert.equal(quote, `“${"x".repeat(67)}…”`);
  });

  test("are settled by the button that is pressed", () => {
    const settled = [];
    show({ units: {}, comment: "Theirs" }, (mine) => settled.push(mine));
    document.getElementById("keep-mine").click();
    document.getElementById("take-theirs").click();
    assert.deepEqual(settled, [true, false]);
  });
});

describe("a question that takes several codes", () => {
  const box = (code, word, single = "") =>
    `<label class="choice plain"><input type="checkbox" value="${code}"${single}><span>${word}</span></label>`;
  let several;
  beforeEach(() => {
    const form = element(`<form><ul><li data-unit="0"><p class="unit-text">?</p><input type="hidden" value="q:0">
      <div data-variable="issues" data-several>${box("made-up", "Made up")}${box("left-out", "Left out")}${box("", "None", " data-single")}${box("unsure", "Unsure", " data-single")}</div>
      <fieldset data-variable="harm" data-if='{"issues": ["made-up"]}'>${choice(0, "harm", "much", "Much")}</fieldset>
      </li></ul><textarea name="comment"></textarea></form>`);
    several = new Sheet(form, new Map([["report", { container: form, text: TEXT }]])).units[0];
    [group] = several.groups;
  });

  test("has no answer until one is chosen, even if it is none of them", () => {
    assert.equal(several.value(group), null);
    assert.equal(several.problem(), "Choose an answer.");
    several.choose(group, []);
    assert.deepEqual(several.value(group), []);
    assert.equal(several.problem(), null);
    assert.equal(several.word(group, []), "None");
  });

  test("has its codes in declared order, and an escape alone", () => {
    several.choose(group, ["left-out", "made-up"]);
    assert.deepEqual(several.value(group), ["made-up", "left-out"]);
    assert.equal(several.word(group, several.value(group)), "Made up, Left out");
    toggle(several.radios(group), several.radio(group, "unsure"));
    assert.equal(several.value(group), "unsure");
    toggle(several.radios(group), several.radio(group, "left-out"));
    assert.deepEqual(several.value(group), ["left-out"]);
  });

  test("meets a condition that names one of its codes", () => {
    several.choose(group, ["left-out"]);
    assert.equal(several.asked().length, 1);
    several.choose(group, ["made-up", "left-out"]);
    assert.equal(several.asked().length, 2);
    assert.deepEqual(several.payload(true).issues, ["made-up", "left-out"]);
  });
});
