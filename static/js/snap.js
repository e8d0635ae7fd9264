// The setting of this browser that widens a selection: to whole words, unless a person chose otherwise.

import { t } from "./words.js";

const SETTING = "tandem.snap";
/** @type {("exact" | "word" | "sentence")[]} */
const KINDS = ["word", "sentence", "exact"];
const WORDS = { exact: t("off"), word: t("words"), sentence: t("sentences") };

export const snap = { kind: KINDS[0] };

try {
  const stored = localStorage.getItem(SETTING);
  snap.kind = KINDS.find((kind) => kind === stored) ?? snap.kind;
} catch {
  /* storage is switched off */
}

/**
 * Show the setting on a button; return the function that switches to the next kind.
 * @param {Element} button
 * @param {(words: string) => void} say
 */
export function setUpSnap(button, say) {
  const place = /** @type {PageElement} */ (button.querySelector("[data-snap]"));
  const show = () => (place.textContent = WORDS[snap.kind]);
  const turn = () => {
    snap.kind = KINDS[(KINDS.indexOf(snap.kind) + 1) % KINDS.length];
    try {
      localStorage.setItem(SETTING, snap.kind);
    } catch {
      /* the setting lasts for this page */
    }
    show();
    say(t("Snap: {kind}", { kind: WORDS[snap.kind] }));
  };
  button.addEventListener("click", turn);
  show();
  return turn;
}
