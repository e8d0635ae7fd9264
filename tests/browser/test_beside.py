"""Sentences beside the passages that they cite, and nuggets, by the keyboard alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.campaigns.design import Design
from annotation.models import Draft, Label, Span
from tests.browser.axe import AXE, ONE_OF_A_KIND, RUN
from tests.browser.desk import Desk
from tests.cast import Line
from tests.page_cast import study_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LINE: Line = {
    "id": "q",
    "text": "Who built the bridge?",
    "passages": [
        {"id": "p", "text": "🌉 Ada built the bridge. Bo paid.", "title": "Builders"},
        {"id": "r", "text": "It opened late, in 1901.", "title": "Opening", "source": "web"},
    ],
    "nuggets": [
        {"id": "n1", "text": "Ada built it.", "importance": "vital", "sources": ["p"]},
        {"id": "n2", "text": "It opened in 1901.", "importance": "okay"},
    ],
    "reports": [
        {
            "id": "plain-q",
            "text": "🌉 It is old. Ada built it and paid. It opened in 1901.",
            "system": "plain",
            "sentences": ["🌉 It is old.", "Ada built it and paid.", "It opened in 1901."],
            "sentence_citations": [[], ["p", "r"], ["r"]],
        }
    ],
}


@pytest.fixture
def desk(errors: list[str], page: Page, tmp_path: Path, request: pytest.FixtureRequest) -> Desk:
    study = study_of(request.param, tmp_path, Design(raters_per_item=1), [LINE])
    made = Desk(page, study)
    made.begin("ada")
    return made


CITATIONS = pytest.mark.parametrize("desk", ["citation-support"], indirect=True)
MARKED = "mark[data-kind='suggested']"


def spans() -> dict[tuple[str, str], list[tuple[str, int]]]:
    found: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for span in Span.objects.order_by("field", "start").select_related("label__unit"):
        place = found.setdefault((span.label.unit.key, span.field), [])
        place.append((span.quote, span.start or 0))
    return found


@CITATIONS
def test_the_keyboard_answers_with_a_quote_of_each_text(desk: Desk) -> None:
    page, press = desk.page, desk.page.keyboard.press
    page.set_viewport_size({"width": 1600, "height": 900})
    report, passages = page.locator("#pane-0"), page.locator("#pane-1 .source")
    expect(report.locator(MARKED)).to_have_text("Ada built it and paid.")
    expect(passages.nth(0).locator(".reading")).to_be_visible()
    expect(passages.nth(1).locator(".reading")).to_be_hidden()
    expect(desk.unit(1).locator(".unit-facts")).to_have_text("Builders")
    press("2")
    owed = page.locator(".owed span")
    expect(owed).to_have_text(["In the sentence: missing", "In the passage: missing"])
    # The cursor begins at the sentence, and the first text is the one that lacks a quote.
    press("h")
    press("Shift+ArrowRight")
    press("Enter")
    expect(desk.unit(1).locator(".quote > button:first-child")).to_have_text("Ada built")
    expect(owed).to_have_text(["In the sentence: done", "In the passage: missing"])
    press("Control+Enter")
    expect(desk.unit(1).locator(".problem")).to_have_text(
        "Partial support needs a highlight in the passage."
    )
    press("h")
    press("ArrowRight")
    press("Enter")
    expect(owed.nth(1)).to_have_text("In the passage: done")
    captions = desk.unit(1).locator(".quote").evaluate_all("all => all.map(e => e.dataset.caption)")
    assert captions == ["In the sentence", "In the passage"]
    press("Escape")
    press("z")
    expect(owed.nth(1)).to_have_text("In the passage: missing")
    press("Shift+z")
    expect(owed.nth(1)).to_have_text("In the passage: done")
    press("j")
    expect(passages.nth(0).locator(".reading")).to_be_hidden()
    expect(passages.nth(1).locator(".reading")).to_be_visible()
    press("1")
    expect(report.locator(MARKED)).to_have_text("It opened in 1901.")
    press("3")
    expect(owed).to_have_text(["In the sentence: not needed", "In the passage: missing"])
    press("x")
    expect(passages.nth(1).locator(".reading")).to_be_focused()
    press("Enter")
    press("Control+Enter")
    page.wait_for_url("**/finished/**")
    assert spans() == {
        ("plain-q#2/p", "report"): [("Ada built", 13)],
        ("plain-q#2/p", "passage:p"): [("built", 6)],
        ("plain-q#3/r", "passage:r"): [("It", 0)],
    }
    assert dict(Label.objects.values_list("unit__key", "value")) == {
        "plain-q#2/p": "partial",
        "plain-q#2/r": "none",
        "plain-q#3/r": "full",
    }


@pytest.mark.long
@CITATIONS
def test_only_the_units_own_sentence_can_be_quoted_in_the_report(desk: Desk) -> None:
    desk.page.keyboard.press("2")
    report = desk.page.locator("#pane-0 .reading")
    text = report.text_content() or ""

    def select(words: str) -> None:
        report.evaluate(
            """(element, [start, end]) => {
              const at = (offset) => {
                const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
                for (let node = walker.nextNode(); node; node = walker.nextNode()) {
                  if (offset <= node.length) return [node, offset];
                  offset -= node.length;
                }
              };
              getSelection().setBaseAndExtent(...at(start), ...at(end));
            }""",
            [units_before(text, words), units_before(text, words) + len(words)],
        )

    select("It opened")
    desk.page.keyboard.press("h")
    expect(desk.unit(1).locator(".problem")).to_contain_text("only the marked sentence")
    expect(desk.unit(1).locator(".quote")).to_have_count(0)
    # What reaches beyond the sentence is cut at its end.
    select("paid. It opened")
    desk.page.keyboard.press("h")
    expect(desk.unit(1).locator(".quote > button:first-child")).to_have_text("paid.")
    expect(desk.unit(1).locator(".problem")).to_be_empty()
    desk.saved()
    quotes: list[dict[str, Any]] = Draft.objects.get().payload["units"]["plain-q#2/p"]["evidence"]
    assert quotes == [{"quote": "paid.", "start": 30, "field": "report"}]


def units_before(text: str, words: str) -> int:
    return len(text[: text.index(words)].encode("utf-16-le")) // 2


@CITATIONS
@pytest.mark.parametrize("size", [(390, 844), (1440, 900)])
def test_the_page_is_accessible_and_a_phone_shows_one_text(
    desk: Desk, size: tuple[int, int]
) -> None:
    page = desk.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    narrow = size[0] < 700
    tabs = page.get_by_role("tab", name="Passage")
    if page.locator("#guideline [data-close]").is_visible():
        page.locator("#guideline [data-close]").click()
    expect(tabs).to_be_visible() if narrow else expect(tabs).to_be_hidden()
    if narrow:
        tabs.click()
        expect(page.locator("#pane-1")).to_have_css("opacity", "1")
        expect(page.locator("#pane-0")).to_have_css("opacity", "0")
    page.evaluate(AXE + ONE_OF_A_KIND)
    assert page.evaluate(RUN, [[]]) == []


@pytest.mark.parametrize("desk", ["nugget-assignment"], indirect=True)
def test_nuggets_are_assigned_with_quotes(desk: Desk) -> None:
    page, press = desk.page, desk.page.keyboard.press
    expect(page.locator(".unit-text")).to_have_text(["Ada built it.", "It opened in 1901."])
    press("3")
    press("Control+Enter")
    expect(desk.unit(1).locator(".problem")).to_contain_text("Yes needs a highlight")
    press("h")
    press("End")
    press("Enter")
    press("Escape")
    press("j")
    press("1")
    press("Control+Enter")
    page.wait_for_url("**/finished/**")
    assert dict(Label.objects.values_list("unit__key", "value")) == {
        "plain-q/n1": "support",
        "plain-q/n2": "none",
    }
    assert [span.quote for span in Span.objects.all()] == ["1901"]
