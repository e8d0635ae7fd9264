import "./page.js";
import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import {
  beginning,
  ending,
  hideSigns,
  movedByCharacter,
  movedByWord,
  segmentsOf,
  withoutSigns,
} from "../../static/js/segments.js";
import { PlainSegmenter } from "../../static/js/plain_segments.js";

const TEXT = "Zoë 🛶 crossed the café\u0301.  Then\r\nshe slept. שלום עולם!";
const words = (text, range) => range && text.slice(range.start, range.end);
const rangeOf = (text, part) => ({ start: text.indexOf(part), end: text.indexOf(part) + part.length });

// Segments of a text, by the browser or without its help; each text is segmented anew.
const known = Intl.Segmenter;
afterEach(() => Object.assign(Intl, { Segmenter: known }));
function fresh(text, segmenter) {
  Object.assign(Intl, { Segmenter: segmenter });
  for (let n = 0; n < 20; n += 1) segmentsOf(`another text ${n}`);
  return segmentsOf(text);
}

describe("the word at an offset", () => {
  const segments = segmentsOf(TEXT);

  test("is whole, with its combining marks", () =>
    assert.equal(words(TEXT, segments.at("word", TEXT.indexOf("fé"))), "café\u0301"));

  test("is found in a text from right to left", () =>
    assert.equal(words(TEXT, segments.at("word", TEXT.indexOf("ולם"))), "עולם"));

  test("is not solid where a blank or a sign is", () => {
    assert.equal(segments.at("word", 3).solid, false);
    assert.equal(segments.at("word", TEXT.length - 1).solid, false);
  });

  test("does not exist outside of the text", () => {
    assert.equal(segments.at("word", TEXT.length), null);
    assert.equal(segments.at("word", -1), null);
    assert.equal(segmentsOf("").at("word", 0), null);
  });

  test("is followed and preceded by others, over blanks and signs", () => {
    assert.equal(words(TEXT, segments.next("word", 1)), "crossed");
    assert.equal(words(TEXT, segments.previous("word", TEXT.indexOf("she"))), "Then");
    assert.equal(segments.next("word", TEXT.length), null);
    assert.equal(segments.previous("word", 0), null);
    assert.equal(segments.previous("word", 2), null);
  });
});

describe("a sentence", () => {
  test("ends before the blanks behind it", () =>
    assert.equal(words(TEXT, segmentsOf(TEXT).at("sentence", 5)), "Zoë 🛶 crossed the café\u0301."));

  test("is what the cursor goes by in a text without words", () => {
    assert.equal(segmentsOf("🛶 … 🌉").smallest, "sentence");
    assert.equal(segmentsOf(TEXT).smallest, "word");
  });
});

describe("a step by a character", () => {
  for (const [what, character] of Object.entries({
    "an emoji": "🛶",
    "an emoji of several code points": "👩‍👩‍👧",
    "a letter with a combining mark": "e\u0301",
    "a line end of two characters": "\r\n",
  })) {
    test(`goes over ${what} at once, in both directions`, () => {
      const segments = segmentsOf(`a${character}b`);
      assert.equal(segments.step(1, 1), 1 + character.length);
      assert.equal(segments.step(1 + character.length, -1), 1);
    });
  }

  test("stays at the ends of the text", () => {
    assert.equal(segmentsOf("ab").step(2, 1), 2);
    assert.equal(segmentsOf("ab").step(0, -1), 0);
  });
});

describe("a selection", () => {
  const snaps = [
    ["with combining marks", "the cafe\u0301 is open", "he cafe", "the cafe\u0301"],
    ["and whole emoji", "the 👩‍👩‍👧 crew 🏴‍☠️!", "\u200d👧 crew 🏴", "👩‍👩‍👧 crew 🏴‍☠️"],
    ["of emoji alone", "a 👍🏽👍🏽 b", "🏽", "👍🏽"],
    ["from right to left", "אמר שלום לכולם.", "ום לכ", "שלום לכולם"],
    ["with an apostrophe", "she didn’t go", "’t", "didn’t"],
  ];
  for (const segmenter of [Intl.Segmenter, PlainSegmenter])
    for (const [what, text, part, whole] of snaps)
      test(`snaps to whole words ${what}${segmenter === known ? "" : ", where the browser does not segment"}`, () => {
        assert.equal(words(text, fresh(text, segmenter).snapped(rangeOf(text, part), "word")), whole);
      });

  test("snaps to words of a language without spaces, or to characters where none are known", () => {
    const text = "我们喜欢阅读报告。";
    assert.equal(words(text, fresh(text, Intl.Segmenter).snapped(rangeOf(text, "读报"), "word")), "阅读报告");
    assert.equal(words(text, fresh(text, PlainSegmenter).snapped(rangeOf(text, "读报"), "word")), "读报");
  });

  test("snaps to sentences without the browser’s help, too", () =>
    assert.equal(words(TEXT, fresh(TEXT, PlainSegmenter).snapped(rangeOf(TEXT, "slept"), "sentence")), "she slept."));

  test("snaps to whole sentences, which end at the ends of lines too", () =>
    assert.equal(words(TEXT, segmentsOf(TEXT).snapped(rangeOf(TEXT, "slept"), "sentence")), "she slept."));

  test("does not grow over the blank at its end", () =>
    assert.deepEqual(segmentsOf("one two").snapped({ start: 0, end: 4 }, "word"), { start: 0, end: 4 }));
});

