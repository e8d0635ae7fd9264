import { element, pass } from "./page.js";
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { canvasOf, cut, hiddenIn, offsetOf, point, visible } from "../../static/js/blocks.js";
import { paint, rangeOf, select, selectedRange } from "../../static/js/highlighter.js";

const TEXT = "Zoë 🛶 crossed the café\u0301.\r\n\r\nשלום עולם, the 👩‍👩‍👧 crew slept.";
const at = (words, more) => ({ start: TEXT.indexOf(words), end: TEXT.indexOf(words) + words.length, ...more });
const marks = (container) => [...container.querySelectorAll("mark")];
const shown = (container) => marks(container).map((mark) => [mark.textContent, mark.dataset.units, mark.dataset.depth]);
const paragraph = (n) => `Paragraph ${n} 🛶: ${"the boat left at dawn. ".repeat(40)}\r\n`;
const LONG = Array.from({ length: 40 }, (_, n) => paragraph(n)).join("");

function container(text) {
  const made = element('<div class="texts"><div data-marks></div></div>').firstElementChild;
  made.textContent = text;
  return made;
}

describe("a highlight", () => {
  let reading;
  beforeEach(() => (reading = container(TEXT)));

  for (const words of ["🛶", "👩‍👩‍👧 crew", "café\u0301.\r\n\r\nשלום", "עולם", TEXT]) {
    test(`covers exactly its words, and the text stays as it is: ${JSON.stringify(words.slice(0, 20))}`, () => {
      paint(reading, TEXT, [at(words, { unit: 0 })]);
      assert.equal(
        marks(reading)
          .map((mark) => mark.textContent)
          .join(""),
        words,
      );
      assert.equal(reading.textContent, TEXT);
    });
  }

  test("overlaps others: each piece knows the questions that it belongs to", () => {
    paint(reading, TEXT, [at("crossed the", { unit: 0 }), at("the café\u0301", { unit: 1 })]);
    assert.deepEqual(shown(reading), [
      ["crossed ", "0", "1"],
      ["the", "0 1", "2"],
      [" café\u0301", "1", "1"],
    ]);
    assert.deepEqual(
      marks(reading).map((mark) => mark.dataset.ends),
      [undefined, "1", "2"],
    );
  });

  test("is announced to screen readers at its start and its end", () => {
    paint(reading, TEXT, [at("crossed", { unit: 2, kept: true })]);
    const { opens, closes } = marks(reading)[0].dataset;
    assert.equal(opens, "[highlight for question 3, kept aside: ");
    assert.equal(closes, " end of highlight for question 3, kept aside]");
  });

  test("of the current question, pointed at, or left aside looks so", () => {
    paint(reading, TEXT, [at("crossed", { unit: 0, now: true, lit: true }), at("slept", { unit: 1, kept: true })]);
    assert.deepEqual(
      marks(reading).map((mark) => mark.className),
      ["now lit", "kept"],
    );
  });

  test("goes without a trace", () => {
    paint(reading, TEXT, [at("crossed", { unit: 0 })]);
    paint(reading, TEXT, []);
    assert.equal(reading.innerHTML.includes("<mark"), false);
    assert.equal(reading.textContent, TEXT);
  });

  test("that only looks different is the same element, so that the pointer stays on it", () => {
    paint(reading, TEXT, [at("crossed", { unit: 0 })]);
    const [mark] = marks(reading);
    paint(reading, TEXT, [at("crossed", { unit: 0, now: true })]);
    assert.equal(marks(reading)[0], mark);
    assert.equal(mark.className, "now");
  });

  test("leaves the selection where it was", () => {
    select(reading, at("עולם"));
    paint(reading, TEXT, [at("שלום עולם", { unit: 0 })]);
    assert.deepEqual(selectedRange(reading), at("עולם"));
  });

  test("lies over a suggested passage, which has a sign and no number", () => {
    const suggested = [at("the café\u0301", { sign: "B", spoken: "highlight of Rater B" })];
    paint(reading, TEXT, [at("café\u0301", { unit: 0 })], { suggested });
    assert.deepEqual(
      marks(reading).map(({ dataset: { kind, units, ends, opens } }) => [kind, units, ends, opens]),
      [
        ["suggested", undefined, undefined, "[highlight of Rater B: "],
        ["suggested", "0", "B 1", "[highlight for question 1: "],
      ],
    );
  });
});

describe("a selection", () => {
  test("is counted from the start of the text, across marks", () => {
    const reading = container(TEXT);
    paint(reading, TEXT, [at("crossed", { unit: 0 }), at("שלום", { unit: 1 })]);
    for (const words of ["🛶 crossed the", "café\u0301.\r\n\r\nשלום עולם", "slept."]) {
      const range = select(reading, at(words));
      assert.equal(range.toString(), words);
      assert.deepEqual(selectedRange(reading), at(words));
    }
  });

  test("that begins before the text or ends behind it counts as far as the text goes", () => {
    const reading = container(TEXT);
    reading.before("before");
    reading.after("behind");
    document.getSelection().selectAllChildren(document.body);
    assert.deepEqual(selectedRange(reading), { start: 0, end: TEXT.length });
  });

  test("of nothing, or elsewhere, is none", () => {
    const reading = container(TEXT);
    document.getSelection().removeAllRanges();
    assert.equal(selectedRange(reading), null);
    reading.before("before");
    document.getSelection().selectAllChildren(reading.previousSibling);
    assert.equal(selectedRange(reading), null);
  });
});

