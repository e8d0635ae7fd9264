"""Stopping and cancelling runs, and changing them while they are under way."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.management.base import CommandError
from django.db.models.functions import Now

from annotation.models import Campaign
from judging.backends.scripted import Scripted
from judging.engine import Control
from judging.engine.worker import work
from judging.management.commands import run_judge
from judging.models import JudgeRun
from judging.runs import ledger, lifecycle
from tests.judging.cast import HASTY, command, judge, run_scripted, yes

UNITS, ITEMS = 12, 4


def of(campaign: Campaign, *options: str) -> str:
    return command("run_judge", "--campaign", campaign.name, "--judge", "judge", *options)


def test_a_run_without_a_worker_stops_at_once(campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge(), queued=True)
    assert lifecycle.ask_to_stop(run)
    run.refresh_from_db()
    assert run.state == "interrupted"
    assert run.ended_at
    assert ledger.count_by_status(campaign, judge()) == {"open": ITEMS}
    assert not lifecycle.ask_to_stop(run)


def test_a_cancelled_run_closes_assignments_and_a_later_run_reopens_them(
    campaign: Campaign,
) -> None:
    rater = judge()
    run_scripted(campaign, rater, limit=1)
    run = lifecycle.start(campaign, rater, queued=True)
    assert lifecycle.ask_to_cancel(run)
    run.refresh_from_db()
    assert run.state == "cancelled"
    assert ledger.count_by_status(campaign, rater) == {"done": 1, "cancelled": ITEMS - 1}
    again, _, _ = run_scripted(campaign, rater)
    assert again.done == ITEMS - 1
    assert ledger.count_by_status(campaign, rater) == {"done": ITEMS}


def test_renewing_the_lease_returns_the_orders_for_the_run(campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge())
    token = lifecycle.lease_run(run)
    assert token
    assert lifecycle.renew(run, token) == lifecycle.Orders()
    assert lifecycle.ask_to_stop(run)
    assert lifecycle.set_concurrency(run, 5)
    assert lifecycle.renew(run, token) == lifecycle.Orders("stop", 5)
    run.refresh_from_db()
    assert run.state == "running"


def test_an_unread_order_takes_effect_when_the_lease_is_released(campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge(), queued=True)
    token = lifecycle.lease_run(run)
    assert token
    lifecycle.ask_to_cancel(run)
    lifecycle.hand_over(run, token)
    run.refresh_from_db()
    assert (run.state, run.lease) == ("cancelled", None)
    assert ledger.count_by_status(campaign, judge()) == {"cancelled": ITEMS}


def test_an_order_unread_by_a_dead_worker_takes_effect_with_the_next_worker(
    campaign: Campaign,
) -> None:
    run = lifecycle.start(campaign, judge(), queued=True)
    assert lifecycle.lease_run(run)
    lifecycle.ask_to_stop(run)
    JudgeRun.objects.filter(pk=run.pk).update(lease_until="2020-01-01T00:00:00Z")
    assert list(lifecycle.runs_without_worker()) == [run]
    assert lifecycle.lease_run(run) is None
    run.refresh_from_db()
    assert run.state == "interrupted"


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("ask", "state", "left"),
    [
        (lifecycle.ask_to_stop, "interrupted", "open"),
        (lifecycle.ask_to_cancel, "cancelled", "cancelled"),
    ],
)
def test_a_run_under_way_ends_as_ordered(
    campaign: Campaign,
    monkeypatch: pytest.MonkeyPatch,
    ask: Callable[[JudgeRun], bool],
    state: str,
    left: str,
) -> None:
    monkeypatch.setattr("judging.engine.loop.RENEW_SECONDS", 0.01)
    rater = judge(granularity="unit", params={"concurrency": 1})
    run = lifecycle.start(campaign, rater, queued=True)
    token = lifecycle.lease_run(run)
    assert token

    def progress(settled: int) -> None:
        if settled >= 3:
            ask(run)

    backend = Scripted(yes, seconds=0.06)
    work(run, token, Control(progress=progress), backend, HASTY)
    run.refresh_from_db()
    assert (run.state, run.in_flight) == (state, 0)
    assert 3 <= run.done == len(backend.asked) < UNITS
    assert ledger.count_by_status(campaign, rater) == {"done": run.done, left: UNITS - run.done}


def test_an_item_added_during_the_run_is_asked_too(campaign: Campaign) -> None:
    rater = judge()
    run = lifecycle.start(campaign, rater)
    late = ledger.assignments_of(campaign, rater).last()
    assert late
    late.delete()
    token = lifecycle.lease_run(run)
    assert token
    backend = Scripted(yes)
    work(run, token, None, backend, HASTY)
    run.refresh_from_db()
    assert (run.state, run.done, len(backend.asked)) == ("done", ITEMS, ITEMS)


class TestByCommand:
    def test_stop_and_cancel_end_the_active_run(self, campaign: Campaign) -> None:
        rater = judge()
        lifecycle.start(campaign, rater, queued=True)
        assert "is interrupted." in of(campaign, "--stop")
        lifecycle.start(campaign, rater, queued=True)
        assert "is cancelled." in of(campaign, "--cancel")

    def test_stopping_an_active_run_says_that_it_ends_after_its_calls(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run_judge, "PATIENCE_SECONDS", 0)
        run = lifecycle.start(campaign, judge())
        assert lifecycle.lease_run(run)
        assert "ends once its calls in progress are finished." in of(campaign, "--stop")
        run.refresh_from_db()
        assert (run.state, run.wish) == ("running", "stop")

    def test_a_run_of_a_dead_process_is_ended_when_its_lease_runs_out(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = lifecycle.start(campaign, judge())
        assert lifecycle.lease_run(run)
        over = {"lease_until": Now() - timedelta(seconds=1)}
        monkeypatch.setattr(
            run_judge.time, "sleep", lambda seconds: JudgeRun.objects.update(**over)
        )
        assert "is cancelled." in of(campaign, "--cancel")
        assert ledger.count_by_status(campaign, run.judge) == {"cancelled": ITEMS}

    @pytest.mark.parametrize("option", ["--stop", "--cancel"])
    def test_stopping_without_an_active_run_is_an_error(
        self, campaign: Campaign, option: str
    ) -> None:
        judge()
        with pytest.raises(CommandError, match="No run of judge judge over"):
            of(campaign, option)

    def test_a_cancelled_run_can_be_run_again(self, campaign: Campaign) -> None:
        lifecycle.start(campaign, judge(), queued=True)
        of(campaign, "--cancel")
        assert "4 done" in of(campaign)

    def test_a_run_stores_its_limits(self, campaign: Campaign) -> None:
        judge()
        of(campaign, "--queue", "--concurrency", "3", "--most-tokens", "900", "--most-cost", "1.5")
        run = JudgeRun.objects.get()
        assert (run.concurrency, run.most_tokens, str(run.most_cost)) == (3, 900, "1.500000")

    @pytest.mark.parametrize(
        "option", [("--concurrency", "0"), ("--most-tokens", "-1"), ("--most-cost", "0")]
    )
    def test_limits_below_one_are_refused(
        self, campaign: Campaign, option: tuple[str, str]
    ) -> None:
        judge()
        with pytest.raises(CommandError, match=f"{option[0]} is not above 0"):
            of(campaign, *option)

    def test_a_cost_limit_that_is_not_a_number_is_refused(self, campaign: Campaign) -> None:
        judge()
        with pytest.raises(CommandError, match="--most-cost"):
            of(campaign, "--most-cost", "nan")
