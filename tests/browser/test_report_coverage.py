"""The page for report coverage, in Chromium: highlights, keys, and a failing network."""

from __future__ import annotations

import time
from unittest import mock

import pytest
from django.db import OperationalError
from playwright.sync_api import BrowserContext, Page, Request, expect

from annotation.models import Draft, Label, Response, Span
from tests.browser.axe import violations
from tests.browser.desk import Desk
from tests.page_cast import TEXT, Study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FIRST = "Zoë 🛶 crossed the harbour"
SECOND = "the harbour\tat dawn.\r\n\r\nThe 👩‍👩‍👧 crew"
THIRD = "<b>left</b>. שלום לכולם said the pilot 🌉"
# An acknowledged save is dropped from the browser's store right before the page says so.
DRAFT_IS_IN = "() => !Object.keys(localStorage).some((key) => key.includes('.unsaved.'))"


def finish(desk: Desk) -> None:
    """Give the remaining answers, so that only the test's own question is open."""
    for number in (2, 3):
        desk.answer(number, "No")


def test_overlapping_highlights_survive_a_lost_network_and_quote_the_stored_text(
    desk: Desk,
) -> None:
    network = desk.page.context
    assert desk.reading.evaluate("element => element.textContent") == TEXT
    desk.answer(1, "Yes")
    desk.drag(FIRST)
    desk.drag(SECOND)
    assert desk.quotes(1) == [FIRST, SECOND]
    overlap = desk.page.locator("mark[data-depth='2']").all_text_contents()
    assert "".join(overlap) == "the harbour"
    assert desk.reading.evaluate("element => element.textContent") == TEXT
    desk.answer(2, "Yes")
    desk.drag(THIRD)
    desk.answer(3, "No")
    desk.state("saved")
    first = desk.assignment
    network.set_offline(True)
    desk.page.get_by_role("button", name="Submit").click()
    desk.state("offline")
    assert not Response.objects.exists()
    network.set_offline(False)
    desk.page.wait_for_url(lambda url: str(first.uid) not in url)
    spans = Span.objects.order_by("start").select_related("label__unit")
    assert [(s.label.unit.key, s.quote) for s in spans] == [
        ("q:0", FIRST),
        ("q:0", SECOND),
        ("q:1", THIRD),
    ]
    assert all(TEXT[s.start : s.end] == s.quote for s in spans)
    assert Response.objects.count() == 1


def test_an_unsent_answer_survives_closing_the_page_and_is_sent_from_the_next(
    desk: Desk, context: BrowserContext
) -> None:
    desk.answer(1, "No")
    finish(desk)
    desk.page.route("**/submit", lambda route: route.abort())
    desk.page.get_by_role("button", name="Submit").click()
    desk.state("unsaved")
    desk.page.close()
    other = context.new_page()
    with other.expect_response("**/submit"):
        other.goto("/tasks/")
    expect(other.locator("#outbox-notice")).to_be_hidden()
    assert Response.objects.get().payload["units"]["q:0"]["answerable"] == "no"