describe("a long text", () => {
  test("is cut into blocks at the ends of its lines, and nothing is lost", () => {
    const blocks = cut(LONG);
    assert.equal(blocks.join(""), LONG);
    assert.ok(blocks.length > 10);
    assert.ok(blocks.every((block) => block.endsWith("\r\n") && block.length <= 3000));
  });

  test("of one line is cut at the ends of sentences, else at blanks", () => {
    const sentences = cut("The boat left at dawn. ".repeat(500));
    assert.ok(sentences.slice(0, -1).every((block) => block.endsWith(". ") && block.length <= 3000));
    const words = cut("🛶 שלום ".repeat(2000));
    assert.ok(words.slice(0, -1).every((block) => block.endsWith(" ") && block.length <= 3000));
    assert.equal(words.join(""), "🛶 שלום ".repeat(2000));
  });

  test("without any blank stays whole, so that no character is cut", () =>
    assert.deepEqual(cut("桥".repeat(7000)), ["桥".repeat(7000)]));

  test("takes the blocks over that the server laid out", () => {
    const reading = container("");
    reading.innerHTML = cut(LONG)
      .map((words) => `<span class="block">${words}</span>`)
      .join("");
    const text = reading.textContent;
    const [first] = reading.children;
    const { blocks } = canvasOf(reading, text);
    assert.equal(blocks[0].element, first);
    assert.equal(blocks.at(-1).end, text.length);
  });

  test("knows each offset as a place in the tree, and back", () => {
    const reading = container(LONG);
    paint(reading, LONG, [{ start: 1000, end: 5000, unit: 0 }]);
    const canvas = canvasOf(reading);
    for (let offset = 0; offset < LONG.length; offset += 997) {
      for (const later of [false, true]) assert.equal(offsetOf(canvas, ...point(canvas, offset, later)), offset);
    }
  });

  test("draws a highlight over many blocks in steps, all of it in the end", async () => {
    const reading = container(LONG);
    paint(reading, LONG, [{ start: 10, end: LONG.length - 10, unit: 0 }]);
    for (let n = 0; n < 20; n += 1) await pass(10);
    assert.equal(
      marks(reading)
        .map((mark) => mark.textContent)
        .join(""),
      LONG.slice(10, -10),
    );
    assert.equal(reading.textContent, LONG);
    assert.equal(rangeOf(reading, { start: 0, end: LONG.length }).toString(), LONG);
  });
});

describe("a rendered text", () => {
  const run = (words) => `<span class="run">${words}</span>`;
  const sign = (words) => `<span class="run sign" dir="ltr">${words}</span>`;
  const BOLD = "# Zoë\r\n\r\nThe **🛶 café\u0301** שלום.";
  let reading;
  beforeEach(() => {
    reading = container("");
    const strong = `<strong>${sign("**")}${run("🛶 café\u0301")}</strong>${sign("**")}`;
    const body = `${sign("&#13;\n&#13;\n")}${run("The ")}${strong}${run(" שלום.")}`;
    reading.innerHTML = `<div class="markdown"><div class="head">${sign("# ")}${run("Zoë")}</div><p>${body}</p></div>`;
  });

  test("has each character of its source at its offset", () => {
    assert.equal(reading.textContent, BOLD);
    const canvas = canvasOf(reading, BOLD);
    for (let at = 0; at <= BOLD.length; at += 1) {
      for (const later of [false, true]) assert.equal(offsetOf(canvas, ...point(canvas, at, later)), at);
    }
    assert.equal(hiddenIn(reading).length, 4);
  });

  test("is marked across its elements, which stay, and its number stands at the last word in sight", () => {
    const [start, end] = [BOLD.indexOf("Zoë"), BOLD.indexOf("** ש") + 2];
    assert.deepEqual(visible(canvasOf(reading, BOLD), { start, end }), { start, end: end - 2 });
    paint(reading, BOLD, [{ start, end, unit: 0 }]);
    const seen = marks(reading).filter((mark) => !mark.closest(".sign"));
    assert.deepEqual(
      seen.map((mark) => mark.textContent),
      ["Zoë", "The ", "🛶 café\u0301"],
    );
    assert.equal(seen.at(-1).dataset.ends, "1");
    assert.ok(seen.at(-1).closest("strong"));
    assert.equal(reading.textContent, BOLD);
    reading.firstElementChild.classList.add("as-source");
    assert.deepEqual(visible(canvasOf(reading, BOLD), { start, end }), { start, end });
  });
});
