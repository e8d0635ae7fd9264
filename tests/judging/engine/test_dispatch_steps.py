"""A dispatcher step by step: what it accepts, sends, waits for and reports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from judging.answers.results import Result
from judging.backends.base import TransientError
from judging.costs import Budget
from judging.engine import outcomes
from judging.engine.dispatch import Dispatcher
from judging.engine.limits import Limit
from judging.engine.queue import RECOVERY_SECONDS
from judging.engine.resources import Resources
from judging.prompts.request import Prepared
from tests.judging.virtual import Server, hasty, in_virtual_time, now, rows

GONE = TransientError("refused-connection", "nobody listens", unreachable=True)


@dataclass
class Lane:
    """A dispatcher for a server, whose results are kept in memory and not stored."""

    server: Server
    maximum: int = 4
    results: list[Result] = field(default_factory=list)
    crashes: list[BaseException] = field(default_factory=list)

    def dispatcher(self) -> Dispatcher:
        writer: Any = SimpleNamespace(
            unwritten=0, at_risk=0, is_behind=False, add=self.results.append, hurry=lambda: None
        )
        resources = Resources(
            self.server, Limit(self.maximum, clock=now), writer, Budget(), hasty(attempts=3),
            lambda how, error, pauses: None, clock=now,
        )  # fmt: skip
        return Dispatcher(resources, lambda: None, self.crashes.append)


def run(lane: Lane, job: Callable[[Dispatcher], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        await job(lane.dispatcher())

    in_virtual_time(main)


def late(*counts: int) -> list[Prepared]:
    """Requests that have already timed out this often."""
    return [replace(row, late=n) for row, n in zip(rows(len(counts)), counts, strict=True)]


def test_a_request_that_timed_out_before_has_at_least_one_attempt_left() -> None:
    async def job(dispatcher: Dispatcher) -> None:
        dispatcher.close()
        dispatcher.add(late(0, 1, 2, 9))
        jobs = [dispatcher.queue.take(now(), 4, None) for _ in range(4)]
        assert [each and each.tries for each in jobs] == [0, 1, 2, 2]
        assert dispatcher.outcomes.unfinished == 4

    run(Lane(Server()), job)


def test_more_assignments_are_needed_while_few_wait_and_few_are_unfinished() -> None:
    async def job(dispatcher: Dispatcher) -> None:
        dispatcher.close()
        size = dispatcher.limit.size
        assert size == 4
        dispatcher.add(rows(3))
        assert dispatcher.needs_more
        dispatcher.outcomes.unfinished = 11
        assert dispatcher.needs_more
        dispatcher.outcomes.unfinished = 12
        assert not dispatcher.needs_more
        dispatcher.outcomes.unfinished = 3
        dispatcher.add(rows(1))
        assert not dispatcher.needs_more

    run(Lane(Server()), job)


def test_calls_that_finish_within_the_drain_time_are_forgotten() -> None:
    lane = Lane(Server(latency=0.3))

    async def job(dispatcher: Dispatcher) -> None:
        dispatcher.add(rows(2))
        assert await dispatcher.drain(0.5) == []
        assert now() == pytest.approx(0.3)
        await asyncio.sleep(0)
        assert not dispatcher._tasks

    run(lane, job)
    assert [len(result.calls) for result in lane.results] == [1, 1]


def test_without_drain_time_calls_are_cancelled_without_an_error() -> None:
    lane = Lane(Server(latency=0.3))

    async def job(dispatcher: Dispatcher) -> None:
        dispatcher.add(rows(2))
        await asyncio.sleep(0.1)
        left = await dispatcher.drain(0)
        await asyncio.sleep(0)
        assert [[call.state for call in each.calls] for each in left] == [["abandoned"]] * 2
        assert now() == pytest.approx(0.1)

    run(lane, job)
    assert (lane.results, lane.crashes) == ([], [])


def test_an_internal_error_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    lane, fault = Lane(Server(latency=0.3)), ZeroDivisionError("seven")

    def fail(*_: object) -> None:
        raise fault

    async def job(dispatcher: Dispatcher) -> None:
        monkeypatch.setattr(dispatcher.outcomes, "receive", fail)
        dispatcher.add(rows(1))
        await asyncio.sleep(1)

    run(lane, job)
    assert lane.crashes == [fault]


def test_each_call_adds_to_the_retry_budget() -> None:
    lane = Lane(Server(latency=0.3))

    async def job(dispatcher: Dispatcher) -> None:
        called, whole = [], dispatcher.outcomes.retries.called

        def counted() -> None:
            called.append(1)
            whole()

        dispatcher.outcomes.retries.called = counted  # type: ignore[method-assign]
        dispatcher.add(rows(6))
        await dispatcher.drain(5)
        assert len(called) == len(lane.server.asked) == 6

    run(lane, job)


def test_a_raised_limit_is_used_when_the_next_call_ends() -> None:
    lane = Lane(Server(latency=1.0), maximum=1)

    async def job(dispatcher: Dispatcher) -> None:
        dispatcher.add(rows(9))
        await asyncio.sleep(0.5)
        assert lane.server.under_way == 1
        dispatcher.limit.maximum = 3
        dispatcher.limit._size = 3.0
        await asyncio.sleep(1)
        assert lane.server.under_way == dispatcher.limit.size == 3
        dispatcher.close()
        await dispatcher.drain(5)

    run(lane, job)


def test_assignments_waiting_for_an_unreachable_server_return_spread_over_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spread: list[tuple[float, float]] = []

    def uniform(low: float, high: float) -> float:
        spread.append((low, high))
        return high

    monkeypatch.setattr(outcomes, "random", SimpleNamespace(uniform=uniform))
    lane = Lane(Server(0.1, lambda moment: None if spread else GONE))

    async def job(dispatcher: Dispatcher) -> None:
        dispatcher.add(rows(4))
        while dispatcher.outcomes.unfinished:
            await asyncio.sleep(1)

    run(lane, job)
    assert spread
    assert set(spread) == {(0, RECOVERY_SECONDS)}
    assert len(lane.results) == 4


def test_a_process_that_was_stopped_until_its_grant_ended_sends_nothing() -> None:
    lane = Lane(Server(latency=0.1))

    async def job(dispatcher: Dispatcher) -> None:
        limit = dispatcher.limit
        limit.grant(3, now() + 5.0, 30.0)
        dispatcher.add(rows(4))
        assert limit.under_way == 3, "three are about to be sent"
        limit.grant(3, now() - 1.0, 30.0)
        await asyncio.sleep(1)
        assert (lane.server.asked, limit.under_way) == ([], 0)
        limit.grant(3, now() + 5.0, 30.0)
        dispatcher.wake()
        await asyncio.sleep(1)
        assert len(lane.server.asked) == len(lane.results) == 4

    run(lane, job)
