"""A run's pages: estimate and start, progress and orders, calls, manifest, and runs compared."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Campaign, User
from judging import library
from judging.backends.base import Answer, FinalError
from judging.backends.logprobs import STORED_KEY
from judging.costs import format_dollars
from judging.display import (
    Progress,
    RunStatus,
    describe_status,
    logprob_facts,
    make_displayable,
    seconds_in_words,
    with_clock,
)
from judging.models import Judge, JudgeCall, JudgeRun, Lane, Price
from judging.runs import lifecycle, planning
from judging.runs.grants import Use
from judging.runs.planning import TrialSample, plan_trial
from judging.trials.perturbed_judges import ensure_trials
from tests.judging.answers.test_label_mass import HIGH, LOW, scoring
from tests.judging.cast import judge, run_scripted, yes
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script> \x1b[31m"


@pytest.fixture
def rita(db: None) -> Client:
    return client_of(User.objects.create(username="rita", role="researcher"))


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    heard: list[int] = []
    monkeypatch.setattr("judging.tasks.ring", heard.append)
    return heard


def get(client: Client, name: str, *keys: int, **query: Any) -> str:
    answer = client.get(reverse(name, args=keys), query)
    assert answer.status_code == 200
    return str(answer.content.decode())


def post(client: Client, name: str, key: int, **form: Any) -> Any:
    return client.post(reverse(name, args=[key]), form)


def order(client: Client, run: JudgeRun, what: str, **form: Any) -> JudgeRun:
    answer = post(client, "judge-run-order", run.pk, order=what, **form)
    assert answer.headers["Location"] == reverse("judge-run", args=[run.pk])
    run.refresh_from_db()
    return run


def word(run: JudgeRun) -> str:
    return describe_status(with_clock(JudgeRun.objects.all()).get(pk=run.pk)).word


def changed(run: JudgeRun, **fields: Any) -> JudgeRun:
    JudgeRun.objects.filter(pk=run.pk).update(**fields)
    run.refresh_from_db()
    return run


def test_the_estimate_comes_first_and_writes_nothing(rita: Client, campaign: Campaign) -> None:
    made = judge()
    assert "Estimate" in get(rita, "judge-start", made.pk)
    page = get(rita, "judge-start", made.pk, campaign=campaign.pk)
    assert "4 of 4 will be asked" in page
    assert not JudgeRun.objects.exists()
    answer = post(rita, "judge-start", made.pk, campaign=campaign.pk, reuse="never", limit=2,
                  estimate=1)  # fmt: skip
    assert "2 of 4 will be asked" in answer.content.decode()
    assert not JudgeRun.objects.exists()


def test_a_key_that_is_not_set_is_named_before_anything_is_asked(
    rita: Client, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = judge()
    monkeypatch.delenv("HARBOUR_KEY", raising=False)
    warning = 'No key is set in <span class="id">HARBOUR_KEY</span> here'
    assert "No key is set" not in get(rita, "judge-start", made.pk, campaign=campaign.pk)
    Judge.objects.filter(pk=made.pk).update(api_key_env="HARBOUR_KEY")
    assert warning in get(rita, "judge-start", made.pk, campaign=campaign.pk)
    monkeypatch.setenv("HARBOUR_KEY", "secret")
    page = get(rita, "judge-start", made.pk, campaign=campaign.pk)
    assert "No key is set" not in page
    assert "secret" not in page


def test_a_started_run_is_queued_with_its_limits_and_a_worker_notified(
    rita: Client, campaign: Campaign, rung: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    limits = {
        "limit": 3, "most_tokens": 900, "most_cost": "1.5", "concurrency": 4, "workers": 2,
    }  # fmt: skip
    with django_capture_on_commit_callbacks(execute=True):
        answer = post(rita, "judge-start", judge().pk, campaign=campaign.pk, reuse="campaign",
                      **limits)  # fmt: skip
    run = JudgeRun.objects.get()
    assert answer.headers["Location"] == reverse("judge-run", args=[run.pk])
    assert (run.queued, run.limit, run.most_tokens, run.concurrency) == (True, 3, 900, 4)
    assert run.workers == 2
    assert (float(run.most_cost or 0), run.reuse) == (1.5, "campaign")
    assert rung == [run.pk]


def test_a_second_start_redirects_to_the_active_run(
    rita: Client, campaign: Campaign, rung: list[int]
) -> None:
    made = judge()
    run = lifecycle.start(campaign, made)
    assert lifecycle.lease_run(run)
    answer = post(rita, "judge-start", made.pk, campaign=campaign.pk, reuse="never")
    assert answer.headers["Location"] == reverse("judge-run", args=[run.pk])
    assert JudgeRun.objects.get().queued


def test_an_invalid_or_needless_start_is_refused(rita: Client, campaign: Campaign) -> None:
    made = judge()
    bad = post(rita, "judge-start", made.pk, campaign=campaign.pk, limit=0, reuse="never")
    assert bad.status_code == 422
    assert b"id_limit_error" in bad.content
    run_scripted(campaign, made)
    through = post(rita, "judge-start", made.pk, campaign=campaign.pk, reuse="never")
    assert through.status_code == 409
    assert b"Nothing is open" in through.content
    assert post(rita, "judge-start", made.pk, campaign=0).status_code == 422


def test_a_queued_run_says_when_no_worker_comes(campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge(), queued=True)
    assert word(run) == "Queued"
    assert word(changed(run, started_at=timezone.now() - timedelta(seconds=40))) == "No worker"
    assert word(changed(run, queued=False)) == "Interrupted"


def test_a_queued_run_says_how_much_of_it_is_planned(
    rita: Client, campaign: Campaign, rung: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run's page counts only the first requests until a worker has planned the others."""
    monkeypatch.setattr(lifecycle, "FIRST_ASSIGNMENTS", 1)
    run = lifecycle.start(campaign, judge(), queued=True)
    items = campaign.items.count()
    assert f"Planning: 1 request so far, for 1 of {items} items" in get(rita, "judge-run", run.pk)
    planning.plan(campaign, run.judge)
    assert "0 of 4 requests done" in get(rita, "judge-run", run.pk)
    # A run that a worker has begun counts as planned, whatever has happened to the items since.
    campaign.items.order_by("pk")[1].assignments.all().delete()
    assert "Planning" in get(rita, "judge-run", run.pk)
    changed(run, manifest={"platform": {}})
    assert "Planning" not in get(rita, "judge-run", run.pk)


