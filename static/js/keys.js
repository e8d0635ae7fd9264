// The keyboard. Single keys can be switched off, for those who dictate or whose hands slip.

const SWITCH = "tandem.keys";

export function setUpKeys(does) {
  const box = document.getElementById("single-keys");
  try {
    box.checked = localStorage.getItem(SWITCH) !== "off";
  } catch { /* storage is switched off: the keys are on */ }
  box.addEventListener("change", () => {
    try {
      localStorage.setItem(SWITCH, box.checked ? "on" : "off");
    } catch { /* it lasts for this page */ }
  });
  document.addEventListener("keydown", (event) => {
    const act = event.isComposing ? null : action(event, does, box.checked);
    if (act && act() !== false) event.preventDefault();
  });
}

function action(event, does, single) {
  const { key, target } = event;
  if (document.querySelector("dialog[open]")) return null;
  if (key === "Enter" && (event.ctrlKey || event.metaKey)) return does.submit;
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  if (key === "Escape") return does.escape;
  if (target.closest("textarea, input:not([type=radio]):not([type=checkbox]), select")) return null;
  const text = target.closest("[data-marks]");
  if (text) {
    const moved = does.inText(event, text);
    if (moved) return () => true;
  }
  if (key === "ArrowDown" || key === "ArrowUp") {
    if (target.closest("#texts, .drawer")) return null;
    return () => does.step(key === "ArrowDown" ? 1 : -1);
  }
  return single ? letter(event, does) : null;
}

function letter({ key, code, shiftKey }, does) {
  // Layouts such as the French have digits on Shift: there the place of the key tells.
  const digit = /^[0-9]$/.test(key) ? key : !shiftKey && code.match(/^Digit(\d)$/)?.[1];
  if (digit) return () => does.choose(digit);
  return {
    j: () => does.step(1),
    k: () => does.step(-1),
    h: does.highlight,
    z: does.undo,
    g: does.guideline,
    c: does.comment,
    "?": does.keys,
  }[key.length === 1 ? key.toLowerCase() : key];
}
