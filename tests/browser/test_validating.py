"""A judge's label must be confirmed or corrected; nothing is confirmed by default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from annotation.models import Label, Response, User, rater_of
from annotation.protocols import PROTOCOLS
from tests.annotation.validating_cast import JUDGE, judge, judge_all, judged, validating
from tests.browser.axe import violations
from tests.browser.desk import Desk
from tests.cast import FULL, exported
from tests.page_cast import Study, study_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
VALIDATED = [name for name, protocol in PROTOCOLS.items() if protocol.listed is None]
BUILT = {"quote": "built it 🌉", "start": FULL.index("built it 🌉")}
ANSWERS: dict[str, dict[str, Any]] = {
    "a/b#1": {"answerable": "no", "evidence": []},
    " blank ": {"answerable": "yes", "evidence": [BUILT]},
    "🌉": {"answerable": "invalid", "evidence": []},
}


@pytest.fixture
def study(transactional_db: None, tmp_path: Path) -> Study:
    """Three verdicts on the first report: no, yes with a quote after an emoji, and an escape."""
    judge()
    made = study_of("report-coverage", tmp_path, validating(order="fixed"))
    judged(made.campaign.items.get(key="r"), ANSWERS)
    Label.objects.filter(value="yes").update(score=0.83)
    return made


@pytest.fixture
def desk(errors: list[str], page: Page, study: Study) -> Desk:
    found = Desk(page, study)
    found.begin("ada")
    expect(found.page.locator(".unit .judged")).to_have_count(3)
    return found


def verdict(desk: Desk, number: int) -> Locator:
    return desk.unit(number).locator(".judged")


def assert_state(desk: Desk, number: int, state: str) -> None:
    expect(verdict(desk, number)).to_have_attribute("data-state", state)


def ada() -> str:
    """Her pseudonym."""
    return rater_of(User.objects.get(username="ada")).name


def given() -> dict[str, tuple[str, list[str]]]:
    """Ada's labels as exported: the value, and the quotes with their locations."""
    return {
        line["unit"]: (line["value"], [s["text"] for s in line.get("spans") or []])
        for line in exported("Study", "labels")
        if line["rater"] == ada()
    }


def submitted(desk: Desk) -> None:
    desk.page.wait_for_url("**/finished/**")


def test_judges_labels_are_validated_by_keyboard_alone(desk: Desk) -> None:
    keys = desk.page.keyboard
    for number in (1, 2, 3):
        expect(verdict(desk, number)).to_contain_text(f"Judge {JUDGE} says:")
    keys.press("Enter")
    assert_state(desk, 1, "confirmed")
    assert_state(desk, 2, "open")
    keys.press("j")
    expect(desk.page.locator(".cited-layer i")).not_to_have_count(0)
    keys.press("Enter")
    assert_state(desk, 2, "confirmed")
    keys.press("j")
    keys.press("2")
    assert_state(desk, 3, "other")
    keys.press("Enter")  # a different answer stays
    assert_state(desk, 3, "other")
    keys.press("Control+Enter")
    submitted(desk)
    assert given() == {
        "a/b#1": ("no", []),
        " blank ": ("yes", ["built it 🌉"]),
        "🌉": ("no", []),
    }
    lines = exported("Study", "responses")
    assert {line["rater"]: line.get("assisted_by") for line in lines} == {JUDGE: None, ada(): JUDGE}


@pytest.mark.long
def test_judges_labels_are_corrected_by_mouse_with_another_quote(desk: Desk) -> None:
    desk.unit(2).locator(".unit-text").click()
    verdict(desk, 2).get_by_role("button", name="Confirm").click()
    assert_state(desk, 2, "confirmed")
    desk.unit(2).locator(".quotes .quote").get_by_role("button", name="Remove").click()
    assert_state(desk, 2, "respanned")
    desk.drag("opened in 1901")
    assert_state(desk, 2, "respanned")
    desk.answer(1, "No")
    assert_state(desk, 1, "confirmed")
    desk.unit(3).locator(".unit-text").click()
    verdict(desk, 3).get_by_role("button", name="Confirm").click()
    desk.page.locator("#submit").click()
    submitted(desk)
    assert given() == {
        "a/b#1": ("no", []),
        " blank ": ("yes", ["opened in 1901"]),
        "🌉": ("invalid", []),
    }