def test_a_run_whose_batch_is_with_the_server_names_the_file(campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge())
    changed(run, manifest={"batch": {"files": [{"name": "out.jsonl"}], "requests": 4}})
    status = describe_status(with_clock(JudgeRun.objects.all()).get())
    assert status.word == "Out"
    assert "out.jsonl" in status.note


def test_every_state_of_a_run_has_its_word(campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge(), queued=True)
    ahead = timezone.now() + timedelta(seconds=60)
    held = {"lease": uuid.uuid4(), "lease_until": ahead, "state": "running"}
    assert word(changed(run, **held)) == "Running"
    assert word(changed(run, wish="stop")) == "Stopping"
    assert word(changed(run, wish="cancel")) == "Cancelling"
    words = {state: word(changed(run, state=state)) for state in JudgeRun.State if
             state not in ("queued", "running")}  # fmt: skip
    assert words == {"done": "Done", "stopped": "Stopped", "interrupted": "Interrupted",
                     "cancelled": "Cancelled"}  # fmt: skip


def test_an_active_run_shows_the_current_trouble_with_its_server(
    campaign: Campaign,
) -> None:
    run = lifecycle.start(campaign, judge(), queued=True)
    assert lifecycle.lease_run(run)
    busy = "endpoint busy since 2026-01-01 00:00:00 UTC: come later"
    changed(run, error=busy)
    status = describe_status(with_clock(JudgeRun.objects.all()).get())
    assert (status.word, status.kind, status.note) == ("Running", "warn", busy)


