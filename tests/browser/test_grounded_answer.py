"""The grounded answer page lets people select, cite while writing, revise and validate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.campaigns.design import Design
from annotation.models import Label, Response
from tests.annotation.prerequisites.test_second_round import FIRST_TEXT, after, write
from tests.browser.axe import violations
from tests.browser.desk import Desk
from tests.cast import FIRST, exported
from tests.page_cast import Study, study_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

QUERY = "q/1"
STATEMENTS = 4


@pytest.fixture
def study(transactional_db: None, tmp_path: Path) -> Study:
    return study_of("grounded-answer", tmp_path)


@pytest.fixture
def answers(errors: list[str], page: Page, study: Study) -> Desk:
    """Ada before her first item."""
    return begin(page, study, "ada")


def begin(page: Page, study: Study, name: str) -> Desk:
    desk = Desk(page, study)
    desk.begin(name)
    if desk.page.locator("#guideline [data-close]").is_visible():
        desk.page.locator("#guideline [data-close]").click()
    return desk


def keys(page: Page, *pressed: str) -> None:
    for key in pressed:
        page.keyboard.press(key)


def submitted(desk: Desk, by: Any) -> None:
    """Submit, and wait for the next page."""
    first = desk.assignment
    by()
    desk.page.wait_for_url(lambda url: str(first.uid) not in url)


def labels(campaign: str) -> dict[tuple[str, str], str]:
    """The exported labels by unit and variable."""
    return {(x["unit"], x["variable"]): x["value"] for x in exported(campaign, "labels")}


def written(campaign: str) -> dict[str, Any]:
    units = exported(campaign, "responses")[0]["units"]
    found: dict[str, Any] = next(a["written"] for a in units.values() if "written" in a)
    return found


def selected(campaign: str) -> list[str]:
    """What was selected, in the order of the units: two sentences of p, and the passage p#1."""
    found = [x for x in exported(campaign, "labels") if x["variable"] == "selected"]
    return [f"{x['kind']} {x['unit']} {x['value']}" for x in found]


def test_an_item_is_answered_by_keyboard_alone(answers: Desk) -> None:
    page = answers.page
    field, offers = page.locator("#answer"), page.locator("#sources-list")
    keys(page, "x", "ArrowDown")
    expect(page.locator(".unit.now .tick-box")).to_be_focused()
    keys(page, "Space", "ArrowDown", "Space", "Space", "ArrowDown")
    expect(page.locator("#answered")).to_have_text("2 ticked")
    expect(field).to_be_visible()
    keys(page, "2", "2")
    expect(field).to_be_focused()
    page.keyboard.type("Anna built it 🌉 [")
    expect(offers).to_be_visible()
    expect(offers.get_by_role("option")).to_have_text(["1 The bridge"])
    expect(field).to_have_attribute("aria-activedescendant", "offer-1")
    keys(page, "Enter")
    expect(offers).to_be_hidden()
    page.keyboard.type(".\nשלום [")
    keys(page, "Escape")
    expect(offers).to_be_hidden()
    expect(field).to_be_focused()
    keys(page, "Backspace", "Backspace")
    expect(page.locator("#words")).to_have_text("4 words")
    # A confirmed statement leads to the next one: five keys for four statements.
    keys(page, "Escape", "l", *["Space"] * STATEMENTS)
    expect(page.locator("#checklist :checked")).to_have_count(STATEMENTS)
    expect(page.locator("#checklist input").last).to_be_focused()
    submitted(answers, lambda: keys(page, "Control+Enter"))
    assert selected("Study") == [
        "passage-sentence q/1/p#1 yes",
        "passage-sentence q/1/p#2 yes",
        "passage q/1/p#1 no",
    ]
    assert labels("Study")[QUERY, "descriptor"] == "partial"
    assert labels("Study")[QUERY, "deflected"] == "no"
    assert written("Study") == {"text": "Anna built it 🌉 [1].\nשלום", "citations": ["p"]}


@pytest.mark.long
def test_an_item_is_answered_by_mouse_with_undo_and_reload(
    answers: Desk,
) -> None:
    page = answers.page
    boxes = page.locator(".tick-box")
    boxes.nth(0).check()
    boxes.nth(1).check()
    keys(page, "z")
    expect(boxes.nth(1)).not_to_be_checked()
    expect(boxes.nth(0)).to_be_checked()
    answers.state("saved")
    page.reload()
    answers.ready()
    expect(boxes.nth(0)).to_be_checked()
    expect(boxes.nth(1)).not_to_be_checked()
    page.locator(".ticked").nth(1).click()
    page.locator(".ticked", has_text="Passage 2 helps").click()
    answers.choices("descriptor", "Complete answer").click()
    answers.choices("deflected", "No").click()
    page.locator("#answer").click()
    page.keyboard.type("By hand ")
    page.get_by_role("button", name="Cite").click()
    page.get_by_role("option", name="2").click()
    expect(page.locator("#answer")).to_have_value("By hand [2]")
    for box in page.locator("#checklist input").all():
        box.click()
        expect(box).to_be_focused()
    submitted(answers, lambda: page.get_by_role("button", name="Submit").click())
    assert [line.rpartition(" ")[2] for line in selected("Study")] == ["yes"] * 3
    assert written("Study") == {"text": "By hand [2]", "citations": ["p#1"]}


