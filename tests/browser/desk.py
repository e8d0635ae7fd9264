"""An annotator on the item page: actions, and what the page shows."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from annotation.models import Assignment, User
from tests.browser.chromium import come_in
from tests.page_cast import Study
from tests.page_cast import page as address_of

POINTS = """([container, from, to]) => {
  const point = (offset) => {
    const walker = document.createTreeWalker(container, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (offset < node.length) return [node, offset];
      offset -= node.length;
    }
  };
  const box = (offset) => {
    const range = document.createRange();
    const [node, at] = point(offset);
    const wide = node.data.codePointAt(at) > 0xffff ? 2 : 1;
    range.setStart(node, at);
    range.setEnd(node, at + wide);
    const box = range.getBoundingClientRect();
    return { left: box.left + 1, right: box.right - 1, y: box.top + box.height / 2 };
  };
  const first = box(from);
  const last = box(to);
  return [first.left, first.y, last.right, last.y];
}"""


# It loads after the page; a test that cuts the network or the session would interrupt it.
GUIDELINE_IS_IN = """() => {
  const drawer = document.getElementById("guideline");
  return !drawer || drawer.hidden || drawer.querySelector(".prose");
}"""


def units_of(text: str) -> int:
    """The length of a text in the browser, in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


class Desk:
    """One open page. `text` is what the server stored of the report that it shows."""

    def __init__(self, page: Page, study: Study) -> None:
        self.page, self.study = page, study

    def log_in(self, name: str) -> None:
        come_in(self.page, name)
        self.page.goto("/tasks/")

    def begin(self, name: str) -> None:
        """Log in and open the person's next item."""
        come_in(self.page, name)
        mine = self.study.assignment(User.objects.get(username=name))
        self.page.goto(address_of("item", mine))
        self.ready()

    def start(self) -> None:
        self.page.get_by_role("button", name="Start").click()
        self.ready()

    def ready(self) -> None:
        self.page.wait_for_url("**/tasks/*-*/")
        expect(self.page.locator(".unit.now")).to_be_visible()
        self.page.wait_for_function(GUIDELINE_IS_IN)

    @property
    def assignment(self) -> Assignment:
        uid = self.page.url.rstrip("/").rpartition("/")[2]
        return Assignment.objects.select_related("item__report").get(uid=uid)

    @property
    def text(self) -> str:
        report = self.assignment.item.report
        assert report is not None
        return report.text

    @property
    def reading(self) -> Locator:
        return self.page.locator("[data-marks]")

    def unit(self, number: int) -> Locator:
        return self.page.locator(f"[data-unit='{number - 1}']")

    def answer(self, number: int, word: str) -> None:
        self.unit(number).locator(".unit-text").click()
        choice = self.unit(number).locator(".choice", has_text=re.compile(f"^{word}$"))
        choice.click()

    def choices(self, variable: str, word: str) -> Locator:
        """The buttons that give a variable this answer, one for each unit."""
        group = self.page.locator(f"[data-variable='{variable}']")
        return group.locator(".choice", has_text=re.compile(f"^{word}$"))

    def drag(self, quote: str) -> None:
        """Highlight words with the mouse."""
        listed = self.page.locator(".unit.now .quote")
        before = listed.count()
        self.sweep(quote)
        expect(listed).to_have_count(before + 1)

    def sweep(self, quote: str) -> None:
        """Move the pressed mouse over words, from the left half of the first to the last."""
        start = self.text.index(quote)
        last = start + len(quote) - 1
        places = [units_of(self.text[:place]) for place in (start, last)]
        handle = self.reading.element_handle()
        left, top, right, bottom = self.page.evaluate(POINTS, [handle, *places])
        self.page.mouse.move(left, top)
        self.page.mouse.down()
        self.page.mouse.move((left + right) / 2, (top + bottom) / 2, steps=4)
        self.page.mouse.move(right, bottom, steps=4)
        self.page.mouse.up()

    def quotes(self, number: int) -> list[str]:
        return self.unit(number).locator(".quote > button:first-child").all_text_contents()

    def state(self, state: str) -> None:
        expect(self.page.locator("#state")).to_have_attribute("data-state", state)

    def saved(self) -> None:
        """Wait until the draft is saved. Returning to the page sends it at once."""
        self.page.evaluate("() => dispatchEvent(new Event('focus'))")
        self.state("saved")
