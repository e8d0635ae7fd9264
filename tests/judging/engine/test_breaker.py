"""The breaker, the retry budget and deadlines keep to their limits, on a simulated clock."""

from __future__ import annotations

import pytest

from judging.engine.limits import Breaker, Refusals, RetryBudget, deadline
from tests.judging.clock import Clock

RETRY_FLOOR = 20


def ended(breaker: Breaker, *failed: bool) -> None:
    for each in failed:
        breaker.ended(each)


def test_the_breaker_opens_when_more_than_half_of_the_last_50_failed() -> None:
    breaker = Breaker(clock=Clock())
    ended(breaker, *[False] * 50, *[True] * 25)
    assert not breaker.is_open
    ended(breaker, True)
    assert breaker.is_open


def test_the_breaker_considers_only_the_last_50_calls() -> None:
    breaker = Breaker(clock=Clock())
    ended(breaker, True, *[False] * 25, *[True] * 25)
    assert not breaker.is_open


def test_a_few_failures_at_the_beginning_do_not_open_the_breaker() -> None:
    breaker = Breaker(clock=Clock())
    ended(breaker, *[True] * 18)
    assert not breaker.ended(failed=True)
    assert not breaker.is_open
    ended(breaker, True)
    assert breaker.is_open


def test_an_open_breaker_allows_one_probe_every_5_seconds() -> None:
    clock = Clock()
    breaker = Breaker(clock=clock)
    breaker.trip()
    clock.now = 4.9
    assert not breaker.allows()
    clock.now = 5.0
    assert breaker.allows()
    assert breaker.begin()
    clock.now = 20.0
    assert not breaker.allows()
    assert not breaker.ended(failed=True, probe=True)
    assert not breaker.allows()
    clock.now = 24.9
    assert not breaker.allows()
    clock.now = 27.5
    assert breaker.allows()


def test_an_answered_probe_closes_and_resets_the_breaker() -> None:
    clock = Clock()
    breaker = Breaker(clock=clock)
    ended(breaker, *[True] * 20)
    clock.now = 5.0
    assert breaker.begin()
    assert breaker.ended(failed=False, probe=True)
    assert breaker.allows()
    ended(breaker, *[True] * 10)
    assert not breaker.is_open


def test_calls_started_before_the_breaker_opened_do_not_affect_it() -> None:
    clock = Clock()
    breaker = Breaker(clock=clock)
    breaker.trip()
    clock.now = 3.0
    ended(breaker, True, False, True)
    assert breaker.opened_at == 0.0
    clock.now = 5.0
    assert breaker.allows()


def test_retries_are_limited_to_a_tenth_of_the_calls_of_a_minute() -> None:
    clock = Clock()
    retries = RetryBudget(clock)
    for _ in range(1000):
        retries.called()
    assert [retries.allow() for _ in range(101)] == [True] * 100 + [False]
    clock.now = 59.9
    assert not retries.allow()
    clock.now = 60.0
    assert retries.allow()


def test_a_short_run_can_retry() -> None:
    retries = RetryBudget(Clock())
    retries.called()
    assert [retries.allow() for _ in range(RETRY_FLOOR + 1)] == [True] * RETRY_FLOOR + [False]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("state", "times"),
    [
        ("status-401", 1),
        ("status-404", 1),
        ("certificate", 1),
        ("status-402", 3),
        ("status-403", 3),
    ],
)
def test_a_lane_is_given_up_after_enough_refusals(state: str, times: int) -> None:
    refusals = Refusals()
    assert [refusals.is_final(state) for _ in range(times)] == [False] * (times - 1) + [True]


def test_an_answer_resets_the_count_of_refusals() -> None:
    refusals = Refusals()
    for _ in range(5):
        assert not refusals.is_final("status-403")
        assert not refusals.is_final("status-403")
        refusals.answered()


@pytest.mark.every_case
@pytest.mark.parametrize(("p95", "seconds"), [(None, 120), (0.1, 30), (10, 60), (1000, 600)])
def test_the_deadline_depends_on_the_latencies(p95: float | None, seconds: float) -> None:
    assert deadline(p95) == seconds
