"""Commands to an active run, its budget, and its messages about the server."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django.db.models.functions import Now

from annotation.models import Campaign
from judging import engine
from judging.backends.base import Answer, RateError, Request, TransientError
from judging.backends.scripted import Scripted
from judging.engine import Control, Ending, database, loop
from judging.engine.database import RunDatabase
from judging.engine.loop import Loop
from judging.engine.persistence import Claim
from judging.engine.worker import work
from judging.models import JudgeCall, JudgeRun, Price
from judging.runs import ledger, lifecycle
from tests.judging.cast import HASTY, judge, run_scripted, yes
from tests.patience import PATIENCE

UNITS, ITEMS = 12, 4
BY_UNIT: dict[str, Any] = {"granularity": "unit"}
SERVED = BY_UNIT | {"backend": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}


def billed(request: Request) -> Answer:
    return Answer(yes(request), usage={"prompt_tokens": 990, "completion_tokens": 10})


def run_with(campaign: Campaign, backend: Scripted, **bounds: Any) -> tuple[JudgeRun, Ending]:
    """A run of the judge, unit by unit and one call at a time, with these limits."""
    run = lifecycle.start(campaign, judge(params={"concurrency": 1, "max_tokens": 10}, **SERVED))
    JudgeRun.objects.filter(pk=run.pk).update(**bounds)
    run.refresh_from_db()
    lease = lifecycle.lease_run(run)
    assert lease is not None
    ending = work(run, lease, None, backend, HASTY)
    run.refresh_from_db()
    return run, ending


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("wish", "how", "state"),
    [
        (lifecycle.ask_to_stop, "stopped", "interrupted"),
        (lifecycle.ask_to_cancel, "cancelled", "cancelled"),
    ],
)
def test_an_order_to_stop_or_cancel_ends_an_active_run(
    campaign: Campaign, wish: Any, how: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.engine.loop.RENEW_SECONDS", 0.02)
    control = Control(progress=lambda settled: wish(JudgeRun.objects.get()))
    rater, backend = judge(params={"concurrency": 1}, **BY_UNIT), Scripted(yes, seconds=0.1)
    run, ending, _ = run_scripted(campaign, rater, control=control, backend=backend)
    assert (ending.how, run.state) == (how, state)
    assert 0 < run.done == len(backend.asked) < UNITS


def test_the_concurrency_of_an_active_run_can_be_changed(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.engine.loop.RENEW_SECONDS", 0.02)
    control = Control(progress=lambda settled: lifecycle.set_concurrency(JudgeRun.objects.get(), 4))
    rater, backend = judge(params={"concurrency": 1}, **BY_UNIT), Scripted(yes, seconds=0.1)
    run, ending, _ = run_scripted(campaign, rater, control=control, backend=backend)
    assert (ending.how, run.done, backend.most) == ("finished", UNITS, 4)


def test_a_run_stops_when_its_token_budget_is_spent_and_leaves_the_rest_open(
    campaign: Campaign,
) -> None:
    backend = Scripted(billed)
    run, ending = run_with(campaign, backend, most_tokens=5500)
    spent = run.prompt_tokens + run.completion_tokens
    assert ending.how == "budget"
    assert ending.error == f"the budget of 5,500 tokens is spent: {spent:,} so far"
    assert (run.state, run.error) == ("stopped", ending.error)
    assert 4000 <= spent == 1000 * run.done <= 5500 + 1000
    assert ledger.count_by_status(campaign, run.judge) == {
        "done": run.done,
        "open": UNITS - run.done,
    }


def test_a_run_stops_when_its_cost_budget_is_spent(campaign: Campaign) -> None:
    Price.objects.create(model="m", since="2020-01-01", prompt=1000, cached=1000, completion=1000)
    run, ending = run_with(campaign, Scripted(billed), most_cost=Decimal("2.5"))
    assert ending.how == "budget"
    assert ending.error.startswith("the budget of 2.500000 USD is spent: ")
    assert 0 < run.cost == run.done <= Decimal("2.5") + 1


def test_a_cost_budget_requires_a_price(campaign: Campaign) -> None:
    backend = Scripted(billed)
    run, ending = run_with(campaign, backend, most_cost=Decimal(1))
    assert (ending.how, run.state, backend.asked) == ("budget", "stopped", [])
    assert "its model has no price" in run.error


def test_a_run_shows_that_its_server_is_unreachable_until_it_answers(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.engine.loop.RENEW_SECONDS", 0.01)
    shown: list[str] = []
    renew = lifecycle.renew

    def watched(run: JudgeRun, *args: Any) -> lifecycle.Orders | None:
        shown.extend(JudgeRun.objects.values_list("error", flat=True))
        return renew(run, *args)

    monkeypatch.setattr("judging.runs.lifecycle.renew", watched)
    gone = TransientError("refused-connection", "nobody listens", unreachable=True)
    back = threading.Event()

    def script(request: Request) -> Any:
        if len(backend.asked) > 30:
            back.set()
        return yes(request) if back.is_set() else gone

    backend = Scripted(script, seconds=0.005)
    run = lifecycle.start(campaign, judge(params={"concurrency": 4}, **BY_UNIT))
    lease = lifecycle.lease_run(run)
    assert lease is not None
    ending = work(run, lease, None, backend, replace(HASTY, unproven=20.0))
    run.refresh_from_db()
    assert (ending.how, run.done, run.error) == ("finished", UNITS, "")
    assert any(text.endswith("UTC: nobody listens") for text in shown)


def test_a_finished_run_records_the_servers_capacity(campaign: Campaign) -> None:
    def script(request: Request) -> Any:
        return yes(request) if backend.under_way <= 3 else RateError("too many", wait=0.01)

    backend = Scripted(script, seconds=0.02)
    rater = judge(params={"concurrency": 8}, **BY_UNIT)
    run, ending, _ = run_scripted(campaign, rater, backend=backend)
    assert (run.done, run.failed) == (UNITS, 0)
    assert ending.limits[0] == (0.0, 8)
    assert ending.ceiling is not None
    assert ending.ceiling < 8


def test_with_a_server_each_item_sends_one_request_ahead(campaign: Campaign) -> None:
    backend = Scripted(yes, seconds=0.1)
    backend.endpoint = "http://server/v1"
    run, _, _ = run_scripted(campaign, judge(**BY_UNIT), backend=backend)
    assert run.done == UNITS
    assert len({request.facts.texts for request in backend.asked[:ITEMS]}) == ITEMS


def test_an_unreadable_answer_is_repaired_if_the_judge_says_so(
    campaign: Campaign,
) -> None:
    def script(request: Request) -> str:
        return yes(request) if len(request.messages) > 2 else "Yes, it does."

    rater = judge(params={"repair": 1}, **SERVED)
    run, _, _ = run_scripted(campaign, rater, script, limit=2)
    assert (run.done, run.calls) == (2, 4)
    calls = JudgeCall.objects.order_by("assignment", "attempt").values_list("attempt", "repair")
    assert list(calls) == [(1, False), (2, True)] * 2


def test_hostile_completions_survive_a_repair_as_unreadable(campaign: Campaign) -> None:
    rater = judge(params={"repair": 1}, **SERVED)
    run, ending, _ = run_scripted(campaign, rater, lambda request: "[" * 100_000, limit=2)
    assert (ending.how, run.failures) == ("finished", {"unreadable": 2})


def test_progress_reports_the_number_of_settled_assignments(campaign: Campaign) -> None:
    counts: list[int] = []
    run, _, _ = run_scripted(campaign, judge(**BY_UNIT), control=Control(progress=counts.append))
    assert (counts[-1], run.done) == (UNITS, UNITS)
    assert counts == sorted(set(counts))


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("size", "allowed", "room"),
    [(1, None, 16), (17, None, 17), (128, None, 128), (500, None, 256), (17, 5, 5), (1, 99, 16)],
)
def test_the_number_of_assignments_claimed_at_once_follows_the_concurrency(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch, size: int, allowed: int | None, room: int
) -> None:
    """As many as are sent at once, from 16 to 256, but no more than the run's limit."""
    claimed: list[int] = []

    def claim_requests(*given: Any) -> Claim:
        claimed.append(given[-1])
        return Claim(given[-1] - 1, [], [])

    run, backend = lifecycle.start(campaign, judge()), Scripted(yes)
    preparer: Any = SimpleNamespace(backend=backend, by_unit=False)
    rows = RunDatabase(run, uuid.uuid4(), preparer, Control())
    work = Loop(rows.begin(4), backend, engine._Here(rows), HASTY, Control())
    added: list[Any] = []
    work.dispatcher = SimpleNamespace(add=added.append)  # type: ignore[assignment]
    work.limit.parts[0].size, rows.allowed = size, allowed
    monkeypatch.setattr(database, "claim_requests", claim_requests)
    assert asyncio.run(work._refill()) == room - 1
    assert (claimed, added, work.exhausted) == ([room], [[]], True), "fewer came than were wanted"
    assert rows.allowed == (None if allowed is None else allowed - room + 1)
    rows.allowed, work.exhausted = 0, False
    assert asyncio.run(work._refill()) == 0
    assert (claimed, work.exhausted) == ([room], True)
    rows.allowed = None
    monkeypatch.setattr(database, "claim_requests", lambda *given: Claim(given[-1], [], []))
    assert asyncio.run(work._refill()) == min(max(size, 16), 256)
    assert not work.exhausted, "there may be more"


