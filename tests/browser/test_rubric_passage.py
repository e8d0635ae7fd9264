"""The passage rating page works by keys, with a rationale and editable nuggets beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from annotation.answers.submission import submit
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.exports import rows
from annotation.models import Assignment, Campaign
from tests.browser.axe import violations
from tests.browser.desk import POINTS, Desk, units_of
from tests.cast import BRIDGE, FULL
from tests.page_cast import Study, study_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MARKED = "Anna Lee\u0301 built it 🌉."
MORE = "It opened in 1901."
CODES = {"a/b#1": "no", " blank ": "yes", "🌉": "no"}


@pytest.fixture
def ratings(transactional_db: None, tmp_path: Path) -> Study:
    """Passages to rate; in one of two reports Ada found who built the bridge."""
    study = study_of("report-coverage", tmp_path, Design(raters_per_item=2))
    design = Design(prerequisite="Study", sampling="own", seed=3)
    made = create_campaign("Ratings", "rubric-passage", study.campaign.batch, design, pool="open")
    for codes in (CODES, dict.fromkeys(CODES, "no")):
        submit(study.assignment(study.ada), coverage(codes), "page")
    return Study(made.campaign, study.ada, study.ben, study.rita, study.root)


@pytest.fixture
def rated(errors: list[str], page: Page, ratings: Study) -> Desk:
    """Ada before the first passage."""
    desk = Desk(page, ratings)
    desk.begin("ada")
    return desk


def coverage(codes: dict[str, str]) -> dict[str, Any]:
    quote = [{"quote": MARKED, "start": 0}]
    units = {
        name: {"answerable": code, "evidence": quote if code == "yes" else []}
        for name, code in codes.items()
    }
    return {"units": units, "comment": None}


def labels(name: str) -> dict[tuple[str, str], tuple[str, list[str]]]:
    found = rows.labels(Campaign.objects.get(name=name))
    return {
        (line["item"], line["unit"]): (line["value"], [s["text"] for s in line.get("spans") or ()])
        for line in found
    }


def nugget(page: Page) -> Locator:
    return page.locator(".unit.now .nugget")


def drag(page: Page, reading: Locator, quote: str) -> None:
    """Select words of the report with the mouse, in the layer."""
    start = FULL.index(quote)
    places = [units_of(FULL[:place]) for place in (start, start + len(quote) - 1)]
    left, top, right, bottom = page.evaluate(POINTS, [reading.element_handle(), *places])
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move(right, bottom, steps=6)
    page.mouse.up()


def number_of(desk: Desk, unit: str) -> int:
    return desk.assignment.asked.index(unit) + 1


def test_a_passage_and_a_nugget_are_answered_by_keyboard(
    errors: list[str], page: Page, ratings: Study
) -> None:
    rated, press = Desk(page, ratings), page.keyboard.press
    rated.log_in("ada")
    page.get_by_text("Your other campaigns").click()
    section = page.locator(".study", has_text="Ratings")
    section.get_by_role("button", name="Start").click()
    rated.ready()
    first = rated.assignment
    assert sorted(first.asked, key=list(CODES).index)
    for _ in range(number_of(rated, " blank ") - 1):
        press("j")
    expect(nugget(page)).to_contain_text("report 1")
    expect(nugget(page).locator("li")).to_have_text([MARKED])
    press("4")
    press("h")
    press("Shift+ArrowRight")
    press("Enter")
    press("Escape")
    press("m")
    expect(page.locator("#highlight-editor")).to_be_visible()
    expect(page.locator("#highlight-editor .quote")).to_have_count(1)
    expect(page.locator("#highlight-editor-save")).to_be_disabled()
    press("ArrowDown")
    press("Shift+ArrowDown")
    press("Enter")
    expect(page.locator("#highlight-editor .quote")).to_have_count(2)
    press("z")
    expect(page.locator("#highlight-editor .quote")).to_have_count(1)
    press("Shift+z")
    expect(page.locator("#highlight-editor .quote")).to_have_count(2)
    press("Control+Enter")
    expect(page.locator("#highlight-editor")).to_be_hidden()
    expect(nugget(page).locator("li")).to_have_count(2)
    expect(nugget(page)).to_contain_text("Saved")
    expect(nugget(page).locator("[data-edits='report 1']")).to_be_focused()
    press("k" if number_of(rated, " blank ") > 1 else "j")
    press("0")
    press("Control+Enter")
    page.wait_for_url(lambda url: str(first.uid) not in url)
    found = labels("Ratings")
    asked = {unit: found["q/1/p", unit] for unit in first.asked}
    assert {unit: value for unit, (value, _) in asked.items()} == {
        unit: "4" if unit == " blank " else "0" for unit in first.asked
    }
    (rationale,) = asked[" blank "][1]
    assert BRIDGE.startswith(rationale)
    value, marks = labels("Study")["r", " blank "]
    assert value == "yes"
    assert marks[0] == MARKED
    assert len(marks) == 2
    assert all(mark in FULL for mark in marks)


@pytest.mark.long
def test_a_passage_is_answered_by_mouse_and_unsaved_work_is_kept(rated: Desk) -> None:
    page, first = rated.page, rated.assignment
    place = number_of(rated, " blank ")
    rated.unit(place).locator(".unit-text").click()
    rated.unit(place).locator(".choice", has_text="the main part").click()
    found = violations(page, "a passage with a nugget")
    nugget(page).get_by_role("button", name="Edit").click()
    reading = page.locator("[data-edit]")
    expect(reading).to_be_visible()
    expect(reading.locator("mark")).to_have_text(MARKED)
    assert found + violations(page, "the layer") == []
    drag(page, reading, MORE)
    expect(page.locator("#highlight-editor .quote")).to_have_count(2)
    page.route("**/nugget/**", lambda route: route.abort())
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#highlight-editor-notice")).to_contain_text("cannot be reached")
    page.get_by_role("button", name="Close", exact=True).last.click()
    expect(nugget(page)).to_contain_text("Not saved")
    page.unroute("**/nugget/**")
    page.reload()
    rated.ready()
    rated.unit(place).locator(".unit-text").click()
    nugget(page).get_by_role("button", name="Edit").click()
    expect(page.locator("#highlight-editor-notice")).to_contain_text("not saved yet; here they are")
    expect(page.locator("#highlight-editor .quote")).to_have_count(2)
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#highlight-editor")).to_be_hidden()
    other = 3 - place
    rated.unit(other).locator(".unit-text").click()
    rated.unit(other).locator(".choice", has_text="not at all").click()
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(lambda url: str(first.uid) not in url)
    assert labels("Ratings")["q/1/p", " blank "] == ("3", [])
    assert len(labels("Study")["r", " blank "][1]) == 2


@pytest.mark.long
def test_a_change_in_another_tab_is_reported_with_a_choice(rated: Desk) -> None:
    page = rated.page
    rated.unit(number_of(rated, " blank ")).locator(".unit-text").click()
    page.keyboard.press("m")
    expect(page.locator("#highlight-editor .quote")).to_have_count(1)
    held = Assignment.objects.get(item__campaign__name="Study", item__key="r")
    elsewhere = coverage(CODES)
    elsewhere["units"][" blank "]["evidence"] = [{"quote": MORE, "start": FULL.index(MORE)}]
    submit(held, elsewhere, "page")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("h")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#highlight-editor-notice")).to_contain_text("changed elsewhere")
    assert labels("Study")["r", " blank "][1] == [MORE]
    page.get_by_role("button", name="Use the other version").click()
    expect(page.locator("#highlight-editor .quote > button:first-child")).to_have_text([MORE])
    expect(page.locator("#highlight-editor-save")).to_be_disabled()
    page.keyboard.press("Escape")
    expect(page.locator("#highlight-editor")).to_be_hidden()
    assert held.responses.count() == 2
