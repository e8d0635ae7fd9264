"""Seven questions about one query, in Chromium: the gate, and a long list to filter by typing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from annotation.campaigns.design import Design
from tests import cast
from tests.browser.desk import Desk
from tests.page_cast import study_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def begin(page: Page, folder: Path, **design: tuple[str, ...]) -> Desk:
    desk = Desk(page, study_of("question-typing", folder, Design(**design)))  # type: ignore[arg-type]
    desk.begin("ada")
    return desk


@pytest.fixture
def desk(errors: list[str], page: Page, tmp_path: Path) -> Desk:
    return begin(page, tmp_path)


def group(desk: Desk, variable: str) -> Locator:
    return desk.page.locator(f"[data-variable='{variable}']")


def choose(desk: Desk, variable: str, word: str) -> None:
    choices = group(desk, variable).locator(".choice")
    choices.filter(has=desk.page.get_by_text(re.compile(f"^{word}$"))).click()


def chosen(desk: Desk, variable: str) -> list[str]:
    held = group(desk, variable).locator(":checked")
    return list(held.evaluate_all("all => all.map((one) => one.value)"))


def submitted(desk: Desk, first: str) -> dict[str, str]:
    desk.page.wait_for_url(lambda url: first not in url)
    labels = cast.exported(desk.study.campaign.name, "labels")
    assert {line["unit"] for line in labels} == {"q/1"}
    return {line["variable"]: line["value"] for line in labels}


def test_an_item_is_answered_by_keyboard_alone(desk: Desk) -> None:
    press, write = desk.page.keyboard.press, desk.page.keyboard.type
    first = str(desk.assignment.uid)
    count, gate = desk.page.locator("#answered"), desk.page.locator("#gate")
    expect(count).to_have_text("0 of 3 answered")
    expect(gate).to_contain_text("If the question can be used")
    expect(group(desk, "sensitivity")).to_be_hidden()
    press("y")
    press("n")
    press("1")
    expect(gate).to_contain_text("The question can be used")
    expect(count).to_have_text("3 of 7 answered")
    press("3")
    press("7")
    press("2")
    field = desk.page.locator("[data-filter]")
    expect(field).to_be_focused()
    write("tra")
    shown = group(desk, "category").locator(".choice:visible > span")
    expect(shown).to_have_text(["Business", "Law", "Transport", "Travel"])
    expect(desk.page.locator(".pointed > span")).to_have_text("Transport")
    press("ArrowDown")
    press("Enter")
    assert chosen(desk, "category") == ["travel"]
    expect(shown).to_have_count(25)
    expect(count).to_have_text("7 of 7 answered")
    press("k")
    press("k")
    press("6")
    press("Control+Enter")
    assert submitted(desk, first) == {
        "valid": "yes",
        "false_premise": "no",
        "information_seeking": "yes",
        "sensitivity": "fast-changing",
        "complexity": "multi-hop",
        "popularity": "torso",
        "category": "travel",
    }


@pytest.mark.long
def test_an_item_is_answered_by_mouse_without_the_filter(desk: Desk) -> None:
    first = str(desk.assignment.uid)
    choose(desk, "valid", "Yes")
    choose(desk, "false_premise", "No")
    choose(desk, "information_seeking", "Yes")
    choose(desk, "category", "Other")
    choose(desk, "popularity", "Tail")
    choose(desk, "complexity", "Set")
    choose(desk, "sensitivity", "Slow changing")
    desk.page.get_by_role("button", name="Submit").click()
    assert submitted(desk, first) == {
        "valid": "yes",
        "false_premise": "no",
        "information_seeking": "yes",
        "sensitivity": "slow-changing",
        "complexity": "set",
        "popularity": "tail",
        "category": "other",
    }


@pytest.mark.long
def test_a_question_that_fails_the_gate_skips_the_other_questions(desk: Desk) -> None:
    first, gate = str(desk.assignment.uid), desk.page.locator("#gate")
    for key in ("y", "n", "y", "1"):
        desk.page.keyboard.press(key)
    choose(desk, "valid", "No")
    expect(gate).to_have_text("No more answers are needed for this question: it is not valid.")
    choose(desk, "false_premise", "Yes")
    expect(gate).to_contain_text("it is not valid, and it rests on a false premise.")
    for name in ("sensitivity", "complexity", "popularity", "category"):
        expect(group(desk, name)).to_be_hidden()
    desk.page.keyboard.press("Control+Enter")
    assert submitted(desk, first) == {
        "valid": "no",
        "false_premise": "yes",
        "information_seeking": "yes",
    }


def test_the_filter_says_when_nothing_matches_and_escape_clears_then_leaves_it(
    desk: Desk,
) -> None:
    press = desk.page.keyboard.press
    for key in ("y", "n", "y", "f"):
        press(key)
    field = desk.page.locator("[data-filter]")
    expect(field).to_be_focused()
    desk.page.keyboard.type("xyz")
    expect(group(desk, "category").locator("[data-none]")).to_be_visible()
    press("Enter")
    assert chosen(desk, "category") == []
    press("Escape")
    expect(field).to_have_value("")
    expect(group(desk, "category").locator(".choice:visible")).to_have_count(25)
    press("Escape")
    expect(field).not_to_be_focused()
    expect(group(desk, "category").locator(":focus")).to_have_count(1)
    press("k")
    expect(group(desk, "popularity").locator(":focus")).to_have_count(1)
    press("f")
    press("ArrowUp")
    expect(field).not_to_be_focused()
    press("Escape")
    choose(desk, "sensitivity", "Fast changing")
    choose(desk, "popularity", "Head")
    desk.page.keyboard.press("Control+Enter")
    desk.state("refused")
    problem = group(desk, "complexity").locator(".problem")
    expect(problem).to_have_text("Choose an answer.")
    expect(desk.page.locator("[value='simple']:focus")).to_have_count(1)
    press("3")
    expect(field).to_be_focused()
    expect(desk.page.locator(".problem:not(:empty)")).to_have_count(0)


@pytest.mark.long
def test_a_custom_category_with_accents_is_found_by_plain_letters(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    own = ("Ägypten", "Öl & Gas", "שלום", *(f"topic {n}" for n in range(9)))
    desk = begin(page, tmp_path, categories=own, variables=("category",))
    desk.page.keyboard.press("f")
    desk.page.keyboard.type("agy")
    desk.page.keyboard.press("Enter")
    assert chosen(desk, "category") == ["Ägypten"]
    first = str(desk.assignment.uid)
    desk.page.keyboard.press("Control+Enter")
    assert submitted(desk, first) == {"category": "Ägypten"}
