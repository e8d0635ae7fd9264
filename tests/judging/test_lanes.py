"""One engine per server: runs take turns on their lane, and a refusing server is paused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.db.models.functions import Now

from annotation.models import Campaign
from judging import lanes, tasks
from judging.backends.base import FatalError
from judging.backends.scripted import Scripted
from judging.models import Judge, JudgeRun, Lane
from judging.runs import ledger, lifecycle
from tests.judging.cast import command, judge, pump_here, run_scripted, yes

SERVER = "http://127.0.0.1:9/v1"


def served(name: str = "judge", url: str = SERVER, **fields: Any) -> Judge:
    return judge(name, "openai", model="m", base_url=url, **fields)


def taken(campaign: Campaign, rater: Judge, **terms: Any) -> tuple[JudgeRun, Any]:
    run = lifecycle.start(campaign, rater, **terms)
    return run, lifecycle.lease_run(run)


def run_out(run: JudgeRun) -> None:
    before = Now() - timedelta(seconds=1)
    JudgeRun.objects.filter(pk=run.pk).update(lease_until=before)
    Lane.objects.filter(runs=run).update(lease_until=before)


@pytest.fixture
def bells(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    rung: list[int] = []
    monkeypatch.setattr(tasks, "leave_to_workers", rung.append)
    pump_here(monkeypatch)
    return rung


def test_judges_of_one_server_and_key_share_a_lane(db: None) -> None:
    first, second = lanes.get_lane(served("a")), lanes.get_lane(served("b"))
    assert first == second
    assert lanes.get_lane(served("c", api_key_env="OTHER_KEY")) != first
    assert lanes.get_lane(served("d", url="http://127.0.0.1:10/v1")) != first


def test_a_judge_that_asks_no_server_has_no_lane(campaign: Campaign) -> None:
    assert lanes.get_lane(judge()) is None
    assert lifecycle.start(campaign, judge()).lane is None


def test_a_lane_is_held_by_one_run_at_a_time(campaign: Campaign) -> None:
    first, token = taken(campaign, served("a"))
    second, none = taken(campaign, served("b"))
    assert token
    assert none is None
    assert first.lane is not None
    assert lanes.current_run(first.lane) == first
    assert lifecycle.finish(first, token, "done")
    assert lifecycle.lease_run(second)
    assert lanes.current_run(first.lane) == second


def test_a_lane_whose_lease_ran_out_or_was_released_has_no_run(campaign: Campaign) -> None:
    run, token = taken(campaign, served("a"))
    _, elsewhere = taken(campaign, served("b", url="http://127.0.0.1:10/v1"))
    assert run.lane is not None
    assert token
    assert elsewhere
    run_out(run)
    assert lanes.current_run(run.lane) is None
    assert lifecycle.renew(run, token)
    assert lanes.current_run(run.lane) == run
    lanes.release(run.lane_id, token)
    assert lanes.current_run(run.lane) is None


def test_a_run_that_does_not_get_its_lane_is_left_unchanged(campaign: Campaign) -> None:
    taken(campaign, served("a"))
    second, _ = taken(campaign, served("b"))
    second.refresh_from_db()
    assert (second.state, second.lease) == ("queued", None)


def test_the_lane_of_a_dead_run_is_free_when_its_lease_runs_out(campaign: Campaign) -> None:
    dead, token = taken(campaign, served("a"))
    run_out(dead)
    _, second = taken(campaign, served("b"))
    assert token
    assert second
    assert lifecycle.renew(dead, token) is None


def test_renewing_a_run_renews_its_lane_too(campaign: Campaign) -> None:
    run, token = taken(campaign, served())
    run_out(run)
    assert token
    assert lifecycle.renew(run, token, in_flight=3, allowed=5) == lifecycle.Orders()
    assert taken(campaign, served("b"))[1] is None
    run.refresh_from_db()
    assert (run.in_flight, run.allowed) == (3, 5)


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


def test_runs_of_one_lane_take_turns(campaign: Campaign) -> None:
    first, second, third = (
        lifecycle.start(campaign, served(name), queued=True) for name in ("a", "b", "c")
    )
    other = lifecycle.start(campaign, judge("lexical"), queued=True)
    assert lifecycle.next_run(first) == second
    assert lifecycle.next_run(third) == first
    assert lifecycle.next_run(other) == other


def test_the_end_of_a_pump_notifies_the_next_run_of_its_lane(
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


def test_a_message_for_a_run_whose_lane_is_busy_does_nothing(
    campaign: Campaign, bells: list[int]
) -> None:
    taken(campaign, served("a"))
    waits = lifecycle.start(campaign, served("b"), queued=True)
    tasks.pump(waits.pk)
    waits.refresh_from_db()
    assert (waits.state, waits.calls, bells) == ("queued", 0, [])


class TestInTheForeground:
    def run(self, campaign: Campaign, *options: str) -> str:
        return command("run_judge", "--campaign", campaign.name, "--judge", "b", *options)

    @pytest.fixture(autouse=True)
    def scripted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("judging.engine.worker.build_backend", lambda judge: Scripted(yes))

    def test_a_run_waits_for_the_other_on_its_server_and_says_so_once(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        served("b")
        first, token = taken(campaign, served("a"))
        assert token
        looks: list[float] = []

        def sleep(seconds: float) -> None:
            looks.append(seconds)
            if len(looks) == 100:
                lifecycle.finish(first, token, "done")

        monkeypatch.setattr("judging.management.commands.run_judge.time.sleep", sleep)
        said = self.run(campaign)
        assert said.count(f"Waiting: {SERVER} is busy with {first} of judge a.") == 1
        assert "4 done" in said

    def test_an_interruption_ends_the_wait(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(seconds: float) -> None:
            raise KeyboardInterrupt

        served("b")
        taken(campaign, served("a"))
        monkeypatch.setattr("judging.management.commands.run_judge.time.sleep", interrupted)
        with pytest.raises(CommandError, match="was stopped while it waited"):
            self.run(campaign)
        assert JudgeRun.objects.get(judge__rater__name="b").state == "interrupted"

    def test_a_pause_of_the_lane_ends_the_wait(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        served("b")
        first, token = taken(campaign, served("a"))
        assert token
        assert first.lane is not None
        lane = first.lane

        def refused(seconds: float) -> None:
            lanes.pause(lane, "the server answered 401")
            lifecycle.finish(first, token, "stopped")

        monkeypatch.setattr("judging.management.commands.run_judge.time.sleep", refused)
        with pytest.raises(CommandError, match="paused: the server answered 401; correct that"):
            self.run(campaign)
