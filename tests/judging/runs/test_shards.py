"""Several workers on one run: they join, claim, die and leave without harm to each other."""

from __future__ import annotations

import uuid
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db.models.functions import Now

from annotation.answers.submission import LostLeaseError
from annotation.models import Assignment, Campaign
from judging import lanes, tasks
from judging.answers.cache import EqualRequests
from judging.answers.calls import Call
from judging.answers.results import Failure, Result, record
from judging.backends.base import FatalError
from judging.backends.scripted import Scripted
from judging.batch_api.requests import build_preparer
from judging.costs import Budget
from judging.engine import Ending, worker
from judging.engine.persistence import claim_requests
from judging.engine.worker import assist
from judging.models import JudgeRun, Lane, Shard, Strike
from judging.runs import ledger, lifecycle, shards
from judging.runs.grants import Use
from tests.judging.cast import HASTY, judge, yes

pytestmark = pytest.mark.postgresql

UNITS = 12
BEGUN: dict[str, Any] = {"platform": {}}


@pytest.fixture
def led(campaign: Campaign) -> tuple[JudgeRun, uuid.UUID]:
    """A run for three workers that has begun, and the lease of its leader."""
    return begun(campaign)


def begun(campaign: Campaign, workers: int = 3, **terms: Any) -> tuple[JudgeRun, uuid.UUID]:
    rater = judge(
        "j", "openai", model="m", base_url="http://127.0.0.1:9/v1", granularity="unit",
        params={"workers": workers},
    )  # fmt: skip
    run = lifecycle.start(campaign, rater, queued=True, **terms)
    lifecycle.plan(campaign, rater)
    lease = lifecycle.lease_run(run)
    assert lease is not None
    run.manifest = BEGUN
    JudgeRun.objects.update(manifest=BEGUN)
    return run, lease


def joined(run: JudgeRun) -> uuid.UUID:
    token = shards.join(run)
    assert token is not None
    return token


def dies(lease: uuid.UUID) -> None:
    before = Now() - timedelta(seconds=1)
    Shard.objects.filter(lease=lease).update(lease_until=before)
    JudgeRun.objects.filter(lease=lease).update(lease_until=before)


def fresh(run: JudgeRun) -> JudgeRun:
    return JudgeRun.objects.get(pk=run.pk)


def statuses(run: JudgeRun) -> dict[str, int]:
    return ledger.count_by_status(run.campaign, run.judge)