describe("an end that moves by a word", () => {
  const moved = (part, later, step) => words(TEXT, movedByWord(TEXT, rangeOf(TEXT, part), later, step));

  test("takes the next word in or leaves the last one out", () => {
    assert.equal(moved("crossed", true, 1), "crossed the");
    assert.equal(moved("crossed the", true, -1), "crossed");
    assert.equal(moved("the", false, -1), "crossed the");
    assert.equal(moved("crossed the", false, 1), "the");
  });

  test("completes a word that the range holds in part", () => {
    assert.equal(moved("crossed t", true, 1), "crossed the");
    assert.equal(moved("ossed the", false, -1), "crossed the");
  });

  test("leaves at least a word, and ends at the ends of the text", () => {
    assert.equal(moved("crossed", true, -1), null);
    assert.equal(moved("Zoë", false, -1), null);
    assert.equal(moved("עולם", true, 1), null);
  });
});

describe("an end that moves by a character", () => {
  const moved = (part, later, step) => words(TEXT, movedByCharacter(TEXT, rangeOf(TEXT, part), later, step));

  test("never cuts one", () => {
    assert.equal(moved("Zoë ", true, 1), "Zoë 🛶");
    assert.equal(moved("Zoë 🛶", true, -1), "Zoë ");
    assert.equal(moved("café\u0301", true, -1), "caf");
  });

  test("goes over blanks when the range grows", () => {
    assert.equal(moved("café\u0301.", true, 1), "café\u0301.  T");
    assert.equal(moved("she", false, -1), "n\r\nshe");
  });

  test("leaves at least a character", () => assert.equal(moved("Z", true, -1), null));

  test("stays at the end of a text that ends in blanks", () => {
    const text = "end. \r\n";
    assert.deepEqual(movedByCharacter(text, { start: 0, end: 4 }, true, 1), { start: 0, end: text.length });
  });
});

describe("a text that is shortened", () => {
  test("is left as it is if it is short enough", () => {
    assert.equal(beginning("boat", 4), "boat");
    assert.equal(ending("boat", 4), "boat");
  });

  test("loses no part of a character at its end", () => {
    assert.equal(beginning("abc🛶", 4), "abc");
    assert.equal(beginning("abe\u0301x", 3), "ab");
    assert.equal(beginning("ab👩‍👩‍👧", 6), "ab");
  });

  test("loses no part of a character at its start", () => {
    assert.equal(ending("🛶abc", 4), "abc");
    assert.equal(ending("e\u0301xy", 3), "xy");
    assert.equal(ending("👩‍👩‍👧ab", 6), "ab");
  });
});

describe("signs of Markdown that are hidden", () => {
  const text = "See **the pier** [here](http://a.b).";
  const signs = ["**", "[", "](http://a.b)"].map((sign) => rangeOf(text, sign));

  test("are passed over by the cursor", () => {
    hideSigns(text, signs);
    assert.equal(words(text, segmentsOf(text).next("word", text.indexOf("here") + 4)), null);
    hideSigns(text, []);
    assert.equal(words(text, segmentsOf(text).next("word", text.indexOf("here") + 4)), "http");
  });

  test("neither begin nor end a highlight", () => {
    hideSigns(text, signs);
    assert.equal(words(text, withoutSigns(text, rangeOf(text, "**the"))), "the");
    assert.equal(words(text, withoutSigns(text, rangeOf(text, "here](http://a.b)"))), "here");
  });
});