def test_only_ticked_passages_can_be_cited(
    answers: Desk,
) -> None:
    page = answers.page
    answers.choices("descriptor", "Partial answer").click()
    answers.choices("deflected", "No").click()
    page.locator("#answer").click()
    page.keyboard.type("[")
    expect(page.get_by_role("option")).to_have_text(
        "Tick a sentence first: only passages with a tick can be cited."
    )
    keys(page, "Enter")
    expect(page.locator("#answer")).to_have_value("[\n")
    page.locator(".ticked").first.click()
    found = violations(page, "ticking", rare=True)
    page.locator("#answer").click()
    page.keyboard.type("[")
    expect(page.get_by_role("option")).to_have_text(["1 The bridge"])
    found += violations(page, "citing", rare=True)
    keys(page, "Escape")
    page.locator("#answer").fill("It opened [1] and fell [7].")
    wrong = page.locator(".astray")
    expect(wrong).to_have_text(["[7] is not a passage of this item: remove the marker."])
    page.locator("#answer").fill("It opened [1].")
    for box in page.locator("#checklist input").all():
        box.check()
    page.locator(".ticked").first.click()
    expect(wrong).to_have_count(1)
    expect(wrong).to_contain_text("without a tick")
    keys(page, "Control+Enter")
    answers.state("refused")
    expect(page.locator(".writes .problem")).to_contain_text("[1] cites a passage")
    assert found + violations(page, "refused") == []
    assert not Response.objects.exists()
    page.locator(".ticked").first.click()
    submitted(answers, lambda: keys(page, "Control+Enter"))


@pytest.mark.long
def test_the_checklist_is_confirmed_before_sending_unless_the_answer_deflects(
    answers: Desk,
) -> None:
    page = answers.page
    page.locator(".ticked").first.click()
    answers.choices("descriptor", "Complete answer").click()
    answers.choices("deflected", "No").click()
    page.locator("#answer").fill("By hand.")
    keys(page, "Control+Enter")
    expect(page.locator(".writes .problem")).to_have_text("Confirm the checklist: 4 left.")
    # The panel is taller than the window, and its open questions are at its end.
    expect(page.locator(".writes .problem")).to_be_in_viewport(ratio=1)
    expect(page.locator("#checklist input").first).to_be_focused()
    answers.choices("descriptor", "No answer").click()
    expect(page.locator("#answer")).not_to_be_editable()
    expect(page.locator("#ruled-out")).to_be_visible()
    expect(page.locator("#checklist")).to_be_hidden()
    answers.choices("deflected", "Yes").click()
    submitted(answers, lambda: keys(page, "Control+Enter"))
    assert labels("Study")[QUERY, "deflected"] == "yes"
    assert written("Study") is None


@pytest.mark.long
def test_what_is_typed_after_a_choice_that_owes_a_text_is_text(answers: Desk) -> None:
    """Not commands: `t` changes the colours, and `1` chooses an answer."""
    page, field = answers.page, answers.page.locator("#answer")
    theme = page.evaluate("document.documentElement.dataset.theme")
    answers.choices("descriptor", "Partial answer").click()
    answers.choices("deflected", "No").click()
    page.keyboard.type("the tide took 1 of 2 ")
    keys(page, "Escape", "2")
    page.keyboard.type("boats")
    expect(field).to_have_value("the tide took 1 of 2 boats")
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    expect(answers.choices("deflected", "No").locator("input")).to_be_checked()
    # Arrow keys pass over answers, so they leave the focus where it is.
    keys(page, "Escape", "ArrowLeft", "ArrowRight")
    expect(answers.choices("deflected", "No").locator("input")).to_be_focused()


@pytest.mark.long
def test_a_complete_answer_for_which_there_is_too_little_is_refused(answers: Desk) -> None:
    page = answers.page
    answers.choices("descriptor", "Complete answer").click()
    answers.choices("deflected", "Yes").click()
    expect(page.locator(".writes .problem")).to_contain_text("contradict each other")
    keys(page, "Control+Enter")
    answers.state("refused")
    answers.choices("descriptor", "Partial answer").click()
    expect(page.locator(".writes .problem")).to_be_empty()
    submitted(answers, lambda: keys(page, "Control+Enter"))
    assert labels("Study")[QUERY, "descriptor"] == "partial"


