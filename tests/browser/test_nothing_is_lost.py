"""A browser keeps work when tabs, networks, sessions and servers fail: cases A1 to A10.

What the server does in each of them is tested without a browser in tests/annotation.
"""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import BrowserContext, Error, Page, Request, Route, expect
from pytest_django.fixtures import Settings

from annotation.exports import rows as exporting
from annotation.models import Draft, LogInCount, Response, Span
from annotation.provenance import Basis
from tests.browser.axe import violations
from tests.browser.desk import Desk
from tests.extent import Extent
from tests.page_cast import PASSWORD, TEXT, make_study

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]

# Waits pass twenty times as fast, so that many failures fit into a test.
HURRY = """
const real = window.setTimeout;
window.setTimeout = (act, wait, ...more) => real(act, wait / 20, ...more);
"""
# Of every three messages, one is lost on its way, and the response to another on its way back.
LOSSY = """
const send = window.fetch;
let fate = Number(sessionStorage.getItem("fate") ?? 7);
window.lost = JSON.parse(sessionStorage.getItem("lost") ?? '{"before": 0, "after": 0}');
window.fetch = async (address, options = {}) => {
  if (options.method !== "POST") return send(address, options);
  fate = (fate * 1103515245 + 12345) % 2147483648;
  sessionStorage.setItem("fate", fate);
  const when = fate / 2147483648;
  const lose = (which) => {
    lost[which] += 1;
    sessionStorage.setItem("lost", JSON.stringify(lost));
    throw new TypeError("lost " + which);
  };
  if (when < 0.33) lose("before");
  const answer = await send(address, options);
  return when < 0.66 ? lose("after") : answer;
};
"""
# The age of the oldest unsaved keystroke when the draft was sent, in ms.
WAITS = """
window.waits = [];
window.flying = 0;
let first = null;
addEventListener("input", () => (first ??= performance.now()), true);
const send = window.fetch;
window.fetch = async (address, options) => {
  if (String(address).endsWith("/draft") && first !== null) {
    waits.push(performance.now() - first);
    first = null;
  }
  flying += 1;
  try {
    return await send(address, options);
  } finally {
    flying -= 1;
  }
};
"""


def finish(desk: Desk, word: str = "No") -> None:
    for number in (1, 2, 3):
        desk.answer(number, word)


def submit(desk: Desk) -> None:
    desk.page.keyboard.press("Control+Enter")


def gone_on(desk: Desk, address: str) -> None:
    desk.page.wait_for_url(lambda url: url != address)


def keys_of(requests: list[Request]) -> list[str]:
    return [parse_qs(request.post_data or "")["key"][0] for request in requests]


def kept(page: Page, part: str) -> list[str]:
    """The keys in the browser's store that contain this text."""
    found: list[str] = page.evaluate("Object.keys(localStorage)")
    return [key for key in found if part in key]


def log_in_here(page: Page, name: str, password: str = PASSWORD) -> None:
    layer = page.locator("#log-in")
    layer.get_by_label("Name").fill(name)
    layer.get_by_label("Password").fill(password)
    layer.get_by_role("button", name="Log in").click()


def test_a1_two_conflicting_tabs_keep_both_versions_in_the_history(
    desk: Desk,
) -> None:
    other = Desk(desk.page.context.new_page(), desk.study)
    other.page.goto(desk.page.url)
    other.ready()
    here = desk.assignment
    finish(desk)
    submit(desk)
    gone_on(desk, other.page.url)
    other.answer(1, "Makes no sense")
    other.state("conflict")
    dialog = other.page.locator("#conflict")
    expect(dialog.get_by_role("cell", name="Makes no sense")).to_be_visible()
    expect(dialog.get_by_role("cell", name="No", exact=True).first).to_be_visible()
    dialog.get_by_role("button", name="Keep mine").click()
    other.state("saved")
    for number in (2, 3):
        other.answer(number, "No")
    submit(other)
    other.page.wait_for_url(lambda url: str(here.uid) not in url)
    rows = here.responses.order_by("revision").values_list("payload", "current")
    said = [(payload["units"]["q:0"]["answerable"], current) for payload, current in rows]
    assert said == [("no", False), ("invalid", True)]
    other.page.goto(f"/tasks/{here.uid}/")
    expect(other.page.get_by_role("button", name="Switch to it")).to_be_visible()


