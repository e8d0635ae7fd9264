"""The passage cards ask the second choice after the first, and can be folded and compared."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests import cast
from tests.browser.desk import Desk
from tests.page_cast import study_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LONG = "The ferry 🛶 left at dawn.\r\nשלום לכולם, said the cafe\u0301. " * 40
BATCH: list[dict[str, Any]] = [
    {
        "id": "q/1",
        "text": "Who runs the ferry? ⛵",
        "asked_at": "2024-05-03",
        "passages": [
            {"id": "long", "text": LONG, "published_at": "2024-04-30", "source": "web"},
            {"id": "a/b#1", "text": "Ms Okoye runs it. 🌉", "title": "Who runs it"},
            {"id": "🌉", "text": "Mr Brandt runs it.", "published_at": "2015-05-03"},
            {"id": "mast", "text": "The mast was painted.", "source": "private"},
        ],
    },
    {"id": "q2", "text": "Where?", "passages": [{"id": "p", "text": "Here."}]},
]


@pytest.fixture
def desk(
    errors: list[str],
    page: Page,
    tmp_path: Path,
) -> Desk:
    """Ada before the four passages of the first question."""
    desk = Desk(page, study_of("grounding-relevance", tmp_path, lines=BATCH))
    desk.begin("ada")
    return desk


def card(desk: Desk, key: str) -> Locator:
    return desk.page.locator(".card").filter(
        has=desk.page.locator(f"input[type=hidden][value='q/1/{key}']")
    )


def choose(where: Locator, word: str) -> None:
    where.locator(".choice:visible", has_text=re.compile(f"^{word}$")).click()


def focused(desk: Desk) -> str:
    return str(
        desk.page.evaluate("document.activeElement.name + '=' + document.activeElement.value")
    )


def submitted(desk: Desk, first: str) -> dict[tuple[str, str], str]:
    desk.page.wait_for_url(lambda url: first not in url)
    labels = cast.exported(desk.study.campaign.name, "labels")
    return {(line["unit"], line["variable"]): line["value"] for line in labels}


def test_an_item_is_answered_by_keyboard_in_the_recorded_order(desk: Desk) -> None:
    press = desk.page.keyboard.press
    mine = desk.assignment
    first = str(mine.uid)
    shown = desk.page.locator(".card > input[type=hidden]")
    assert shown.evaluate_all("fields => fields.map((field) => field.value)") == mine.asked
    count = desk.page.locator("#answered")
    expect(count).to_have_text("0 of 4 answered")
    press("y")
    assert focused(desk) == "unit-0-use=answer-the-question"
    expect(count).to_have_text("0 of 4 answered")
    # A complete answer leads to the next open passage.
    for key in "3n14kj2":
        press(key)
    expect(count).to_have_text("4 of 4 answered")
    press("c")
    desk.page.keyboard.type("odd: 🛶 yxn")
    press("Control+Enter")
    one, two, three, four = mine.asked
    assert submitted(desk, first) == {
        (one, "relevant"): "yes",
        (one, "use"): "outdated",
        (two, "relevant"): "no",
        (three, "relevant"): "yes",
        (three, "use"): "unknown",
        (four, "relevant"): "no",
    }
    (response,) = cast.exported("Study", "responses")
    assert response["comment"] == "odd: 🛶 yxn"


@pytest.mark.long
def test_an_item_is_answered_by_mouse_and_changing_the_first_choice_drops_the_second(
    desk: Desk,
) -> None:
    first = str(desk.assignment.uid)
    choose(card(desk, "long"), "Irrelevant")
    choose(card(desk, "a/b#1"), "Relevant")
    assert focused(desk).endswith("-use=answer-the-question")
    choose(card(desk, "a/b#1"), "Answers the question")
    choose(card(desk, "🌉"), "Relevant")
    choose(card(desk, "🌉"), "Outdated")
    choose(card(desk, "mast"), "Relevant")
    choose(card(desk, "mast"), "Related information")
    choose(card(desk, "mast"), "Irrelevant")
    expect(card(desk, "mast").locator("[data-variable='use']")).to_be_hidden()
    desk.page.get_by_role("button", name="Submit").click()
    assert submitted(desk, first) == {
        ("q/1/long", "relevant"): "no",
        ("q/1/a/b#1", "relevant"): "yes",
        ("q/1/a/b#1", "use"): "answer-the-question",
        ("q/1/🌉", "relevant"): "yes",
        ("q/1/🌉", "use"): "outdated",
        ("q/1/mast", "relevant"): "no",
    }


def test_two_passages_are_compared_and_answered_side_by_side(desk: Desk) -> None:
    press = desk.page.keyboard.press
    cards = desk.page.locator(".card:visible")
    press("j")
    press("x")
    expect(desk.page.locator("#pair-words")).to_contain_text("Passage 2 is picked")
    press("j")
    press("j")
    press("x")
    expect(desk.page.locator("#pair-words")).to_have_text("Side by side: passages 2 and 4")
    expect(cards).to_have_count(2)
    boxes = [box for one in cards.all() if (box := one.bounding_box())]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    press("n")
    press("k")
    press("y")
    press("2")
    press("j")
    press("j")
    expect(desk.page.locator(".card.now")).to_have_attribute("data-unit", "3")
    press("Escape")
    expect(cards).to_have_count(4)
    assert focused(desk) == "unit-3-relevant=no"
    desk.state("saved")
    values = [desk.unit(n).locator(":checked").evaluate_all("all => all.map((one) => one.value)")
              for n in (1, 2, 3, 4)]  # fmt: skip
    assert values == [[], ["yes", "related-information"], [], ["no"]]
    card(desk, "mast").get_by_role("button", name="Compare").click()
    desk.page.get_by_role("button", name="Put it back").click()
    expect(desk.page.locator("#pair-bar")).to_be_hidden()


@pytest.mark.long
def test_a_refused_answer_opens_the_passage_that_the_message_names(desk: Desk) -> None:
    for number in (2, 3):
        desk.unit(number).get_by_role("button", name="Compare").click()
    desk.page.keyboard.press("n")
    desk.page.keyboard.press("k")
    desk.page.keyboard.press("n")
    desk.page.keyboard.press("Control+Enter")
    desk.state("refused")
    expect(desk.page.locator(".card:visible")).to_have_count(4)
    expect(desk.unit(1).locator(".problem")).to_have_text("Choose an answer.")
    assert focused(desk) == "unit-0-relevant=yes"


@pytest.mark.long
def test_a_draft_is_restored_with_the_second_choice_and_folded_passages(desk: Desk) -> None:
    desk.page.keyboard.press("y")
    desk.page.keyboard.press("4")
    desk.state("saved")
    desk.page.reload()
    desk.ready()
    expect(desk.unit(1).locator(".choice:has(:checked)")).to_have_text(["Relevant", "Age unknown"])
    expect(desk.page.locator("#answered")).to_have_text("1 of 4 answered")
    long = card(desk, "long")
    fold = long.locator("[data-fold]")
    expect(fold).to_have_attribute("aria-expanded", "false")
    expect(card(desk, "mast").locator("[data-fold]")).to_be_hidden()
    reading = long.locator(".reading")
    assert reading.evaluate("element => element.textContent") == LONG
    low = reading.evaluate("element => element.offsetHeight")
    long.locator(".unit-text").click()
    desk.page.keyboard.press("f")
    expect(fold).to_have_attribute("aria-expanded", "true")
    assert reading.evaluate("element => element.offsetHeight") > 2 * low
    fold.click()
    assert reading.evaluate("element => element.offsetHeight") == low