class TestTheSecondRound:
    @pytest.fixture
    def second(self, errors: list[str], page: Page, study: Study) -> Desk:
        made = after(study)
        write(study)
        study.campaign.is_open = False
        study.campaign.save()
        return begin(page, replace(study, campaign=made), "ben")

    def finish(self, desk: Desk) -> None:
        for box in desk.page.locator("#checklist input").all():
            box.check()
        submitted(desk, lambda: keys(desk.page, "Control+Enter"))

    def test_keeping_copies_the_first_answer_and_switching_back_restores_ones_own(
        self, second: Desk
    ) -> None:
        page = second.page
        second.choices("action", "Keep").click()
        expect(page.locator(".tick-box:checked")).to_have_count(3)
        expect(page.locator("#answer")).not_to_be_editable()
        second.choices("descriptor", "Complete answer").click()
        second.choices("deflected", "No").click()
        assert violations(page, "kept", rare=True) == []
        second.choices("action", "Modify").click()
        page.locator("#answer").fill("Mine.")
        second.choices("action", "Keep").click()
        expect(page.locator("#answer")).to_have_value(FIRST_TEXT.replace("\r\n", "\n"))
        second.choices("action", "Modify").click()
        expect(page.locator("#answer")).to_have_value("Mine.")
        second.choices("action", "Keep").click()
        self.finish(second)
        assert labels("Second")[QUERY, "action"] == "keep"
        assert written("Second") == {"text": FIRST_TEXT, "citations": ["p", "p#1"]}

    @pytest.mark.long
    def test_a_modified_answer_shows_its_difference(self, second: Desk) -> None:
        page = second.page
        keys(page, "ArrowDown", "ArrowDown", "ArrowDown", "2", "2", "2")
        field = page.locator("#answer")
        expect(field).to_be_focused()
        expect(page.locator("#difference del, #difference ins")).to_have_count(0)
        keys(page, "Control+Enter")
        expect(page.locator(".writes .problem")).to_contain_text("Change the answer")
        field.fill("Anna Lee\u0301 raised it 🌉 [1].\nשלום [2].")
        expect(page.locator("#difference del")).to_have_text("built")
        expect(page.locator("#difference ins")).to_have_text("raised")
        expect(page.locator("#changed-words")).to_have_text("1 word removed, 1 added")
        assert violations(page, "modified") == []
        self.finish(second)
        assert labels("Second")[QUERY, "action"] == "modify"
        assert written("Second")["text"] == "Anna Lee\u0301 raised it 🌉 [1].\nשלום [2]."

    @pytest.mark.long
    def test_skipping_asks_for_no_answer(self, second: Desk) -> None:
        second.choices("action", "Skip").click()
        second.choices("descriptor", "Too difficult").click()
        second.choices("deflected", "Yes").click()
        expect(second.page.locator("#answer")).not_to_be_editable()
        submitted(second, lambda: keys(second.page, "Control+Enter"))
        assert labels("Second")[QUERY, "action"] == "skip"


def test_each_sentence_is_validated_by_one_key(errors: list[str], page: Page, study: Study) -> None:
    write(study)
    made = after(study, "Third", variables=("grounded",))
    study.campaign.is_open = False
    study.campaign.save()
    desk = begin(page, replace(study, campaign=made), "ben")
    cards = desk.page.locator("[data-card]")
    expect(cards.nth(0).locator(".cited-here")).to_be_visible()
    expect(cards.nth(1).locator(".cited-here")).to_be_hidden()
    keys(desk.page, "y")
    expect(cards.nth(1).locator(".cited-here")).to_be_visible()
    assert violations(desk.page, "validating") == []
    keys(desk.page, "n")
    submitted(desk, lambda: keys(desk.page, "Control+Enter"))
    found = [
        label.value
        for label in Label.objects.filter(variable="grounded").order_by("unit__position")
    ]
    assert found == ["yes", "no"]
    assert {x["kind"] for x in exported("Third", "labels")} == {"sentence"}


@pytest.mark.long
def test_without_a_relevant_passage_only_a_deflection_is_accepted(
    errors: list[str], page: Page, transactional_db: None, tmp_path: Path
) -> None:
    passages = [{**FIRST["passages"][0], "relevant": False}]
    line = {k: FIRST[k] for k in ("id", "text")} | {"passages": passages}
    design = Design(variables=("descriptor", "deflected"), passages="relevant")
    desk = begin(page, study_of("grounded-answer", tmp_path, design, [line]), "ada")
    expect(desk.page.locator("#no-passages")).to_contain_text("no relevant passage")
    assert violations(desk.page, "without a passage") == []
    here = desk.page.url
    desk.page.locator("[data-variable=descriptor] .choice", has_text="No answer").click()
    desk.page.locator("[data-variable=deflected] .choice", has_text="Yes").click()
    desk.page.keyboard.press("Control+Enter")
    desk.page.wait_for_url(lambda url: url != here)
    assert labels("Study") == {(QUERY, "descriptor"): "no-answer", (QUERY, "deflected"): "yes"}