@pytest.mark.long
def test_an_unsent_answer_is_not_sent_by_another_person_on_the_same_computer(
    desk: Desk, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The server fails, not a route of the test, which a request of a closing page would bypass.
    monkeypatch.setattr("annotation.views.answers.store", mock.Mock(side_effect=OperationalError))
    desk.answer(1, "No")
    finish(desk)
    desk.page.get_by_role("button", name="Submit").click()
    desk.state("unsaved")
    desk.page.goto("/tasks/")
    expect(desk.page.locator("#outbox-notice")).to_contain_text("One answer is not stored yet")
    desk.page.get_by_role("button", name="Log out").click()
    sent: list[str] = []

    def note(request: Request) -> None:
        sent.append(request.url)

    desk.page.on("request", note)
    desk.log_in("ben")
    expect(desk.page.locator("#outbox-notice")).to_be_hidden()
    desk.start()
    desk.page.remove_listener("request", note)
    assert not [address for address in sent if address.endswith("/submit")]
    assert not Response.objects.exists()


def test_an_item_is_answered_by_keyboard_alone(desk: Desk) -> None:
    press = desk.page.keyboard.press
    first = desk.assignment
    press("j")
    press("k")
    press("1")
    press("h")
    for _ in range(3):
        press("Shift+ArrowRight")
    press("Enter")
    press("Escape")
    press("j")
    press("1")
    press("h")
    press("ArrowDown")
    press("Shift+ArrowDown")
    press("h")
    assert len(desk.quotes(2)) == 1
    press("z")
    assert desk.quotes(2) == []
    press("Enter")
    press("Escape")
    press("2")
    press("j")
    press("3")
    assert desk.quotes(1) == [FIRST]
    press("Control+Enter")
    desk.page.wait_for_url(lambda url: str(first.uid) not in url)
    values = dict(Label.objects.values_list("unit__key", "value"))
    assert values == {"q:0": "yes", "q:1": "no", "q:2": "invalid"}
    assert Span.objects.get().quote == FIRST


def test_a_refused_answer_names_the_question(
    desk: Desk,
) -> None:
    state = desk.page.locator("#state")
    desk.page.keyboard.press("1")
    desk.page.keyboard.press("Control+Enter")
    # A saved draft does not hide that the answer is not submitted.
    desk.page.wait_for_function(DRAFT_IS_IN)
    expect(state).to_have_attribute("data-state", "refused")
    expect(state).to_contain_text("Not submitted")
    desk.page.keyboard.press("2")
    expect(state).not_to_have_attribute("data-state", "refused")
    desk.answer(2, "Yes")
    desk.answer(3, "No")
    desk.unit(1).locator(".unit-text").click()
    desk.page.get_by_role("button", name="Submit").click()
    desk.state("refused")
    expect(desk.unit(2).locator(".problem")).to_contain_text("Yes needs a highlight")
    expect(desk.page.locator("[name='unit-1-answerable']:focus")).to_have_count(1)
    assert not Response.objects.exists()
    desk.drag(THIRD)
    expect(desk.unit(2).locator(".problem")).to_be_empty()
    problem = '{"problems": [{"unit": "q:2", "key": "", "message": "is odd"}]}'
    desk.page.route(
        "**/submit",
        lambda route: route.fulfill(status=422, body=problem, content_type="application/json"),
    )
    desk.page.get_by_role("button", name="Submit").click()
    expect(desk.unit(3).locator(".problem")).to_have_text("Is odd.")
    desk.state("refused")


def test_a_draft_is_restored_after_a_reload_and_choosing_no_sets_highlights_aside(
    desk: Desk,
) -> None:
    desk.answer(1, "Yes")
    desk.drag(FIRST)
    desk.page.get_by_label("Comment").fill("Is this Zoë? 🛶")
    desk.state("saving")
    desk.state("saved")
    desk.page.reload()
    desk.ready()
    assert desk.quotes(1) == [FIRST]
    expect(desk.page.get_by_label("Comment")).to_have_value("Is this Zoë? 🛶")
    # Typing continues the text that is already there.
    desk.page.keyboard.press("c")
    desk.page.keyboard.type(" Or Ada")
    expect(desk.page.get_by_label("Comment")).to_have_value("Is this Zoë? 🛶 Or Ada")
    desk.page.keyboard.press("Escape")
    expect(desk.page.locator("[name='unit-0-answerable']:checked")).to_have_value("yes")
    desk.answer(1, "No")
    expect(desk.page.locator("mark.kept")).to_have_text(FIRST)
    finish(desk)
    desk.state("saved")
    assert Draft.objects.get().payload["units"]["q:0"]["evidence"] != []
    first = desk.assignment
    desk.page.get_by_role("button", name="Submit").click()
    desk.page.wait_for_url(lambda url: str(first.uid) not in url)
    assert not Span.objects.exists()


@pytest.mark.long
def test_unsent_work_is_restored(
    desk: Desk, context: BrowserContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The server itself fails, since a route of the test cannot stop requests of a closing page.
    away = mock.Mock(side_effect=OperationalError)
    with monkeypatch.context() as broken:
        broken.setattr("annotation.views.answers.save_draft", away)
        desk.answer(1, "Yes")
        desk.drag(FIRST)
        desk.state("unsaved")
        address = desk.page.url
        desk.page.close()
        assert not Draft.objects.exists()
        context.clock.install()
        again = Desk(context.new_page(), desk.study)
        again.page.goto(address)
        again.ready()
        assert again.quotes(1) == [FIRST]
        again.state("unsaved")
    # The server asked for a pause of five seconds; then the page tries again by itself.
    again.page.clock.fast_forward(10_000)
    again.state("saved")
    assert Draft.objects.get().payload["units"]["q:0"]["evidence"][0]["quote"] == FIRST


def test_keys_open_the_guideline_step_through_items_and_switch_the_theme(desk: Desk) -> None:
    drawer = desk.page.locator("#guideline")
    expect(drawer.get_by_role("heading", name="Report coverage")).to_be_visible()
    desk.page.keyboard.press("g")
    expect(drawer).to_be_hidden()
    desk.page.keyboard.press("?")
    expect(desk.page.locator("#keys")).to_be_visible()
    desk.page.keyboard.press("Escape")
    desk.answer(1, "No")
    finish(desk)
    first = desk.page.url
    desk.page.keyboard.press("Control+Enter")
    desk.page.wait_for_url(lambda url: url != first)
    desk.ready()
    desk.page.keyboard.press("Shift+K")
    desk.page.wait_for_url(first)
    desk.ready()
    desk.page.keyboard.press("Shift+J")
    desk.page.wait_for_url(lambda url: url != first)
    desk.ready()
    before = desk.page.evaluate("getComputedStyle(document.body).color")
    desk.page.keyboard.press("t")
    assert desk.page.evaluate("getComputedStyle(document.body).color") != before


@pytest.mark.long
def test_two_conflicting_tabs_lose_nothing_whichever_version_is_kept(desk: Desk) -> None:
    other = Desk(desk.page.context.new_page(), desk.study)
    other.page.goto(desk.page.url)
    other.ready()
    desk.answer(1, "No")
    desk.state("saved")
    for tab, mine in ((other, True), (desk, False)):
        tab.answer(1, "Makes no sense")
        tab.state("conflict")
        dialog = tab.page.locator("#conflict")
        expect(dialog).to_contain_text("Makes no sense")
        expect(dialog.get_by_role("cell", name="No", exact=True)).to_be_visible()
        assert violations(tab.page, "conflict", rare=not mine) == []
        dialog.get_by_role("button", name="Keep mine" if mine else "Use the other version").click()
        tab.state("saved")
        chosen = tab.page.locator("[name='unit-0-answerable']:checked")
        assert chosen.input_value() == ("invalid" if mine else "no")
        with tab.page.expect_response("**/draft"):
            tab.page.get_by_role("button", name="Switch to it").click()
        tab.state("saved")
        assert chosen.input_value() == ("no" if mine else "invalid")
        stored = Draft.objects.get().payload["units"]["q:0"]["answerable"]
        assert stored == chosen.input_value()


def test_time_on_task_is_sent_and_an_answer_can_be_revised(page: Page, study: Study) -> None:
    before, desk = time.monotonic(), Desk(page, study)
    desk.begin("ada")
    begun = desk.page.evaluate("performance.now()")
    desk.page.wait_for_function("(begun) => performance.now() >= begun + 700", arg=begun)
    desk.answer(1, "No")
    finish(desk)
    first = desk.assignment
    desk.page.get_by_role("button", name="Submit").click()
    desk.page.wait_for_url(lambda url: str(first.uid) not in url)
    first.refresh_from_db()
    assert first.seconds is not None
    assert 0.7 <= first.seconds <= time.monotonic() - before
    desk.page.get_by_role("link", name="Previous item").click()
    desk.page.wait_for_url(f"**/{first.uid}/")
    desk.state("submitted")
    desk.answer(1, "Makes no sense")
    desk.state("saved")
    desk.page.get_by_role("button", name="Submit").click()
    desk.page.wait_for_url(lambda url: str(first.uid) not in url)
    assert list(first.responses.order_by("revision").values_list("current", flat=True)) == [
        False,
        True,
    ]


@pytest.mark.long
def test_touch_devices_get_a_highlight_button(desk: Desk) -> None:
    desk.page.evaluate(
        "document.dispatchEvent(new PointerEvent('pointerdown', {pointerType: 'touch'}))"
    )
    desk.reading.evaluate(
        "element => getSelection().setBaseAndExtent(element.firstChild, 0, element.firstChild, 6)"
    )
    desk.page.get_by_role("button", name="Highlight for 1").click()
    assert desk.quotes(1) == ["Zoë 🛶"]


@pytest.mark.long
def test_hostile_text_stays_text(errors: list[str], page: Page, study: Study) -> None:
    hostile = "</div><script>document.title='broken'</script><img src=x onerror=alert(1)> {{7*7}}"
    for report in study.campaign.batch.queries.get().reports.all():
        report.text = hostile
        report.save()
    desk = Desk(page, study)
    desk.begin("ada")
    assert desk.reading.evaluate("element => element.textContent") == hostile
    assert "broken" not in page.title()
    assert page.locator("img").count() == 0


def test_a_closed_campaign_can_be_read_but_not_changed(desk: Desk) -> None:
    desk.answer(1, "Yes")
    desk.drag(FIRST)
    desk.state("saved")
    desk.study.campaign.is_open = False
    desk.study.campaign.save()
    desk.page.reload()
    desk.ready()
    desk.state("closed")
    assert violations(desk.page, "closed") == []
    desk.page.keyboard.press("2")
    assert desk.quotes(1) == [FIRST]
    expect(desk.page.locator("[name='unit-0-answerable']:checked")).to_have_value("yes")
    expect(desk.page.get_by_role("button", name="Submit")).to_be_disabled()


@pytest.mark.long
def test_reasons_for_not_judging_an_item_are_scrolled_into_view(desk: Desk) -> None:
    """The reasons are at the end of the list, and their button is at the window's edge."""
    page = desk.page
    page.set_viewport_size({"width": 1280, "height": 560})
    summary = page.get_by_text("I cannot judge this item")
    summary.scroll_into_view_if_needed()
    summary.click()
    expect(page.get_by_role("button", name="Skip this item")).to_be_in_viewport(ratio=1)
