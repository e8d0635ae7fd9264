// The two parts of an item, its texts and its questions. On a low window, such as one at a zoom of 200 %,
// one part is shown at a time (item.css). The other keeps its place beneath it, so that whatever gets the
// focus or is pointed out brings its part to the front.

export function setUpFaces({ sheet, board }) {
  const workbench = document.getElementById("main");
  const tabs = [...workbench.querySelectorAll(".faces [role=tab]")];
  const faceOf = (element) => element.closest("[data-part]")?.dataset.part;
  const isOn = () => tabs.some((tab) => tab.checkVisibility());

  /** @param {string} face  `texts` or `questions` */
  function show(face) {
    workbench.dataset.face = face;
    for (const tab of tabs) {
      const chosen = tab.dataset.face === face;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
  }

  /** @param {string} face */
  function enter(face) {
    const inside = sheet.units.filter(({ element }) => faceOf(element) === face);
    if (inside.length) board.go(inside.includes(board.current) ? board.current : inside[0], true);
    else (board.target?.container ?? document.getElementById("texts")).focus();
  }

  const other = () => (workbench.dataset.face === "texts" ? "questions" : "texts");
  workbench.addEventListener("focusin", ({ target }) => {
    const face = faceOf(target);
    if (face) show(face);
  });
  for (const tab of tabs) {
    tab.addEventListener("click", () => {
      show(tab.dataset.face);
      if (workbench.matches(".flows")) workbench.querySelector(`[data-part=${tab.dataset.face}]`).scrollIntoView();
    });
    tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      event.preventDefault();
      show(other());
      tabs.find((one) => one.dataset.face === workbench.dataset.face).focus();
    });
  }
  // The text does not say which question is asked of it.
  const refresh = board.refresh.bind(board);
  board.refresh = () => {
    refresh();
    document.getElementById("asked-now").textContent = board.current?.label ?? "";
  };
  const point = board.spans.show.bind(board.spans);
  board.spans.show = (unit, range) => {
    show("texts");
    point(unit, range);
  };
  return () => isOn() && enter(other());
}
