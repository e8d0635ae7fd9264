// Runs before the first paint, so that a chosen theme never flashes.
(() => {
  try {
    const chosen = localStorage.getItem("tandem.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch { /* storage is switched off: the system's choice holds */ }
})();
