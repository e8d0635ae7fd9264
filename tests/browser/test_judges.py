"""Judges in the browser: defined, tried and controlled; axe finds nothing."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.cache import cache
from django.db import connection
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.models import Campaign, QuerySampling, User
from judging.backends.base import FinalError, Request
from judging.backends.scripted import Scripted
from judging.judge_file.document import read_file
from judging.models import Judge, JudgeCall, JudgeRun, Lane
from judging.runs import lifecycle
from judging.trials import one_item
from tests.analysis.drafts.test_drafts import ADDED, label, model, no_if_told
from tests.browser.axe import violations
from tests.browser.chromium import come_in
from tests.judging.cast import Script, campaign_of, judge, run_scripted, yes
from tests.page_cast import _user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def campaign(transactional_db: None, tmp_path: Path) -> Campaign:
    cache.clear()
    _user("rita", User.Role.RESEARCHER)
    return campaign_of(tmp_path)


@pytest.fixture
def page(errors: list[str], page: Page, campaign: Campaign) -> Page:
    come_in(page, "rita")
    return page


def one_refused(request: Request) -> str | BaseException:
    refused = request.facts.texts[0].startswith("Nobody knows 1")
    return FinalError("refused", "the model refused") if refused else yes(request)


def answered(campaign: Campaign, rater: Judge, script: Script) -> JudgeRun:
    """A finished run, created in another thread since Playwright's event loop is in this one."""

    def inside() -> JudgeRun:
        try:
            return run_scripted(campaign, rater, script)[0]
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(inside).result()


def mixed(campaign: Campaign) -> JudgeRun:
    return answered(campaign, judge("mixed"), one_refused)


def held(campaign: Campaign) -> JudgeRun:
    """An active run, in the state that its pump sets."""
    run = lifecycle.start(campaign, judge("busy"), queued=True)
    until = timezone.now() + timedelta(hours=1)
    JudgeRun.objects.filter(pk=run.pk).update(
        state="running", lease=uuid.uuid4(), lease_until=until, in_flight=3, allowed=8
    )
    return run


def paused(campaign: Campaign) -> JudgeRun:
    made = judge("away", "openai", model="m", base_url="http://127.0.0.1:9")
    run = lifecycle.start(campaign, made, queued=True)
    Lane.objects.update(paused="the server answered 401", paused_at=timezone.now())
    return run


def test_every_page_about_judges_passes_axe(page: Page, campaign: Campaign) -> None:
    found = []
    page.goto(reverse("judges"))
    found += violations(page, "no judge", rare=True)
    done, busy, away = mixed(campaign), held(campaign), paused(campaign)
    call = JudgeCall.objects.filter(state="answered")[0]
    addresses = {
        "list": reverse("judges"),
        "new": reverse("judge-new"),
        "judge": reverse("judge", args=[done.judge_id]),
        "campaign": reverse("judge-start", args=[done.judge_id]),
        "estimate": f"{reverse('judge-start', args=[away.judge_id])}?campaign={campaign.pk}",
        "run": reverse("judge-run", args=[done.pk]),
        "busy": reverse("judge-run", args=[busy.pk]),
        "paused": reverse("judge-run", args=[away.pk]),
        "calls": reverse("judge-calls", args=[done.pk]),
        "call": reverse("judge-call", args=[call.pk]),
        "compared": reverse("judges-compared", args=[campaign.pk]),
        "answers": reverse("judge-answers", args=[campaign.pk, done.judge_id]),
        "answers by unit": reverse("judge-answers", args=[campaign.pk, done.judge_id]) + "?by=unit",
        "robustness": reverse("judge-robustness", args=[done.pk]),
        "trials": reverse("campaign-trials", args=[campaign.pk]),
        "bench": reverse("judge-bench", args=[campaign.pk]),
    }
    for name, address in addresses.items():
        # The next test checks the refused form, and the judge while it is tried.
        rare = name in ("new", "judge", "estimate", "busy", "paused")
        page.goto(address)
        found += violations(page, name, rare=rare)
    assert not found, "\n".join(found)


