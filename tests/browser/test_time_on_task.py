"""The time that is stored with an answer: what its timer counts, on a simulated clock."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page

from tests.browser.desk import Desk

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TIMER = """async (script) => {
  const { Timer } = await import(script);
  window.timer = new Timer("timed", 0);
  window.other = new Timer("timed", 0);
  window.hide = (hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  };
}"""


class TestTimeOnTask:
    def run(self, page: Page, seconds: int, alive: bool = True) -> float:
        """The seconds counted after this many have passed, with or without pointer movement."""
        step = 10 if alive else 600
        for _ in range(seconds // step):
            page.clock.fast_forward(1000 * step)
            if alive:
                page.evaluate("dispatchEvent(new Event('pointermove'))")
        found: float = page.evaluate("Math.max(timer.seconds(), other.seconds())")
        return found

    @pytest.mark.usefixtures("context")
    def test_time_counts_only_while_the_page_is_visible_and_used(self, desk: Desk) -> None:
        page = desk.page
        page.clock.install()
        page.goto("/tasks/")
        script = page.locator("script[type=module]").get_attribute("src") or ""
        page.evaluate(TIMER, script.replace("site", "timer"))
        # Two tabs of one item count each minute once.
        assert self.run(page, 60) == pytest.approx(60, abs=2)
        page.evaluate("hide(true)")
        assert self.run(page, 3600, alive=False) == pytest.approx(60, abs=2)
        page.evaluate("hide(false)")
        assert self.run(page, 30) == pytest.approx(90, abs=3)
        # A night with the page open, or a sleeping laptop: counting ends two minutes after the last
        # sign of life.
        assert self.run(page, 36_000, alive=False) == pytest.approx(210, abs=4)
        # The person is away until the pointer moves again. The date has no effect.
        page.clock.set_system_time(0)
        assert self.run(page, 30) == pytest.approx(230, abs=5)
        assert json.loads(page.evaluate("localStorage.getItem(Object.keys(localStorage)"
                          ".find((key) => key.endsWith('seconds.timed')))")) <= 245  # fmt: skip
