// Whether what is selected becomes whole words or sentences: a setting of this browser.

const SETTING = "tandem.snap";
const KINDS = ["exact", "word", "sentence"];
const WORDS = { exact: "off", word: "words", sentence: "sentences" };

export const snap = { kind: "exact" };

try {
  const kept = localStorage.getItem(SETTING);
  if (KINDS.includes(kept)) snap.kind = kept;
} catch {
  /* storage is switched off */
}

export function setUpSnap(button, say) {
  const show = () => (button.querySelector("[data-snap]").textContent = WORDS[snap.kind]);
  const turn = () => {
    snap.kind = KINDS[(KINDS.indexOf(snap.kind) + 1) % KINDS.length];
    try {
      localStorage.setItem(SETTING, snap.kind);
    } catch {
      /* it lasts for this page */
    }
    show();
    say(`Snap: ${WORDS[snap.kind]}`);
  };
  button.addEventListener("click", turn);
  show();
  return turn;
}
