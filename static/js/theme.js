// Light or dark. Runs before the first paint, so that a chosen theme never flashes.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  try {
    const chosen = localStorage.getItem("tandem.theme");
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  } catch {
    /* storage is switched off: the system's choice holds */
  }
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-theme-toggle]")) return;
    const now = root.dataset.theme ?? (system.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("tandem.theme", root.dataset.theme);
    } catch {
      /* storage is switched off: the choice lasts for this page */
    }
  });
})();