@pytest.mark.long
@pytest.mark.once  # its work never reaches the server
def test_a1_unsent_work_of_one_tab_is_not_overwritten_by_another(
    desk: Desk,
) -> None:
    context = desk.page.context
    other = Desk(context.new_page(), desk.study)
    other.page.goto(desk.page.url)
    other.ready()
    context.route("**/draft", lambda route: route.abort())
    desk.page.get_by_label("Comment").fill("of the first tab")
    desk.state("unsaved")
    other.page.get_by_label("Comment").fill("of the second tab")
    other.state("unsaved")
    desk.page.reload()
    desk.ready()
    comment = desk.page.get_by_label("Comment")
    first = comment.input_value()
    desk.page.get_by_role("button", name="Switch to it").click()
    assert {first, comment.input_value()} == {"of the first tab", "of the second tab"}


def test_a3_lost_requests_and_responses_neither_lose_nor_duplicate_work(
    context: BrowserContext, errors: list[str], transactional_db: None
) -> None:
    items = 8 if Extent.everything else 4
    desk = Desk(context.new_page(), make_study(reports=items))
    desk.page.add_init_script(HURRY + LOSSY)
    desk.begin("ada")
    words = ["No", "Makes no sense"]
    for number in range(items):
        address = desk.page.url
        finish(desk, words[number % 2])
        submit(desk)
        gone_on(desk, address)
    lost = desk.page.evaluate("lost")
    assert min(lost.values()) > items / 2, lost
    rows = Response.objects.order_by("assignment__item__position").values_list(
        "revision", "payload"
    )
    found = [(revision, payload["units"]["q:0"]["answerable"]) for revision, payload in rows]
    assert found == [(1, ["no", "invalid"][number % 2]) for number in range(items)]
    assert kept(desk.page, ".outbox.") == []


def test_a3_waiting_answers_are_sent_in_order_with_their_keys(
    desk: Desk,
) -> None:
    context, tries = desk.page.context, list[Request]()

    def note(request: Request) -> None:
        if request.url.endswith("/submit"):
            tries.append(request)

    context.route("**/draft", lambda route: route.abort())
    context.route("**/submit", lambda route: route.abort())
    desk.page.on("request", note)
    finish(desk)
    submit(desk)
    desk.state("unsaved")
    desk.answer(1, "Makes no sense")
    submit(desk)
    assert len(kept(desk.page, ".outbox.")) == 2
    first, address = desk.assignment, desk.page.url
    assert len(set(keys_of(tries))) == 1
    context.unroute("**/submit")
    context.unroute("**/draft")
    desk.page.evaluate("dispatchEvent(new Event('online'))")
    gone_on(desk, address)
    desk.page.remove_listener("request", note)
    sent = keys_of(tries)
    said = first.responses.order_by("revision").values_list("key", "payload")
    assert [key for key, _ in said] == list(dict.fromkeys(sent))
    assert sent.count(sent[-1]) == 1 < len(sent)
    values = [payload["units"]["q:0"]["answerable"] for _, payload in said]
    assert values == ["no", "invalid"]


def test_a4_a_crashed_tab_loses_at_most_two_seconds_of_typing(
    desk: Desk, context: BrowserContext
) -> None:
    desk.page.add_init_script(WAITS)
    context.clock.install()
    desk.page.reload()
    desk.ready()
    context.clock.pause_at(desk.page.evaluate("Date.now()") + 60_000)
    address = desk.page.url
    words = [f"word{number} " for number in range(25)]
    desk.page.get_by_label("Comment").click()
    for word in words:
        desk.page.keyboard.type(word)
        context.clock.run_for(150)
        desk.page.wait_for_function("() => flying === 0")
    waits = desk.page.evaluate("waits")
    assert len(waits) >= 2
    assert max(waits) <= 2000
    context.clock.resume()
    with pytest.raises(Error):
        desk.page.goto("chrome://crash", timeout=3000)
    assert Draft.objects.get().payload["comment"].startswith("word0 word1 ")
    assert Response.objects.count() == 0
    again = Desk(context.new_page(), desk.study)
    again.page.goto(address)
    again.ready()
    expect(again.page.get_by_label("Comment")).to_have_value("".join(words))
    again.state("saved")


