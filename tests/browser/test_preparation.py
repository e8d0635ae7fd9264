"""Preparing a batch in the browser: answers are reviewed by keys alone; axe finds nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.cache import cache
from django.db import connection
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import User
from datasets.models import Batch
from judging.models import Review
from judging.preparation.status import campaign_for
from tests.annotation.preparation.cast import EMPTY, STEPS, TOPIC, author, load, prepare
from tests.annotation.preparation.test_preparation import WROTE
from tests.browser.axe import violations
from tests.browser.chromium import come_in
from tests.page_cast import _user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def batch(transactional_db: None, tmp_path: Path) -> Batch:
    """Rita's step with an author's answers, created outside the thread of Playwright's loop."""
    cache.clear()
    rita = _user("rita", User.Role.RESEARCHER)

    def inside() -> Batch:
        try:
            made = load(tmp_path, TOPIC, EMPTY)
            campaign_for(made, STEPS["key-points"], rita)
            prepare("key-points", made.name, author(), WROTE)
            return made
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(inside).result()


@pytest.fixture
def page(errors: list[str], page: Page, batch: Batch) -> Page:
    come_in(page, "rita")
    page.goto(reverse("preparation", args=[batch.pk]))
    return page


def shows(page: Page, text: str) -> None:
    """The page with a text, once its scripts react to keys."""
    expect(page.get_by_text(text)).to_be_visible()
    page.wait_for_load_state()


def test_answers_are_reviewed_by_keys_alone(page: Page, batch: Batch) -> None:
    found = violations(page, "overview")
    page.get_by_role("link", name="Review 3").click()
    shows(page, "Answer 1 of 3")
    found += violations(page, "review")
    page.keyboard.press("j")
    shows(page, "Answer 2 of 3")
    page.keyboard.press("k")
    shows(page, "Answer 1 of 3")
    page.keyboard.press("a")
    shows(page, "Answer 2 of 3")
    page.locator("textarea").first.focus()
    page.keyboard.type("Indeed: ")
    expect(page.locator("#accept")).to_contain_text("Accept with changes")
    page.keyboard.press("Control+Enter")
    shows(page, "Answer 3 of 3")
    page.keyboard.press("n")
    page.keyboard.type("a menu")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    expect(page.get_by_role("heading", name="Preparation", exact=True)).to_be_visible()
    made = Review.objects.order_by("response__assignment__item__position")
    assert [(each.verdict, each.note) for each in made] == [
        ("accepted", ""),
        ("changed", ""),
        ("rejected", "a menu"),
    ]
    page.goto(reverse("preparation-build", args=[batch.pk, "key-points"]))
    found += violations(page, "build")
    assert not found, "\n".join(found)
