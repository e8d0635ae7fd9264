"""Disagreements in the browser: a list that fits a phone, its folds, and its keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.cache import caches
from django.urls import reverse
from playwright.sync_api import Page, ViewportSize, expect

from analysis.disagreements.views import PAGE
from annotation.models import Campaign
from tests.analysis.conftest import run
from tests.analysis.evaluation.test_powered import QUERIES, labels, line
from tests.browser.axe import violations
from tests.browser.chromium import TIMERS_ARE_LATE, come_in
from tests.cast import write_lines
from tests.page_cast import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TELEPHONE: ViewportSize = {"width": 390, "height": 844}
DESK: ViewportSize = {"width": 1280, "height": 800}
HEIGHT = "document.documentElement.scrollHeight / innerHeight"
WIDTH = "document.documentElement.scrollWidth"
# A browser scrolls to keep what is read in its place only when it draws.
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture
def page(errors: list[str], page: Page, transactional_db: None, tmp_path: Path) -> Page:
    """Rita looks at a list of more units than a page shows."""
    caches["reports"].clear()
    make_study()
    rows = [*labels(list(range(QUERIES)), "ada"), *labels(list(range(QUERIES)), "judge")]
    batch = write_lines(tmp_path / "batch.jsonl", [line(n) for n in range(QUERIES)])
    run("load_batch", str(batch), "--name", "systems")
    run("create_campaign", "c", "--protocol", "report-coverage", "--batch", "systems")
    run("import_labels", str(write_lines(tmp_path / "l.jsonl", rows)), "--campaign", "c")
    come_in(page, "rita")
    address = reverse("disagreements", args=[Campaign.objects.get(name="c").pk])
    page.goto(f"{address}?show=all")
    return page


def test_on_a_phone_the_list_takes_two_screens_and_filters_open_on_request(page: Page) -> None:
    page.set_viewport_size(TELEPHONE)
    page.emulate_media(color_scheme="dark")
    expect(page.locator("details.unit")).to_have_count(PAGE)
    assert page.evaluate(HEIGHT) <= 2
    assert page.evaluate(WIDTH) <= TELEPHONE["width"]
    show = page.get_by_label("Show", exact=True)
    expect(show).to_be_hidden()
    page.get_by_text("Filters: all that anybody labelled").click()
    expect(show).to_be_visible()
    show.select_option("judge")
    expect(page.get_by_text("Filters: people and the judge differ")).to_be_visible()
    # The focus stays, since a person may change another filter next.
    expect(show).to_be_visible()
    expect(page.get_by_role("link", name="Make gold")).to_be_hidden()
    page.get_by_text("Actions", exact=True).click()
    expect(page.get_by_role("link", name="Make gold")).to_be_visible()
    page.evaluate(TIMERS_ARE_LATE)
    page.locator("details.unit summary").first.click()
    expect(page.locator(".opened .unit-words")).to_be_visible()
    # The fragment is replaced, and keeps the keyboard focus and the page's place.
    save = page.get_by_role("button", name="Save")
    page.get_by_label("Ambiguous").check()
    save.focus()
    scrolled = save.evaluate("button => { button.scrollIntoView(); return scrollY }")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Tagged ambiguous by rita")).to_be_visible()
    expect(save).to_be_focused()
    page.evaluate(DRAWN)
    assert page.evaluate("scrollY") == scrolled > 0
    assert page.evaluate(WIDTH) <= TELEPHONE["width"]
    assert violations(page, "disagreements on a telephone", rare=True) == []


def test_on_a_desktop_nothing_is_folded_and_keys_turn_the_pages(page: Page) -> None:
    page.set_viewport_size(DESK)
    expect(page.get_by_label("Show", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Make gold")).to_be_visible()
    assert page.evaluate(HEIGHT) <= 2
    words = page.locator("details.unit .words")
    first = page.locator("details.unit summary").first.get_attribute("hx-get")
    expect(words).to_have_count(PAGE)
    for _ in range(PAGE + 1):
        page.keyboard.press("j")
    page.wait_for_url("**page=2#found")
    expect(page.locator("details.unit summary").first).not_to_have_attribute("hx-get", first or "")
    assert violations(page, "disagreements", rare=True) == []
