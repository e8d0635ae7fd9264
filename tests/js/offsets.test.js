import "./page.js";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fromWire, toCodePoints, toUnits, toWire, trimmed, wholePairs } from "../../static/js/offsets.js";

const TEXTS = {
  "plain words": "The boat left at dawn.",
  "an emoji": "A 🛶 left 🌉.",
  "an emoji of several code points": "The 👩‍👩‍👧 crew 🏳️‍🌈",
  "combining marks": "cafe\u0301 in São\u0303",
  "right to left": "שלום 🌍 עולם",
  "line ends of two characters": "One.\r\n\r\nTwo 🛶.\r\n",
  "signs outside the basic plane": "𠮷野家 and 𝒳",
  "half a character": "broken \ud83d here \udef6 too",
  nothing: "",
};

describe("an offset", () => {
  for (const [what, text] of Object.entries(TEXTS)) {
    test(`is counted in code points as the server counts them: ${what}`, () => {
      const characters = Array.from(text);
      let units = 0;
      characters.forEach((character, n) => {
        assert.equal(toCodePoints(text, units), n);
        assert.equal(toUnits(text, n), units);
        units += character.length;
      });
      assert.equal(toCodePoints(text, text.length), characters.length);
      assert.equal(toUnits(text, characters.length), text.length);
    });
  }

  test("past the end of the text is its end", () => assert.equal(toUnits("🛶🛶", 9), 4));

  test("is right in the seventeenth text and in the first again, though only sixteen are remembered", () => {
    for (let n = 0; n < 18; n += 1) assert.equal(toCodePoints(`🛶${n}`, 3), 2);
    assert.equal(toCodePoints("🛶0", 3), 2);
  });
});

describe("a quote", () => {
  const text = "🛶 The boat, the 👩‍👩‍👧 boat.\r\n";

  test("goes to the server and comes back as the same range", () => {
    const start = text.indexOf("👩");
    const range = { start, end: start + "👩‍👩‍👧 boat".length };
    assert.deepEqual(toWire(text, range), { quote: "👩‍👩‍👧 boat", start: 16 });
    assert.deepEqual(fromWire(text, toWire(text, range)), range);
  });

  test("keeps a line end of two characters", () => {
    const range = { start: text.indexOf("."), end: text.length };
    assert.equal(toWire(text, range).quote, ".\r\n");
    assert.deepEqual(fromWire(text, toWire(text, range)), range);
  });

  for (const [why, quote] of Object.entries({
    "other words are there": { quote: "boat", start: 0 },
    "the text does not have it": { quote: "ship", start: 2 },
    "it has no start, since only the server searches": { quote: "boat" },
    "it is empty": { quote: "", start: 0 },
    "it is no text": { quote: 5, start: 0 },
    "there is none": null,
  })) {
    test(`is not shown if ${why}`, () => assert.equal(fromWire(text, quote), null));
  }
});

describe("a range", () => {
  test("loses the blanks at its ends, of any kind", () =>
    assert.deepEqual(trimmed("a \u00a0\t🛶 b\r\n c", { start: 1, end: 10 }), { start: 4, end: 8 }));

  test("of blanks only is none", () => assert.equal(trimmed("a \r\n b", { start: 1, end: 5 }), null));

  test("never holds half of an emoji", () => {
    assert.deepEqual(wholePairs("a🛶b", { start: 2, end: 3 }), { start: 1, end: 3 });
    assert.deepEqual(wholePairs("a🛶b", { start: 1, end: 2 }), { start: 1, end: 3 });
    assert.deepEqual(wholePairs("a🛶b", { start: 0, end: 4 }), { start: 0, end: 4 });
  });
});