def test_the_reason_of_a_paused_server_is_shown_and_it_can_be_resumed(
    rita: Client, campaign: Campaign, rung: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    made = judge("m", "openai", model="m", base_url="http://127.0.0.1:9/v1")
    run = lifecycle.start(campaign, made, queued=True)
    Lane.objects.update(paused="the server answered 401", paused_at=timezone.now())
    page = get(rita, "judge-run", run.pk)
    assert "the server answered 401" in page
    assert ">Resume</button>" in page
    with django_capture_on_commit_callbacks(execute=True):
        order(rita, run, "resume")
    assert Lane.objects.get().paused == ""
    assert rung == [run.pk]


def test_two_runs_of_one_server_share_it_and_say_so(campaign: Campaign) -> None:
    local = {"model": "m", "base_url": "http://127.0.0.1:9"}
    first, second = (
        lifecycle.start(campaign, judge(name, "openai", **local), queued=True)
        for name in ("first", "second")
    )
    for run in (first, second):
        lease = lifecycle.lease_run(run)
        assert lease
        assert lifecycle.renew(run, lease, Use())
    status = describe_status(with_clock(JudgeRun.objects.all()).get(pk=second.pk))
    assert (status.word, status.kind) == ("Running", "plain")
    assert status.note == f"It shares its server with {first} of judge first."


def test_orders_of_the_page_reach_the_run(rita: Client, campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge(), queued=True)
    assert lifecycle.lease_run(run)
    changed_run = order(rita, run, "speed", concurrency=7, workers=3)
    assert (changed_run.concurrency, changed_run.workers) == (7, 3)
    assert order(rita, run, "stop").wish == "stop"
    assert order(rita, run, "cancel").wish == "cancel"
    assert order(rita, run, "nonsense").wish == "cancel"
    wrong = post(rita, "judge-run-order", run.pk, order="speed", concurrency=0, workers=3)
    assert wrong.status_code == 422


def test_a_run_that_ended_early_goes_on_from_its_page_as_a_new_run(
    rita: Client, campaign: Campaign
) -> None:
    run = lifecycle.start(campaign, judge(), queued=True)
    post(rita, "judge-run-order", run.pk, order="go-on")
    assert JudgeRun.objects.count() == 1
    JudgeRun.objects.filter(pk=run.pk).update(
        state="stopped", ended_early="truncated", ended_at=timezone.now()
    )
    answer = post(rita, "judge-run-order", run.pk, order="go-on")
    again = JudgeRun.objects.latest("id")
    assert answer["Location"] == reverse("judge-run", args=[again.pk])
    assert (again.pk != run.pk, again.go_on) == (True, True)


def test_a_run_without_a_lease_is_cancelled_at_once(rita: Client, campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge(), queued=True)
    assert order(rita, run, "cancel").state == "cancelled"
    page = get(rita, "judge-run", run.pk)
    assert ">Continue</a>" in page
    assert "new run" not in page


def test_after_a_stop_the_run_is_continued_and_says_that_answers_stay(
    rita: Client, campaign: Campaign
) -> None:
    run, _, _ = run_scripted(campaign, judge(), limit=1)
    fresh = get(rita, "campaign-judge-start", campaign.pk, judge=judge(name="other").pk)
    assert "Start the run" in fresh
    JudgeRun.objects.filter(pk=run.pk).update(state="stopped")
    assert "1 of" in get(rita, "judge-run", run.pk)
    for name, keys, query in (
        ("judge-start", [run.judge_id], {"campaign": campaign.pk}),
        ("campaign-judge-start", [campaign.pk], {"judge": run.judge_id}),
    ):
        page = get(rita, name, *keys, **query)
        assert "1 request has a result and stays: only the rest is asked." in page
        assert "Continue the run</button>" in page
        assert "Start" not in page.partition("<main")[2].partition("</main>")[0]


def some_refused() -> Any:
    counted = iter(range(100))

    def line(request: Any) -> Any:
        return FinalError("refused", HOSTILE) if next(counted) == 0 else yes(request)

    return line


@pytest.fixture
def ended(campaign: Campaign) -> JudgeRun:
    return run_scripted(campaign, judge("mixed"), some_refused())[0]


def test_the_page_of_a_run_shows_its_counts_and_stops_polling_at_the_end(
    rita: Client, ended: JudgeRun
) -> None:
    page = get(rita, "judge-run", ended.pk)
    assert "4 of 4 requests done" in page
    assert "<b>1</b> refused" in page
    assert "hx-trigger" not in page
    answer = rita.get(reverse("judge-run-live", args=[ended.pk]), HTTP_HX_REQUEST="true")
    assert answer.headers["HX-Refresh"] == "true"


def test_the_progress_bar_of_a_long_run_has_numbers_without_separators(campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge(), queued=True)
    long = Progress(run, RunStatus("Running"), 1500, 2500, 0, None, None)
    bar = render_to_string("judges/_live.html", {"run": run, "progress": long})
    assert 'max="4000" value="2500"' in bar


def test_the_page_of_an_active_run_polls_every_two_seconds(
    rita: Client, campaign: Campaign
) -> None:
    run = lifecycle.start(campaign, judge(), queued=True)
    assert 'hx-trigger="every 2s"' in get(rita, "judge-run", run.pk)
    part = get(rita, "judge-run-live", run.pk)
    assert part.lstrip().startswith('<section id="live"')


def test_polling_a_run_takes_few_queries(
    rita: Client, ended: JudgeRun, django_assert_max_num_queries: Any
) -> None:
    changed(ended, state="running", lease=uuid.uuid4(), lease_until=timezone.now())
    get(rita, "judge-run-live", ended.pk)
    with django_assert_max_num_queries(7):
        get(rita, "judge-run-live", ended.pk)


def priced(**rates: Any) -> None:
    Price.objects.create(model="m", since="2020-01-01", **rates)


def paid(campaign: Campaign) -> JudgeRun:
    """A run of a judge that asks a server, which counts a thousand tokens for each answer."""
    usage = {"prompt_tokens": 900, "completion_tokens": 100}
    made = judge("asked", "openai", model="m", base_url="http://127.0.0.1:9/v1")
    return run_scripted(campaign, made, lambda request: Answer(yes(request), usage=usage))[0]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("rates", "words"),
    [
        (None, "unknown"),
        ({"prompt": 1, "cached": 1, "completion": 1}, "$0.0040"),
        ({"prompt": 1000, "cached": 0, "completion": 1000}, "$4.00"),
        ({"prompt": 0, "cached": 0, "completion": 0}, "$0"),
    ],
)
def test_an_unknown_cost_is_shown_as_unknown_and_never_as_0(
    rita: Client, campaign: Campaign, rates: dict[str, int] | None, words: str
) -> None:
    if rates:
        priced(**rates)
    run = paid(campaign)
    assert f"<dt>Cost</dt><dd>{words}</dd>" in get(rita, "judge-run", run.pk)
    cell = f'<td data-label="Cost" class="number">{words}</td>'
    assert cell in get(rita, "judge", run.judge_id)
    assert f"{words}<span" in get(rita, "judges-compared", campaign.pk, now=1)
    assert (run.manifest["cost"] is None) == (rates is None)
    call = run.judge_calls.first()
    assert call is not None
    each = format_dollars(call.cost)
    assert f"<dt>Cost</dt><dd>{each}" in get(rita, "judge-call", call.pk)
    assert (each == "unknown") == (words == "unknown")