def test_a5_logging_in_again_in_a_dialog_submits_the_work(desk: Desk, settings: Settings) -> None:
    context = desk.page.context
    settings.LOGIN_TRIES = {**settings.LOGIN_TRIES, "address": 2}
    finish(desk)
    desk.state("saved")
    Session.objects.all().delete()
    first, address = desk.assignment, desk.page.url
    comment = desk.page.get_by_label("Comment")
    comment.press_sequentially("half a thought", delay=40)
    desk.state("login")
    layer = desk.page.get_by_role("dialog", name="Log in again")
    expect(layer).to_be_visible()
    assert comment.input_value() == "half a thought"
    expect(layer.get_by_label("Password")).to_be_focused()
    assert violations(desk.page, "log-in layer") == []
    context.set_offline(True)
    log_in_here(desk.page, "ada")
    expect(layer.get_by_role("alert")).to_contain_text("cannot be reached")
    context.set_offline(False)
    log_in_here(desk.page, "ada", "not-the-password")
    expect(layer.get_by_role("alert")).to_contain_text("wrong")
    for _ in range(2):
        log_in_here(desk.page, "ada", "not-the-password")
    expect(layer.get_by_role("alert")).to_contain_text("Too many")
    LogInCount.objects.all().delete()
    layer.get_by_role("button", name="Not now").click()
    expect(comment).to_be_focused()
    assert violations(desk.page, "logged out", rare=True) == []
    submit(desk)
    expect(layer).to_be_visible()
    log_in_here(desk.page, "ada")
    gone_on(desk, address)
    assert first.responses.get().comment == "half a thought"


def test_a5_a_lost_csrf_token_is_replaced_silently(desk: Desk) -> None:
    desk.page.context.clear_cookies(name="csrftoken")
    desk.answer(1, "No")
    desk.state("saved")
    assert Draft.objects.get().payload["units"]["q:0"]["answerable"] == "no"
    expect(desk.page.locator("#log-in")).to_be_hidden()


def test_a5_another_account_neither_sees_nor_sends_unsent_work(
    desk: Desk, context: BrowserContext
) -> None:
    context.clock.install()
    desk.page.reload()
    desk.ready()
    context.route("**/submit", lambda route: route.abort())
    finish(desk)
    submit(desk)
    desk.state("unsaved")
    context.clear_cookies()
    ben = Desk(context.new_page(), desk.study)
    ben.log_in("ben")
    veil = desk.page.get_by_role("dialog", name="Another account is logged in")
    expect(veil).to_contain_text("ben has logged in here")
    assert not desk.reading.is_visible()
    sent: list[str] = []
    context.on("request", lambda r: sent.append(r.url) if r.method == "POST" else None)
    desk.page.keyboard.press("Escape")
    desk.page.keyboard.press("Escape")
    expect(veil).to_be_visible()
    ben.start()
    ben.page.close()
    desk.page.evaluate("dispatchEvent(new Event('focus'))")
    context.clock.run_for(60_000)
    desk.page.evaluate("fetch(document.body.dataset.who)")
    assert [url for url in sent if url.endswith(("/draft", "/submit"))] == []
    assert not Response.objects.exists()
    veil.get_by_role("button", name="Log out").click()
    context.unroute("**/submit")
    log_in_here(desk.page, "ada")
    desk.state("submitted")
    assert desk.reading.is_visible()
    assert Response.objects.get().assignment.rater.user == desk.study.ada


def test_a5_logging_in_with_another_account_in_the_dialog_is_reported(desk: Desk) -> None:
    Session.objects.all().delete()
    desk.answer(1, "No")
    desk.state("login")
    log_in_here(desk.page, "ben")
    veil = desk.page.get_by_role("dialog", name="Another account is logged in")
    veil.get_by_role("link", name="Go to the pages of ben").click()
    desk.page.wait_for_url("**/tasks/")
    assert not Draft.objects.exists()
    desk.page.get_by_role("button", name="Log out").click()
    desk.log_in("ada")
    desk.page.get_by_role("button", name="Continue").click()
    desk.ready()
    desk.state("saved")
    assert Draft.objects.get().payload["units"]["q:0"]["answerable"] == "no"


def test_a6_work_for_a_campaign_closed_meanwhile_is_kept_and_reported(desk: Desk) -> None:
    desk.study.campaign.is_open = False
    desk.study.campaign.save()
    finish(desk)
    submit(desk)
    desk.state("late")
    expect(desk.page.locator("#late-notice")).to_contain_text("kept as a draft")
    assert Draft.objects.get().payload["units"]["q:2"]["answerable"] == "no"
    assert not Response.objects.exists()
    desk.study.campaign.is_open = True
    desk.study.campaign.save()
    first, address = desk.assignment, desk.page.url
    desk.page.reload()
    desk.state("saved")
    submit(desk)
    gone_on(desk, address)
    assert first.responses.count() == 1