def test_a_judge_is_tried_created_and_run_in_the_campaign_one_came_from(
    page: Page, campaign: Campaign
) -> None:
    page.goto(reverse("campaign-judge-start", args=[campaign.pk]))
    page.get_by_role("link", name="Define a judge").click()
    more = page.get_by_text("More", exact=True)
    expect(page.get_by_label("Temperature")).to_be_hidden()
    page.get_by_role("button", name="Create judge").click()
    expect(page.get_by_role("alert")).to_contain_text("was not created")
    found = violations(page, "refused")
    page.get_by_label("Word overlap").check()
    expect(page.get_by_label("Model", exact=True)).to_be_hidden()
    page.get_by_label("Item", exact=True).fill("1")
    page.get_by_role("button", name="Try", exact=True).click()
    trial = page.locator("#trial")
    expect(trial.locator(".pill")).to_have_text("answered")
    assert not Judge.objects.exists()
    found += violations(page, "tried")
    page.get_by_label("A decision model").check()
    more.click()
    expect(page.get_by_label("Least mass")).to_be_visible()
    expect(page.get_by_text("Reasoning", exact=True)).to_be_hidden()
    page.get_by_label("OpenAI’s protocol").check()
    expect(page.get_by_label("Temperature")).to_be_visible()
    expect(page.get_by_label("Least mass")).to_be_hidden()
    found += violations(page, "every parameter", rare=True)
    page.get_by_label("Word overlap").check()
    page.get_by_label("Name", exact=True).fill("floor")
    page.get_by_role("button", name="Create judge").click()
    page.wait_for_url(f"**/campaigns/{campaign.pk}/judges/start/?judge={Judge.objects.get().pk}")
    expect(page.get_by_role("button", name="Start the run")).to_be_visible()
    assert not found, "\n".join(found)


@pytest.mark.long
def test_a_stored_judge_is_tried_on_its_page(page: Page, campaign: Campaign) -> None:
    page.goto(reverse("judge", args=[judge("floor").pk]))
    page.get_by_label("Item", exact=True).fill("1")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#trial")).to_contain_text("Labels")
    found = violations(page, "tried")
    page.get_by_label("Item", exact=True).fill("99")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#trial")).to_contain_text("The item does not exist")
    assert not found, "\n".join(found)


