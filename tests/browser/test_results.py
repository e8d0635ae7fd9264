"""Results in the browser: the verdict comes first, and measures load when they are opened."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from tests.browser import systems
from tests.browser.axe import violations
from tests.browser.chromium import come_in
from tests.browser.conftest import Built
from tests.browser.systems import QUERIES

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(
    errors: list[str], page: Page, transactional_db: None, built: Built, tmp_path: Path
) -> Page:
    """Rita before the results of six systems that people and a judge have labelled."""

    def build() -> str:
        systems.load_systems(tmp_path, "systems")
        campaign = systems.create("c", "systems")
        systems.label(campaign, tmp_path, "ada", "judge")
        typing = systems.create(
            "typing", "systems", "question-typing", "--option", "variables=sensitivity,popularity"
        )
        systems.import_rows(typing, tmp_path, list(systems.types()))
        return reverse("results", args=[campaign.pk])

    address = built.address_of(build)
    come_in(page, "rita")
    page.goto(address)
    return page


def test_the_verdict_comes_first_and_each_measure_loads_when_opened(
    page: Page,
) -> None:
    address = page.url
    expect(page.get_by_role("region", name="Verdict")).to_be_in_viewport()
    hint = page.locator(".verdict details.hint").first
    hint.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(hint.get_by_text("misses people’s yes").first).to_be_visible()
    assert violations(page, "results", rare=True) == []
    assert page.evaluate("document.documentElement.scrollHeight / innerHeight") < 3
    # The contents stand beside the answers, and stay there.
    contents = page.get_by_role("navigation", name="Contents")
    expect(contents).to_be_in_viewport(ratio=1)
    contents.get_by_role("link", name="Systems").click()
    expect(page.get_by_role("heading", name="Systems", level=2)).to_be_in_viewport()
    expect(contents).to_be_in_viewport(ratio=1)
    board = page.locator(".board").first
    expect(board.locator("tbody tr").first).to_contain_text("A good")
    assert violations(page, "systems") == []
    board.get_by_role("link", name="Cov(y)").click()
    board.get_by_role("link", name="Cov(y)").click()
    expect(board.locator("tbody tr").first).to_contain_text("F idle")
    expect(board.locator('[aria-sort="ascending"]')).to_have_count(1)
    page.goto(f"{address}?measures=own#section-systems")
    page.get_by_text("Sort and filter").click()
    page.locator("#measures").get_by_label("good", exact=True).check()
    page.locator("#measures").get_by_role("button", name="Show", exact=True).click()
    expect(page.locator(".board").first.locator("tbody tr")).to_have_count(1)
    page.get_by_text("Options of the measures").click()
    page.get_by_role("group", name="Slice by the labels from").get_by_label("typing").check()
    page.get_by_role("button", name="Compute").click()
    page.get_by_text("Measures by slice").click()
    slices = page.locator("#slices")
    expect(slices).to_contain_text("sensitivity of 48 queries")
    drawn = slices.get_by_role("img", name="Cov(y) of systems by slice")
    expect(drawn).to_be_visible()
    expect(drawn.locator(".group", has_text="sensitivity in typing")).to_have_count(3)
    assert violations(page, "measures by labels") == []


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_nothing_covers_an_answer(page: Page, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    answers = page.locator(".verdict dd")
    expect(answers.first).to_be_in_viewport(ratio=1)
    for n in range(answers.count()):
        answers.nth(n).scroll_into_view_if_needed()
        assert answers.nth(n).evaluate(
            """(answer) => {
              const { left, top, bottom, width } = answer.getBoundingClientRect();
              return [top + 4, bottom - 4].every((y) =>
                answer.contains(document.elementFromPoint(left + Math.min(width / 2, 40), y)));
            }"""
        )
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert violations(page, f"results at {size[0]}") == []


@pytest.mark.long
def test_the_queries_with_least_agreement_are_two_clicks_away_and_sort_by_key(page: Page) -> None:
    page.get_by_role("navigation", name="Contents").get_by_role("link", name="By query").click()
    rows = page.locator("table.queries tbody tr")
    expect(rows).to_have_count(30)
    # One person labelled, so the judge's column is the first that says anything.
    head = page.get_by_role("columnheader", name=re.compile("^judge "))
    expect(head).to_have_attribute("aria-sort", "ascending")
    differ = [int(text.split()[-2]) for text in rows.locator("td:last-child").all_inner_texts()]
    assert differ == sorted(differ, reverse=True)
    head.get_by_role("link").focus()
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")
    # The focus stays on the head, so the same key turns the order again.
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    least = rows.first.locator("td").last
    expect(least).to_contain_text("differ")
    page.get_by_role("link", name=re.compile("All .+ queries")).click()
    expect(rows).to_have_count(QUERIES)
    assert violations(page, "by query") == []
    rows.first.get_by_role("link", name=re.compile("differ")).last.click()
    expect(page).to_have_url(re.compile(r"/disagreements/\?show=judge&.*query="))