def test_a7_double_clicks_and_the_back_button_store_one_answer(desk: Desk) -> None:
    finish(desk)
    first, address = desk.assignment, desk.page.url
    desk.page.get_by_role("button", name="Submit").dblclick()
    gone_on(desk, address)
    desk.ready()
    desk.page.go_back()
    desk.page.wait_for_url(address)
    desk.state("submitted")
    submit(desk)
    gone_on(desk, address)
    assert first.responses.count() == 1


def test_a8_a_changed_item_is_reported_and_answers_are_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for view in ("items", "answers"):
        new = Basis("0" * 12, "0" * 12, "0" * 12)
        monkeypatch.setattr(f"annotation.views.{view}.basis_of", lambda *_, new=new: new)
    finish(desk)
    desk.state("changed")
    submit(desk)
    desk.state("changed")
    assert not Draft.objects.exists()
    desk.page.get_by_role("button", name="Reload").click()
    desk.ready()
    desk.state("saved")
    assert Draft.objects.get().payload["units"]["q:2"]["answerable"] == "no"
    expect(desk.page.get_by_role("button", name="Switch to it")).to_be_visible()
    address = desk.page.url
    submit(desk)
    gone_on(desk, address)
    assert Response.objects.get().basis == "-".join(["0" * 12] * 3)


def test_a9_a_restarting_server_is_given_the_time_it_asks_for(desk: Desk) -> None:
    tries: list[tuple[float, str]] = []

    def restart(route: Route) -> None:
        tries.append((time.monotonic(), keys_of([route.request])[0]))
        if len(tries) == 1:
            route.fetch()
            route.fulfill(status=503, headers={"Retry-After": "1"}, body="away")
        else:
            route.continue_()

    desk.page.route("**/submit", restart)
    finish(desk)
    first, address = desk.assignment, desk.page.url
    submit(desk)
    desk.state("unsaved")
    desk.page.evaluate("dispatchEvent(new Event('focus'))")
    gone_on(desk, address)
    (early, one), (late, other) = tries
    assert one == other
    assert late - early >= 0.9
    assert first.responses.count() == 1


@pytest.mark.once  # its work never reaches the server
def test_a9_an_unresponsive_server_is_reported_within_a_second(desk: Desk) -> None:
    silent: list[Route] = []
    desk.page.route("**/draft", lambda route: silent.append(route))
    desk.answer(1, "No")
    expect(desk.page.locator("#state")).to_contain_text("no answer yet")
    for route in silent:
        route.abort()
    desk.state("unsaved")


def test_a10_highlights_over_combined_characters_are_exported_exactly(desk: Desk) -> None:
    quotes = (
        "Zoë 🛶 crossed",
        "harbour\tat dawn.\r\n\r\nThe",
        "👩‍👩‍👧 crew – cafe\u0301 –",
        "left</b>. שלום לכולם said",
    )
    desk.answer(1, "Yes")
    for quote in quotes:
        desk.drag(quote)
    for number in (2, 3):
        desk.answer(number, "No")
    address = desk.page.url
    submit(desk)
    gone_on(desk, address)
    spans = list(exporting.spans(desk.study.campaign))
    places = [(TEXT.index(quote), TEXT.index(quote) + len(quote)) for quote in quotes]
    assert [(span["start"], span["end"], span["text"]) for span in spans] == [
        (start, end, TEXT[start:end]) for start, end in places
    ]
    assert Span.objects.count() == len(quotes)


@pytest.mark.once
@pytest.mark.usefixtures("context")
def test_a_full_browser_store_is_reported_and_closing_the_page_asks_first(desk: Desk) -> None:
    desk.page.evaluate("() => { Storage.prototype.setItem = () => { throw new Error('full') } }")
    desk.page.route("**/draft", lambda route: route.abort())
    desk.answer(1, "No")
    desk.state("unsaved")
    expect(desk.page.locator("#full-notice")).to_contain_text("Leave the tab open")
    asked: list[str] = []

    def stay(dialog: Any) -> None:
        asked.append(dialog.type)
        dialog.accept()

    desk.page.on("dialog", stay)
    desk.page.reload()
    assert asked == ["beforeunload"]
