"""The three key-point pages: whole items by keyboard and by mouse, and their exported labels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.campaigns.design import Design
from annotation.exports import rows
from datasets.models import Passage
from tests import cast
from tests.browser.axe import violations
from tests.browser.desk import POINTS, Desk, units_of
from tests.page_cast import Study, study_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SUGGESTED = "opened in 1901"


def begin(page: Page, folder: Path, protocol: str, key: str = "") -> Desk:
    """Ada on her first item, or on the item with this key."""
    desk = Desk(page, study_of(protocol, folder))
    if key:
        mine, item = desk.study.assignment(desk.study.ada), desk.study.campaign.items.get(key=key)
        mine.item, mine.asked = item, [unit.name for unit in item.units.order_by("position")]
        mine.save()
    desk.begin("ada")
    if desk.page.locator("#guideline").is_visible():
        desk.page.locator("#guideline [data-close]").click()
    return desk


def submitted(desk: Desk) -> None:
    here = desk.page.url
    desk.page.keyboard.press("Control+Enter")
    desk.page.wait_for_url(lambda url: url != here)


def drag(desk: Desk, text: str, quote: str, field: str = "passage") -> None:
    start = text.index(quote)
    places = [units_of(text[:place]) for place in (start, start + len(quote) - 1)]
    handle = desk.page.locator(f'[data-text="{field}"]').element_handle()
    left, top, right, bottom = desk.page.evaluate(POINTS, [handle, *places])
    desk.page.mouse.move(left, top)
    desk.page.mouse.down()
    desk.page.mouse.move((left + right) / 2, (top + bottom) / 2, steps=4)
    desk.page.mouse.move(right, bottom, steps=4)
    desk.page.mouse.up()


def labels(study: Study) -> dict[tuple[str, str], str]:
    return {(x["unit"], x["variable"]): x["value"] for x in rows.labels(study.campaign)}


def spans(study: Study) -> list[tuple[str, int, str]]:
    return [(x["unit"], x["start"], x["text"]) for x in rows.spans(study.campaign)]


def answer(study: Study) -> dict[str, Any]:
    (line,) = rows.responses(study.campaign)
    units: dict[str, Any] = line["units"]
    return units


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.name ?? document.activeElement.className"))


def test_a_key_point_is_verified_by_keyboard(errors: list[str], page: Page, tmp_path: Path) -> None:
    desk = begin(page, tmp_path, "key-point-verification", "k/1")
    keys = desk.page.keyboard
    marked = desk.page.locator("mark[data-kind='suggested']")
    expect(marked).to_have_text(SUGGESTED)
    expect(desk.page.locator("mark[data-units]")).to_have_count(0)
    expect(desk.page.locator("[data-variable='key']")).to_be_hidden()
    keys.press("n")
    expect(desk.page.locator("#suggested-place")).to_have_text("1 of 1")
    keys.press("a")
    expect(desk.page.locator(".adopted")).to_be_visible()
    expect(desk.page.locator("mark[data-kind='suggested'][data-units='0']")).to_have_count(1)
    assert violations(desk.page, "adopted") == []
    keys.press("1")
    expect(desk.page.locator("[data-variable='key']")).to_be_visible()
    assert focused(desk.page) == "unit-0-key"
    keys.press("2")
    submitted(desk)
    assert labels(desk.study) == {("k/1", "grounded"): "yes", ("k/1", "key"): "neutral"}
    assert spans(desk.study) == [("k/1", cast.BRIDGE.index(SUGGESTED), SUGGESTED)]


@pytest.mark.long
def test_a_key_point_is_verified_by_mouse(errors: list[str], page: Page, tmp_path: Path) -> None:
    desk = begin(page, tmp_path, "key-point-verification", "k/1")
    own = "Anna Lee\u0301 built"
    drag(desk, cast.BRIDGE, own)
    desk.page.locator(".suggestion .shows").click()
    desk.page.get_by_role("button", name="Adopt").click()
    desk.page.get_by_role("button", name=re.compile("Remove highlight: opened")).click()
    expect(desk.page.locator(".adopted")).to_be_hidden()
    desk.choices("grounded", "Yes").click()
    assert focused(desk.page) == "unit-0-key"
    desk.page.locator("[data-variable='key'] .choice", has_text="Agree").first.click()
    desk.choices("grounded", "No").click()
    expect(desk.page.locator("[data-variable='key']")).to_be_hidden()
    here = desk.page.url
    desk.page.get_by_role("button", name="Submit").click()
    desk.page.wait_for_url(lambda url: url != here)
    assert labels(desk.study) == {("k/1", "grounded"): "no"}
    assert spans(desk.study) == [("k/1", cast.BRIDGE.index(own), own)]


def test_an_answers_point_is_highlighted_in_several_passages(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    study = study_of("key-point-verification", tmp_path, Design(points="answers"))
    desk = Desk(page, study)
    desk.begin("ada")
    if page.locator("#guideline").is_visible():
        page.locator("#guideline [data-close]").click()
    drag(desk, cast.BRIDGE, SUGGESTED, "passage:p")
    drag(desk, cast.RIVER, "spans the river", "passage:p#1")
    listed = page.locator(".unit.now .quote > button:first-child")
    expect(listed).to_have_text([SUGGESTED, "spans the river"])
    expect(page.locator('[data-text="passage:p"] mark[data-units="0"]')).to_have_text(SUGGESTED)
    listed.last.click()
    expect(page.locator('[data-text="passage:p#1"] mark.lit')).to_have_count(1)
    expect(page.locator('[data-text="passage:p"] mark.lit')).to_have_count(0)
    desk.choices("grounded", "Yes").first.click()
    expect(page.locator("#glance button").first).to_have_attribute("title", "supported")
    desk.saved()
    page.reload()
    desk.ready()
    page.locator("[data-unit='0'] .unit-text").click()
    expect(listed).to_have_text([SUGGESTED, "spans the river"])
    page.get_by_role("button", name=re.compile("Remove highlight: spans")).click()
    expect(listed).to_have_text([SUGGESTED])
    page.keyboard.press("z")
    expect(listed).to_have_text([SUGGESTED, "spans the river"])
    desk.choices("grounded", "No").last.click()
    assert violations(page, "points of an answer") == []
    submitted(desk)
    found = {(x["unit"], x["field"], x["text"]) for x in rows.spans(study.campaign)}
    assert found == {("r/1", "passage:p", SUGGESTED), ("r/1", "passage:p#1", "spans the river")}
    assert labels(study) == {("r/1", "grounded"): "yes", ("r#2", "grounded"): "no"}


@pytest.mark.long
def test_an_item_is_opened_by_its_number(errors: list[str], page: Page, tmp_path: Path) -> None:
    desk = begin(page, tmp_path, "key-point-verification")
    first = desk.page.url
    for key in ("2", "2"):
        desk.page.keyboard.press(key)
        submitted(desk)
        desk.ready()
    desk.page.keyboard.press("i")
    assert focused(desk.page) == "number"
    desk.page.keyboard.press("Escape")
    assert focused(desk.page) == "unit-0-grounded"
    desk.page.keyboard.press("i")
    desk.page.keyboard.type("1")
    desk.page.keyboard.press("Enter")
    desk.page.wait_for_url(first)
    expect(desk.page.locator("#jump")).to_have_value("1")


def test_key_points_of_a_report_are_judged_by_keyboard(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path, "key-point-recall", "r")
    keys = desk.page.keyboard
    keys.press("1")
    keys.press("h")
    keys.press("ArrowDown")
    keys.press("Shift+ArrowDown")
    keys.press("Enter")
    keys.press("Escape")
    keys.press("n")
    expect(desk.unit(2)).to_have_class(re.compile("now"))
    keys.press("2")
    meaning = desk.unit(2).locator(".choice small").first
    expect(meaning).to_be_visible()
    expect(meaning).to_have_text("A part of the point is made, another left out.")
    assert focused(desk.page) == "unit-1-failure"
    assert violations(desk.page, "kinds of failure") == []
    keys.press("3")
    strip = desk.page.locator("#glance ol button")
    assert [x.get_attribute("title") for x in strip.all()] == ["made", "not made"]
    expect(desk.page.locator("#next-open")).to_be_disabled()
    submitted(desk)
    assert labels(desk.study) == {
        ("k/1", "entailed"): "yes",
        ("k#2", "entailed"): "no",
        ("k#2", "failure"): "missing",
    }
    (span,) = spans(desk.study)
    assert cast.FULL[span[1] :].startswith(span[2])


@pytest.mark.long
def test_key_points_of_a_report_are_judged_by_mouse(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path, "key-point-recall", "r")
    desk.page.locator("#glance ol button").nth(1).click()
    desk.answer(2, "Neutral")
    desk.unit(2).locator(".choice", has_text="Too general").click()
    desk.answer(1, "Yes")
    desk.drag("It opened in 1901")
    here = desk.page.url
    desk.page.get_by_role("button", name="Submit").click()
    desk.page.wait_for_url(lambda url: url != here)
    assert labels(desk.study)[("k#2", "failure")] == "general"
    assert spans(desk.study) == [("k/1", cast.FULL.index("It opened"), "It opened in 1901")]


def test_key_points_are_written_and_matched_by_keyboard(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path, "key-point-writing", "q/1/p")
    page, keys = desk.page, desk.page.keyboard
    assert "It opened in 1901." not in page.content()
    # An empty list begins with an open point, but the focus may still be in the closed guideline.
    expect(page.locator(".point textarea")).to_be_visible()
    keys.press("Escape")
    keys.press("e")
    expect(page.locator(".point textarea")).to_be_focused()
    keys.type("It was built by hand. 🛶")
    keys.press("Escape")
    for moves in (("ArrowDown",), ("ArrowDown", "Shift+ArrowRight")):
        keys.press("h")
        for move in moves:
            keys.press(move)
        keys.press("Enter")
        keys.press("Escape")
    keys.press("n")
    keys.type("Second, soon the first")
    keys.press("Escape")
    keys.press("h")
    keys.press("End")
    keys.press("Enter")
    keys.press("Escape")
    keys.press("[")
    keys.press("n")
    keys.type("To be deleted")
    keys.press("Escape")
    keys.press("x")
    expect(page.locator(".point")).to_have_count(2)
    keys.press("d")
    assert focused(page) == "unit-0-holds_points"
    keys.press("1")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page, "asked whether the list is complete") == []
    keys.press("Enter")
    expect(page.locator(".matching")).to_be_visible()
    assert violations(page, "matching") == []
    expect(page.locator(".point textarea").first).to_have_attribute("readonly", "")
    keys.press("2")
    keys.press("1")
    keys.press("2")
    keys.press("2")
    keys.press("z")
    submitted(desk)
    units = answer(desk.study)
    points = units["q/1/p"]["points"]
    assert [point["text"] for point in points] == [
        "Second, soon the first",
        "It was built by hand. 🛶",
    ]
    assert [len(point["evidence"]) for point in points] == [1, 2]
    for quote in (quote for point in points for quote in point["evidence"]):
        assert cast.BRIDGE[quote["start"] :].startswith(quote["quote"])
    assert units["k/1"] == {"matched": "yes", "matches": [1]}
    assert labels(desk.study) == {("q/1/p", "holds_points"): "yes", ("k/1", "matched"): "yes"}


@pytest.mark.long
def test_an_unfinished_list_is_restored_and_matched_by_mouse(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path, "key-point-writing", "q/1/p")
    page = desk.page
    page.locator(".point textarea").fill("Half a point 🌉")
    desk.state("saved")
    page.reload()
    expect(page.locator(".point textarea")).to_have_value("Half a point 🌉")
    page.keyboard.press("d")
    page.keyboard.press("1")
    expect(page.locator(".point .problem")).to_contain_text("Highlight the words")
    page.keyboard.press("x")
    expect(page.locator(".point")).to_have_count(0)
    page.keyboard.press("z")
    expect(page.locator(".point textarea")).to_have_value("Half a point 🌉")
    page.locator(".point textarea").fill("It opened.\nLong ago.")
    drag(desk, cast.BRIDGE, "🌉 opened")
    expect(page.locator(".point .quote")).to_have_count(1)
    page.locator("[data-variable='holds_points'] .choice", has_text="No, none").click()
    expect(page.locator("[data-list] .problem")).to_contain_text("Your list contains points")
    page.get_by_role("button", name="New point").click()
    page.locator("[data-variable='holds_points'] .choice", has_text="Yes").click()
    page.get_by_role("button", name=re.compile("Back to the list")).click()
    expect(page.locator(".matching")).to_have_count(0)
    page.locator("[data-variable='holds_points'] .choice", has_text="Yes").click()
    page.get_by_role("button", name=re.compile("It is complete")).click()
    page.locator(".match", has_text="It opened.").click()
    page.locator(".match", has_text="None of mine").click()
    expect(page.locator(".match :checked")).to_have_count(1)
    here = page.url
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(lambda url: url != here)
    units = answer(desk.study)
    start = cast.BRIDGE.index("🌉 opened")
    assert units["q/1/p"]["points"] == [
        {"text": "It opened.\nLong ago.", "evidence": [{"quote": "🌉 opened", "start": start}]}
    ]
    assert units["k/1"] == {"matched": "no", "matches": []}


@pytest.mark.long
def test_a_text_without_points_leaves_the_extracted_ones_unmatched(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path, "key-point-writing", "q/1/p#1")
    assert Passage.objects.get(key="p#1").text == cast.RIVER
    page = desk.page
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.locator(".matching :checked")).to_have_count(1)
    submitted(desk)
    assert labels(desk.study) == {("q/1/p#1", "holds_points"): "no", ("k#2", "matched"): "no"}