@pytest.mark.first_case
@pytest.mark.parametrize("limit", [None, 5])
def test_a_cancel_arriving_at_the_natural_end_closes_every_assignment(
    campaign: Campaign, limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = lifecycle.finish

    def too_late(run: JudgeRun, *args: Any) -> bool:
        assert lifecycle.ask_to_cancel(run)
        return end(run, *args)

    monkeypatch.setattr("judging.runs.lifecycle.finish", too_late)
    rater = judge(**BY_UNIT)
    run, _, _ = run_scripted(campaign, rater, limit=limit)
    assert (run.state, run.lease, run.done) == ("cancelled", None, limit or UNITS)
    left = {"cancelled": UNITS - limit} if limit else {}
    assert ledger.count_by_status(campaign, rater) == {"done": run.done} | left


def test_a_cancel_arriving_at_a_handover_closes_every_assignment(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    give = lifecycle.hand_over

    def too_late(run: JudgeRun, *args: Any) -> None:
        assert lifecycle.ask_to_cancel(run)
        give(run, *args)

    monkeypatch.setattr("judging.runs.lifecycle.hand_over", too_late)
    rater = judge(params={"concurrency": 1}, **BY_UNIT)
    backend = Scripted(yes, seconds=0.05)
    run, _, _ = run_scripted(campaign, rater, control=Control(seconds=0.1), backend=backend)
    assert (run.state, run.lease) == ("cancelled", None)
    assert ledger.count_by_status(campaign, rater) == {
        "done": run.done,
        "cancelled": UNITS - run.done,
    }


def test_a_time_budget_is_extended_to_twenty_calls_but_at_most_fourfold() -> None:
    assert loop.extension(60.0, latency=0.0) == 0.0
    assert loop.extension(60.0, latency=3.0) == 0.0
    assert loop.extension(60.0, latency=3.5) == 10.0
    assert loop.extension(60.0, latency=12.0) == loop.extension(60.0, latency=90.0) == 180.0


def test_the_next_run_cancels_a_dead_run_that_was_to_be_cancelled(
    campaign: Campaign,
) -> None:
    rater = judge(**BY_UNIT)
    dead = lifecycle.start(campaign, rater)
    assert lifecycle.lease_run(dead)
    assert lifecycle.ask_to_cancel(dead)
    JudgeRun.objects.update(lease_until=Now() - timedelta(seconds=1))
    lifecycle.start(campaign, rater)
    dead.refresh_from_db()
    assert dead.state == "cancelled"
    assert ledger.count_by_status(campaign, rater) == {"open": UNITS}


class Held(Scripted):
    """A judge whose calls last until the test releases them."""

    def __init__(self) -> None:
        super().__init__(yes)
        self.held, self.let_go = 0, threading.Event()

    async def ask(self, request: Request) -> Answer:
        self.held += 1
        async with asyncio.timeout(PATIENCE):
            while not self.let_go.is_set():
                await asyncio.sleep(0.005)
        return await super().ask(request)


class TestTimeIsOver:
    """A pump that hands over its run lets calls finish: cancelled calls would be paid for again."""

    @pytest.fixture(autouse=True)
    def short(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("judging.engine.loop.RENEW_SECONDS", 0.02)
        monkeypatch.setattr("judging.engine.loop.GRACE_SECONDS", 0.05)

    def worked(
        self, campaign: Campaign, meanwhile: Callable[[Held, Control], object]
    ) -> tuple[JudgeRun, Ending]:
        """A worker's pump whose time is over while three calls are held.

        From then on, each renewal of its lease runs the given function.
        """
        control, backend, over = Control(seconds=0.01), Held(), threading.Event()
        rater = judge(params={"concurrency": 3}, **BY_UNIT)
        run = lifecycle.start(campaign, rater, queued=True)
        lease = lifecycle.lease_run(run)
        assert lease is not None
        watch, renew = Loop._watch_clock, lifecycle.renew

        async def from_the_calls_on(run_engine: Loop) -> None:
            while backend.held < 3:
                await asyncio.sleep(0.005)
            await watch(run_engine)
            over.set()

        def watched(run: JudgeRun, lease: Any, *args: Any) -> lifecycle.Orders | None:
            if over.is_set():
                meanwhile(backend, control)
            return renew(run, lease, *args)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Loop, "_watch_clock", from_the_calls_on)
            patched.setattr("judging.runs.lifecycle.renew", watched)
            ending = work(run, lease, control, backend, HASTY)
        run.refresh_from_db()
        return run, ending

    def test_calls_under_way_are_finished_while_the_lease_is_kept(self, campaign: Campaign) -> None:
        held: list[int] = []

        def let_go_after_a_while(backend: Held, control: Control) -> None:
            held.append(JudgeRun.objects.filter(lease__isnull=False).count())
            if len(held) > 5:
                backend.let_go.set()

        run, ending = self.worked(campaign, let_go_after_a_while)
        assert (ending.how, run.state, run.lease) == ("time", "running", None)
        assert (run.done, run.calls) == (3, 3)
        assert JudgeCall.objects.filter(state="answered").count() == 3
        assert set(held) == {1}

    def test_an_order_that_arrives_meanwhile_is_obeyed_at_once(self, campaign: Campaign) -> None:
        run, _ = self.worked(
            campaign, lambda *args: lifecycle.ask_to_cancel(JudgeRun.objects.get())
        )
        assert run.state == "cancelled"
        assert set(JudgeCall.objects.values_list("state", flat=True)) == {"abandoned"}
        assert ledger.count_by_status(campaign, run.judge) == {"cancelled": UNITS}

    def test_a_worker_told_to_shut_down_meanwhile_does_so(self, campaign: Campaign) -> None:
        run, _ = self.worked(campaign, lambda backend, control: control.stop())
        assert (run.state, run.lease) == ("running", None)
        assert ledger.count_by_status(campaign, run.judge) == {"open": UNITS}

    def test_a_call_that_hangs_is_given_up_after_some_pumps(self, campaign: Campaign) -> None:
        class Hanging(Scripted):
            async def ask(self, request: Request) -> Answer:
                if request.facts.units[0].name == "q1:1":
                    await asyncio.sleep(3600)
                return await super().ask(request)

        rater = judge(params={"timeout": 0.3, "concurrency": 3}, **SERVED)
        run = lifecycle.start(campaign, rater, queued=True)
        for _ in range(30):
            if (lease := lifecycle.lease_run(run)) is None:
                break
            work(run, lease, Control(seconds=0.2), Hanging(yes), HASTY)
        run.refresh_from_db()
        assert (run.state, run.done, run.failures) == ("done", UNITS - 2, {"timeout": 2})
        assert not JudgeCall.objects.filter(state="abandoned").exists()
