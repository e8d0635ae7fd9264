// Keys of every page except the item page, which has its own: / searches, ? lists the keys. Single keys
// can be switched off, as on the item's page.

const SWITCH = "tandem.keys";

/** Whether single keys are on; pages with their own keys use this, too. */
export function singleKeys() {
  try {
    return localStorage.getItem(SWITCH) !== "off";
  } catch {
    return true;
  }
}

/** @param {EventTarget | null} target */
const isTyping = (target) =>
  target instanceof Element &&
  Boolean(target.closest("textarea, select, input:not([type=radio]):not([type=checkbox]), [contenteditable]"));

export function setUpSiteKeys() {
  const found = document.getElementById("site-keys");
  const dialog = found instanceof HTMLDialogElement ? found : null;
  const search = document.querySelector(".seek input");
  const box = dialog?.querySelector("input[type=checkbox]");
  if (box instanceof HTMLInputElement) {
    box.checked = singleKeys();
    box.addEventListener("change", () => {
      try {
        localStorage.setItem(SWITCH, box.checked ? "on" : "off");
      } catch {
        /* it lasts for this page */
      }
    });
  }
  for (const button of document.querySelectorAll("[data-site-keys]")) {
    button.removeAttribute("hidden");
    button.addEventListener("click", () => dialog?.showModal());
  }
  document.addEventListener("keydown", (event) => {
    const held = event.ctrlKey || event.metaKey || event.altKey || event.isComposing;
    if (held || isTyping(event.target) || document.querySelector("dialog[open]") || !singleKeys()) return;
    if (event.key === "/" && search instanceof HTMLElement && search.offsetParent) {
      search.focus();
      event.preventDefault();
    } else if (event.key === "?" && dialog) {
      dialog.showModal();
      event.preventDefault();
    }
  });
}