def test_a_run_without_a_server_costs_0_and_a_run_without_calls_shows_no_cost(
    rita: Client, campaign: Campaign
) -> None:
    waiting = lifecycle.start(campaign, judge("waiting"))
    assert "<dt>Cost</dt><dd>–</dd>" in get(rita, "judge-run", waiting.pk)
    done, _, _ = run_scripted(campaign, judge("floor"))
    assert "<dt>Cost</dt><dd>$0</dd>" in get(rita, "judge-run", done.pk)
    call = done.judge_calls.first()
    assert call is not None
    assert "<dt>Cost</dt><dd>$0 " in get(rita, "judge-call", call.pk)


def test_a_low_label_mass_is_reported_on_the_page_of_its_run(
    rita: Client, campaign: Campaign
) -> None:
    run, _, _ = run_scripted(campaign, scoring(), LOW)
    assert "The label mass is low: half of 12 labels" in get(rita, "judge-run", run.pk)
    high, _, _ = run_scripted(campaign, scoring("sure"), HIGH)
    assert "label mass" not in get(rita, "judge-run", high.pk)


def test_trials_are_listed_separately_from_the_compared_judges(
    rita: Client, campaign: Campaign
) -> None:
    base = judge("floor")
    run_scripted(campaign, base)
    trial = ensure_trials(campaign, base, "again")[0]
    plan_trial(campaign, trial, TrialSample())
    run_scripted(campaign, trial)
    page = get(rita, "judges-compared", campaign.pk, now=1)
    judges, trials = page.split("1 trial under perturbations")
    assert "floor" in judges
    assert "floor~again" not in judges
    assert "floor~again" in trials