def test_a_judge_file_is_checked_while_typing_and_tried_before_the_judge_is_created(
    page: Page, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.goto(reverse("judge-new"))
    page.get_by_label("A judge file").check()
    status, field = page.locator("#file-status"), page.get_by_label("Judge file", exact=True)
    expect(status).to_contain_text("The field is empty")
    found = violations(page, "no file yet", rare=True)
    page.get_by_label("Start from the library").select_option("report-coverage")
    page.get_by_role("button", name="Load", exact=True).click()
    expect(status).to_contain_text("fixtures are read as expected")
    text = field.input_value()
    found += violations(page, "a file of the library", rare=True)
    field.fill(text.replace("title =", "titel =", 1))
    expect(status).to_contain_text("line 2")
    expect(field).to_have_attribute("aria-invalid", "true")
    found += violations(page, "a wrong file")
    page.get_by_role("button", name="Go to line 2").press("Enter")
    expect(field).to_be_focused()
    page.keyboard.type(text.splitlines()[1])
    expect(status).to_contain_text("fixtures are read as expected")
    expect(field).not_to_have_attribute("aria-invalid", "true")
    answer = read_file(text).fixtures[0].completion
    monkeypatch.setattr(one_item, "build_backend", lambda judge: Scripted([f"```\n{answer}\n```"]))
    page.get_by_label("Model", exact=True).fill("small")
    page.get_by_label("Item", exact=True).fill("1")
    page.get_by_label("Item", exact=True).press("Enter")
    expect(page.locator("#trial")).to_contain_text("read after: fence")
    found += violations(page, "tried before it is created")
    assert not Judge.objects.exists()
    page.get_by_label("Name", exact=True).fill("coverage")
    page.get_by_role("button", name="Create judge").click()
    page.wait_for_url(f"**{reverse('judge', args=[Judge.objects.get().pk])}")
    assert Judge.objects.get().file == text
    found += violations(page, "a judge with a file", rare=True)
    assert not found, "\n".join(found)


@pytest.mark.long
def test_a_typed_text_is_replaced_only_after_confirmation(
    page: Page, campaign: Campaign, tmp_path: Path
) -> None:
    page.goto(f"{reverse('judge-new')}?library=graded-relevance")
    field = page.get_by_label("Judge file", exact=True)
    field.fill(field.input_value().replace('relevant = "no"', 'relevant = "yes"'))
    expect(page.locator("#file-status")).to_contain_text("6 of 26 fixtures")
    assert not violations(page, "a fixture that is read otherwise", rare=True)
    own = field.input_value() + "# mine"
    field.fill(own)
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_label("Start from the library").select_option("faithfulness")
    page.get_by_role("button", name="Load", exact=True).click()
    expect(field).to_have_value(own)
    page.once("dialog", lambda dialog: dialog.accept())
    path = tmp_path / "judge.toml"
    path.write_text("[judge]\n", "utf-8")
    page.get_by_label("Or upload a file").set_input_files(path)
    expect(field).to_have_value("[judge]\n")
    expect(page.locator("#file-check")).to_contain_text("Line 1. Protocol is missing")


def test_a_change_is_drafted_from_tags_then_tried_and_compared(
    page: Page, campaign: Campaign
) -> None:
    first = QuerySampling.objects.filter(campaign=campaign).order_by("query")[0]
    QuerySampling.objects.filter(pk=first.pk).update(role="development")
    label(campaign)
    answered(campaign, model(), yes)
    page.goto(f"{reverse('disagreements', args=[campaign.pk])}?show=all")
    page.keyboard.press("g")
    page.locator("#unit .note").fill("years?")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Tagged guideline gap by rita, with a note")).to_be_visible()
    page.get_by_role("link", name="Draft a change").first.click()
    page.locator(".groups summary").first.click()
    expect(page.locator(".tagged .note").first).to_have_text("years?")
    found = violations(page, "drafts", rare=True)
    field = page.get_by_label("Guideline", exact=True)
    field.fill(f"{ADDED}\n\n{field.input_value()}")
    page.get_by_role("button", name="Save the draft").click()
    expect(page.locator(".difference ins")).to_have_text(ADDED)
    draft = page.url
    page.get_by_role("button", name="Estimate a try").click()
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    answered(campaign, Judge.objects.get(base__isnull=False), no_if_told)
    page.goto(draft)
    expect(page.locator("#effect .turns")).to_contain_text("Wrong to right: 6")
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert not found + violations(page, "effect")


def test_a_run_is_watched_and_controlled(page: Page, campaign: Campaign) -> None:
    run = held(campaign)
    page.goto(reverse("judge-run", args=[run.pk]))
    live = page.locator("#live")
    expect(live).to_contain_text("of 8 allowed")
    page.context.set_offline(True)
    notice = page.locator("#following-notice")
    expect(notice).to_contain_text("The site cannot be reached")
    page.context.set_offline(False)
    expect(notice).to_be_hidden()
    number = page.get_by_label("Requests at once")
    number.fill("5")
    JudgeRun.objects.filter(pk=run.pk).update(in_flight=7)
    expect(live).to_contain_text("7of 8 allowed")
    expect(number).to_have_value("5")
    page.get_by_role("button", name="Change", exact=True).click()
    page.wait_for_load_state()
    page.get_by_role("button", name="Stop").click()
    expect(live).to_contain_text("Stopping")
    run.refresh_from_db()
    assert (run.concurrency, run.wish) == (5, "stop")
    JudgeRun.objects.filter(pk=run.pk).update(state="interrupted", lease=None, lease_until=None)
    expect(page.get_by_role("link", name="Continue")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