def test_only_confirmed_labels_are_submitted(
    desk: Desk,
) -> None:
    page = desk.page
    expect(page.locator("#left")).to_have_text("3 questions left")
    page.keyboard.press("Control+Enter")
    desk.state("refused")
    expect(desk.unit(1).locator(".problem")).to_contain_text("Confirm the judge’s label")
    # However often the key is pressed, it confirms only the current question.
    for _ in range(5):
        page.keyboard.press("Enter")
    expect(page.locator("#left")).to_have_text("2 questions left")
    expect(page.get_by_role("button", name="all")).to_have_count(0)
    assert given() == {}
    assert_state(desk, 1, "confirmed")
    desk.state("saved")
    page.reload()
    assert_state(desk, 1, "confirmed")
    desk.unit(1).locator(".unit-text").click()
    page.keyboard.press("1")
    assert_state(desk, 1, "other")
    page.keyboard.press("z")
    assert_state(desk, 1, "confirmed")


PLACES = """() => {
  const text = document.querySelector("[data-marks]");
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  const node = walker.nextNode();
  const range = document.createRange();
  const start = node.data.indexOf("built it 🌉");
  range.setStart(node, start);
  range.setEnd(node, start + "built it 🌉".length);
  const outlined = [range, document.querySelector(".cited-layer i")];
  const boxes = outlined.map((one) => one.getBoundingClientRect());
  return boxes.map(({ left, right, top, bottom }) => [left, right, top, bottom]);
}"""


def test_a_judges_quotes_are_outlined_and_every_state_passes_axe(
    desk: Desk,
) -> None:
    outlines = desk.page.locator(".cited-layer i")
    expect(outlines).to_have_count(0)
    desk.unit(2).locator(".unit-text").click()
    expect(outlines).to_have_count(1)
    words, outline = desk.page.evaluate(PLACES)
    assert [abs(a - b) < 4 for a, b in zip(words, outline, strict=True)] == [True] * 4
    expect(verdict(desk, 2).locator("[data-cited]")).to_have_text("built it 🌉")
    expect(verdict(desk, 2)).to_contain_text("0.83")
    page = desk.page
    found = violations(page, "open, with a quote", rare=True)
    page.keyboard.press("Enter")
    assert_state(desk, 2, "confirmed")
    found += violations(page, "confirmed", rare=True)
    page.keyboard.press("2")
    assert_state(desk, 2, "other")
    found += violations(page, "answered otherwise", rare=True)
    page.keyboard.press("j")
    page.keyboard.press("Control+Enter")
    desk.state("refused")
    found += violations(page, "refused")
    assert found == []


@pytest.mark.long
@pytest.mark.first_case
@pytest.mark.parametrize("protocol", VALIDATED)
def test_nothing_is_confirmed_by_default(
    errors: list[str],
    page: Page,
    tmp_path: Path,
    protocol: str,
) -> None:
    judge()
    of = study_of(protocol, tmp_path, validating())
    judge_all(of.campaign)
    desk = Desk(page, of)
    desk.begin("ada")
    page, first = desk.page, desk.assignment
    still_open = page.locator(".unit .judged[data-state='open']")
    for left in range(len(first.asked), 0, -1):
        expect(still_open).to_have_count(left)
        page.keyboard.press("Enter")
        page.keyboard.press("j")
    expect(still_open).to_have_count(0)
    desk.page.keyboard.press("Control+Enter")
    desk.page.wait_for_url(lambda url: str(first.uid) not in url)
    columns = ("unit__key", "variable", "value", "spans__start", "spans__end")
    mine, judges = (
        set(response.labels.values_list(*columns))
        for rater in (ada(), JUDGE)
        for response in Response.objects.filter(
            assignment__rater__name=rater, assignment__item=first.item
        )
    )
    assert mine == judges
