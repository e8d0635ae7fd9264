"""A real browser shows every stored text as plain text, whatever it contains."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Page, Request
from pytest_django.live_server_helper import LiveServer

from annotation.answers.drafts import save_draft
from annotation.models import Assignment, Campaign, User
from annotation.presentation import asked_units, present, schema
from tests.browser.chromium import come_in
from tests.security.hostile import ALL, make, packed, work_of
from tests.security.payloads import PAYLOADS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.once,
    pytest.mark.django_db(transaction=True),
]

QUICK = "?resamples=20"  # for as many raters as there are texts
TRAP = "window.caught = (n) => console.error('caught ' + n);"
SHOWN = """() => document.body.textContent + "\\n"
  + [...document.querySelectorAll("textarea, input")].map((field) => field.value).join("\\n")"""
ALIVE = """() => [...document.querySelectorAll("a, area, form, button, iframe, base")]
  .flatMap((each) => ["href", "src", "data", "action", "formaction"].map((name) =>
    each.getAttribute(name) ?? "")
    // What stands in the query of an address of ours leads nowhere else.
    .map((to) => (/^\\/[^/\\\\]/.test(to) ? to.split("?")[0] : to))
    .filter((to) => !to.startsWith("#") && /script:|leak|data:/i.test(to)))"""


class Watch:
    """Records foreign requests, errors and dialogs, which no page of Tandem causes."""

    def __init__(self, context: BrowserContext, home: str) -> None:
        self.found: list[str] = []
        self.home = home
        context.on("request", self._request)
        context.on("page", self._page)

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.home, "data:image/svg", "file:", "blob:")):
            self.found.append(f"requests {request.url}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.found.append(message.text)

    def _dialog(self, dialog: Dialog) -> None:
        self.found.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _page(self, page: Page) -> None:
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda error: self.found.append(str(error)))
        page.on("console", self._console)


@pytest.fixture
def watch(context: BrowserContext, live_server: LiveServer) -> Iterator[Watch]:
    context.add_init_script(TRAP)
    watch = Watch(context, live_server.url)
    yield watch
    assert watch.found == []


@pytest.fixture
def campaigns(transactional_db: None, tmp_path: Path) -> dict[str, Campaign]:
    return make(tmp_path)


def opened(page: Page, address: str, *texts: str) -> str:
    """Open an address and return its text. All `texts` must appear, as plain text."""
    page.goto(address)
    return shown_text(page, *texts)


def opened_in_pages(page: Page, address: str, *texts: str) -> str:
    """Open all pages of a list and return their text. All `texts` must appear."""
    page.goto(address)
    shown = [shown_text(page)]
    while (following := page.get_by_role("link", name="Next ›")).count():
        following.click()
        page.wait_for_load_state()
        shown.append(shown_text(page))
    missing = [text for text in texts if not any(text in each for each in shown)]
    assert not missing, f"no page of {address} shows {missing[:3]}"
    return "".join(shown)


def shown_text(page: Page, *texts: str) -> str:
    shown = str(page.evaluate(SHOWN))
    missing = [text for text in texts if text not in shown]
    assert not missing, f"{page.url} does not show {missing[:3]}"
    assert page.evaluate(ALIVE) == []
    assert page.locator("img, svg script, iframe, object, embed, base, marquee").count() == 0
    return shown


def hostile_draft(assignment: Assignment) -> dict[str, object]:
    """Return a draft in which every free text is an injection attempt."""
    spec, asked = present(assignment.item), schema(assignment.item.campaign)
    answers: dict[str, dict[str, object]] = {}
    for name, unit in asked_units(assignment, spec).items():
        answers[name] = {key: [] if key == "evidence" else None for key in asked.keys(unit.kind)}
        if rule := asked.written(unit.kind):
            answers[name][rule.name] = {"text": ALL, "citations": []}
    return {"units": answers, "comment": ALL}


def test_annotators_see_markup_as_text(
    context: BrowserContext, watch: Watch, campaigns: dict[str, Campaign]
) -> None:
    page = context.new_page()
    come_in(page, "ada")
    ada = User.objects.get(username="ada")
    assert PAYLOADS[0] in opened(page, "/tasks/")
    for protocol, mine in work_of(ada, campaigns):
        save_draft(mine, hostile_draft(mine), 0, 0)
        shown = opened(page, reverse("item", args=[mine.uid]), *PAYLOADS)
        assert campaigns[protocol].name in shown
        page.locator("body").press("g")
        page.mouse.move(300, 300)
        page.wait_for_load_state("networkidle")
        shown_text(page)
        opened(page, reverse("finished", args=[campaigns[protocol].pk]), campaigns[protocol].name)
    opened(page, "/tasks/", *(campaign.name for campaign in campaigns.values()))


def test_researchers_and_admins_see_markup_as_text(
    context: BrowserContext, watch: Watch, campaigns: dict[str, Campaign], tmp_path: Path
) -> None:
    page = context.new_page()
    study = campaigns["report-coverage"]
    raters = packed(140)
    come_in(page, "rita")
    assert study.name in opened(page, "/campaigns/", *PAYLOADS)
    page.goto(reverse("results", args=[study.pk]) + QUICK)
    page.wait_for_selector("#report .verdict")
    page.locator("details.fold").evaluate_all("all => all.forEach(e => (e.open = true))")
    assert raters[0] in shown_text(page, study.name, *raters)
    whole = page.request.get(reverse("report-html", args=[study.pk]) + QUICK)
    (tmp_path / "report.html").write_bytes(whole.body())
    opened(page, (tmp_path / "report.html").as_uri(), study.name, *raters)
    context.clear_cookies()
    come_in(page, "root")
    assert study.batch.name in opened_in_pages(page, "/batches/", *PAYLOADS)
    opened(page, reverse("batch", args=[study.batch_id]), *PAYLOADS)


def test_the_test_notices_scripts_and_requests(
    context: BrowserContext, live_server: LiveServer
) -> None:
    context.add_init_script(TRAP)
    watch, page = Watch(context, live_server.url), context.new_page()
    page.goto("/login/")
    assert watch.found == []
    markup = "<img src=//leak.example/1><a href=javascript:caught(2)><p onclick=caught(3)>"
    page.evaluate("text => document.body.insertAdjacentHTML('beforeend', text)", markup)
    page.evaluate("() => { alert(1); caught(1); }")
    seen = ("dialog 1", "caught 1", "Content Security Policy")
    while not all(word in " ".join(watch.found) for word in seen):
        page.wait_for_event("console")
    found = " ".join(watch.found)
    assert "dialog 1" in found
    assert "caught 1" in found
    assert "Content Security Policy" in found
    assert page.evaluate(ALIVE)
