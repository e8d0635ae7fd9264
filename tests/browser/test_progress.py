"""Progress in the browser: numbers that update, and flags that link to their labels."""

from __future__ import annotations

import pytest
from django.core.cache import caches
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.answers.submission import submit
from annotation.models import Assignment, User, rater_of
from tests.browser.axe import violations
from tests.browser.chromium import come_in
from tests.page_cast import Study, make_study, payload

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(transactional_db: None) -> Study:
    """Ada and Ben agree on seven of eight reports; Rita answers all eight, with invalid."""
    caches["reports"].clear()
    study = make_study(reports=8, people=3)
    for user, code in ((study.ada, "no"), (study.ben, "no"), (study.rita, "invalid")):
        for _ in range(7):
            answer(study, user, code)
    answer(study, study.rita, "invalid")
    return study


def answer(study: Study, user: User, code: str) -> None:
    held = study.assignment(user)
    submit(held, payload(code), "page")
    Assignment.objects.filter(pk=held.pk).update(seconds=40 + held.item.position)


@pytest.fixture
def page(errors: list[str], page: Page, study: Study) -> Page:
    come_in(page, "rita")
    page.goto(reverse("campaign-progress", args=[study.campaign.pk]))
    return page


def test_answers_appear_without_a_reload_and_a_flag_leads_to_its_labels_and_person(
    page: Page, study: Study
) -> None:
    expect(page.get_by_role("heading", name="22 of 24 answers")).to_be_visible()
    answer(study, study.ada, "no")
    expect(page.get_by_role("heading", name="23 of 24 answers")).to_be_visible()
    rita = rater_of(study.rita).name
    expect(page.locator("#quality")).to_be_visible()
    found = violations(page, "progress")
    hint = page.locator(".hint", has_text="One answer nearly always")
    expect(hint).to_contain_text("“invalid” on 24 of 24 questions")
    hint.get_by_role("link", name="These labels").click()
    expect(page.get_by_role("heading", name=f"Labels from {rita}")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(24)
    found += violations(page, "labels")
    page.get_by_label("Breadcrumbs").get_by_role("link", name=rita).click()
    expect(page.locator("#quality")).to_be_visible()
    found += violations(page, "person")
    page.get_by_label(f"Reason to exclude {rita}").fill("called everything senseless")
    page.get_by_role("button", name="Exclude").click()
    expect(page.get_by_text("called everything senseless")).to_be_visible()
    assert not found, "\n".join(found)
