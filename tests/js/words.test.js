import { element } from "./page.js";
import assert from "node:assert/strict";
import { test } from "node:test";

element(
  '<script id="page-words" type="application/json">{"{n} questions left": "noch {n} Fragen", "Saved": "Gespeichert"}</script>',
);
const { t, tn } = await import("../../static/js/words.js?de");

test("words are those of the catalogue in the page, with their values", () => {
  assert.equal(t("Saved"), "Gespeichert");
  assert.equal(tn("{n} question left", "{n} questions left", 3), "noch 3 Fragen");
});

test("a text without a translation is shown as it is, and an unknown value stays visible", () => {
  assert.equal(tn("{n} question left", "{n} questions left", 1), "1 question left");
  assert.equal(t("{a} and {b}", { a: "<b>" }), "<b> and {b}");
});
