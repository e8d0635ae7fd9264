// The switch between light and dark; theme.js applies the choice early on the next page.
export function setUpTheme() {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  for (const button of document.querySelectorAll("[data-theme-toggle]")) {
    button.addEventListener("click", () => {
      const now = root.dataset.theme ?? (system.matches ? "dark" : "light");
      root.dataset.theme = now === "dark" ? "light" : "dark";
      try {
        localStorage.setItem("tandem.theme", root.dataset.theme);
      } catch { /* storage is switched off: the choice lasts for this page */ }
    });
  }
}
