"""A study in the browser: its figures on the first screen, and its chain as a line of boxes."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from analysis.models import Study, StudyPart
from tests.browser import systems
from tests.browser.axe import violations
from tests.browser.chromium import come_in
from tests.browser.conftest import Built

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(
    errors: list[str], page: Page, transactional_db: None, built: Built, tmp_path: Path
) -> Page:
    """Rita before a study of eight stages, whose last campaign two people and a judge labelled."""

    def build() -> str:
        names = [f"pilot-batch-{n}" for n in range(4)]
        systems.load_systems(tmp_path, *names)
        study = Study.objects.create(name="pilot", preset="crux", text="", sha256="0" * 64)
        for n, name in enumerate(names):
            campaign = systems.create(f"pilot-campaign-{n}", name)
            for kind, of in (("batch", campaign.batch), ("campaign", campaign)):
                StudyPart.objects.create(
                    study=study, kind=kind, name=of.name, position=2 * n, **{kind: of}
                )
        systems.label(campaign, tmp_path, "ada", "ben", "judge")
        return reverse("study", args=[study.pk])

    address = built.address_of(build)
    come_in(page, "rita")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(address)
    return page


def places(page: Page) -> list[tuple[float, float]]:
    """Return the place of each box on the page, from the left and from the top."""
    found: list[list[float]] = page.locator(".box > summary").evaluate_all(
        "(boxes) => boxes.map((each) => [each.getBoundingClientRect().left, "
        "each.getBoundingClientRect().top + scrollY])"
    )
    return [(left, top) for left, top in found]


def test_the_first_screen_has_the_verdict_and_the_systems(page: Page) -> None:
    for words in ("Do people agree?", "κ", "Could it replace a person?", "Which system is best?"):
        expect(page.locator(".study-verdict").get_by_text(words).first).to_be_in_viewport(ratio=1)
    expect(page.locator(".systems-list li").last).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("heading", name="Next")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollHeight") <= 1100
    assert violations(page, "study", rare=True) == []
    page.get_by_role("link", name="on which queries they agree least").click()
    expect(page.locator("table.queries tbody tr").first).to_be_in_viewport()


def test_a_box_of_the_chain_opens_below_the_line_and_the_boxes_stay(page: Page) -> None:
    boxes = page.locator(".box > summary")
    expect(boxes).to_have_count(8)
    expect(page.locator(".systems-list li")).to_have_count(6)
    before = places(page)
    assert len({top for _, top in before}) == 1
    boxes.nth(3).focus()
    page.keyboard.press("Enter")
    card = page.locator(".box[open] .stage")
    expect(card).to_have_count(1)
    expect(card.get_by_role("link", name="Results of pilot-campaign-1")).to_be_visible()
    assert places(page) == before
    # Another one replaces it.
    boxes.nth(0).click()
    expect(card).to_have_count(1)
    expect(card.get_by_role("heading", name="pilot-batch-0")).to_be_visible()
    assert violations(page, "study with an open box") == []


@pytest.mark.long
def test_a_phone_shows_the_figures_first_and_has_no_sideways_scrolling(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".says .big").first).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator(".box > summary").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    head = page.locator("#lead-head").bounding_box()
    assert head
    assert head["width"] > 200
    assert violations(page, "study on a phone") == []
