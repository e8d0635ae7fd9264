// Texts in Markdown: rendered, or as they were written. Every character of a text is in the page either
// way (annotation/campaigns/markdown.py), so switching the view moves no offset and no highlight.
import { hiddenIn } from "./blocks.js";
import { hideSigns } from "./segments.js";
import { t } from "./words.js";

/**
 * Set up the switch of a page with texts in Markdown; return the function that toggles it.
 * @param {PageElement} button
 * @param {Map<string, {container: HTMLElement, text: string}>} texts
 * @param {{changed: () => void, say: (words: string) => void}} page
 */
export function setUpView(button, texts, { changed, say }) {
  const rendered = [...document.querySelectorAll(".markdown")];
  const setting = `tandem.view.${button.dataset.campaign}`;
  const isSource = () => rendered[0].classList.contains("as-source");

  /** @param {boolean} source */
  function show(source) {
    for (const element of rendered) element.classList.toggle("as-source", source);
    for (const { container, text } of texts.values()) hideSigns(text, hiddenIn(container));
    button.setAttribute("aria-pressed", String(!source));
  }

  function turn() {
    show(!isSource());
    try {
      localStorage.setItem(setting, isSource() ? "source" : "rendered");
    } catch {
      /* the view lasts for this page */
    }
    changed();
    dispatchEvent(new Event("resize"));
    say(isSource() ? t("Texts as they were written") : t("Texts rendered"));
    return true;
  }

  button.hidden = false;
  let chosen = null;
  try {
    chosen = localStorage.getItem(setting);
  } catch {
    /* storage is switched off: the campaign's view holds */
  }
  show(chosen ? chosen === "source" : isSource());
  button.addEventListener("click", turn);
  return turn;
}
