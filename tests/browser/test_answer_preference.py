"""The answer preference page works by keyboard and mouse, and shows differences."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from datasets.models import Report
from tests import cast
from tests.blind_cast import SECRET, TEXTS, blind_study, swapped_pair
from tests.browser.axe import violations
from tests.browser.chromium import come_in
from tests.browser.desk import Desk
from tests.page_cast import page as page_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LONG = "\n\n".join(f"Paragraph {n} of an answer that goes on and on. שלום 🌉" for n in range(80))


def begin(page: Page, folder: Path, yes: bool = False, long: bool = False) -> Desk:
    study = blind_study("answer-preference", folder, reports=2)
    if long:
        Report.objects.filter(position=0).update(text=LONG)
        Report.objects.filter(position=1).update(text=LONG.replace("answer", "reply") + "\n\nEnd.")
    mine = swapped_pair(study, study.ada, yes)
    desk = Desk(page, study)
    come_in(page, "ada")
    desk.page.goto(page_of("item", mine))
    desk.ready()
    desk.page.keyboard.press("g")
    return desk


def submitted(desk: Desk) -> list[str]:
    here = desk.page.url
    desk.page.keyboard.press("Control+Enter")
    desk.page.wait_for_url(lambda url: url != here)
    return [label["value"] for label in cast.exported("Study", "labels")]


def chosen(page: Page) -> str | None:
    return page.locator(".choice:has(:checked) > span").text_content()


TOPS = """() => [...document.querySelectorAll(".side-scroll")].map(
  (one) => one.scrollTop / (one.scrollHeight - one.clientHeight))"""
AT_REST = f"""() => new Promise((resolve) => {{
  let before = "", frames = 0;
  const look = () => {{
    const now = String(({TOPS})());
    frames = now === before ? frames + 1 : 0;
    before = now;
    frames < 12 ? requestAnimationFrame(look) : resolve();
  }};
  look();
}})"""


def tops(page: Page) -> list[float]:
    """The scroll position of each answer, from 0 to 1, once neither is moving."""
    page.evaluate(AT_REST)
    found: list[float] = page.evaluate(TOPS)
    return found


def tops_beyond(page: Page, left: float) -> list[float]:
    """The scroll positions once the left answer is scrolled further than this."""
    page.wait_for_function(f"(left) => ({TOPS})()[0] > left", arg=left)
    return tops(page)


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("yes", "key", "stored"),
    [(False, "ArrowLeft", "first"), (True, "ArrowLeft", "second"), (True, "ArrowRight", "first")],
)
def test_a_side_chosen_by_key_is_stored_as_the_answer_shown_there(
    errors: list[str],
    page: Page,
    tmp_path: Path,
    yes: bool,
    key: str,
    stored: str,
) -> None:
    desk = begin(page, tmp_path, yes)
    left = desk.page.locator("[data-side=left] .reading").evaluate("one => one.textContent")
    assert left == list(TEXTS.values())[int(yes)]
    desk.page.keyboard.press(key)
    side = "left" if key == "ArrowLeft" else "right"
    expect(desk.page.locator(f"[data-side={side}] .verdict")).to_have_text("better")
    assert SECRET not in desk.page.content()
    assert submitted(desk) == [stored]


@pytest.mark.long
def test_with_the_mouse_a_kind_of_tie_is_chosen_changed_and_undone(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path, True)
    for word in ("Left is better", "Both good", "Both bad"):
        desk.page.locator(".choice", has_text=word).click()
        assert chosen(desk.page) == word
    desk.page.locator("#undo").click()
    assert chosen(desk.page) == "Both good"
    desk.page.get_by_label("Comment").fill("Both say the same. 🌉")
    desk.state("saved")
    desk.page.reload()
    desk.ready()
    assert chosen(desk.page) == "Both good"
    desk.page.locator(".choice", has_text="Right is better").click()
    here = desk.page.url
    desk.page.get_by_role("button", name="Submit").click()
    desk.page.wait_for_url(lambda url: url != here)
    assert [label["value"] for label in cast.exported("Study", "labels")] == ["first"]
    assert cast.exported("Study", "responses")[0]["comment"] == "Both say the same. 🌉"


@pytest.mark.long
def test_two_versions_in_two_tabs_are_listed_before_one_is_kept(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path, True)
    other = Desk(page.context.new_page(), desk.study)
    other.page.goto(page.url)
    other.ready()
    page.locator(".choice", has_text="Left is better").click()
    desk.state("saved")
    other.page.locator(".choice", has_text="Both bad").click()
    other.state("conflict")
    versions = other.page.locator("#conflict").get_by_role("cell")
    expect(versions).to_have_text(["Both bad", "Left is better"])
    other.page.get_by_role("button", name="Keep mine").click()
    other.state("saved")
    assert chosen(other.page) == "Both bad"


@pytest.mark.long
def test_digit_keys_choose_in_the_order_of_the_page(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path)
    for key, word in zip("1234", ("Left", "Right", "Both good", "Both bad"), strict=True):
        desk.page.keyboard.press(key)
        assert str(chosen(desk.page)).startswith(word)
    assert submitted(desk) == ["tie-bad"]


@pytest.mark.long
def test_the_answers_scroll_together_until_this_is_switched_off(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path, long=True)
    page = desk.page
    page.locator("[data-side=right] .side-scroll").hover()
    page.mouse.wheel(0, 700)
    left, right = tops_beyond(page, 0)
    assert left == pytest.approx(right, abs=0.02)
    page.keyboard.press("j")
    left, right = tops_beyond(page, left)
    assert left == pytest.approx(right, abs=0.02)
    page.keyboard.press("s")
    page.locator("[data-side=left] .side-scroll").hover()
    page.mouse.wheel(0, 900)
    assert tops_beyond(page, left)[1] == right
    page.reload()
    desk.ready()
    expect(page.get_by_label("Scroll together")).not_to_be_checked()
    page.keyboard.press("s")
    expect(page.get_by_label("Scroll together")).to_be_checked()


def test_differences_are_marked_on_demand_without_changing_the_texts_and_pass_axe(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path, long=True)
    page = desk.page
    marks = page.locator(".only")
    expect(marks).to_have_count(0)
    page.keyboard.press("d")
    assert set(page.locator(".only.first").all_text_contents()) == {"answer"}
    assert set(page.locator(".only.second").all_text_contents()) == {"reply", "\n\nEnd."}
    expect(page.locator("#pair-count")).to_have_text("Only left: 80 words · only right: 81")
    lines = [
        page.locator(f".only.{side}").first.evaluate(
            "one => getComputedStyle(one).textDecorationStyle"
        )
        for side in ("first", "second")
    ]
    assert lines == ["dotted", "solid"]
    shown = page.locator("[data-side] .reading").evaluate_all("all => all.map(o => o.textContent)")
    assert shown == [LONG, LONG.replace("answer", "reply") + "\n\nEnd."]
    found = []
    for key in ("ArrowLeft", "3", "4"):
        page.keyboard.press(key)
        found += violations(page, f"marks and {key}", rare=key != "4")
    assert found == []
    page.keyboard.press("d")
    expect(marks).to_have_count(0)


def test_on_a_narrow_screen_one_answer_is_shown_and_a_key_shows_the_other(
    errors: list[str], page: Page, tmp_path: Path
) -> None:
    desk = begin(page, tmp_path, long=True)
    page = desk.page
    page.set_viewport_size({"width": 360, "height": 740})
    left, right = page.locator("[data-side=left]"), page.locator("[data-side=right]")
    expect(left).to_be_visible()
    expect(right).to_be_hidden()
    left.locator(".side-scroll").evaluate("one => one.scrollTop = one.scrollHeight / 2")
    tops_beyond(page, 0.4)
    page.keyboard.press("x")
    expect(left).to_be_hidden()
    expect(right).to_be_visible()
    half = right.locator(".side-scroll").evaluate(
        "one => one.scrollTop / (one.scrollHeight - one.clientHeight)"
    )
    assert half == pytest.approx(0.5, abs=0.1)
    page.locator("[data-show=left]").click()
    expect(left).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.keyboard.press("4")
    assert submitted(desk) == ["tie-bad"]
