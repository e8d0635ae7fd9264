// An interval scale: a slider, and the number beside it, which is the answer. Before it is used, the slider
// is nowhere, and the question has no answer.
import { t } from "./words.js";

/** @type {WeakMap<PageElement, Scale>} */
const scales = new WeakMap();

/**
 * Return the scale of a group of fields, if it has one.
 * @param {PageElement} group
 */
export function scaleOf(group) {
  const element = group.querySelector("[data-scale]");
  if (!element) return null;
  const known = scales.get(element) ?? new Scale(element);
  scales.set(element, known);
  return known;
}

class Scale {
  /** @param {PageElement} element */
  constructor(element) {
    const { first = "0", last = "0", step = "1" } = element.dataset;
    this.element = element;
    this.slider = /** @type {PageElement} */ (element.querySelector("input[type=range]"));
    this.field = /** @type {PageElement} */ (element.querySelector("input[type=text]"));
    this.first = first;
    this.last = last;
    this.step = step;
    this.decimals = Math.max(...[first, step].map((number) => (number.split(".")[1] ?? "").length));
  }

  /**
   * Return the number in the field as the scale writes it, or null if it is not on the scale.
   * @returns {string | null}
   */
  code() {
    const typed = this.field.value.trim().replace(",", ".").replace("−", "-");
    if (!/^[+-]?\d+(\.\d+)?$/.test(typed)) return null;
    const [first, last, step] = [this.first, this.last, this.step].map(Number);
    const place = (Number(typed) - first) / step;
    const whole = Math.round(place);
    if (Math.abs(place - whole) > 1e-6 || whole < 0 || whole > Math.round((last - first) / step)) return null;
    return String(Number((first + whole * step).toFixed(this.decimals)) || 0);
  }

  /** @param {string | null} number */
  set(number) {
    this.field.value = number ?? "";
    this.show();
  }

  // Puts the slider where the number is.
  show() {
    const code = this.code();
    this.element.toggleAttribute("data-unset", code === null);
    if (code === null) this.slider.setAttribute("aria-valuetext", t("no answer yet"));
    else {
      this.slider.removeAttribute("aria-valuetext");
      this.slider.value = code;
    }
    this.field.setAttribute("aria-invalid", String(code === null && Boolean(this.field.value.trim())));
  }

  // Takes over what was moved or typed.
  take(/** @type {EventTarget} */ source) {
    if (source === this.slider) this.set(this.slider.value);
    else this.show();
  }

  /**
   * Begin a number with a key.
   * @param {string} key
   */
  type(key) {
    this.field.value = key;
    this.field.focus();
    this.field.setSelectionRange(key.length, key.length);
    this.show();
  }

  problem() {
    const { first, last, step } = this;
    return t("Give a number from {first} to {last} in steps of {step}.", { first, last, step });
  }
}
