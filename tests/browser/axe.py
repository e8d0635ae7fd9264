"""Check a page's current state with axe-core, and with --all in all four looks."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from playwright.sync_api import Page

from tests.extent import Extent

# Evaluated through the browser's debugger, so that the content security policy stays on.
AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
# Half of the time goes to contrast, text by text. Texts with the same style over the same
# background in the same layer have the same contrast, so one of each kind is checked.
ONE_OF_A_KIND = """
axe.forget = (() => {
  let grounds = new Map();
  let kinds = new Set();
  const ground = (element) => {
    if (!element) return "";
    if (!grounds.has(element)) {
      const { position, backgroundColor, backgroundImage, opacity, filter } =
        getComputedStyle(element);
      const layer = /absolute|fixed|sticky/.test(position) ? grounds.size : "";
      const own = [layer, backgroundColor, backgroundImage, opacity, filter].join();
      const plain = own === ",rgba(0, 0, 0, 0),none,1,none";
      const below = ground(element.parentElement ?? element.getRootNode().host);
      grounds.set(element, plain ? below : `${below}/${own}`);
    }
    return grounds.get(element);
  };
  const rule = axe._audit.rules.find(({ id }) => id === "color-contrast");
  const matches = rule.matches;
  rule.matches = (element, ...more) => {
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element);
    const kind = [color, fontSize, fontWeight, textShadow, ground(element)].join();
    if (kinds.has(kind) || !matches.call(rule, element, ...more)) return false;
    kinds.add(kind);
    return true;
  };
  return () => {
    grounds = new Map();
    kinds = new Set();
  };
})();
"""
RUN = """async (exclude) => {
  const tags = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"];
  axe.forget();
  const found = await axe.run({ exclude }, { runOnly: tags, resultTypes: ["violations"] });
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => [id, target.join(" "), failureSummary].join(": ")));
}"""
LOOKS: tuple[tuple[Any, int], ...] = (
    ("light", 1360),
    ("dark", 1360),
    ("light", 390),
    ("dark", 390),
)


def violations(
    page: Page, state: str, exclude: tuple[str, ...] = (), rare: bool = False
) -> list[str]:
    """Describe each violation, with its state and its look: light or dark, wide or narrow.

    Without --all, only the light wide look is checked: the others have the same elements and words,
    and a check takes longer than most tests. States that are `rare` are then left out.
    """
    if rare and not Extent.everything:
        return []
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE + ONE_OF_A_KIND)
    found = []
    for scheme, width in LOOKS if Extent.everything else LOOKS[:1]:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        wrong = page.evaluate(RUN, [[each] for each in exclude])
        found += [f"{state}, {scheme}, {width} px: {words}" for words in wrong]
    page.set_viewport_size({"width": 1360, "height": 900})
    return found