def test_no_start_is_offered_without_open_requests(rita: Client, ended: JudgeRun) -> None:
    page = get(rita, "judge-start", ended.judge_id, campaign=ended.campaign_id)
    assert "Nothing will be asked" in page
    assert "Start the run" not in page


def test_no_start_is_offered_while_a_batch_is_with_the_server(
    rita: Client, campaign: Campaign
) -> None:
    run = lifecycle.start(campaign, judge())
    changed(run, manifest={"batch": {"files": [{"name": "out.jsonl"}], "requests": 4}})
    page = get(rita, "judge-start", run.judge_id, campaign=campaign.pk)
    assert 'are in the batch file <span class="id">out.jsonl</span>' in page
    assert "hands that one to the workers" not in page
    assert "will be asked" not in page
    assert "Start the run" not in page


def test_calls_are_listed_by_state_and_in_pages(
    rita: Client, ended: JudgeRun, django_assert_max_num_queries: Any
) -> None:
    first = JudgeCall.objects.filter(state="answered").first()
    assert first is not None
    fields = {f.attname: getattr(first, f.attname) for f in JudgeCall._meta.concrete_fields}
    JudgeCall.objects.bulk_create(JudgeCall(**{**fields, "id": None}) for _ in range(60))
    get(rita, "judges")
    with django_assert_max_num_queries(7):
        page = get(rita, "judge-calls", ended.pk)
    assert "Page 1 of 2" in page
    refused = get(rita, "judge-calls", ended.pk, state="refused")
    assert refused.count("<tr>") == 2
    assert "Page" not in refused
    assert "Page 2 of 2" in get(rita, "judge-calls", ended.pk, state="nonsense", page=2)


def test_a_manifest_is_downloaded_as_a_file(rita: Client, ended: JudgeRun) -> None:
    answer = rita.get(reverse("judge-run-manifest", args=[ended.pk]))
    assert "attachment" in answer.headers["Content-Disposition"]
    assert json.loads(b"".join(answer))["counts"]["done"] == 3


def test_judges_of_a_campaign_are_compared_side_by_side(
    rita: Client, ended: JudgeRun, django_assert_max_num_queries: Any
) -> None:
    for n in range(3):
        run_scripted(ended.campaign, judge(f"other {n}"))
    get(rita, "judges-compared", ended.campaign_id, now=1)
    with django_assert_max_num_queries(60):
        page = get(rita, "judges-compared", ended.campaign_id)
    tabled, prompts = page.split("Prompts, calls and tokens")
    assert tabled.count('class="sign judge"') == Judge.objects.count() == 4
    assert "1 missing" in tabled
    assert "1 refused" in prompts
    assert ended.prompt_sha256[:12] in prompts


