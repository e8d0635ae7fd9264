"""A run rests as long as its server asks, and ends early if it yields nothing."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.template.loader import render_to_string
from django.utils import timezone

from annotation.models import Campaign
from datasets.work.worker import Loop
from judging import tasks
from judging.backends.base import (
    Answer,
    FatalError,
    FinalError,
    RateError,
    RejectedError,
    Request,
    TransientError,
)
from judging.backends.scripted import Scripted
from judging.backends.transport import can_never_pass, read_reply
from judging.display import describe_status, progress_of, with_clock
from judging.engine import Control, early_end
from judging.engine.early_end import describe_no_yield
from judging.engine.probing import SHORT_QUESTION
from judging.engine.worker import await_rest, work
from judging.models import JudgeCall, JudgeRun
from judging.runs import ledger, lifecycle
from judging.runs.rests import describe_rest
from tests.judging.cast import HASTY, judge, yes

LONG = RateError("the server answered 429: quota", wait=3600.0)
TPM = (
    "Request too large for m in organization o on tokens per min (TPM): Limit 30000, "
    "Requested 48000"
)


def worked(run: JudgeRun, script: Any) -> tuple[Any, Scripted]:
    lease = lifecycle.lease_run(run)
    assert lease is not None
    backend = Scripted(script)
    return work(run, lease, None, backend, HASTY), backend


def status_of(run: JudgeRun) -> Any:
    return describe_status(with_clock(JudgeRun.objects.filter(pk=run.pk)).get())


def test_a_resting_run_is_not_taken_until_its_time_and_then_goes_on(campaign: Campaign) -> None:
    rater = judge(granularity="unit", params={"concurrency": 1})
    run = lifecycle.start(campaign, rater, queued=True)
    ending, backend = worked(run, lambda request: LONG)
    assert ending.how == "rest"
    assert len(backend.asked) == 2
    run.refresh_from_db()
    assert run.rests_until is not None
    assert timedelta(minutes=59) < run.rests_until - timezone.now() <= timedelta(hours=1)
    assert (run.state, run.error, run.calls) == ("running", LONG.message, 2)
    assert lifecycle.lease_run(run) is None
    assert list(lifecycle.runs_without_worker()) == []
    assert ledger.count_by_status(campaign, rater) == {"open": 12}
    status = status_of(run)
    assert status.word == describe_rest(run.rests_until).capitalize()
    assert "quota" in status.note
    JudgeRun.objects.filter(pk=run.pk).update(rests_until=Now())
    assert list(lifecycle.runs_without_worker()) == [run]
    assert worked(run, yes)[0].how == "finished"
    run.refresh_from_db()
    assert (run.state, run.done, run.error) == ("done", 12, "")


def test_a_new_run_of_the_judge_keeps_the_rest_and_resume_ends_it(campaign: Campaign) -> None:
    rater = judge(granularity="unit", params={"concurrency": 1})
    run = lifecycle.start(campaign, rater)
    worked(run, lambda request: LONG)
    again = lifecycle.start(campaign, rater, queued=True)
    assert again.pk != run.pk
    assert lifecycle.lease_run(again) is None
    assert tasks.resume(again)
    assert lifecycle.lease_run(again) is not None


def test_a_resting_run_can_be_stopped(campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge(params={"concurrency": 1}))
    worked(run, lambda request: LONG)
    assert lifecycle.ask_to_stop(run)
    run.refresh_from_db()
    assert run.state == "interrupted"


def test_if_only_some_must_wait_the_run_rests_after_the_others(campaign: Campaign) -> None:
    rater = judge(granularity="unit", params={"concurrency": 2})
    run = lifecycle.start(campaign, rater)
    first: list[str] = []

    def script(request: Request) -> Any:
        name = request.messages[-1].content
        first.append(name)
        return LONG if name == first[0] else yes(request)

    ending, _ = worked(run, script)
    assert ending.how == "rest"
    assert ledger.count_by_status(campaign, rater) == {"open": 1, "done": 11}


@pytest.mark.parametrize(
    ("until", "said"),
    [("15:00:00", "resting until 15:00"), ("14:59:01", "resting until 15:00"),
     ("15:00:20", "resting until 15:01")],
)  # fmt: skip
def test_the_time_of_a_rest_is_said_to_the_minute(until: str, said: str) -> None:
    now = datetime.fromisoformat("2026-11-20T12:00:00+00:00")
    moment = datetime.fromisoformat(f"2026-11-20T{until}+00:00")
    with timezone.override("UTC"):
        assert describe_rest(moment, now) == said
        assert describe_rest(moment + timedelta(days=1), now).startswith(
            "resting until 2026-11-21 "
        )


def resting(campaign: Campaign) -> JudgeRun:
    run = lifecycle.start(campaign, judge(granularity="unit", params={"concurrency": 1}))
    assert worked(run, lambda request: LONG)[0].how == "rest"
    return run


def test_a_process_waits_for_the_end_of_a_rest_and_leases_the_run_again(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, waits = resting(campaign), list[float]()

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            JudgeRun.objects.update(rests_until=timezone.now() - timedelta(seconds=1))

    monkeypatch.setattr("judging.engine.worker.time.sleep", sleep)
    lease = await_rest(run, Control())
    assert len(waits) == 3
    assert lease == JudgeRun.objects.get().lease is not None


def test_a_process_does_not_wait_for_a_run_that_was_stopped(campaign: Campaign) -> None:
    run = resting(campaign)
    lifecycle.ask_to_stop(run)
    assert await_rest(run, Control()) is None


def test_a_worker_without_work_waits_for_a_run_that_rests(campaign: Campaign) -> None:
    rater = judge(granularity="unit", params={"concurrency": 1})
    run = lifecycle.start(campaign, rater, queued=True)
    assert worked(run, lambda request: LONG)[0].how == "rest"
    assert tasks.take() is None
    loop = Loop(places=1, idle=60)
    loop.last_work -= 61
    assert loop._is_over()
    loop._await_pending()
    assert not loop._is_over()
    lifecycle.ask_to_stop(run)
    loop.last_work -= 61
    loop._await_pending()
    assert loop._is_over()


def early(campaign: Campaign, monkeypatch: pytest.MonkeyPatch, script: Any, **terms: Any) -> Any:
    monkeypatch.setattr("judging.engine.database.FIRST_RESULTS", 5)
    rater = judge(granularity="unit", params={"concurrency": 1})
    run = lifecycle.start(campaign, rater, **terms)
    monkeypatch.setattr("judging.engine.persistence.MIN_GROUP", 1)
    monkeypatch.setattr("judging.engine.persistence.LARGE_GROUP", 2)
    monkeypatch.setattr("judging.engine.loop.MIN_CLAIM", 2)
    ending, backend = worked(run, script)
    run.refresh_from_db()
    return run, ending, backend


TRUNCATED = FinalError("truncated", "cut", answer=Answer("{", "length"))


def test_a_run_that_yields_nothing_ends_early_and_says_the_remedy(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, ending, _ = early(campaign, monkeypatch, lambda request: TRUNCATED)
    assert (ending.how, run.state, run.ended_early) == ("fruitless", "stopped", "truncated")
    assert "results are missing (truncated): " in run.error
    assert "max_tokens" in run.error
    assert 5 <= run.failed < 12
    assert ledger.count_waiting(campaign, run.judge) == 12 - run.failed
    assert status_of(run).barren


def test_a_run_with_go_on_and_those_after_it_do_not_end_early(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _, _ = early(campaign, monkeypatch, lambda request: TRUNCATED)
    again = tasks.go_on(run)
    assert again.go_on
    assert worked(again, lambda request: TRUNCATED)[0].how == "finished"
    again.refresh_from_db()
    assert (again.state, run.failed + again.failed) == ("done", 12)


def test_a_run_whose_texts_are_all_refused_by_the_server_ends_early(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(request: Request) -> Any:
        is_short = request.messages[-1].content == SHORT_QUESTION
        return "OK" if is_short else FatalError("status-403", "flagged")

    run, ending, backend = early(campaign, monkeypatch, script)
    assert (ending.how, run.ended_early) == ("fruitless", "error")
    assert run.calls == JudgeCall.objects.count() == len(backend.asked)


def test_a_mixture_of_reasons_does_not_end_a_run() -> None:
    assert describe_no_yield(4, {"truncated": 26}) is None
    assert describe_no_yield(3, {"truncated": 27}) is not None
    assert describe_no_yield(0, {"truncated": 26, "refused": 4}) is None
    assert describe_no_yield(30, {}) is None
    assert early_end.FIRST_RESULTS == 30


@pytest.mark.parametrize("reason", [*early_end.REMEDIES, "ambiguous"])
def test_each_reason_has_a_remedy(reason: str) -> None:
    found = describe_no_yield(0, {reason: 30})
    assert found is not None
    assert found[1].startswith(f"30 of the first 30 results are missing ({reason}): ")


def test_a_page_lets_a_run_that_ended_early_go_on(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _, _ = early(campaign, monkeypatch, lambda request: TRUNCATED)
    found = with_clock(JudgeRun.objects.filter(pk=run.pk)).get()
    page = render_to_string("judges/_live.html", {"run": found, "progress": progress_of(found)})
    assert 'value="go-on"' in page


@pytest.mark.parametrize(
    ("words", "never"),
    [
        (TPM, True),
        ("This limit is fine: Limit 30,000, Requested 48,000", True),
        ("Rate limit reached: Limit 30000, Used 29000, Requested 1200", False),
        ("Limit 30000, Requested 30000", False),
        ("slow down", False),
    ],
)
def test_a_request_beyond_the_rate_limit_itself_is_recognised(words: str, never: bool) -> None:
    assert can_never_pass(words) == never


def test_a_request_too_large_for_the_limit_fails_at_once_with_a_reason() -> None:
    body = json.dumps({"error": {"message": TPM, "code": "rate_limit_exceeded"}}).encode()
    with pytest.raises(FinalError) as caught:
        read_reply(429, {"retry-after": "2"}, body, lambda found, status: found)
    assert caught.value.reason == "too-long"
    assert "48000" in caught.value.message


@pytest.mark.parametrize("name", ["retry-after-ms", "retry-after"])
def test_a_503_that_says_when_to_come_back_is_busy(name: str) -> None:
    with pytest.raises(RateError) as caught:
        read_reply(503, {name: "2000"}, b"{}", lambda found, status: found)
    assert caught.value.wait == (2.0 if name == "retry-after-ms" else 2000.0)


@pytest.mark.parametrize(
    "error",
    [
        TransientError("status-500", "the server answered 500"),
        TransientError("no-choices", "the server sent no choices"),
        FatalError("status-403", "the server answered 403"),
        FatalError("status-404", "the server answered 404"),
        RejectedError("status-400", "the server answered 400"),
    ],
    ids=lambda error: error.state,
)
def test_poisoned_requests_fail_and_their_run_ends(campaign: Campaign, error: Exception) -> None:
    rater = judge(granularity="unit", params={"concurrency": 4})
    run = lifecycle.start(campaign, rater)
    seen: list[str] = []

    def script(request: Request) -> Any:
        text = request.messages[-1].content
        if text not in seen:
            seen.append(text)
        return error if seen.index(text) in (0, 3, 5, 8, 9) else yes(request)

    ending, backend = worked(run, script)
    run.refresh_from_db()
    assert (ending.how, run.done, run.failures) == ("finished", 7, {"error": 5})
    assert run.calls == JudgeCall.objects.count() == len(backend.asked)
    assert len(backend.asked) <= 7 + 5 * 8
    numbers = JudgeCall.objects.values_list("assignment", "attempt")
    assert len(set(numbers)) == len(numbers)
