// Matches an extracted point to points of the person's own list: several, or none.
import { piece } from "../pieces.js";
import { t } from "../words.js";

export class Matching {
  constructor(desk, unit, points) {
    this.desk = desk;
    this.unit = unit;
    this.points = points;
    this.source = unit.free[0];
    this.group = unit.groups[0];
    this.boxes = new Map();
    this.build();
    this.source.addEventListener("tandem:applied", () => this.read());
    this.read();
  }

  build() {
    const { unit, points } = this;
    const set = piece("matching", "", "fieldset");
    const legend = piece(
      "asked",
      points.length ? t("Which of your points say the same?") : t("Your list is empty, so none matches."),
      "legend",
    );
    set.append(
      legend,
      ...points.map((point, place) => this.line(place + 1, point.prose.value)),
      this.line(0, t("None of mine")),
    );
    this.group.after(set);
    unit.element.classList.add("matched-by-hand");
    this.set = set;
    set.addEventListener("change", (event) => {
      event.stopPropagation();
      this.toggle(Number(/** @type {PageElement} */ (event.target).value));
    });
  }

  line(number, words) {
    const line = piece("match", "", "label");
    const box = Object.assign(document.createElement("input"), {
      type: "checkbox",
      value: number,
      disabled: this.desk.saver.closed,
    });
    line.append(
      box,
      piece("match-key", number < 10 ? String(number) : "·", "kbd"),
      Object.assign(piece("match-words", words), { dir: "auto" }),
    );
    this.boxes.set(number, box);
    return line;
  }

  get numbers() {
    return JSON.parse(this.source.value) ?? [];
  }

  read() {
    const chosen = this.unit.value(this.group) === "no" ? [0] : this.numbers;
    for (const [number, box] of this.boxes) box.checked = chosen.includes(number);
  }

  toggle(number) {
    if (!this.boxes.has(number)) return false;
    const now = this.numbers;
    if (number === 0) return this.write([], this.unit.value(this.group) === "no" ? null : "no");
    const next = now.includes(number) ? now.filter((one) => one !== number) : [...now, number].sort((a, b) => a - b);
    return this.write(next, next.length ? "yes" : null);
  }

  write(numbers, code) {
    const { board, say } = this.desk;
    this.source.value = JSON.stringify(numbers);
    this.unit.choose(this.group, code);
    this.read();
    board.edited(this.unit);
    say(
      code === "no"
        ? t("None of yours")
        : code
          ? t("Matches {numbers}", { numbers: numbers.join(", ") })
          : t("Not matched yet"),
    );
    return true;
  }

  focus() {
    const [first] = [...this.boxes.values()].filter((box) => box.checked);
    (first ?? this.boxes.values().next().value).focus();
  }
}
