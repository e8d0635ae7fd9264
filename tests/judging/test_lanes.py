"""Lanes: runs of one model share its server, and a refusing server is paused."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.db.models.functions import Now

from annotation.models import Campaign
from judging import lanes, tasks
from judging.backends.base import FatalError
from judging.backends.scripted import Scripted
from judging.engine.worker import work
from judging.models import Judge, JudgeRun, Lane
from judging.runs import ledger, lifecycle
from judging.runs.grants import Use
from tests.judging.cast import HASTY, command, judge, pump_here, run_scripted, yes

SERVER = "http://127.0.0.1:9/v1"


def served(name: str = "judge", url: str = SERVER, model: str = "m", **fields: Any) -> Judge:
    return judge(name, "openai", model=model, base_url=url, **fields)


def taken(campaign: Campaign, rater: Judge, **terms: Any) -> tuple[JudgeRun, Any]:
    run = lifecycle.start(campaign, rater, **terms)
    return run, lifecycle.lease_run(run)


def run_out(run: JudgeRun) -> None:
    before = Now() - timedelta(seconds=1)
    JudgeRun.objects.filter(pk=run.pk).update(lease_until=before)


@pytest.fixture
def bells(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    rung: list[int] = []
    monkeypatch.setattr(tasks, "leave_to_workers", rung.append)
    pump_here(monkeypatch)
    return rung


def test_judges_of_one_model_on_one_server_under_one_key_share_a_lane(db: None) -> None:
    first, second = lanes.lanes_of(served("a")), lanes.lanes_of(served("b"))
    assert first == second
    assert lanes.lanes_of(served("c", api_key_env="OTHER_KEY")) != first
    assert lanes.lanes_of(served("d", url="http://127.0.0.1:10/v1")) != first
    assert lanes.lanes_of(served("e", model="other")) != first


def test_models_of_a_server_with_a_common_limit_share_a_lane(db: None) -> None:
    common = {"limit": "common"}
    first, second = (
        lanes.lanes_of(served(name, model=name, params=common)) for name in ("one", "other")
    )
    assert first == second
    assert lanes.lanes_of(served("alone", model="one")) != first


def test_a_judge_that_asks_no_server_has_no_lane(campaign: Campaign) -> None:
    assert lanes.lanes_of(judge()) == []
    assert lifecycle.start(campaign, judge()).lane is None


def test_two_runs_use_a_lane_at_once(campaign: Campaign) -> None:
    first, token = taken(campaign, served("a"))
    second, other = taken(campaign, served("b"))
    assert token
    assert other
    assert lifecycle.renew(first, token, Use()) == lifecycle.Orders(calls=16)
    assert lifecycle.renew(second, other, Use()) == lifecycle.Orders(calls=0), "all are in use"
    assert lifecycle.renew(first, token, Use(granted=16)) == lifecycle.Orders(calls=8)
    assert lifecycle.renew(first, token, Use(granted=8)) == lifecycle.Orders(calls=8)
    assert lifecycle.renew(second, other, Use()) == lifecycle.Orders(calls=8)
    assert lifecycle.finish(first, token, "done")
    assert lifecycle.renew(second, other, Use(granted=8)) == lifecycle.Orders(calls=16)


def test_a_server_that_refuses_pauses_its_lane_until_a_run_is_started(campaign: Campaign) -> None:
    waits = lifecycle.start(campaign, served("waits"), queued=True)
    fatal = FatalError("status-401", "the server answered 401")
    run, ending, _ = run_scripted(campaign, served("refused"), lambda request: fatal)
    assert (ending.how, run.state) == ("fatal", "stopped")
    lane = Lane.objects.get()
    assert lane.paused == "the server answered 401"
    assert lane.paused_at
    assert not lifecycle.runs_without_worker().exists()
    assert lifecycle.lease_run(waits) is None
    lifecycle.start(campaign, served("refused"))
    lane.refresh_from_db()
    assert (lane.paused, lane.paused_at) == ("", None)
    assert list(lifecycle.runs_without_worker()) == [waits]


def test_a_resumed_lane_can_be_leased_again(campaign: Campaign) -> None:
    waits = lifecycle.start(campaign, served(), queued=True)
    assert waits.lane is not None
    lanes.pause(waits.lane, "the quota is used up")
    assert not lifecycle.runs_without_worker().exists()
    lanes.resume(waits.lane)
    assert lifecycle.lease_run(waits)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("wish", "state", "rows"),
    [
        (lifecycle.ask_to_stop, "interrupted", "open"),
        (lifecycle.ask_to_cancel, "cancelled", "cancelled"),
    ],
)
@pytest.mark.parametrize("queued", [True, False], ids=["of workers", "of a command"])
def test_the_sweep_obeys_the_order_for_a_dead_run_even_on_a_paused_lane(
    campaign: Campaign, bells: list[int], wish: Any, state: str, rows: str, queued: bool
) -> None:
    dead, lease = taken(campaign, served(), queued=queued)
    assert dead.lane is not None
    ledger.claim(campaign, dead.judge, lease, 2)
    lanes.pause(dead.lane, "the quota is used up")
    assert wish(dead)
    tasks.sweep()
    dead.refresh_from_db()
    assert dead.state == "running"
    run_out(dead)
    tasks.sweep()
    dead.refresh_from_db()
    assert (dead.state, dead.lease, bells) == (state, None, [])
    assert ledger.count_by_status(campaign, dead.judge) == {rows: 4}
    assert Lane.objects.get().paused


def test_a_run_on_a_lane_that_is_paused_meanwhile_waits_for_its_resumption(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    renew, times = lifecycle.renew, iter(range(100))

    def renewed(*given: Any) -> Any:
        if next(times) == 3:
            lanes.pause(Lane.objects.get(), "no credit")
        return renew(*given)

    def slowly(request: Any) -> str:
        time.sleep(0.05)
        return yes(request)

    monkeypatch.setattr("judging.engine.loop.RENEW_SECONDS", 0.01)
    monkeypatch.setattr(lifecycle, "renew", renewed)
    run, lease = taken(campaign, served(params={"concurrency": 1}), queued=True)
    backend = Scripted(slowly)
    backend.endpoint = SERVER
    ending = work(run, lease, None, backend, HASTY)
    run.refresh_from_db()
    assert (ending.how, ending.error) == ("stopped", f"{SERVER} is paused: no credit")
    assert (run.state, run.lease, run.failed) == ("running", None, 0)
    lanes.resume(Lane.objects.get())
    assert list(lifecycle.runs_without_worker()) == [run]


def test_waiting_runs_take_turns(campaign: Campaign) -> None:
    first, second, third = (
        lifecycle.start(campaign, served(name), queued=True) for name in ("a", "b", "c")
    )
    assert lifecycle.next_run(first) == second
    assert lifecycle.next_run(third) == first


def test_the_end_of_a_pump_notifies_the_next_run(
    campaign: Campaign,
    bells: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("judging.engine.worker.build_backend", lambda judge: Scripted(yes))
    first = lifecycle.start(campaign, served("a"), queued=True)
    second = lifecycle.start(campaign, served("b"), queued=True)
    tasks.pump(first.pk)
    first.refresh_from_db()
    assert first.state == "done"
    assert bells == [second.pk]


class TestInTheForeground:
    def run(self, campaign: Campaign, *options: str) -> str:
        return command("run_judge", "--campaign", campaign.name, "--judge", "b", *options)

    @pytest.fixture(autouse=True)
    def scripted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("judging.engine.worker.build_backend", lambda judge: Scripted(yes))

    def test_an_interruption_ends_the_wait_for_a_lease(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(seconds: float) -> None:
            raise KeyboardInterrupt

        rests = lifecycle.start(campaign, served("b"))
        JudgeRun.objects.update(rests_until=Now() + timedelta(hours=1))
        monkeypatch.setattr("judging.management.commands.run_judge.time.sleep", interrupted)
        with pytest.raises(CommandError, match="was stopped while it waited"):
            self.run(campaign)
        run = JudgeRun.objects.exclude(pk=rests.pk).get()
        assert run.state == "interrupted"

    def test_a_pause_of_the_lane_ends_the_wait(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refused(*given: Any) -> None:
            lanes.pause(Lane.objects.get(), "the server answered 401")

        served("b")
        monkeypatch.setattr(lifecycle, "lease_run", refused)
        with pytest.raises(CommandError, match="paused: the server answered 401; correct that"):
            self.run(campaign)

    def test_a_run_that_another_process_took_is_left_to_it(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        served("b")
        monkeypatch.setattr(lifecycle, "lease_run", lambda run: None)
        with pytest.raises(CommandError, match="was ended or taken over while it waited"):
            self.run(campaign)
