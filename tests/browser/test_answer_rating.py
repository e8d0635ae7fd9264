"""The answer rating page works by keyboard and mouse through all of its steps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from annotation.campaigns.design import Design
from annotation.models import Assignment
from tests import cast
from tests.blind_cast import LINE, SECRET, TEXTS, blind_study
from tests.browser.axe import violations
from tests.browser.desk import Desk
from tests.page_cast import study_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
Values = dict[tuple[str, str], str]
GRADES = ("appropriate", "natural", "abstains", "irrelevant", "eligibility", "faithful")


def begin(page: Page, folder: Path, *variables: str, reports: int = 3) -> Desk:
    desk = Desk(page, blind_study("answer-rating", folder, *variables, reports=reports))
    desk.begin("ada")
    desk.page.keyboard.press("g")
    return desk


def submit(desk: Desk) -> None:
    here = desk.page.url
    desk.page.keyboard.press("Control+Enter")
    desk.page.wait_for_url(lambda url: url != here)


def exported() -> Values:
    return {
        (label["unit"], label["variable"]): label["value"]
        for label in cast.exported("Study", "labels")
    }


def reports_of(mine: Assignment) -> list[str]:
    return [field.partition(":")[2] for field in mine.shown if field.startswith("report:")]


def passages_of(mine: Assignment) -> list[str]:
    return [field.partition(":")[2] for field in mine.shown if field.startswith("passage:")]


def beside(mine: Assignment, passage: str) -> list[tuple[str, str]]:
    """The exported labels of a passage: for the question, and for each answer."""
    answers = [(f"{report}/{passage}", "needed_answer") for report in reports_of(mine)]
    return [(f"q/1/{passage}", "needed_question"), *answers]


def sentences(desk: Desk) -> Locator:
    return desk.page.locator(".answer:not([hidden]) .sentence.live")


def passages(desk: Desk) -> Locator:
    return desk.page.locator("#passages")


def test_an_item_is_answered_by_keyboard_and_every_step_passes_axe(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path)
    keys, mine = desk.page.keyboard, desk.assignment
    expected: Values = {}
    found: list[str] = []
    for place, report in enumerate(reports_of(mine)):
        expect(passages(desk)).to_be_hidden()
        first = ("3", str(place + 1), "2", "1", "3")
        for digit in first:
            keys.press(digit)
        expect(passages(desk)).to_be_visible()
        found += violations(desk.page, "graded", rare=True)
        keys.press("2")
        if place == 0:
            found += violations(desk.page, "at a sentence")
            keys.press("s")
            found += violations(desk.page, "side by side", rare=True)
            keys.press("s")
        codes = ("3", str(place + 1), "no", "yes", "major", "2")
        expected |= {(report, name): c for name, c in zip(GRADES, codes, strict=True)}
        count = sentences(desk).count()
        assert count > 0
        for number in range(1, count + 1):
            expect(sentences(desk).nth(number - 1)).to_have_class(re.compile(r"\bnow\b"))
            keys.press(str(number))
            code = ("supported", "unsupported", "contradictory", "no-rad")[number - 1]
            expected[f"{report}#{number}", "support"] = code
        keys.press("n")
    expect(desk.page.locator(".card.now")).to_be_visible()
    found += violations(desk.page, "at the passages")
    rows, given = iter(desk.page.locator(".draws").all()), iter("12122112")
    for passage in passages_of(mine):
        for place, unit in enumerate(beside(mine, passage)):
            expect(next(rows)).to_have_class(re.compile(r"\bnow\b"))
            if place:  # the answer in question is the one that is visible
                expect(desk.page.locator(f"[data-shown='{place}']")).to_be_visible()
            keys.press(digit := next(given))
            expected[unit] = {"1": "yes", "2": "no"}[digit]
    assert next(rows, None) is None
    submit(desk)
    assert exported() == expected
    assert found == []


@pytest.mark.long
def test_an_item_is_answered_by_mouse(errors: list[str], page: Page, tmp_path: Path) -> None:
    asked = ("certainty", "appropriate", "faithful", "support", "needed_answer")
    desk = begin(page, tmp_path, *asked, reports=2)
    mine = desk.assignment
    expected: Values = {("q/1", "certainty"): "3"}
    # Asked of the question, before any answer is rated; then the page goes on to the first answer.
    desk.page.keyboard.press("3")
    expect(desk.page.locator(".rates.now [data-variable=appropriate]")).to_be_visible()
    for place, report in enumerate(reports_of(mine)):
        desk.page.locator(f"[data-round='{place + 1}']").click()
        expect(passages(desk)).to_be_hidden()
        desk.page.locator(".rates.now [data-variable=appropriate] .is-4").click()
        expect(passages(desk)).to_be_visible()
        desk.page.locator(".rates.now [data-variable=faithful] .is-1").click()
        expected |= {(report, "appropriate"): "4", (report, "faithful"): "1"}
        for number in range(1, sentences(desk).count() + 1):
            sentences(desk).nth(number - 1).click()
            desk.page.locator(".says.now .choice", has_text="Contradictory").click()
            expected[f"{report}#{number}", "support"] = "contradictory"
    desk.page.locator("[data-round=passages]").click()
    card = desk.page.locator(".card").first
    card.get_by_role("group", name="Answer 2, passage 1").get_by_role("button", name="Yes").click()
    expect(card).to_have_class(re.compile(r"\bnow\b"))
    desk.page.get_by_role("button", name="No for the rest").click()
    needed = [unit for p in passages_of(mine) for unit in beside(mine, p)[1:]]
    expected |= dict.fromkeys(needed, "no") | {needed[1]: "yes"}
    here = desk.page.url
    desk.page.get_by_role("button", name="Submit").click()
    desk.page.wait_for_url(lambda url: url != here)
    assert exported() == expected


def test_passages_are_closed_until_the_answer_is_graded(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path)
    keys = desk.page.keyboard
    faithful = desk.page.locator(".rates.now [data-variable=faithful]")
    for key in ("p", "j", "k", "n", "b", "s", "s"):
        keys.press(key)
        expect(passages(desk)).to_be_hidden()
    for _ in range(60):
        keys.press("Tab")
        inside = "document.querySelector('#passages').contains(document.activeElement)"
        assert not desk.page.evaluate(inside)
    desk.page.locator("[data-round=passages]").click(force=True)
    expect(passages(desk)).to_be_hidden()
    desk.page.locator("[data-round='1']").click()
    keys.press("3")
    expect(faithful).to_be_hidden()
    expect(passages(desk)).to_be_hidden()
    keys.press("p")
    expect(passages(desk)).to_be_visible()
    keys.press("n")
    expect(passages(desk)).to_be_hidden()
    keys.press("b")
    expect(passages(desk)).to_be_visible()
    keys.press("z")
    expect(passages(desk)).to_be_hidden()
    for digit in "32221":
        keys.press(digit)
    expect(faithful).to_be_visible()
    desk.page.locator(".rates.now [data-variable=appropriate] .is-1").click()
    expect(passages(desk)).to_be_visible()


@pytest.mark.long
def test_two_answers_are_shown_side_by_side_exactly_as_stored(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path, "support")
    shown = desk.page.locator(".answer:not([hidden])")
    expect(shown).to_have_count(1)
    desk.page.keyboard.press("1")
    desk.page.keyboard.press("s")
    expect(shown).to_have_count(2)
    boxes = [box for each in shown.all() if (box := each.bounding_box())]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] < boxes[1]["x"]
    heads = [each.locator("h2").text_content() for each in shown.all()]
    desk.page.keyboard.press("o")
    assert [each.locator("h2").text_content() for each in shown.all()] != heads
    texts = [
        desk.page.locator(f"[data-text=answer-{n}]").evaluate("one => one.textContent")
        for n in (1, 2, 3)
    ]
    assert texts == [TEXTS[key] for key in reports_of(desk.assignment)]
    assert SECRET not in desk.page.content()
    desk.page.keyboard.press("s")
    expect(shown).to_have_count(1)


@pytest.mark.long
def test_a_support_code_is_shown_by_word_and_line_and_not_by_colour_alone(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path, "support", reports=1)
    styles = []
    for digit in "123":
        desk.page.keyboard.press(digit)
    desk.page.keyboard.press("k")
    for span in sentences(desk).all()[:3]:
        line = span.evaluate("one => getComputedStyle(one).textDecorationStyle")
        sign = span.evaluate("one => getComputedStyle(one, '::after').content")
        styles.append((line, sign))
        assert span.get_attribute("title")
    assert len({line for line, _ in styles}) == len({sign for _, sign in styles}) == len(styles)


@pytest.mark.long
def test_answers_can_be_read_if_only_the_passages_are_asked_about(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path, "needed_question", "needed_answer")
    desk.page.locator("[data-round='2']").click()
    expect(desk.page.locator("[data-shown='2']")).to_be_visible()
    desk.page.keyboard.press("1")
    desk.page.keyboard.press("1")
    desk.page.keyboard.press("r")
    submit(desk)
    assert sorted(exported().values()) == ["no"] * 6 + ["yes"] * 2


@pytest.mark.long
def test_unfinished_work_is_restored_where_it_stopped(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path, "appropriate", "faithful", reports=2)
    for digit in "43":
        desk.page.keyboard.press(digit)
    desk.page.keyboard.press("n")
    desk.page.keyboard.press("2")
    desk.state("saved")
    desk.page.reload()
    desk.ready()
    expect(desk.page.locator("[data-round='2']")).to_have_attribute("aria-pressed", "true")
    expect(desk.page.locator("[data-round='1']")).to_have_attribute("data-state", "done")
    expect(passages(desk)).to_be_visible()
    desk.page.keyboard.press("1")
    submit(desk)
    first, second = reports_of(Assignment.objects.get())
    assert exported() == {
        (first, "appropriate"): "4",
        (first, "faithful"): "3",
        (second, "appropriate"): "2",
        (second, "faithful"): "1",
    }


@pytest.mark.long
def test_grading_an_answer_opens_the_reference_and_asks_about_eligibility(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    line = {**LINE, "reports": LINE["reports"][:1], "references": [{"text": "By hand 🌉."}]}
    design = Design(variables=("appropriate", "eligibility"))
    desk = Desk(page, study_of("answer-rating", tmp_path, design, [line]))
    desk.begin("ada")
    desk.page.keyboard.press("g")
    expect(passages(desk)).to_be_hidden()
    expect(desk.page.locator("#gate-words")).to_have_text(
        "The reference answers are hidden: rate this answer without them first."
    )
    desk.page.keyboard.press("3")
    expect(passages(desk)).to_have_text(re.compile("Reference answer.*By hand 🌉", re.S))
    assert violations(desk.page, "with a reference") == []
    desk.page.keyboard.press("2")
    submit(desk)
    report = LINE["reports"][0]["id"]
    assert exported() == {(report, "appropriate"): "3", (report, "eligibility"): "minor"}
