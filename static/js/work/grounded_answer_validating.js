// Validating an answer sentence by sentence: the passages that the current sentence cites are marked,
// and one key answers and moves on.

export function setUpValidating({ board, saver, does }) {
  const cards = [...document.querySelectorAll("[data-card]")];
  let shown = null;
  // Passages are mostly longer than their frame, so the keyboard can scroll them from here.
  document.getElementById("texts").tabIndex = 0;

  function show() {
    const unit = board.current;
    if (unit === shown || !unit) return;
    shown = unit;
    const cites = new Set((unit.element.dataset.cites ?? "").split(" ").filter(Boolean));
    for (const card of cards) {
      const cited = cites.has(card.dataset.card);
      card.classList.toggle("cited", cited);
      card.classList.toggle("apart", cites.size > 0 && !cited);
      card.querySelector(".cited-here").hidden = !cited;
    }
    const first = cards.find((card) => card.classList.contains("cited"));
    first?.scrollIntoView({ block: "nearest" });
  }

  function answer(digit) {
    const unit = board.current;
    if (saver.closed || !board.choose(digit)) return false;
    if (board.current === unit) board.step(1);
    return true;
  }
  does.more.y = () => answer("1");
  does.more.n = () => answer("2");

  const refresh = board.refresh.bind(board);
  board.refresh = () => {
    refresh();
    show();
  };
}
