"""On a low window, such as one at a zoom of 200 %, the page shows the text or the questions."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.axe import AXE, ONE_OF_A_KIND, RUN
from tests.browser.desk import Desk
from tests.page_cast import study_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ZOOMED = ViewportSize(width=640, height=400)
"""A window of 1280 × 800 at a zoom of 200 %."""
WIDE = ViewportSize(width=1280, height=800)
AT = "([x, y]) => document.elementFromPoint(x, y)?.closest('#texts, #sheet')?.id"


def shown(page: Page) -> str:
    """The part at the middle of the window."""
    size = page.viewport_size or ZOOMED
    found: str = page.evaluate(AT, [size["width"] / 2, size["height"] / 2])
    return found


def test_a_key_switches_and_what_gets_the_focus_is_shown(desk: Desk) -> None:
    page, press = desk.page, desk.page.keyboard.press
    tabs, guideline = page.get_by_role("tab"), page.locator("#guideline [data-close]")
    page.set_viewport_size(WIDE)
    if guideline.is_visible():
        guideline.click()
    expect(tabs).to_have_count(0)
    press("q")
    page.set_viewport_size(ZOOMED)
    expect(tabs).to_have_count(2)
    tabs.nth(0).click()
    assert shown(page) == "texts"
    for part in ("texts", "sheet"):
        box = page.locator(f"#{part}").bounding_box()
        assert box
        assert box["height"] > ZOOMED["height"] / 2
    press("q")
    assert shown(page) == "sheet"
    expect(tabs.nth(1)).to_have_attribute("aria-selected", "true")
    press("1")
    press("h")
    assert shown(page) == "texts"
    expect(page.locator("#asked-now")).to_have_text(desk.unit(1).locator(".unit-text").inner_text())
    press("Enter")
    assert desk.quotes(1) == ["Zoë"]
    press("Escape")
    assert shown(page) == "sheet"
    # A highlight in the list is pointed out in the text.
    desk.unit(1).locator(".quote button").first.click()
    assert shown(page) == "texts"
    tabs.nth(0).focus()
    press("ArrowRight")
    expect(tabs.nth(1)).to_be_focused()
    assert shown(page) == "sheet"


def test_a_low_window_has_no_barrier(desk: Desk) -> None:
    page = desk.page
    page.set_viewport_size(ZOOMED)
    page.evaluate(AXE + ONE_OF_A_KIND)
    for _ in ("texts", "questions"):
        assert page.evaluate(RUN, [[]]) == []
        page.keyboard.press("q")


@pytest.mark.long
def test_a_form_with_its_passages_scrolls_as_one(
    errors: list[str], page: Page, transactional_db: None, tmp_path: Path
) -> None:
    page.set_viewport_size(ZOOMED)
    desk = Desk(page, study_of("grounded-answer", tmp_path))
    desk.begin("ada")
    field = page.locator("#answer")
    page.get_by_role("tab", name="Answer").click()
    expect(page.locator(".writes .choice").first).to_be_in_viewport()
    page.keyboard.press("w")
    expect(field).to_be_focused()
    expect(field).to_be_in_viewport()
    page.keyboard.press("Escape")
    page.keyboard.press("q")
    expect(page.locator(".tick-box").first).to_be_focused()
    expect(page.get_by_role("tab", name="Text")).to_have_attribute("aria-selected", "true")