class TestJoining:
    def test_workers_join_until_their_number_is_reached(
        self, led: tuple[JudgeRun, uuid.UUID]
    ) -> None:
        run, lease = led
        first, second = joined(run), joined(run)
        assert shards.join(run) is None
        numbers = dict(Shard.objects.values_list("lease", "number"))
        assert numbers == {lease: 0, first: 1, second: 2}
        shards.leave(run, first)
        third = joined(run)
        assert Shard.objects.get(lease=third).number == 1
        assert shards.count_workers(run) == 3
        assert shards.count_assistants(run) == 2

    def test_the_place_of_a_dead_worker_is_free(self, led: tuple[JudgeRun, uuid.UUID]) -> None:
        run, _ = led
        first, _ = joined(run), joined(run)
        dies(first)
        assert Shard.objects.get(lease=joined(run)).number == 1

    @pytest.mark.parametrize(
        "fields",
        [
            {"workers": 1},
            {"wish": "stop"},
            {"closing": Ending("fatal").stored()},
            {"manifest": {}},
            {"state": "done"},
            {"state": "queued"},
            {"limit": 0},
            {"rests_until": Now() + timedelta(hours=1)},
        ],
        ids=str,
    )
    def test_nobody_joins_a_run_that_has_no_place(
        self, led: tuple[JudgeRun, uuid.UUID], fields: dict[str, Any]
    ) -> None:
        run, _ = led
        JudgeRun.objects.update(**fields)
        assert shards.join(fresh(run)) is None

    def test_nobody_joins_a_run_on_a_paused_lane_or_with_nothing_to_claim(
        self, led: tuple[JudgeRun, uuid.UUID]
    ) -> None:
        run, lease = led
        lanes.pause(Lane.objects.get(), "no credit")
        assert shards.join(run) is None
        lanes.resume(Lane.objects.get())
        ledger.claim(run.campaign, run.judge, lease, UNITS)
        assert shards.join(run) is None

    def test_a_worker_takes_the_lead_or_a_part(self, led: tuple[JudgeRun, uuid.UUID]) -> None:
        run, _ = led
        taken = [tasks.take() for _ in range(3)]
        assert [each.name if each else "" for each in taken] == [f"a part of {run}"] * 2 + [""]
        assert taken[0] is not None
        taken[0].release()
        assert tasks.take(str(run.pk)) is not None

    def test_a_worker_without_the_leaders_key_takes_no_part(
        self, led: tuple[JudgeRun, uuid.UUID], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        JudgeRun.objects.update(manifest={**BEGUN, "engine": {"missing_key": ""}})
        assert tasks.take() is None
        JudgeRun.objects.update(manifest={**BEGUN, "engine": {"missing_key": "OPENAI_API_KEY"}})
        assert tasks.take() is not None, "the leader had none, either"

    def test_the_sweep_asks_for_each_worker_that_a_run_lacks(
        self, led: tuple[JudgeRun, uuid.UUID], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent: list[int] = []
        monkeypatch.setattr(tasks, "leave_to_workers", sent.append)
        run, _ = led
        tasks.sweep()
        joined(run)
        tasks.sweep()
        assert sent == [run.pk] * 3

    def test_a_worker_whose_time_is_over_leaves_its_part_to_another(
        self, led: tuple[JudgeRun, uuid.UUID], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent: list[int] = []
        monkeypatch.setattr(tasks, "leave_to_workers", sent.append)
        monkeypatch.setattr(tasks, "carry_out_one", lambda *kinds, **given: True)
        run, lease = led
        tasks.pump(run.pk)
        assert sent == [run.pk]
        ledger.claim(run.campaign, run.judge, lease, UNITS)
        tasks.pump(run.pk)
        assert sent == [run.pk], "nothing is left to claim"


class TestTheLedger:
    def test_two_workers_claim_different_assignments(self, led: tuple[JudgeRun, uuid.UUID]) -> None:
        run, lease = led
        other = joined(run)
        mine = ledger.claim(run.campaign, run.judge, lease, 5)
        theirs = ledger.claim(run.campaign, run.judge, other, 20)
        assert (len(mine), len(theirs)) == (5, 7)
        assert not {row.pk for row in mine} & {row.pk for row in theirs}

    def test_the_leader_takes_over_what_a_dead_worker_left_and_nothing_else(
        self, led: tuple[JudgeRun, uuid.UUID]
    ) -> None:
        run, lease = led
        dead, living = joined(run), joined(run)
        for token in (lease, dead, living):
            ledger.claim(run.campaign, run.judge, token, 3)
        dies(dead)
        assert lifecycle.renew(run, living), "not the leader"
        assert not Strike.objects.exists()
        assert lifecycle.renew(run, lease)
        leases = ledger.assignments_of(run.campaign, run.judge).exclude(lease=None)
        assert set(leases.values_list("lease", flat=True)) == {lease, living}
        assert statuses(run) == {"leased": 6, "open": UNITS - 6}
        assert Strike.objects.count() == 3
        assert lifecycle.renew(run, dead) is None

    def test_a_new_leader_takes_over_the_dead_ones_rows_while_others_go_on(
        self, led: tuple[JudgeRun, uuid.UUID]
    ) -> None:
        run, lease = led
        other = joined(run)
        for token in (lease, other):
            ledger.claim(run.campaign, run.judge, token, 3)
        dies(lease)
        assert list(lifecycle.runs_without_worker()) == [run]
        assert lifecycle.lease_run(run)
        leases = ledger.assignments_of(run.campaign, run.judge).exclude(lease=None)
        assert set(leases.values_list("lease", flat=True)) == {other}
        assert lifecycle.renew(run, lease) is None
        assert lifecycle.renew(run, other)

    def test_whoever_hands_over_or_leaves_reopens_only_its_own_rows(
        self, led: tuple[JudgeRun, uuid.UUID]
    ) -> None:
        run, lease = led
        first, second = joined(run), joined(run)
        for token in (lease, first, second):
            ledger.claim(run.campaign, run.judge, token, 3)
        lifecycle.hand_over(run, lease)
        assert statuses(run) == {"leased": 6, "open": UNITS - 6}
        shards.leave(run, first)
        assert statuses(run) == {"leased": 3, "open": UNITS - 3}
        assert not Strike.objects.exists()

    def test_a_worker_whose_part_was_taken_over_stores_calls_but_closes_nothing(
        self, led: tuple[JudgeRun, uuid.UUID]
    ) -> None:
        run, lease = led
        late = joined(run)
        preparer = build_preparer(run.campaign, run.judge, Scripted(yes))
        (row,) = claim_requests(run, late, preparer, EqualRequests(run), 1).ready
        dies(late)
        assert lifecycle.renew(run, lease)
        call = Call("status-500", run.started_at, 0.1)
        with pytest.raises(LostLeaseError):
            record(run, late, preparer.schema, [Result(row, (call,), Failure("error"))])
        assert (fresh(run).calls, fresh(run).failed) == (1, 0)
        assert statuses(run) == {"open": UNITS}
        with pytest.raises(LostLeaseError):
            claim_requests(run, late, preparer, EqualRequests(run), 1)

    def test_the_counts_of_all_workers_add_up(self, led: tuple[JudgeRun, uuid.UUID]) -> None:
        run, lease = led
        other = joined(run)
        preparer = build_preparer(run.campaign, run.judge, Scripted(yes))
        stale = fresh(run)
        for token, reason in ((lease, "error"), (other, "timeout"), (lease, "error")):
            rows = claim_requests(stale, token, preparer, EqualRequests(run), 2).ready
            results = [Result(row, (), Failure(reason)) for row in rows]  # type: ignore[arg-type]
            assert record(stale, token, preparer.schema, results) == 2
        assert fresh(run).failures == {"error": 4, "timeout": 2}

    def test_a_limit_holds_for_all_workers_together(self, campaign: Campaign) -> None:
        run, lease = begun(campaign, limit=5)
        other = joined(run)
        preparer = build_preparer(run.campaign, run.judge, Scripted(yes))
        counts = [
            claim_requests(run, token, preparer, EqualRequests(run), 4).rows
            for token in (lease, other, lease)
        ]
        assert counts == [4, 1, 0]
        assert shards.join(run) is None

    def test_an_assignment_that_killed_two_workers_is_asked_while_no_other_worker_asks(
        self, led: tuple[JudgeRun, uuid.UUID]
    ) -> None:
        run, lease = led
        other = joined(run)
        struck = Assignment.objects.filter(rater=run.judge.rater).order_by("pk")[0]
        Strike.objects.create(assignment=struck, count=ledger.ALONE)
        ledger.claim(run.campaign, run.judge, other, UNITS)
        assert ledger.claim(run.campaign, run.judge, lease, 5) == []
        Assignment.objects.filter(lease=other).update(status="failed", reason="error", lease=None)
        assert ledger.claim(run.campaign, run.judge, lease, 5) == [struck]
        assert ledger.claim(run.campaign, run.judge, other, 5) == []


class TestOrders:
    def test_the_run_shows_the_sums_of_its_workers(self, led: tuple[JudgeRun, uuid.UUID]) -> None:
        run, lease = led
        other = joined(run)
        lifecycle.renew(run, other, Use(2, 5, 5))
        lifecycle.renew(run, lease, Use(3, 8, 8))
        assert (fresh(run).in_flight, fresh(run).allowed) == (5, 13)
        lifecycle.renew(run, lease)
        assert (fresh(run).in_flight, fresh(run).allowed) == (2, 5)

    def test_all_workers_share_the_runs_number_of_calls(
        self, led: tuple[JudgeRun, uuid.UUID]
    ) -> None:
        run, lease = led
        tokens = [lease, joined(run), joined(run)]
        granted = dict.fromkeys(tokens, 0)
        for _ in range(3):
            for token in tokens:
                orders = lifecycle.renew(run, token, Use(granted=granted[token]))
                assert orders is not None
                granted[token] = orders.calls or 0
        assert sorted(granted.values()) == [5, 5, 6]

    def test_what_the_server_bears_is_what_the_workers_allow_even_if_one_is_idle_now(
        self, led: tuple[JudgeRun, uuid.UUID]
    ) -> None:
        run, lease = led
        lifecycle.set_concurrency(run, 90)
        tokens = [lease, joined(run), joined(run)]
        for _ in range(3):
            for token in tokens:
                lifecycle.renew(run, token, Use(20, 20, 30))
        lifecycle.renew(run, tokens[2], Use(0, 20, 30))
        lifecycle.renew(run, lease, Use(19, 19, 30, refused=2))
        assert Lane.objects.get().ceiling == 59

    def test_a_wish_and_a_reason_to_end_reach_all_workers(
        self, led: tuple[JudgeRun, uuid.UUID]
    ) -> None:
        run, lease = led
        other = joined(run)
        spent = Ending("budget", "the budget is spent")
        shards.close(run, spent.stored())
        shards.close(run, Ending("fatal").stored())
        lifecycle.ask_to_stop(run)
        for token in (lease, other):
            orders = lifecycle.renew(run, token)
            assert orders is not None
            assert orders.wish == "stop"
            assert Ending.from_stored(orders.closing or {}) == spent, "the first reason counts"

    def test_workers_above_a_lower_number_leave(self, led: tuple[JudgeRun, uuid.UUID]) -> None:
        run, lease = led
        tokens = [lease, joined(run), joined(run)]
        assert lifecycle.set_workers(run, 2)
        leaves = [lifecycle.renew(run, token) for token in tokens]
        assert [each and each.leaves for each in leaves] == [False, False, True]

    def test_a_run_with_a_wish_is_ended_by_the_last_worker(
        self, led: tuple[JudgeRun, uuid.UUID]
    ) -> None:
        run, lease = led
        other = joined(run)
        ledger.claim(run.campaign, run.judge, other, 2)
        lifecycle.ask_to_cancel(run)
        lifecycle.hand_over(run, lease)
        tasks.sweep()
        assert fresh(run).state == "running", "a worker lives"
        dies(other)
        tasks.sweep()
        assert fresh(run).state == "cancelled"
        assert statuses(run) == {"cancelled": UNITS}
        assert lifecycle.renew(run, other) is None

    def test_a_run_that_only_assistants_work_on_is_not_started_again(
        self, led: tuple[JudgeRun, uuid.UUID]
    ) -> None:
        run, lease = led
        joined(run)
        dies(lease)
        with pytest.raises(lifecycle.LeasedRunError, match="is at work"):
            lifecycle.start(run.campaign, run.judge)

    def test_what_others_have_spent_counts(self) -> None:
        budget = Budget(most_tokens=100, spent_tokens=10)
        budget.catch_up(60, budget.cost)
        assert budget.tokens == 60
        budget.catch_up(40, budget.cost)
        assert budget.tokens == 60


class TestAssisting:
    def test_an_assistant_answers_what_is_open_and_leaves_the_end_to_the_leader(
        self, led: tuple[JudgeRun, uuid.UUID]
    ) -> None:
        run, _ = led
        ending = assist(run, joined(run), None, Scripted(yes), HASTY)
        assert ending.how == "finished"
        assert statuses(run) == {"done": UNITS}
        assert (fresh(run).state, fresh(run).done) == ("running", UNITS)
        assert shards.count_assistants(run) == 0

    def test_a_reason_to_end_is_stored_for_the_leader(
        self, led: tuple[JudgeRun, uuid.UUID]
    ) -> None:
        run, lease = led
        refused = FatalError("status-401", "the server answered 401")
        assist(run, joined(run), None, Scripted(lambda request: refused), HASTY)
        orders = lifecycle.renew(run, lease)
        assert orders is not None
        assert Ending.from_stored(orders.closing or {}) == Ending("fatal", refused.message)
        assert Lane.objects.get().paused == refused.message
        assert fresh(run).state == "running"

    def test_an_assistant_ends_a_run_whose_leader_is_gone(
        self, led: tuple[JudgeRun, uuid.UUID]
    ) -> None:
        run, lease = led
        token = joined(run)
        lifecycle.hand_over(run, lease)
        refused = FatalError("status-401", "the server answered 401")
        assist(run, token, None, Scripted(lambda request: refused), HASTY)
        assert (fresh(run).state, fresh(run).error) == ("stopped", refused.message)
        assert statuses(run) == {"open": UNITS}

    def test_a_bug_of_an_assistant_ends_the_run_and_is_raised(
        self, led: tuple[JudgeRun, uuid.UUID], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*given: Any) -> Any:
            raise KeyError("x")

        run, _ = led
        monkeypatch.setattr("judging.engine.worker.run_engine", broken)
        with pytest.raises(KeyError):
            assist(run, joined(run), None, Scripted(yes), HASTY)
        closing = fresh(run).closing or {}
        assert (closing["how"], closing["error"]) == ("crashed", "KeyError: 'x'")
        assert shards.count_assistants(run) == 0


class TestLeading:
    """The leader waits for the others; what they do meanwhile is done while it sleeps."""

    @pytest.fixture
    def meanwhile(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        steps: list[Any] = []

        def sleep(seconds: float) -> None:
            assert steps, "it waits for nobody"
            steps.pop(0)()

        monkeypatch.setattr(worker, "time", SimpleNamespace(sleep=sleep, monotonic=lambda: 0.0))
        return steps

    def test_it_takes_up_what_a_dead_one_left_and_ends_the_run(
        self, led: tuple[JudgeRun, uuid.UUID], meanwhile: list[Any]
    ) -> None:
        run, lease = led
        other = joined(run)
        ledger.claim(run.campaign, run.judge, other, 3)
        meanwhile += [lambda: lifecycle.renew(run, other), lambda: dies(other)]
        ending = worker.work(run, lease, None, Scripted(yes), HASTY)
        assert ending.how == "finished"
        assert (fresh(run).state, fresh(run).done, meanwhile) == ("done", UNITS, [])
        assert statuses(run) == {"done": UNITS}

    def test_it_waits_for_answers_that_others_have_under_way(
        self, led: tuple[JudgeRun, uuid.UUID], meanwhile: list[Any]
    ) -> None:
        run, lease = led
        other = joined(run)
        ledger.claim(run.campaign, run.judge, other, 3)

        def answered() -> None:
            assert fresh(run).state == "running"
            shards.leave(run, other)

        meanwhile.append(answered)
        assert worker.work(run, lease, None, Scripted(yes), HASTY).how == "finished"
        assert (fresh(run).state, statuses(run)) == ("done", {"done": UNITS})

    @pytest.mark.parametrize(
        ("does", "state"),
        [
            (lambda run: lifecycle.ask_to_stop(run), "interrupted"),
            (lambda run: lifecycle.ask_to_cancel(run), "cancelled"),
            (lambda run: shards.close(run, Ending("budget", "spent").stored()), "stopped"),
            (lambda run: JudgeRun.objects.update(lease=uuid.uuid4()), "running"),
        ],
    )
    def test_its_wait_ends_with_the_run(
        self, led: tuple[JudgeRun, uuid.UUID], meanwhile: list[Any], does: Any, state: str
    ) -> None:
        run, lease = led
        other = joined(run)
        ledger.claim(run.campaign, run.judge, other, 3)
        meanwhile += [lambda: does(run), lambda: shards.leave(run, other)]
        worker.work(run, lease, None, Scripted(yes), HASTY)
        assert fresh(run).state == state
        assert fresh(run).error == ("spent" if state == "stopped" else "")

    def test_it_has_the_others_leave_before_it_ends_the_run(
        self, led: tuple[JudgeRun, uuid.UUID], meanwhile: list[Any]
    ) -> None:
        run, lease = led
        other = joined(run)
        refused = FatalError("status-401", "the server answered 401")

        def told() -> None:
            assert fresh(run).closing["how"] == "fatal"  # type: ignore[index]
            shards.leave(run, other)

        meanwhile.append(told)
        worker.work(run, lease, None, Scripted(lambda request: refused), HASTY)
        assert (fresh(run).state, fresh(run).closing) == ("stopped", None)
        assert not Shard.objects.exclude(lease=None).exists()

    def test_it_leaves_the_others_at_work_when_its_time_is_over(
        self, led: tuple[JudgeRun, uuid.UUID], meanwhile: list[Any]
    ) -> None:
        run, lease = led
        other = joined(run)
        worker._release(run, lease, Ending("time"))
        assert (fresh(run).lease, fresh(run).state) == (None, "running")
        assert lifecycle.renew(run, other)
