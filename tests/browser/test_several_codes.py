"""Several codes, and a number on a scale, by the keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Draft, Label
from tests.browser.axe import AXE, ONE_OF_A_KIND, RUN
from tests.browser.desk import Desk
from tests.several_cast import make_issues_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
BOAT = "verdreht–ö 🛶"


@pytest.fixture
def desk(errors: list[str], page: Page, monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = Desk(page, make_issues_study(monkeypatch, questions=("Who?", "What?"), reports=1))
    made.begin("ada")
    return made


def test_a_digit_toggles_and_enter_goes_on(desk: Desk) -> None:
    page, press = desk.page, desk.page.keyboard.press
    first, second = desk.unit(1), desk.unit(2)
    boxes = first.locator("[type=checkbox]")
    expect(page.locator("#answered")).to_have_text("0 of 2")
    press("2")
    press("3")
    press("2")
    expect(boxes.nth(1)).not_to_be_checked()
    expect(boxes.nth(2)).to_be_checked()
    expect(page.locator("#spoken")).to_have_text("not Left out, question 1")
    # The scale is asked now, and Enter goes on to it.
    press("Enter")
    slider = first.locator("[type=range]")
    expect(slider).to_be_focused()
    expect(slider).to_have_attribute("aria-valuetext", "no answer yet")
    expect(first).not_to_have_class("answered")
    press("3")
    press("5")
    press("Enter")
    expect(second.locator("[type=checkbox]").first).to_be_focused()
    expect(first.locator(".summary")).to_have_text("Twisted 🛶35")
    press("0")
    expect(second.get_by_label("None of these")).to_be_checked()
    expect(page.locator("#answered")).to_have_text("2 of 2")
    press("Control+Enter")
    page.wait_for_url("**/finished/**")
    assert dict(Label.objects.values_list("variable", "value").filter(unit__name="q:0")) == {
        "issues": f'["{BOAT}"]',
        "harm": "35",
    }
    assert list(Label.objects.filter(unit__name="q:1").values_list("value", flat=True)) == ["[]"]


@pytest.mark.long
def test_none_of_these_and_escapes_stand_alone(desk: Desk) -> None:
    press, boxes = desk.page.keyboard.press, desk.unit(1).locator("[type=checkbox]")
    for keys, chosen in (("12", 2), ("0", 1), ("2", 1), ("4", 1), ("1", 1), ("1", 0)):
        for key in keys:
            press(key)
        expect(boxes.and_(desk.page.locator(":checked"))).to_have_count(chosen)
    expect(desk.page.locator("#answered")).to_have_text("0 of 2")
    press("z")
    expect(boxes.nth(0)).to_be_checked()


def test_a_scale_has_no_answer_before_it_is_used(desk: Desk) -> None:
    page, press, unit = desk.page, desk.page.keyboard.press, desk.unit(1)
    slider, number = unit.locator("[type=range]"), unit.locator(".scale [type=text]")
    press("1")
    press("Enter")
    press("Control+Enter")
    expect(unit.locator(".problem")).to_have_text("Give a number from 0 to 100 in steps of 5.")
    slider.focus()
    press("ArrowRight")
    expect(number).to_have_value("55")
    expect(slider).not_to_have_attribute("aria-valuetext", "no answer yet")
    press("ArrowUp")
    press("PageUp")
    expect(number).to_have_value("70")
    press("Home")
    expect(number).to_have_value("0")
    press("4")
    expect(number).to_be_focused()
    expect(number).to_have_attribute("aria-invalid", "true")
    press("0")
    expect(slider).to_have_value("40")
    press("Escape")
    expect(slider).to_be_focused()
    expect(page.locator("#state")).to_have_attribute("data-state", "saved")
    assert Draft.objects.get().payload["units"]["q:0"]["harm"] == "40"
    page.reload()
    desk.ready()
    expect(number).to_have_value("40")
    expect(unit.locator(":checked")).to_have_count(1)


@pytest.mark.long
def test_a_click_where_the_slider_begins_is_an_answer(desk: Desk) -> None:
    unit = desk.unit(1)
    desk.page.keyboard.press("1")
    slider, number = unit.locator("[type=range]"), unit.locator(".scale [type=text]")
    expect(number).to_have_value("")
    slider.click()
    expect(number).to_have_value("50")


def test_the_page_is_accessible(desk: Desk) -> None:
    desk.page.keyboard.press("1")
    expect(desk.unit(1).get_by_role("slider", name="How harmful is it?")).to_be_visible()
    expect(desk.unit(1).get_by_role("group").first).to_have_accessible_name(
        "What is wrong with the answer to this question? Who?"
    )
    desk.page.evaluate(AXE + ONE_OF_A_KIND)
    assert desk.page.evaluate(RUN, [[]]) == []
