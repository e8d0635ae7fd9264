"""The limit finds a server's capacity, with a simulated server and clock."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from judging.engine.limits import Limit
from tests.judging.clock import Clock

START = 64


@dataclass
class Simulated:
    """The outcome of a simulation: seconds, refusals, and the final limit."""

    seconds: float
    refused: int
    limit: Limit


def simulate(
    count: int,
    limit: Limit,
    clock: Clock,
    latency: Callable[[], float],
    cap: Callable[[float], int] = lambda moment: 10**6,
    slots: int | None = None,
) -> Simulated:
    """Send as many requests at once as the limit allows; the server refuses above `cap`.

    With `slots` it refuses nothing, and requests above that number wait.
    """
    drawn, number, refused, serving, fresh, done = random.Random(0), 0, 0, 0, count, 0
    ends: list[tuple[float, int, bool, float]] = []
    due: list[tuple[float, int]] = []
    free = [0.0] * (slots or 0)
    while done < count:
        while limit.room() > 0 and (fresh or (due and due[0][0] <= clock.now)):
            if due and due[0][0] <= clock.now:
                heapq.heappop(due)
            else:
                fresh -= 1
            limit.begin()
            number, bears = number + 1, serving < cap(clock.now)
            serving += bears
            start = max(heapq.heappop(free), clock.now) if slots else clock.now
            end = start + latency() if bears else clock.now + 0.003
            if slots:
                heapq.heappush(free, end)
            heapq.heappush(ends, (end, number, bears, clock.now))
        times = [ends[0][0]] if ends else []
        times += [due[0][0]] if due and limit.room() > 0 else []
        times += [limit.rests_until] if limit.rests_until > clock.now else []
        clock.now = max(clock.now, min(times))
        while ends and ends[0][0] <= clock.now:
            _, _, bore, begun = heapq.heappop(ends)
            if bore:
                serving, done = serving - 1, done + 1
                limit.answered(begun)
            else:
                wait = drawn.uniform(0, 2 * (limit.latencies.median or 0.5))
                refused += 1
                limit.refused(begun, wait)
                heapq.heappush(due, (clock.now + wait, number))
    return Simulated(clock.now, refused, limit)


@pytest.mark.parametrize(
    ("latency", "count", "least"), [(0.5, 2560, 0.95), (0.1, 6400, 0.9)], ids=["slow", "quick"]
)
def test_without_a_refusal_the_limit_is_used_fully(
    latency: float, count: int, least: float
) -> None:
    clock = Clock()
    took = simulate(count, Limit(64, clock=clock), clock, lambda: latency)
    assert count * latency / 64 / took.seconds >= least


@pytest.mark.parametrize("latency", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("cap", [10, 30, 50])
def test_a_hard_limit_is_found_with_few_refusals(latency: float, cap: int) -> None:
    clock = Clock()
    limit = Limit(100, clock=clock)
    took = simulate(4000, limit, clock, lambda: latency, lambda moment: cap)
    assert 4000 * latency / cap / took.seconds >= 0.93
    assert took.refused <= 0.06 * 4000
    assert cap * 0.9 <= limit.size <= cap + 2


def test_calls_that_end_before_the_cut_count_as_capacity_too() -> None:
    clock = Clock()
    limit = Limit(64, clock=clock)
    for _ in range(64):
        limit.begin()
    clock.now = 0.05
    for _ in range(14):
        limit.refused(0.0, wait=0.1)
    for _ in range(50):
        limit.answered(0.0)
    clock.now = limit.rests_until
    assert limit.room() >= 45
    assert limit.ceiling == 51


def test_varying_latency_does_not_lower_the_limit() -> None:
    drawn, clock = random.Random(1), Clock()
    took = simulate(
        4000, Limit(100, clock=clock), clock, lambda: drawn.lognormvariate(-0.9, 0.5),
        lambda moment: 50,
    )  # fmt: skip
    assert 4000 * 2.718281828 ** (-0.9 + 0.125) / 50 / took.seconds >= 0.9


def test_a_falling_capacity_is_followed_and_a_rising_one_discovered() -> None:
    clock = Clock()
    fallen = simulate(
        3000, Limit(100, clock=clock), clock, lambda: 0.5, lambda at: 50 if at < 20 else 20
    )
    assert fallen.limit.size <= 21
    assert fallen.refused <= 0.06 * 3000
    clock = Clock()
    risen = simulate(
        9000, Limit(100, clock=clock), clock, lambda: 0.5, lambda at: 50 if at < 20 else 100
    )
    assert risen.limit.size > 60


def test_the_limit_begins_with_the_remembered_capacity_and_learns_a_new_one() -> None:
    assert Limit(100, remembered=30).size == 30
    assert Limit(16, remembered=30).size == 16
    assert (Limit(500).size, Limit(8).size) == (START, 8)
    clock = Clock()
    limit = Limit(100, clock=clock)
    assert limit.learned is None
    simulate(2000, limit, clock, lambda: 0.5, lambda moment: 50)
    assert limit.learned == limit.size


def test_the_limit_does_not_grow_while_it_is_not_used() -> None:
    clock = Clock()
    limit = Limit(500, clock=clock)
    for _ in range(1000):
        begun = clock.now
        limit.begin()
        clock.now += 0.5
        limit.answered(begun)
    assert limit.size == START


def test_failures_of_the_server_do_not_lower_the_limit() -> None:
    limit = Limit(64, clock=Clock())
    for _ in range(1000):
        limit.begin()
        limit.failed()
    assert (limit.size, limit.under_way) == (64, 0)


def test_a_refusal_lowers_the_limit_by_a_quarter_first_and_a_twentieth_later() -> None:
    clock = Clock()
    limit = Limit(64, clock=clock)
    sizes = []
    for _ in range(3):
        for _ in range(limit.size):
            limit.begin()
        begun, clock.now = clock.now, clock.now + 3
        limit.refused(begun, 0.1)
        limit.refused(begun, 0.1)
        sizes.append(limit.size)
        limit.under_way = 0
        clock.now += 3
    assert sizes == [48, 45, 42]


def test_many_timeouts_count_as_a_refusal_and_a_few_do_not() -> None:
    clock = Clock()
    limit = Limit(64, clock=clock)
    for late in (False, False, True, False) * 3:
        begun = clock.now
        limit.begin()
        clock.now += 1
        limit.overran(begun) if late else limit.answered(begun)
    assert limit.size == 64
    for _ in range(10):
        begun = clock.now
        limit.begin()
        clock.now += 30
        limit.overran(begun)
    assert limit.size < 64


def test_a_server_that_refuses_everything_gets_single_calls_until_it_answers() -> None:
    clock = Clock()
    limit = Limit(16, clock=clock)
    for _ in range(12):
        limit.begin()
    for _ in range(12):
        clock.now += 0.001
        limit.refused(0.0, 20.0)
    clock.now += 10
    assert limit.room() == 0
    clock.now += 10.1
    assert limit.room() == 1
    limit.begin()
    assert limit.room() == 0
    limit.answered(clock.now)
    assert limit.room() > 1


def test_a_new_maximum_applies_at_once() -> None:
    limit = Limit(64, clock=Clock())
    limit.maximum = 4
    assert limit.size == 4
    limit.maximum = 0
    assert limit.size == 1


@pytest.mark.parametrize("slots", [50, 200])
def test_for_a_queueing_server_the_limit_stays_near_its_capacity(slots: int) -> None:
    drawn, clock = random.Random(2), Clock()
    limit = Limit(1000, queues=True, clock=clock)
    took = simulate(8000, limit, clock, lambda: 0.5 * drawn.uniform(0.9, 1.1), slots=slots)
    assert 8000 * 0.5 / slots / took.seconds >= 0.85
    assert slots <= limit.size <= 3 * slots


def test_the_history_of_the_limit_is_recorded() -> None:
    clock = Clock()
    limit = Limit(100, clock=clock)
    simulate(2000, limit, clock, lambda: 0.5, lambda moment: 50)
    assert limit.history[0] == (0.0, START)
    assert limit.history[-1][1] == limit.size
    assert all(
        at <= later
        for (at, _), (later, _) in zip(limit.history, list(limit.history)[1:], strict=False)
    )
