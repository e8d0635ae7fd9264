"""`run_judge` works in the foreground, and sends messages to workers."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from django.core.management.base import CommandError
from django.db.models.functions import Now
from kombu.exceptions import OperationalError

from annotation.models import Assignment, Campaign, Label
from judging import tasks
from judging.backends.base import Answer, FatalError, TransientError
from judging.backends.scripted import Scripted
from judging.management.commands import run_judge
from judging.models import JudgeRun
from judging.retries import Patience
from judging.runs import ledger, lifecycle
from tests.judging.cast import campaign_of, command, judge, pump_here, yes


def run(campaign: Campaign, *arguments: str, name: str = "judge") -> str:
    return command("run_judge", "--campaign", campaign.name, "--judge", name, *arguments)


def refusal(campaign: Campaign, *arguments: str, name: str = "judge") -> str:
    with pytest.raises(CommandError) as caught:
        run(campaign, *arguments, name=name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def bells(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    rung: list[int] = []
    monkeypatch.setattr(run_judge, "leave_to_workers", rung.append)
    monkeypatch.setattr(tasks, "leave_to_workers", rung.append)
    return rung


@pytest.fixture(autouse=True)
def _pumps_here(monkeypatch: pytest.MonkeyPatch) -> None:
    pump_here(monkeypatch)


def scripted(monkeypatch: pytest.MonkeyPatch, script: Any) -> None:
    monkeypatch.setattr("judging.engine.worker.build_backend", lambda judge: Scripted(script))


def test_the_command_runs_a_judge_and_reports_the_results(campaign: Campaign) -> None:
    judge()
    said = run(campaign)
    assert said.startswith("Run ")
    assert "4 done, 0 failed, 4 calls, 0 tokens." in said
    assert Label.objects.count() == 12


def test_running_again_has_nothing_to_do(campaign: Campaign) -> None:
    judge()
    run(campaign)
    assert "Nothing to do" in run(campaign)
    assert "4 done, 0 missing" in run(campaign)
    assert JudgeRun.objects.count() == 1


def test_a_limit_leaves_the_rest_open(campaign: Campaign) -> None:
    judge(granularity="unit")
    assert "5 done, 0 failed, 5 calls, 0 tokens; 7 left open." in run(campaign, "--limit", "5")
    assert "7 done" in run(campaign, "--limit", "50")


def test_failures_are_results_with_their_reasons(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge()
    scripted(monkeypatch, lambda request: "no JSON")
    assert "0 done, 4 failed (unreadable 4), 4 calls" in run(campaign)
    assert "0 done, 4 missing (unreadable 4)" in run(campaign)


def test_a_server_that_refuses_us_is_an_error(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge()
    scripted(monkeypatch, lambda request: FatalError("status-401", "the server answered 401"))
    message = refusal(campaign)
    assert "the server answered 401; correct that and run it again to continue" in message
    assert "4 left open" in message
    scripted(monkeypatch, yes)
    assert "4 done" in run(campaign)


def test_an_unreachable_server_is_an_error(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(params={"concurrency": 1})
    gone = TransientError("refused-connection", "nobody listens", unreachable=True)
    hasty = Patience(attempts=1, backoff=0.001, outage=0.0, unproven=0.0, probe=0.01)
    monkeypatch.setattr("judging.engine.Patience", lambda: hasty)
    scripted(monkeypatch, lambda request: gone)
    assert "nobody listens" in refusal(campaign)
    assert set(Assignment.objects.values_list("status", flat=True)) == {"open"}


def test_a_spent_budget_is_reported_with_how_to_continue(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(params={"concurrency": 1})
    usage = {"prompt_tokens": 990, "completion_tokens": 10}
    scripted(monkeypatch, lambda request: Answer(yes(request), usage=usage))
    message = refusal(campaign, "--most-tokens", "2900")
    spent = JudgeRun.objects.get().prompt_tokens + JudgeRun.objects.get().completion_tokens
    assert spent in (2000, 3000)
    assert f"the budget of 2,900 tokens is spent: {spent:,} so far" in message
    assert "run it again with the same --most-tokens for as much again, " in message
    assert "left open" in message


def test_a_budget_without_a_price_says_what_to_do(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge()
    scripted(monkeypatch, yes)
    message = refusal(campaign, "--most-cost", "2")
    assert "enter one with tandem judge price; correct that and run it again to continue" in message


def test_an_unknown_judge_or_campaign_is_refused(campaign: Campaign) -> None:
    assert refusal(campaign) == "There is no judge 'judge'; create it with tandem judge create."
    with pytest.raises(CommandError, match="There is no campaign 'none'"):
        command("run_judge", "--campaign", "none", "--judge", "judge")


def test_a_limit_below_one_is_refused(campaign: Campaign) -> None:
    judge()
    assert "--limit" in refusal(campaign, "--limit", "0")


def test_lists_with_matches_cannot_be_asked_unit_by_unit(db: None, tmp_path: Path) -> None:
    study = campaign_of(tmp_path, "key-point-writing")
    judge("alone", granularity="unit")
    with pytest.raises(CommandError, match="--granularity item"):
        command("run_judge", "--campaign", study.name, "--judge", "alone")
    assert not Assignment.objects.exists()


def test_the_command_waits_for_a_dead_lease_and_says_so(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = lifecycle.start(campaign, judge())
    lifecycle.lease_run(dead)

    def wait(seconds: float) -> None:
        JudgeRun.objects.filter(pk=dead.pk).update(lease_until=Now() - timedelta(seconds=1))

    monkeypatch.setattr("judging.management.commands.run_judge.time.sleep", wait)
    said = run(campaign)
    assert "Waiting (at most 30 s)" in said
    assert "4 done" in said


def test_the_command_gives_up_on_a_live_lease(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    lifecycle.lease_run(lifecycle.start(campaign, judge()))
    monkeypatch.setattr(run_judge, "PATIENCE_SECONDS", -1)
    assert "is at work" in refusal(campaign)


def test_queueing_notifies_the_workers_after_the_commit(
    campaign: Campaign, bells: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    judge()
    with django_capture_on_commit_callbacks(execute=True):
        assert run(campaign, "--queue").startswith("Queued run ")
        assert bells == []
    queued = JudgeRun.objects.get()
    assert bells == [queued.pk]
    assert (queued.state, queued.queued) == ("queued", True)
    assert not Label.objects.exists()


def test_queueing_a_run_that_died_leaves_it_to_the_workers(
    campaign: Campaign, bells: list[int]
) -> None:
    rater = judge()
    lifecycle.lease_run(lifecycle.start(campaign, rater))
    run(campaign, "--queue")
    assert JudgeRun.objects.get().queued


def test_a_worker_finishes_a_queued_run_and_ignores_a_second_message(
    campaign: Campaign, bells: list[int]
) -> None:
    rater = judge()
    queued = lifecycle.start(campaign, rater, queued=True)
    tasks.pump(queued.pk)
    tasks.pump(queued.pk)
    queued.refresh_from_db()
    assert (queued.state, queued.done, queued.calls) == ("done", 4, 4)
    assert bells == []


def test_a_duplicate_message_does_nothing_while_a_worker_is_at_work(
    campaign: Campaign, bells: list[int]
) -> None:
    queued = lifecycle.start(campaign, judge(), queued=True)
    lifecycle.lease_run(queued)
    tasks.pump(queued.pk)
    assert not Label.objects.exists()


def test_a_message_for_a_foreground_run_or_none_does_nothing(campaign: Campaign) -> None:
    foreground = lifecycle.start(campaign, judge())
    tasks.pump(foreground.pk)
    tasks.pump(10**6)
    assert not Label.objects.exists()


def test_a_worker_whose_time_is_over_notifies_the_next(
    campaign: Campaign,
    bells: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rater = judge(granularity="unit", params={"concurrency": 1})
    monkeypatch.setattr(
        "judging.engine.worker.build_backend", lambda judge: Scripted(yes, seconds=0.05)
    )
    monkeypatch.setattr(tasks, "BUDGET_SECONDS", 0.1)
    queued = lifecycle.start(campaign, rater, queued=True)
    tasks.pump(queued.pk)
    assert bells == [queued.pk]
    monkeypatch.setattr(tasks, "BUDGET_SECONDS", 60.0)
    tasks.pump(queued.pk)
    queued.refresh_from_db()
    assert (queued.state, queued.done) == ("done", 12)
    assert ledger.count_by_status(campaign, rater) == {"done": 12}


def test_a_run_is_queued_even_without_a_broker(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    def away(*args: Any, **kwargs: Any) -> None:
        raise OperationalError("nobody listens")

    judge()
    monkeypatch.setattr(current_app, "send_task", away)
    with django_capture_on_commit_callbacks(execute=True):
        assert run(campaign, "--queue").startswith("Queued")
    assert list(lifecycle.runs_without_worker()) == [JudgeRun.objects.get()]


def test_the_sweep_notifies_workers_only_of_neglected_runs(
    campaign: Campaign, bells: list[int]
) -> None:
    queued = lifecycle.start(campaign, judge("queued"), queued=True)
    lifecycle.lease_run(lifecycle.start(campaign, judge("busy"), queued=True))
    lifecycle.start(campaign, judge("foreground"))
    tasks.sweep()
    assert bells == [queued.pk]


def test_the_sweep_finds_a_run_whose_worker_died(campaign: Campaign, bells: list[int]) -> None:
    dead = lifecycle.start(campaign, judge(), queued=True)
    lifecycle.lease_run(dead)
    JudgeRun.objects.update(lease_until=Now() - timedelta(seconds=1))
    tasks.sweep()
    assert bells == [dead.pk]
