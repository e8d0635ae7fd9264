"""An adjudicator can read, copy, decide and give a reason by keyboard, and loses nothing."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Decision, Unit
from tests.annotation.adjudication.cast import REASON, SHALOM, Dispute, decided, make_dispute
from tests.browser.axe import violations
from tests.browser.chromium import come_in
from tests.page_cast import TEXT

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def there(transactional_db: None) -> Dispute:
    made = make_dispute()
    for user in (made.dora, made.dirk):
        user.password = made.study.ada.password
        user.save()
    return made


@pytest.fixture
def page(errors: list[str], page: Page, there: Dispute) -> Page:
    """Dora, before the first dispute."""
    come_in(page, "dora")
    page.goto(address(there, there.units[0]))
    expect(page.locator(".unit.now")).to_be_visible()
    return page


def state(page: Page, name: str) -> None:
    expect(page.locator("#state")).to_have_attribute("data-state", name)


def address(there: Dispute, unit: Unit) -> str:
    return reverse("adjudication-unit", args=[there.study.campaign.pk, unit.pk])


def test_disputes_are_decided_by_keyboard_alone(page: Page, there: Dispute) -> None:
    page.goto("/tasks/")
    page.get_by_role("link", name="Open").click()
    page.get_by_role("link", name="Continue").click()
    yes = page.locator(".opinion[data-key]", has=page.locator(".pill.yes")).first
    key, name = yes.get_attribute("data-key"), yes.get_attribute("data-name")
    assert key
    assert name == f"Rater {key.upper()}"
    page.keyboard.press(key)
    expect(page.locator(".unit .quote")).to_have_count(1)
    page.keyboard.press("c")
    page.keyboard.type("Because it says so. 🌉")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(f"**{address(there, there.units[1])}")
    (label,) = Decision.objects.get().response.labels.all()
    assert (label.value, label.response.comment) == ("yes", "Because it says so. 🌉")
    (span,) = label.spans.all()
    assert TEXT[span.start : span.end] == span.quote


@pytest.mark.long
def test_highlights_show_raters_letters_and_a_decision_without_a_reason_is_not_sent(
    page: Page,
) -> None:
    marks = page.locator("mark[data-kind]")
    expect(marks).to_have_count(1)
    expect(marks).to_have_text("Zoë 🛶")
    letters = marks.get_attribute("data-ends")
    assert letters is not None
    assert len(letters.split()) == 2
    page.keyboard.press("n")
    expect(page.locator("mark.lit")).to_have_text("Zoë 🛶")
    page.keyboard.press("2")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#refused")).to_have_text("Give a reason.")
    expect(page.locator("textarea[name=comment]")).to_be_focused()
    assert not Decision.objects.exists()
    page.keyboard.type("half a reason")
    state(page, "kept")
    page.reload()
    expect(page.locator("textarea[name=comment]")).to_have_value("half a reason")
    expect(page.locator("input[value=no]:checked")).to_have_count(1)
    state(page, "kept")


def test_offline_a_decision_waits_and_is_sent(page: Page, there: Dispute) -> None:
    page.keyboard.press("2")
    page.keyboard.press("c")
    page.keyboard.type(REASON)
    page.context.set_offline(True)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#state")).to_have_attribute("data-state", "offline")
    page.context.set_offline(False)
    page.wait_for_url(f"**{address(there, there.units[1])}")
    assert Decision.objects.get().response.comment == REASON


def test_the_second_of_two_adjudicators_chooses_between_the_two_decisions(
    page: Page, there: Dispute
) -> None:
    page.keyboard.press("2")
    page.keyboard.press("c")
    page.keyboard.type("Mine.")
    state(page, "kept")
    decided(there, there.units[0], "yes", SHALOM, by=there.dirk)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#conflict")).to_contain_text("שלום לכולם")
    expect(page.locator("#conflict").get_by_role("rowheader", name="Reason")).to_be_visible()
    page.locator("#keep-mine").click()
    state(page, "kept")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(f"**{address(there, there.units[1])}")
    comments = list(Decision.objects.order_by("pk").values_list("response__comment", flat=True))
    assert comments == [REASON, "Mine."]


def test_the_adjudication_pages_pass_axe(page: Page, there: Dispute) -> None:
    decided(there, there.units[0], "no", by=there.dirk)
    queue = reverse("adjudication", args=[there.study.campaign.pk])
    for state_of, place in (("dispute", address(there, there.units[0])), ("queue", queue)):
        page.goto(place)
        assert violations(page, state_of) == []
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
