// The keyboard. Single keys can be switched off, for people who dictate or press keys by accident.
// Every key that is added here must be listed in templates/work/_dialogs.html; a test compares the two.

const SWITCH = "tandem.keys";
const MOVES = "tandem.moves";
const LETTERS = {
  j: (does, shift) => (shift ? does.leaf("next-item") : does.step(1)),
  n: (does) => does.open(),
  k: (does, shift) => (shift ? does.leaf("previous-item") : does.step(-1)),
  h: (does) => does.highlight(),
  l: (does) => does.list(),
  s: (does) => does.snap(),
  v: (does) => does.view(),
  z: (does, shift) => (shift ? does.redo() : does.undo()),
  g: (does) => does.guideline(),
  q: (does) => does.face(),
  c: (does) => does.comment(),
  i: (does) => does.jump(),
  t: (does) => does.theme(),
  "?": (does) => does.keys(),
};

export function setUpKeys(does) {
  const box = setting("single-keys", SWITCH);
  const moves = setting("moves-on", MOVES, (on) => does.moves(on));
  does.moves(moves.checked);
  document.addEventListener("keydown", (event) => {
    const act = event.isComposing ? null : action(event, does, box.checked);
    if (act && act() !== false) event.preventDefault();
  });
}

// A check box whose state this browser remembers; it is checked by default.
function setting(id, name, changed = (_on) => {}) {
  const box = document.getElementById(id);
  try {
    box.checked = localStorage.getItem(name) !== "off";
  } catch {
    /* storage is switched off, so the box stays checked */
  }
  box.addEventListener("change", () => {
    changed(box.checked);
    try {
      localStorage.setItem(name, box.checked ? "on" : "off");
    } catch {
      /* it lasts for this page */
    }
  });
  return box;
}

function action(event, does, single) {
  const { key, target } = event;
  const command = event.ctrlKey || event.metaKey;
  if (document.querySelector("dialog[open]")) return null;
  if (key === "Enter" && command) return does.submit;
  if (key === "Escape" && !command && !event.altKey) return does.escape;
  if (target.closest("textarea, input:not([type=radio], [type=checkbox], [type=range]), select")) return null;
  if (command && !event.altKey && key.toLowerCase() === "z") return event.shiftKey ? does.redo : does.undo;
  if (command || event.altKey) return null;
  const text = target.closest("[data-marks]");
  if (text && does.inText(event, text)) return () => true;
  const line = target.closest(".quote");
  const listed = line && does.inQuote(event, line);
  if (listed) return listed;
  if (key === "ArrowDown" || key === "ArrowUp") {
    if (target.closest("#texts, .drawer, input[type=range]")) return null;
    return () => does.step(key === "ArrowDown" ? 1 : -1);
  }
  return single ? letter(event, does) : null;
}

function letter({ key, code, shiftKey }, does) {
  // Layouts such as the French one have digits on Shift, so the position of the key decides.
  const digit = /^[0-9]$/.test(key) ? key : !shiftKey && code.match(/^Digit(\d)$/)?.[1];
  if (digit) return () => does.choose(digit);
  const name = key.length === 1 ? key.toLowerCase() : key;
  return does.more[name] ?? (LETTERS[name] && (() => LETTERS[name](does, shiftKey)));
}
