"""The highlighter: lists, ends, undoing, snapping, touch, screen readers, and long texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Draft
from datasets.models import Report
from tests.browser.chromium import TIMERS_ARE_LATE, new_context
from tests.browser.desk import POINTS, Desk, units_of
from tests.page_cast import TEXT, Study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FIRST = "Zoë 🛶 crossed the harbour"
SECOND = "the harbour\tat dawn.\r\n\r\nThe 👩‍👩‍👧 crew"
SELECT = """([from, to]) => import("/static/js/highlighter.js").then(({ select }) => {
  select(document.querySelector("[data-marks]"), { start: from, end: to });
  document.querySelector("[data-marks]").focus();
})"""


def choose(page: Page, text: str, words: str) -> None:
    """Select words as with touch handles, without a mouse."""
    start = text.index(words)
    places = [units_of(text[:place]) for place in (start, start + len(words))]
    page.evaluate(SELECT, places)


def places_of(desk: Desk, words: str) -> tuple[float, float, float, float]:
    start = desk.text.index(words)
    ends = [units_of(desk.text[:place]) for place in (start, start + len(words) - 1)]
    left, top, right, bottom = desk.page.evaluate(POINTS, [desk.reading.element_handle(), *ends])
    return left, top, right, bottom


def click_on(desk: Desk, words: str) -> None:
    left, top, *_ = places_of(desk, words)
    desk.page.mouse.click(left + 2, top)


def focus_is_somewhere(page: Page) -> bool:
    return bool(page.evaluate("document.activeElement !== document.body"))


class TestABusyBrowser:
    """Timers fire late; what the mouse has selected belongs to the question of that moment."""

    @pytest.fixture(autouse=True)
    def _timers_are_late(self, desk: Desk) -> None:
        desk.page.evaluate(TIMERS_ARE_LATE)

    def test_a_key_does_not_overtake_the_mouse(self, desk: Desk) -> None:
        desk.answer(1, "Yes")
        desk.sweep(FIRST)
        desk.page.keyboard.press("j")
        expect(desk.page.locator(".unit.now")).to_have_attribute("data-unit", "1")
        assert desk.quotes(1) == [FIRST]

    @pytest.mark.long
    def test_a_click_elsewhere_does_not_overtake_the_mouse(self, desk: Desk) -> None:
        desk.answer(1, "Yes")
        desk.sweep(FIRST)
        # The highlight makes room for itself above what is clicked.
        desk.unit(2).locator(".unit-text").click()
        expect(desk.page.locator(".unit.now")).to_have_attribute("data-unit", "1")
        assert desk.quotes(1) == [FIRST]
        assert desk.quotes(2) == []

    @pytest.mark.long
    def test_the_mouse_does_not_overtake_itself(self, desk: Desk) -> None:
        desk.answer(1, "Yes")
        desk.sweep(FIRST)
        desk.sweep("The pier held")
        desk.page.keyboard.press("j")
        assert desk.quotes(1) == [FIRST, "The pier held"]


def test_a_text_in_markdown_is_highlighted_rendered_or_as_written(
    errors: list[str], page: Page, study: Study
) -> None:
    text = (
        "# Zoë 🛶\n\nShe *crossed* the **harbour at dawn**.\n\n- The crew paid\n- The pier held\n"
    )
    Report.objects.update(text=text)
    desk = Desk(page, study)
    desk.begin("ada")
    switch, listed = page.locator("#view"), page.locator(".unit.now .quote > button:first-child")
    expect(switch).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".markdown .sign").first).to_be_visible()
    desk.answer(1, "Yes")
    desk.drag("*crossed* the")
    page.keyboard.press("v")
    expect(switch).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".markdown .sign").first).to_be_hidden()
    expect(page.locator(".markdown li")).to_have_text(["- The crew paid", "- The pier held"])
    desk.drag("harbour at dawn")
    expect(listed).to_have_text(["*crossed* the", "harbour at dawn"])
    desk.saved()
    page.reload()
    desk.ready()
    expect(switch).to_have_attribute("aria-pressed", "true")
    evidence = Draft.objects.get().payload["units"]["q:0"]["evidence"]
    assert [(quote["quote"], quote["start"]) for quote in evidence] == [
        (words, text.index(words)) for words in ("*crossed* the", "harbour at dawn")
    ]


class TestUndo:
    def test_redo_restores_what_undo_removed_and_is_saved(self, desk: Desk) -> None:
        press = desk.page.keyboard.press
        desk.answer(1, "Yes")
        desk.drag(FIRST)
        desk.drag(SECOND)
        press("z")
        assert desk.quotes(1) == [FIRST]
        press("Control+z")
        assert desk.quotes(1) == []
        press("Shift+z")
        press("Control+Shift+z")
        assert desk.quotes(1) == [FIRST, SECOND]
        expect(desk.page.locator("#redo")).to_be_disabled()
        desk.page.get_by_role("button", name="Undo").click()
        desk.page.get_by_role("button", name="Redo").click()
        assert desk.quotes(1) == [FIRST, SECOND]
        assert desk.reading.evaluate("element => element.textContent") == TEXT
        for key in ("z", "z", "Shift+z"):
            press(key)
        desk.state("saving")
        desk.state("saved")
        (quote,) = Draft.objects.get().payload["units"]["q:0"]["evidence"]
        assert quote == {"quote": FIRST, "start": 0}
        for key in ("z", "z", "2"):
            press(key)
        expect(desk.page.locator("#redo")).to_be_disabled()
        press("Shift+z")
        expect(desk.page.locator("[name='unit-0-answerable']:checked")).to_have_value("no")


class TestInTheText:
    def test_a_clicked_highlight_or_the_one_at_the_cursor_is_removed_by_button_or_key(
        self, desk: Desk
    ) -> None:
        desk.answer(1, "Yes")
        desk.drag(FIRST)
        desk.unit(2).locator(".unit-text").click()
        click_on(desk, "crossed")
        expect(desk.page.locator(".unit.now")).to_have_attribute("data-unit", "0")
        desk.page.get_by_role("button", name="Remove highlight for question 1").click()
        assert desk.quotes(1) == []
        expect(desk.page.locator(".handle.start")).to_be_hidden()
        expect(desk.page.locator("[data-marks]:focus")).to_have_count(1)
        desk.page.keyboard.press("z")
        assert desk.quotes(1) == [FIRST]
        click_on(desk, "crossed")
        expect(desk.page.locator(".handle.end")).to_be_visible()
        desk.page.keyboard.press("Delete")
        assert desk.quotes(1) == []
        desk.page.keyboard.press("z")
        desk.page.keyboard.press("h")
        desk.page.keyboard.press("Home")
        expect(desk.page.locator("#spoken")).to_have_text("Zoë, highlighted for question 1")
        desk.page.keyboard.press("Delete")
        assert desk.quotes(1) == []

    def test_two_clicks_highlight_a_word_and_three_a_paragraph(self, desk: Desk) -> None:
        desk.answer(1, "Yes")
        left, top, *_ = places_of(desk, "harbour")
        desk.page.mouse.dblclick(left + 2, top)
        listed = desk.page.locator(".unit.now .quote > button:first-child")
        expect(listed).to_have_text(["harbour"])
        desk.page.keyboard.press("z")
        desk.page.mouse.click(left + 2, top, click_count=3)
        expect(listed).to_have_count(1)
        assert desk.quotes(1) == [TEXT.partition("\r\n")[0]]

    @pytest.mark.long
    def test_clicks_on_an_overlap_cycle_through_the_highlights(self, desk: Desk) -> None:
        desk.answer(1, "Yes")
        desk.drag(FIRST)
        desk.answer(2, "Yes")
        desk.drag(SECOND)
        for question in (2, 1, 2):
            click_on(desk, "harbour")
            expect(desk.page.locator(".unit.now")).to_have_attribute("data-unit", str(question - 1))
            expect(desk.unit(question).locator(".quote.taken")).to_have_count(1)

    @pytest.mark.long
    def test_the_ends_of_a_highlight_can_be_dragged(self, desk: Desk) -> None:
        desk.answer(1, "Yes")
        desk.drag(FIRST)
        click_on(desk, "crossed")
        handle = desk.page.locator(".handle.end")
        expect(handle).to_be_visible()
        box = handle.bounding_box()
        assert box is not None
        *_, right, bottom = places_of(desk, "crossed")
        desk.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        desk.page.mouse.down()
        desk.page.mouse.move(right - 30, bottom, steps=4)
        desk.page.mouse.move(right, bottom, steps=4)
        desk.page.mouse.up()
        assert desk.quotes(1) == ["Zoë 🛶 crossed"]
        desk.page.keyboard.press("z")
        assert desk.quotes(1) == [FIRST]

    def test_keys_highlight_words_characters_and_sentences_also_from_where_the_mouse_clicked(
        self, desk: Desk
    ) -> None:
        press = desk.page.keyboard.press
        desk.answer(1, "Yes")
        press("h")
        press("End")
        press("Shift+ArrowLeft")
        press("Enter")
        press("Home")
        for key in (".", ".", "Enter"):
            press(key)
        press("ArrowDown")
        press("ArrowRight")
        press("Shift+ArrowRight")
        press(",")
        press("Enter")
        assert desk.quotes(1) == ["Zoë 🛶", "crew – caf", "pier held"]
        assert desk.reading.evaluate("element => element.textContent") == TEXT
        desk.unit(2).locator(".unit-text").click()
        left, top, *_ = places_of(desk, "harbour")
        desk.page.mouse.click(left + 8, top)
        desk.page.keyboard.press("Shift+ArrowRight")
        desk.page.keyboard.press("Enter")
        assert desk.quotes(2) == ["harbour\tat"]


class TestInTheList:
    def focused(self, desk: Desk) -> str:
        return str(desk.page.evaluate("document.activeElement.textContent"))

    def test_highlights_in_the_list_are_moved_and_removed_by_keys(self, desk: Desk) -> None:
        desk.answer(1, "Yes")
        desk.drag(FIRST)
        desk.drag(SECOND)
        assert desk.quotes(1) == [FIRST, SECOND]
        desk.page.keyboard.press("l")
        self.arrows_go_through_it_and_out_of_it(desk)
        for key in ("k", "l"):
            desk.page.keyboard.press(key)
        self.ends_move_by_words_and_by_characters(desk)
        self.what_has_the_focus_is_lit_and_removed_it_gives_it_to_the_next(desk)

    def arrows_go_through_it_and_out_of_it(self, listed: Desk) -> None:
        lists = listed.page.get_by_role("list", name="Highlights for question 1")
        expect(lists.get_by_role("listitem")).to_have_count(2)
        name = f"Remove highlight: {FIRST}"
        expect(lists.get_by_role("button", name=name)).to_be_visible()
        press = listed.page.keyboard.press
        assert self.focused(listed) == FIRST
        press("ArrowDown")
        assert self.focused(listed) == SECOND
        press("ArrowUp")
        press("ArrowUp")
        expect(listed.page.locator("[name='unit-0-answerable']:focus")).to_have_count(1)
        press("l")
        press("ArrowDown")
        press("ArrowDown")
        expect(listed.page.locator("[name='unit-1-answerable']:focus")).to_have_count(1)

    def ends_move_by_words_and_by_characters(self, listed: Desk) -> None:
        press = listed.page.keyboard.press
        for key, left in (
            ("ArrowRight", "Zoë 🛶 crossed the harbour\tat"),
            ("ArrowLeft", FIRST),
            (",", "Zoë 🛶 crossed the harbou"),
            ("ArrowRight", FIRST),
            (".", "Zoë 🛶 crossed the harbour\ta"),
            ("ArrowLeft", FIRST),
            ("Shift+ArrowRight", "crossed the harbour"),
            ("Shift+<", "🛶 crossed the harbour"),
            ("Shift+>", "crossed the harbour"),
            ("Shift+ArrowLeft", FIRST),
        ):
            press(key)
            assert listed.quotes(1)[0] == left, key
            assert self.focused(listed) == left
        expect(listed.page.locator("#spoken")).to_have_text(f"Starts with {FIRST}")

    def what_has_the_focus_is_lit_and_removed_it_gives_it_to_the_next(self, listed: Desk) -> None:
        lit = listed.page.locator("mark.lit")
        assert "".join(lit.all_text_contents()) == FIRST
        listed.page.keyboard.press("Enter")
        expect(listed.page.locator(".handle.start")).to_be_visible()
        listed.page.keyboard.press("Escape")
        expect(lit).to_have_count(0)
        listed.page.keyboard.press("l")
        listed.page.keyboard.press("Delete")
        assert listed.quotes(1) == [SECOND]
        assert self.focused(listed) == SECOND
        listed.page.keyboard.press("Backspace")
        expect(listed.page.locator("[name='unit-0-answerable']:focus")).to_have_count(1)


# The width beyond the page, although nothing around it scrolls.
BEYOND = """() => {
  const { clientWidth, scrollWidth } = document.documentElement;
  const scrolls = (one) =>
    one && (getComputedStyle(one).overflowX !== "visible" || scrolls(one.parentElement));
  const beyond = [...document.querySelectorAll("main *, header *, footer *")].filter((one) => {
    const { left, right, width } = one.getBoundingClientRect();
    const out = width > 1 && (left < -1 || right > clientWidth + 1);
    return out && one.checkVisibility() && !scrolls(one.parentElement);
  });
  return [...(scrollWidth > clientWidth ? ["page"] : []), ...beyond.map((one) => one.className)];
}"""


class TestRightToLeft:
    HEBREW = "שלום לכולם אמר הטייס. הגשר 🌉 עמד בשנת 1999.\r\nסוף הדבר."

    @pytest.fixture
    def hebrew(self, study: Study) -> str:
        for report in study.campaign.batch.queries.get().reports.all():
            report.text = self.HEBREW
            report.save()
        return self.HEBREW

    def test_in_right_to_left_texts_the_left_arrow_moves_forward(
        self, hebrew: str, desk: Desk
    ) -> None:
        press = desk.page.keyboard.press
        press("h")
        for key in ("ArrowLeft", "Shift+ArrowLeft", "Enter"):
            press(key)
        assert desk.quotes(1) == ["לכולם אמר"]
        press("Escape")
        press("l")
        press("ArrowLeft")
        assert desk.quotes(1) == ["לכולם אמר הטייס"]
        press("Shift+ArrowRight")
        assert desk.quotes(1) == ["שלום לכולם אמר הטייס"]
        assert desk.reading.evaluate("element => element.textContent") == hebrew

    @pytest.mark.long
    def test_in_right_to_left_texts_the_first_handle_is_on_the_right(
        self, hebrew: str, desk: Desk
    ) -> None:
        press = desk.page.keyboard.press
        for key in ("h", "Shift+ArrowLeft", "Enter", "Escape", "l", "Enter"):
            press(key)
        first = desk.page.locator(".handle.start").bounding_box()
        last = desk.page.locator(".handle.end").bounding_box()
        assert first is not None
        assert last is not None
        assert first["x"] > last["x"] + 20

    @pytest.mark.long
    def test_a_right_to_left_page_fits_every_width_and_stores_the_same_offsets(
        self, hebrew: str, page: Page, errors: list[str], study: Study, mirrored: str
    ) -> None:
        study.ada.language = mirrored
        study.ada.save()
        desk = Desk(page, study)
        desk.begin("ada")
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            page.reload()
            desk.ready()
            assert page.evaluate("document.documentElement.dir") == "rtl"
            assert page.evaluate(BEYOND) == []
        for key in ("h", *["ArrowLeft"] * 4, "Shift+ArrowLeft", "Enter", "Escape", "l", "Enter"):
            page.keyboard.press(key)
        quote = "הגשר 🌉 עמד"
        assert desk.quotes(1) == [quote]
        first, last = (page.locator(f".handle.{end}").bounding_box() for end in ("start", "end"))
        marked = page.locator("mark").first.bounding_box()
        assert first is not None
        assert last is not None
        assert marked is not None
        assert abs(first["x"] + 12 - (marked["x"] + marked["width"])) < 3
        assert first["x"] > last["x"] + 20
        desk.saved()
        (unit, *_) = desk.assignment.draft.payload["units"].values()
        assert unit["evidence"] == [{"quote": quote, "start": hebrew.index(quote)}]
        for number in (2, 3):
            desk.unit(number).locator(".unit-text").click()
            desk.unit(number).locator(".choice").nth(1).click()
        page.set_viewport_size({"width": 390, "height": 800})
        page.locator("[name=comment]").fill("x" * 10_001)
        page.locator("#submit").click()
        expect(page.locator("#refused")).to_contain_text("10000")
        expect(page.locator("#refused")).to_be_in_viewport()


class TestSnapping:
    def test_a_highlight_takes_whole_words_or_sentences(self, desk: Desk) -> None:
        turned = 0
        for turns, chosen, taken in (
            (0, "ossed the harb", "crossed the harbour"),
            (0, "caf", "cafe\u0301"),
            (0, "ולם said", "לכולם said"),
            (0, "\r\n\r\nThe 👩‍👩‍👧 cr", "The 👩‍👩‍👧 crew"),
            (0, "👧 cr", "👩‍👩‍👧 crew"),
            (1, "the harb", "Zoë 🛶 crossed the harbour\tat dawn."),
            (1, "1999.\nThe", "שלום לכולם said the pilot 🌉 in 1999.\nThe pier held."),
            (2, "ossed the harb", "ossed the harb"),
        ):
            for _ in range(turns - turned):
                desk.page.keyboard.press("s")
            turned = turns
            choose(desk.page, TEXT, chosen)
            desk.page.keyboard.press("h")
            assert desk.quotes(1) == [taken]
            desk.page.keyboard.press("z")
            assert desk.quotes(1) == []

    @pytest.mark.long
    def test_the_snapping_setting_is_kept_in_the_browser(self, desk: Desk) -> None:
        button = desk.page.locator("#snap")
        expect(button).to_contain_text("words")
        button.click()
        button.click()
        expect(button).to_contain_text("off")
        desk.page.reload()
        desk.ready()
        expect(button).to_contain_text("off")


class TestFocus:
    def test_no_action_loses_the_focus(self, desk: Desk) -> None:
        press = desk.page.keyboard.press
        keys = (
            "1 h Shift+ArrowRight Enter Escape l Delete z l ArrowRight z Shift+z Delete z z "
            "Shift+z j 1 h ArrowDown Enter ArrowDown Shift+ArrowRight Enter Delete Escape l "
            "Enter Escape l s , z ? Escape g g c Escape ArrowDown 2 k z z z z z z z z Shift+z "
            "Control+Enter"
        )
        for n, key in enumerate(keys.split()):
            press(key)
            assert focus_is_somewhere(desk.page), (n, key, keys.split()[: n + 1])

    @pytest.mark.long
    def test_closing_a_dialog_restores_the_focus(self, desk: Desk) -> None:
        press = desk.page.keyboard.press
        press("1")
        before = desk.page.evaluate("document.activeElement.name")
        press("?")
        press("Escape")
        expect(desk.page.locator(f"[name='{before}']:focus")).to_have_count(1)
        desk.page.get_by_role("button", name="Close the guideline").click()
        expect(desk.page.locator("#open-guideline")).to_be_focused()
        press("?")
        desk.page.locator("#single-keys").uncheck()
        press("Escape")
        for key in ("2", "z", "l", "s"):
            press(key)
        expect(desk.page.locator("[name='unit-0-answerable']:checked")).to_have_value("yes")
        press("Control+z")
        expect(desk.page.locator("[name='unit-0-answerable']:checked")).to_have_count(0)

    @pytest.mark.long
    def test_a_disabled_undo_button_passes_the_focus_to_the_question(self, desk: Desk) -> None:
        desk.page.keyboard.press("1")
        desk.page.locator("#undo").focus()
        desk.page.keyboard.press("Enter")
        expect(desk.page.locator("[name='unit-0-answerable']:focus")).to_have_count(1)


class TestScreenReader:
    def test_a_screen_reader_hears_what_is_highlighted_and_for_which_question(
        self, desk: Desk
    ) -> None:
        desk.answer(1, "Yes")
        desk.drag(FIRST)
        expect(desk.page.locator("#spoken")).to_have_text(f"Highlighted for question 1: {FIRST}")
        desk.answer(2, "Yes")
        desk.drag(SECOND)
        reader = desk.page.context.new_cdp_session(desk.page)
        tree = reader.send("Accessibility.getFullAXTree")
        reader.detach()
        heard = [node.get("name", {}).get("value") for node in tree["nodes"]]
        for words in (
            "[highlight for question 1: ",
            "[highlight for question 2: ",
            " end of highlight for question 1]",
        ):
            assert words in heard, heard
        assert desk.reading.evaluate("element => element.textContent") == TEXT

    @pytest.mark.long
    def test_suggestions_are_drawn_below_highlights_and_are_not_counted_as_highlights(
        self, desk: Desk
    ) -> None:
        desk.page.evaluate(
            """() => import("/static/js/item.js").then(({ desk }) =>
              desk.board.suggest("report", [{ start: 0, end: 14, spoken: "perhaps" }]))"""
        )
        dashed = desk.page.locator("mark[data-kind='suggested']")
        expect(dashed).to_have_text("Zoë 🛶 crossed")
        expect(dashed).to_have_attribute("data-opens", "[perhaps: ")
        desk.answer(1, "Yes")
        desk.drag(FIRST)
        expect(dashed).to_have_attribute("data-units", "0")
        assert desk.quotes(1) == [FIRST]
        click_on(desk, "crossed")
        desk.page.keyboard.press("Delete")
        expect(dashed).not_to_have_attribute("data-units", "0")
        assert desk.reading.evaluate("element => element.textContent") == TEXT


class TestTouch:
    @pytest.fixture
    def context(self, chromium: Browser, live_server: LiveServer) -> Iterator[BrowserContext]:
        narrow = {"width": 390, "height": 844}
        context = new_context(
            chromium, live_server.url, viewport=narrow, has_touch=True, is_mobile=True
        )
        yield context
        context.close()

    def test_highlights_are_created_removed_and_resized_by_touch(
        self, desk: Desk, context: BrowserContext
    ) -> None:
        page = desk.page
        left, top, *_ = places_of(desk, "crossed")
        page.touchscreen.tap(left + 4, top)
        choose(page, TEXT, FIRST)
        page.get_by_role("button", name="Highlight for 1").tap()
        assert desk.quotes(1) == [FIRST]
        page.touchscreen.tap(left + 4, top)
        page.get_by_role("button", name="Remove highlight for question 1").tap()
        assert desk.quotes(1) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        choose(page, TEXT, FIRST)
        page.keyboard.press("h")
        left, top, *_ = places_of(desk, "crossed")
        page.touchscreen.tap(left + 4, top)
        box = page.locator(".handle.start").bounding_box()
        assert box is not None
        fingers = context.new_cdp_session(page)
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

        def touch(kind: str, *points: dict[str, Any]) -> None:
            fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

        touch("touchStart", {"x": x, "y": y})
        for step in (0.5, 1):
            touch("touchMove", {"x": x + (left - x) * step, "y": y + (top - y) * step})
        touch("touchEnd")
        assert desk.quotes(1) == ["crossed the harbour"]


class TestLongTexts:
    """20,000 words with 200 spans; what they cost is measured by `python -m benchmarks`."""

    WORDS = 20_000
    OBSERVE = """() => {
      window.changed = new Set();
      const blocks = [...document.querySelectorAll(".block")];
      new MutationObserver((list) => {
        for (const { target } of list) changed.add(blocks.findIndex((one) => one.contains(target)));
      }).observe(document.querySelector("[data-marks]"),
        { childList: true, subtree: true, attributes: true });
    }"""
    FILL = """(every) => import("/static/js/item.js").then(({ desk }) => {
      const { units } = desk.sheet;
      const text = document.querySelector("[data-marks]").textContent;
      const between = (at) => at + /[\\uDC00-\\uDFFF]/.test(text[at]);
      for (let n = 0; n < 200; n += 1) {
        units[n % 3].add({ start: between(n * every), end: between(n * every + 50) });
      }
      desk.board.edited(units[0]);
    })"""

    @pytest.fixture(params=["paragraphs", pytest.param("one line", marks=pytest.mark.long)])
    def long(self, request: pytest.FixtureRequest, study: Study) -> str:
        end = "\r\n\r\n" if request.param == "paragraphs" else " "
        words = [f"wörd{n}" + (f".{end}" if n % 60 == 59 else " 🛶 " if n % 100 == 7 else " ")
                 for n in range(self.WORDS)]  # fmt: skip
        text = "".join(words)
        for report in study.campaign.batch.queries.get().reports.all():
            report.text = text
            report.save()
        return text

    def test_long_texts_are_complete_and_a_highlight_redraws_one_block(
        self, long: str, desk: Desk
    ) -> None:
        page = desk.page
        assert desk.reading.evaluate("element => element.textContent") == long
        blocks = page.locator(".block").count()
        assert blocks > 50
        for key in ("h", "End", "Shift+ArrowLeft", "Enter"):
            page.keyboard.press(key)
        last = " ".join(f"wörd{n}" for n in (self.WORDS - 2, self.WORDS - 1))
        assert desk.quotes(1) == [last]
        desk.state("saving")
        desk.state("saved")
        (quote,) = Draft.objects.get().payload["units"]["q:0"]["evidence"]
        assert quote == {"quote": last, "start": long.index(last)}
        page.evaluate(self.FILL, len(long) // 210)
        expect(page.locator("mark[data-ends]")).to_have_count(201)
        assert page.locator(".unit[data-unit='0'] .quote").count() == 68
        page.evaluate(self.OBSERVE)
        page.keyboard.press("Home")
        for _ in range(14):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        expect(page.locator(".unit[data-unit='0'] .quote")).to_have_count(69)
        assert page.evaluate("[...changed]") == [0]
        assert page.locator(".block").count() == blocks
        assert desk.reading.evaluate("element => element.textContent") == long


def test_offsets_are_the_same_on_both_sides_of_a_block_boundary(page: Page) -> None:
    text = TEXT + "🛶" * 5 + "a🌉b"
    page.goto("/static/icon.svg")
    counted = page.evaluate(
        """(text) => import("/static/js/offsets.js").then(({ toCodePoints, toUnits }) => {
          const points = [...text].length;
          const there = Array.from({ length: points + 1 }, (_, n) => toUnits(text, n));
          return { there, back: there.map((units) => toCodePoints(text, units)) };
        })""",
        text,
    )
    assert counted["there"] == [units_of(text[:n]) for n in range(len(text) + 1)]
    assert counted["back"] == list(range(len(text) + 1))
