// Questions with several codes, whose choices are boxes, and interval scales: a slider, and the number beside
// it, which is the answer. Before a scale is used, its slider is nowhere, and the question has no answer.
import { t } from "./words.js";

/**
 * Return what a group's answer is, given the fields that are chosen; undefined if it is one of them.
 * @param {PageElement} group
 * @param {PageElement[]} chosen
 */
export function value(group, chosen) {
  if (!("several" in group.dataset)) return chosen[0]?.value ?? scaleOf(group)?.code();
  if (!chosen.length) return undefined;
  // "None of these" has no code: an empty list is an answer only because it was chosen.
  const [one] = chosen;
  return "single" in one.dataset && one.value ? one.value : chosen.map((box) => box.value).filter(Boolean);
}

/**
 * Return the number that is the answer on a scale.
 * @param {PageElement} group
 * @param {unknown} given
 */
export const number = (group, given) => (scaleOf(group) && typeof given === "string" ? given : undefined);

/**
 * Turn a box of a group on or off. A box that stands alone turns the others off.
 * @param {PageElement[]} boxes
 * @param {PageElement} box
 */
export function toggle(boxes, box, on = !box.checked) {
  for (const other of on ? boxes : []) {
    if ("single" in box.dataset || "single" in other.dataset) other.checked = false;
  }
  box.checked = on;
}

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

// Turns one of several codes on or off by a key. Only the person knows when the set is complete, so the focus
// stays.
function press(/** @type {any} */ board, /** @type {PageElement} */ group, /** @type {PageElement} */ box) {
  const unit = board.current;
  toggle(unit.radios(group), box);
  board.aimed = group;
  board.edited(unit);
  const words = unit.word(group, box.value || []);
  const n = unit.number + 1;
  board.say(box.checked ? t("{words}, question {n}", { words, n }) : t("not {words}, question {n}", { words, n }));
  if (!document.activeElement?.closest("[data-marks]")) box.focus();
}

// Begins a number of the current scale with a key.
function type(/** @type {any} */ board, /** @type {PageElement} */ group, /** @type {string} */ key) {
  board.aimed = group;
  for (const radio of board.current.radios(group)) radio.checked = false;
  scaleOf(group)?.type(key);
  board.edited(board.current);
}

/**
 * Answer a group by a digit. Returns whether it did, or undefined if the group is neither.
 * @param {any} board
 * @param {PageElement} group
 * @param {string} digit
 */
export function choose(board, group, digit) {
  const several = "several" in group.dataset;
  if (!several && !scaleOf(group)) return undefined;
  const box = board.current.radios(group).find((/** @type {any} */ one) => one.parentElement.dataset.key === digit);
  if (several && !box) return false;
  if (several) press(board, group, box);
  else type(board, group, digit);
  return true;
}

// Goes on from a question whose answer is complete only when the person says so. Returns false if nothing
// is open any more.
function goOn(/** @type {any} */ board) {
  const { current } = board;
  const asked = current.asked();
  const next = asked.slice(asked.indexOf(board.aim()) + 1).find((/** @type {any} */ one) => !current.value(one));
  if (next) {
    board.aimed = next;
    board.refresh();
    board.focus();
    return true;
  }
  if (current.proseAsked() && !current.prose.value.trim()) return board.write(current);
  const open = board.nextOpen();
  if (open) board.go(open, true);
  return Boolean(open);
}

/**
 * Let scales and boxes of a page be used by mouse and keyboard.
 * @param {{form: PageElement, board: any, saver: any, unitAt: (target: any) => any}} page
 */
export function setUp({ form, board, saver, unitAt }) {
  const moved = (/** @type {PageElement} */ field) => {
    const group = /** @type {PageElement} */ (field.closest("[data-variable]"));
    const unit = unitAt(field);
    for (const radio of unit.radios(group)) radio.checked = false;
    scaleOf(group)?.take(field);
    board.aimed = group;
    board.problem(unit, "");
    board.refresh();
    saver.changed();
  };
  // A slider that was nowhere takes the place where it is clicked, even if that is where it begins.
  form.addEventListener("click", ({ target }) => {
    const field = /** @type {PageElement} */ (target);
    if (field.closest("[data-unset] input[type=range]") && !saver.closed) moved(field);
  });
  form.addEventListener("input", ({ target }) => {
    const field = /** @type {PageElement} */ (target);
    if (field.closest("[data-scale]")) moved(field);
  });
  // Before the page hears of a change, the other boxes and the scale follow it.
  form.addEventListener(
    "change",
    ({ target }) => {
      const field = /** @type {PageElement} */ (target);
      const group = field.closest("[data-variable]");
      if (!group) return;
      if ("several" in group.dataset) toggle(unitAt(field).radios(group), field, field.checked);
      else if (field.type === "radio") scaleOf(group)?.set(null);
    },
    true,
  );
  form.addEventListener("keydown", (event) => {
    const field = /** @type {PageElement} */ (event.target);
    const group = field.closest("[data-variable]");
    const scale = group && scaleOf(group);
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || saver.closed) return;
    if (event.key === "Enter" && (scale || (group && "several" in group.dataset))) {
      if (goOn(board)) event.preventDefault();
    } else if (scale && field === scale.slider && /^[-.,]$/.test(event.key)) {
      type(board, group, event.key);
      event.preventDefault();
    }
  });
}
