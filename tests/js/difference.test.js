import "./page.js";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { counts, difference } from "../../static/js/difference.js";

const of = (pieces, ...sides) => pieces.filter(({ side }) => sides.includes(side)).map(({ text }) => text);
const joined = (pieces, side) => of(pieces, "both", side).join("");
const WORDS = [
  ...["the", "a", "of", "bridge", "river", "1901", "don't", ".", ",", "\r\n", "\t"],
  ...["🌉", "👩‍👩‍👧", "אבג", "café", "cafe\u0301", "桥梁"],
];

// Numbers from 0 to 1 that are the same at each run.
function numbers(seed) {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

describe("the difference of two texts", () => {
  test("holds both texts whole, whatever they are", () => {
    const next = numbers(7);
    const some = () => Array.from({ length: next() * 60 }, () => WORDS[Math.floor(next() * WORDS.length)]);
    for (let n = 0; n < 400; n += 1) {
      const [one, other] = [some().join(next() < 0.5 ? " " : "-"), some().join(" ")];
      const pieces = difference(one, other);
      assert.deepEqual([joined(pieces, "first"), joined(pieces, "second")], [one, other]);
      assert.ok(pieces.every(({ text }) => text));
    }
  });

  test("names only what changed", () => {
    const pieces = difference("It opened in 1901. Anna built it.", "It opened in 1902. Anna built it.");
    assert.deepEqual([of(pieces, "first"), of(pieces, "second")], [["1901"], ["1902"]]);
  });

  test("of a text with a longer one is what was added", () => {
    const pieces = difference("One.", "One. By hand.");
    assert.deepEqual(pieces, [
      { text: "One.", side: "both" },
      { text: " By hand.", side: "second" },
    ]);
  });

  test("of equal texts is one piece, and of empty ones none", () => {
    assert.deepEqual(difference("One two.", "One two."), [{ text: "One two.", side: "both" }]);
    assert.deepEqual(difference("", ""), []);
    assert.deepEqual(difference("", "Both."), [{ text: "Both.", side: "second" }]);
  });

  test("joins words that changed one by one into one change", () => {
    const pieces = difference("He saw red old boats there.", "He saw blue new ships there.");
    assert.deepEqual([of(pieces, "first"), of(pieces, "second")], [["red old boats"], ["blue new ships"]]);
  });

  test("of texts with nothing in common is the one and the other", () =>
    assert.deepEqual(of(difference("One two.", "Three four!"), "first"), ["One two."]));

  test("cuts no emoji and no letter from its combining mark", () => {
    const pieces = difference("A 👩‍👩‍👧 at the cafe\u0301 in שלום", "A 👩‍👩‍👦 at the cafe in שלום");
    assert.deepEqual(of(pieces, "first"), ["👩‍👩‍👧", "cafe\u0301"]);
    assert.deepEqual(of(pieces, "second"), ["👩‍👩‍👦", "cafe"]);
  });

  test("names the single sign that changed where a script writes no blanks", () => {
    const pieces = difference("桥梁很长", "桥梁很短");
    assert.deepEqual([of(pieces, "first"), of(pieces, "second")], [["长"], ["短"]]);
  });

  test("is found in long texts, whose words all recur", () => {
    const long = "the boat left ".repeat(40_000);
    const pieces = difference(`One ${long}`, `Two ${long}`);
    assert.deepEqual([of(pieces, "first"), of(pieces, "second")], [["One"], ["Two"]]);
  });

  test("counts words and no signs", () => {
    const pieces = difference("One, two.", "One, three four!");
    assert.deepEqual(counts(pieces), { first: 1, second: 2 });
  });
});