def test_the_comparison_links_to_the_robustness_of_each_judge(
    rita: Client, ended: JudgeRun
) -> None:
    address = reverse("judge-robustness", args=[ended.pk])
    assert address in get(rita, "judges-compared", ended.campaign_id, now=1)
    assert "Robustness of" in get(rita, "judge-robustness", ended.pk)


def test_a_campaign_without_judges_says_how_to_begin(rita: Client, campaign: Campaign) -> None:
    page = get(rita, "judges-compared", campaign.pk)
    assert "A judge is a model with its prompt under one name" in page
    assert "No judge has run here" in page
    assert reverse("campaign-baseline", args=[campaign.pk]) in page


def of_another_task() -> Judge:
    file = library.text_of("graded-relevance")
    return judge("relevance", "openai", model="m", base_url="http://127.0.0.1:9/v1", file=file)


def test_a_judge_for_another_task_is_not_offered(rita: Client, campaign: Campaign) -> None:
    fits, other = judge("floor"), of_another_task()
    page = get(rita, "campaign-judge-start", campaign.pk)
    assert f'<option value="{fits.pk}" selected>' in page
    assert f'<option value="{other.pk}"' not in page
    assert "1 more is not listed, since it cannot answer this campaign" in page


def test_the_page_says_why_a_requested_judge_cannot_run(rita: Client, campaign: Campaign) -> None:
    other = of_another_task()
    page = get(rita, "campaign-judge-start", campaign.pk, judge=other.pk)
    assert "is from a file about grounding-relevance" in page


def test_the_page_says_how_to_begin_if_no_judge_fits(rita: Client, campaign: Campaign) -> None:
    of_another_task()
    page = get(rita, "campaign-judge-start", campaign.pk)
    assert "none yet that could answer this campaign" in page


def test_one_button_creates_the_baseline_once_and_starts_it(
    rita: Client, campaign: Campaign, rung: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        for _ in range(2):
            answer = post(rita, "campaign-baseline", campaign.pk)
            assert answer.headers["Location"] == reverse("judges-compared", args=[campaign.pk])
    run = JudgeRun.objects.get()
    assert (run.judge.rater.name, run.queued, rung) == ("lexical", True, [run.pk])


def test_a_run_without_a_worker_can_be_started_beside_the_web_server(
    rita: Client, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[bool] = []
    monkeypatch.setattr("datasets.work.wake.start_here", lambda: started.append(True))
    run = lifecycle.start(campaign, judge("floor"), queued=True)
    order(rita, run, "here")
    assert not started, "a worker may still take it"
    changed(run, started_at=timezone.now() - timedelta(minutes=1))
    assert "Run it here" in get(rita, "judges-compared", campaign.pk)
    order(rita, run, "here")
    assert started == [True]
    lifecycle.lease_run(run)
    order(rita, run, "here")
    assert started == [True], "the lease is taken, so a second click starts nothing"


def test_durations_and_log_probabilities_are_summarized() -> None:
    assert [seconds_in_words(s) for s in (None, 45.2, 600, 12_000)] == [
        "", "45 s", "10 min", "3 h 20 min",
    ]  # fmt: skip
    assert logprob_facts({"content": [{"logprob": -1.0}, {"logprob": -3.0}, "odd"]}) == {
        "stored": 2, "tokens": 2, "mean": -2.0, "least": -3.0,
    }  # fmt: skip
    assert logprob_facts({STORED_KEY: [{"logprob": -1.0}], "tokens": 512}) == {
        "stored": 1, "tokens": 512, "mean": -1.0, "least": -1.0,
    }  # fmt: skip
    assert logprob_facts(None) is None
    assert make_displayable("a\x00b\r\n\u2066") == "a␀b\n‹U+2066›"
