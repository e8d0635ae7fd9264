"""Disagreements in the browser: a list beside the opened unit, keys, and a phone's two pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, ViewportSize, expect
from pytest_django.live_server_helper import LiveServer

from analysis.disagreements.views import PAGE
from analysis.models import UnitTag
from tests.browser import systems
from tests.browser.axe import violations
from tests.browser.chromium import come_in, new_context
from tests.browser.conftest import Built

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TELEPHONE: ViewportSize = {"width": 390, "height": 844}
DESK: ViewportSize = {"width": 1280, "height": 800}
WIDTH = "document.documentElement.scrollWidth"


@pytest.fixture
def page(
    errors: list[str], page: Page, transactional_db: None, built: Built, tmp_path: Path
) -> Page:
    """Rita opens a list of more units than a page shows."""

    def build() -> str:
        systems.load_systems(tmp_path, "systems")
        campaign = systems.create("c", "systems")
        systems.label(campaign, tmp_path, "ada", "judge")
        return reverse("disagreements", args=[campaign.pk]) + "?show=all"

    address = built.address_of(build)
    come_in(page, "rita")
    page.goto(address)
    return page


def opened(page: Page) -> int:
    return int(page.locator("#unit").get_attribute("data-unit") or 0)


def test_keys_open_the_next_unit_beside_the_list_and_tag_it(page: Page) -> None:
    page.set_viewport_size(DESK)
    rows = page.locator("#rows .row")
    expect(rows).to_have_count(PAGE)
    first = opened(page)
    assert page.evaluate("document.documentElement.scrollHeight") == DESK["height"]
    for _ in range(3):
        page.keyboard.press("j")
    page.keyboard.press("k")
    expect(rows.nth(2)).to_have_attribute("aria-current", "true")
    expect(page.locator("#rows [aria-current]")).to_have_count(1)
    expect(page.locator(".unit-place")).to_contain_text("3 of")
    third = opened(page)
    assert third != first
    assert f"/disagreements/{third}/?show=all" in page.url
    expect(page.locator("#opened-now")).to_contain_text("3 of")
    page.keyboard.press("g")
    expect(page.locator(f"#row-tag-{third}")).to_have_text("guideline gap")
    page.keyboard.press("n")
    page.keyboard.type("jolly good")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Tagged guideline gap by rita, with a note")).to_be_visible()
    assert UnitTag.objects.get(unit=third).note == "jolly good"
    assert violations(page, "disagreements", rare=True) == []
    page.set_viewport_size(DESK)
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    expect(page.locator(f"#row-tag-{third}")).to_be_empty()
    assert not UnitTag.objects.exists()
    page.reload()
    assert opened(page) == third
    page.evaluate("document.querySelector('#rows li:last-child .row').click()")
    expect(page.locator(".unit-place")).to_contain_text(f"{PAGE} of")
    page.keyboard.press("j")
    expect(page.locator("#rows")).to_have_attribute("start", str(PAGE + 1))
    expect(rows.first).to_have_attribute("aria-current", "true")


@pytest.mark.long
def test_on_a_phone_the_list_and_the_unit_are_two_pages(page: Page) -> None:
    page.set_viewport_size(TELEPHONE)
    page.emulate_media(color_scheme="dark")
    expect(page.locator("#unit")).to_be_hidden()
    assert page.evaluate(WIDTH) <= TELEPHONE["width"]
    assert violations(page, "disagreements on a telephone", rare=True) == []
    page.set_viewport_size(TELEPHONE)
    page.get_by_text("Filters and order").click()
    show = page.get_by_label("List", exact=True)
    show.focus()
    show.select_option("judge")
    page.wait_for_url("**show=judge**")
    # The filters stay open and keep the focus, since a person may change another one next.
    expect(show).to_be_focused()
    row = page.locator("#rows .row").nth(1)
    href = row.get_attribute("href") or ""
    row.click()
    page.wait_for_url(f"**{href}")
    expect(page.locator(".unit-pane h2")).to_be_visible()
    expect(page.locator(".list-pane")).to_be_hidden()
    page.get_by_label("Ambiguous").check(force=True)
    expect(page.get_by_text("Tagged ambiguous by rita")).to_be_visible()
    assert page.evaluate(WIDTH) <= TELEPHONE["width"]
    assert violations(page, "a unit on a telephone", rare=True) == []
    page.set_viewport_size(TELEPHONE)
    page.go_back()
    expect(row).to_be_visible()
    expect(page.locator(".unit-pane")).to_be_hidden()


def test_without_scripts_rows_arrows_and_the_tag_work(
    page: Page, chromium: Browser, live_server: LiveServer
) -> None:
    address = page.url
    context = new_context(chromium, live_server.url, java_script_enabled=False)
    plain = context.new_page()
    plain.set_viewport_size(DESK)
    come_in(plain, "rita")
    plain.goto(address)
    plain.locator("#rows .row").nth(1).click()
    expect(plain.locator(".unit-place")).to_contain_text("2 of")
    plain.get_by_role("link", name="Next question").click()
    expect(plain.locator(".unit-place")).to_contain_text("3 of")
    plain.get_by_label("People wrong").check(force=True)
    plain.get_by_role("button", name="Save").first.click()
    expect(plain.get_by_text("Tagged people wrong by rita")).to_be_visible()
    expect(plain.locator(".unit-place")).to_contain_text("3 of")
    context.close()
