import { element } from "./page.js";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { scaleOf } from "../../static/js/wide_answers.js";

const scale = (first, last, step) =>
  scaleOf(
    element(`<div><div data-scale data-first="${first}" data-last="${last}" data-step="${step}" data-unset>
      <input type="range" min="${first}" max="${last}" step="${step}"><input type="text" value=""></div></div>`),
  );
const typed = (of, text) => {
  of.field.value = text;
  return of.code();
};

describe("a number that is typed", () => {
  test("is a code of the scale, however it is written", () => {
    const whole = scale("-5", "100", "5");
    const codes = ["35", " 35.0 ", "35,0", "+35", "−5", "-0", "100"].map((text) => typed(whole, text));
    assert.deepEqual(codes, ["35", "35", "35", "35", "-5", "0", "100"]);
  });

  test("is no answer off the scale, or if it is no number", () => {
    const whole = scale("-5", "100", "5");
    for (const text of ["", "36", "105", "-10", "1e1", "five", "5 5", "Infinity"])
      assert.equal(typed(whole, text), null);
  });

  test("has no rounding error on a scale of fractions", () => {
    const fine = scale("-0.3", "0.3", "0.1");
    assert.deepEqual(
      ["-0.3", "0.1", "0.20", "0.3", "0.25"].map((text) => typed(fine, text)),
      ["-0.3", "0.1", "0.2", "0.3", null],
    );
  });
});

test("a slider without an answer says so, and is where the number is afterwards", () => {
  const of = scale("0", "100", "1");
  of.show();
  assert.equal(of.slider.getAttribute("aria-valuetext"), "no answer yet");
  of.set("40");
  assert.deepEqual([of.slider.value, of.slider.hasAttribute("aria-valuetext")], ["40", false]);
  of.set(null);
  assert.ok(of.element.hasAttribute("data-unset"));
});
