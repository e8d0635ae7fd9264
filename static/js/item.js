// The item page: puts the parts together.
import { Account } from "./account.js";
import { Board } from "./board.js";
import { setUpDrawer } from "./drawer.js";
import { selectedRange } from "./highlighter.js";
import { setUpKeys } from "./keys.js";
import { trimmed } from "./offsets.js";
import { writeOn } from "./pieces.js";
import { Saver } from "./saving.js";
import { Release, setUpPointer, Words } from "./selecting.js";
import { Sheet, wide } from "./sheet.js";
import { setUpSnap } from "./snap.js";
import { Status } from "./status.js";
import { outbox, setAside } from "./store.js";
import { Timer } from "./timer.js";

const byId = (id) => document.getElementById(id);
const form = byId("sheet");
const { uid } = form.dataset;
const texts = new Map(
  [...document.querySelectorAll("[data-text]")].map((container) => [
    container.dataset.text,
    { container, text: container.textContent },
  ]),
);
const say = (words) => (byId("spoken").textContent = words);
const sheet = new Sheet(form, texts);
const board = new Board(sheet, texts, { changed: () => saver.changed(), say });
const drawer = setUpDrawer();
const refused = byId("refused");
async function conflict(body) {
  const { showConflict } = await import("./conflict_dialog.js");
  showConflict(body, sheet, (mine) => {
    saver.settle(mine);
    showAside();
  });
}

// The server's messages have no capital letter and no full stop.
const sentence = (words) => `${words[0].toUpperCase()}${words.slice(1)}.`;

const page = {
  apply(payload) {
    sheet.apply(payload);
    sheet.settle();
    board.refresh();
  },
  conflict,
  problems(found) {
    const named = found.map(({ unit, message }) =>
      typeof unit === "string"
        ? { unit: sheet.units.find((one) => one.name === unit), message: sentence(message) }
        : { unit, message },
    );
    board.problems(named.filter(({ unit }) => unit));
    // Messages that are about no question are below all questions, since a phone has no room for them
    // above.
    const general = named.find(({ unit }) => !unit);
    refused.textContent = general?.message ?? "";
    if (general) refused.scrollIntoView({ block: "nearest" });
  },
  left(address) {
    if (address) location.assign(address);
    else byId("progress").dispatchEvent(new Event("tandem:progress"));
    showAside();
  },
  late(why) {
    byId("late-why").textContent = sentence(why);
  },
  login: (now) => account.ask(now),
  stranger: (who) => account.stranger(who),
  welcome: () => account.close(),
};
const account = new Account({
  back: () => saver.goOn(),
  left: () => saver.stop("other"),
});
const saver = new Saver({
  form,
  sheet,
  page,
  timer: new Timer(uid, Number(form.dataset.seconds)),
  status: new Status(byId("state"), {
    login: byId("login-notice"),
    changed: byId("changed-notice"),
    late: byId("late-notice"),
    full: byId("full-notice"),
  }),
});

function showAside() {
  byId("aside-notice").hidden = !setAside.get(uid);
}

byId("swap").addEventListener("click", () => {
  const other = setAside.pop(uid);
  setAside.push(uid, sheet.payload());
  page.apply(other);
  saver.changed();
});
byId("forget").addEventListener("click", () => {
  setAside.pop(uid);
  showAside();
  if (byId("aside-notice").hidden) board.focus();
});
byId("load-again").addEventListener("click", () => location.reload());
// The expanded part is at the end of the list, below the edge of the window.
const cannot = form.querySelector(".cannot details");
cannot?.addEventListener("toggle", () => cannot.open && cannot.scrollIntoView({ block: "nearest" }));

function highlightSelection() {
  const { target } = board;
  const selected = target && selectedRange(target.container);
  const kind = cursors.get(target?.container)?.adjustedTo(selected) ? "exact" : undefined;
  if (!target || !highlightRange(target, selected, kind)) return false;
  document.getSelection().removeAllRanges();
  return true;
}

function highlightRange({ field, text }, selected, kind) {
  const chosen = selected && trimmed(text, selected);
  const range = chosen && board.spans.fitted(text, chosen, kind);
  if (!range || saver.closed) return false;
  board.highlight({ ...range, field });
  return true;
}

const cursors = new Map();
function cursor(container) {
  if (!cursors.has(container)) {
    const { text } = [...texts.values()].find((one) => one.container === container);
    cursors.set(container, new Words(container, text, say, (range) => board.spans.about(container, range)));
  }
  return cursors.get(container);
}

for (const { container } of texts.values()) {
  container.addEventListener("focus", () => container.matches(":focus-visible") && cursor(container).enter());
}

async function viewSwitch() {
  const { setUpView } = await import("./view.js");
  return setUpView(byId("view"), texts, { changed: () => board.refresh(), say });
}

// Only low windows show one part at a time, so others do not wait for what that needs.
/** @type {() => unknown} */
let face = () => false;
const faces = import("./faces.js").then(
  ({ setUpFaces }) => (face = setUpFaces({ sheet, board })),
  () => undefined,
);
if (document.querySelector(".faces").checkVisibility()) await faces;

const does = {
  more: {}, // a protocol's own keys: letter to function; false leaves the key to the browser
  leaf: (link) => byId(link)?.click() ?? false,
  theme: () => document.querySelector("[data-theme-toggle]").click(),
  submit: () => saver.submit(),
  step: (by) => board.step(by),
  open: () => board.goToOpen(),
  moves: (on) => (board.movesOn = on),
  choose: (digit) => !saver.closed && board.choose(digit),
  undo: () => !saver.closed && board.undo(),
  redo: () => !saver.closed && board.redo(),
  snap: setUpSnap(byId("snap"), say),
  view: document.querySelector(".markdown") ? await viewSwitch() : () => false,
  list: () => board.spans.quotes.enter(),
  inQuote: (event, line) => board.spans.quotes.key(event, line),
  guideline: () => drawer.toggle(),
  face: () => face(),
  keys: () => byId("keys").showModal(),
  comment: () => writeOn(sheet.comment),
  jump: () => byId("jump").checkVisibility() && byId("jump").select(),
  inText(event, container) {
    if (event.key === "Enter") return highlightSelection();
    const removes = !saver.closed && (event.key === "Delete" || event.key === "Backspace");
    if (removes) return board.spans.removeAt(container, selectedRange(container));
    return cursor(container).key(event);
  },
  highlight() {
    if (highlightSelection() || !board.target) return;
    board.target.container.focus();
    cursor(board.target.container).enter();
  },
  escape() {
    const dropped = board.spans.drop();
    if (document.activeElement?.closest("[data-marks], .quotes")) {
      document.getSelection().removeAllRanges();
      board.focus();
    } else if (document.activeElement?.matches("textarea, #jump, .scale [type=text]")) board.focus();
    else if (drawer.shown) drawer.toggle();
    else return dropped;
    return true;
  },
};

// Pressing the mouse must not move the pressed element, so the question becomes current on release.
let pressing = false;
const pressed = new Release(() => (pressing = false));
form.addEventListener("pointerdown", () => {
  pressed.drop();
  pressing = true;
});
addEventListener("pointerup", () => pressed.wait());
addEventListener("pointercancel", () => (pressing = false));
const unitAt = (target) => sheet.units.find((unit) => unit.element.contains(target));
form.addEventListener("focusin", ({ target }) => {
  const unit = unitAt(target);
  if (!unit || pressing) return;
  if (unit !== board.current) board.go(unit);
  board.aimed = target.closest("[data-variable]") ?? board.aimed;
});
form.addEventListener("click", ({ target }) => {
  const unit = unitAt(target);
  if (unit && unit !== board.current) board.go(unit);
});
// Arrow keys choose what they pass over, so only a click or a key that chooses moves the focus on.
let passing = false;
form.addEventListener("keydown", ({ key }) => (passing = key.startsWith("Arrow")));
form.addEventListener("pointerdown", () => (passing = false));
form.addEventListener("change", (event) => {
  const target = /** @type {PageElement} */ (event.target);
  const unit = unitAt(target);
  if (!unit || target.closest("textarea")) return;
  const group = target.closest("[data-variable]");
  board.aimed = group;
  board.edited(unit);
  if (unit.groups.includes(group) && target.type === "radio" && !passing) board.write(unit);
});
wide?.setUp({ form, board, saver, unitAt });
form.addEventListener("input", ({ target }) => {
  if (!target.closest("textarea")) return;
  if (unitAt(target)) board.problem(unitAt(target), "");
  refused.textContent = "";
  saver.changed();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  saver.submit();
});
byId("undo").addEventListener("click", does.undo);
byId("redo").addEventListener("click", does.redo);
byId("state").addEventListener("click", () => saver.conflict && conflict(saver.conflict));
byId("open-keys").addEventListener("click", does.keys);
byId("texts").addEventListener(
  "mousedown",
  () => document.activeElement?.matches("textarea, input") && document.activeElement.blur(),
);

for (const field of saver.closed ? form.querySelectorAll("input, textarea") : []) field.disabled = true;

setUpKeys(does);
setUpPointer(board, highlightSelection, highlightRange);
board.refresh();
saver.resume(form.dataset.savedAt);
showAside();
if (outbox.all().some((entry) => entry.uid !== uid)) import("./resend.js").then((it) => it.setUpResending(uid));
if ("first" in form.dataset && innerWidth >= 1240) drawer.open(true);

// The objects that a protocol's own page uses, in a module that imports this one.
export const desk = { form, sheet, board, saver, texts, does, say, drawer, cursor };
