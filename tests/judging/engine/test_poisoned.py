"""Requests that always fail do not stop a run, and an outage fails none, in virtual time.

The servers here fail for single requests, go down, or both. A request is poisoned by its number.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import accumulate

import pytest

from judging.backends.base import (
    Answer,
    BackendError,
    FatalError,
    RateError,
    RejectedError,
    Request,
    TransientError,
)
from judging.engine.probing import SHORT_QUESTION
from tests.judging.virtual import Ride, Server, in_virtual_time, now, ride, verdicts

DOWN = TransientError("status-500", "the server answered 500")
EMPTY = TransientError("no-choices", "the server sent no choices.")
FORBIDDEN = FatalError("status-403", "the server answered 403: flagged by moderation")
NOWHERE = FatalError("status-404", "the server answered 404: no allowed providers")
KEY = FatalError("status-401", "the server answered 401: no such key")
REJECTED = RejectedError("status-400", "the server answered 400")
LONG = RateError("the server answered 429", wait=3600.0)
EVERY_FIFTH = frozenset(range(0, 200, 5))
FAILURES = {
    "500": DOWN, "empty": EMPTY, "403": FORBIDDEN, "404": NOWHERE, "400": REJECTED, "401": KEY,
}  # fmt: skip


@pytest.fixture(autouse=True)
def same_chances() -> None:
    """Draw the same random waits each time."""
    random.seed(49)


@dataclass
class Poisoned(Server):
    """Fails poisoned requests with `error`, and all of them with `outage(moment)` if that is set.

    A failure takes a tenth of the time of an answer.
    """

    poisoned: Collection[int] = ()
    error: BackendError = DOWN
    outage: Callable[[float], BackendError | None] = lambda moment: None

    def __post_init__(self) -> None:
        super().__init__(0.5)
        self.probes = 0
        self.calls: Counter[int] = Counter()

    async def ask(self, request: Request) -> Answer:
        self.probes += request.messages[0].content == SHORT_QUESTION
        is_short = request.messages[0].content == SHORT_QUESTION
        self.calls[-1 if is_short else request.sample] += 1
        before = self.outage(now())
        fails = request.sample in self.poisoned and not is_short
        self.latency = 0.05 if before or fails else 0.5
        answer = await super().ask(request)
        if error := self.outage(now()) or before or (self.error if fails else None):
            raise error
        return answer


def gone(server: Server, count: int = 200, maximum: int = 16, **options: object) -> Ride:
    return in_virtual_time(lambda: ride(server, count, maximum, **options))  # type: ignore[arg-type]


def failed(took: Ride) -> set[int]:
    return {
        each.prepared.request.sample
        for each in took.results
        if getattr(each.outcome, "reason", None)
    }


def healthy_seconds(maximum: int = 16, count: int = 200) -> float:
    return gone(Poisoned(), count, maximum).seconds


@pytest.mark.parametrize("maximum", [1, 4, 16, 64])
@pytest.mark.parametrize("name", FAILURES)
def test_forty_poisoned_of_two_hundred_fail_and_the_others_are_answered(
    name: str, maximum: int
) -> None:
    server = Poisoned(EVERY_FIFTH, FAILURES[name])
    took = gone(server, maximum=maximum)
    assert took.ended == []
    assert verdicts(took) == {"answered": 160, "error": 40}
    assert failed(took) == EVERY_FIFTH
    assert took.seconds <= 3 * healthy_seconds(maximum) + 5
    assert max(server.calls[number] for number in EVERY_FIFTH) <= 8
    assert len(server.asked) <= 160 + 40 * 9


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize(
    "poisoned", [range(20), range(40), range(180, 200), range(100, 140)], ids=str
)
def test_it_does_not_matter_where_the_poisoned_requests_are(name: str, poisoned: range) -> None:
    server = Poisoned(poisoned, FAILURES[name])
    took = gone(server)
    assert took.ended == []
    assert failed(took) == set(poisoned)
    assert verdicts(took)["answered"] == 200 - len(poisoned)
    assert took.seconds <= 60


@pytest.mark.parametrize("name", FAILURES)
def test_if_all_are_poisoned_all_fail_and_the_run_ends(name: str) -> None:
    server = Poisoned(range(200), FAILURES[name])
    took = gone(server)
    assert took.ended == []
    assert verdicts(took) == {"error": 200}
    assert len(server.asked) <= 200 * 8


@pytest.mark.parametrize("name", ["500", "403", "400"])
@pytest.mark.parametrize("begins", [0.0, 2.0, 5.0, 6.0, 7.0])
def test_an_outage_of_ten_minutes_fails_only_the_poisoned_requests(
    name: str, begins: float
) -> None:
    def outage(moment: float) -> BackendError | None:
        return DOWN if begins <= moment < begins + 600 else None

    server = Poisoned(EVERY_FIFTH, FAILURES[name], outage)
    took = gone(server, proven=True)
    assert took.ended == []
    assert failed(took) <= EVERY_FIFTH
    assert verdicts(took)["answered"] == 160
    if begins <= 5:
        during = [moment for moment in server.began if begins + 30 <= moment < begins + 600]
        assert len(during) <= 120


@pytest.mark.parametrize("count", [1, 3, 4])
def test_an_outage_at_the_end_of_a_run_fails_none_of_the_last_requests(count: int) -> None:
    server = Poisoned(outage=lambda moment: EMPTY if moment < 600 else None)
    assert verdicts(gone(server, count, proven=True)) == {"answered": count}


def changes(seed: int) -> list[float]:
    """Random times at which a server goes down and up again, after 0.6 to 12 seconds each."""
    chance = random.Random(seed)
    return list(accumulate(chance.uniform(0.6, 12.0) for _ in range(5000)))


@pytest.mark.parametrize("name", ["500", "403", "400"])
@pytest.mark.parametrize("maximum", [4, 16, 64])
@pytest.mark.parametrize("period", [1.0, 2.0, 3.0, 5.0, 10.0, 40.0, "random"])
@pytest.mark.parametrize("poisoned", [EVERY_FIFTH, frozenset()], ids=["poisoned", "healthy"])
def test_a_flapping_server_fails_no_request_that_it_would_answer(
    poisoned: frozenset[int], period: float | str, maximum: int, name: str
) -> None:
    times = changes(7) if isinstance(period, str) else [n * period for n in range(1, 20_000)]
    server = Poisoned(
        poisoned, FAILURES[name], lambda moment: DOWN if bisect(times, moment) % 2 else None
    )
    took = gone(server, maximum=maximum)
    assert took.ended == []
    assert failed(took) == poisoned
    assert verdicts(took)["answered"] == 200 - len(poisoned)
    assert len(server.asked) <= 200 * 40


@pytest.mark.parametrize("period", [2.0, 3.0, 5.0])
def test_one_call_at_a_time_is_enough_to_tell_poison_from_flapping(period: float) -> None:
    server = Poisoned(EVERY_FIFTH, DOWN, lambda moment: DOWN if int(moment / period) % 2 else None)
    took = gone(server, maximum=1)
    assert (took.ended, failed(took)) == ([], EVERY_FIFTH)
    assert verdicts(took)["answered"] == 160


def test_a_server_that_flaps_faster_than_it_answers_ends_the_run() -> None:
    server = Poisoned(outage=lambda moment: DOWN if int(moment / 0.45) % 2 else None)
    took = gone(server, 40, 4)
    assert took.ended[0][0] == "fatal"
    assert took.ended[0][2] is False
    assert failed(took) == set()
    assert len(server.asked) <= 40 * 130


@pytest.mark.parametrize("error", [KEY, FatalError("status-402", "402"), FORBIDDEN, NOWHERE])
@pytest.mark.parametrize("maximum", [1, 16])
def test_a_refusal_of_the_lane_in_the_middle_pauses_it_and_fails_no_request(
    error: FatalError, maximum: int
) -> None:
    server = Poisoned(EVERY_FIFTH, DOWN, lambda moment: error if moment > 3 else None)
    took = gone(server, maximum=maximum)
    assert took.ended[0] == ("fatal", error.message, True)
    assert failed(took) <= EVERY_FIFTH
    assert len([moment for moment in server.began if moment > 3]) <= 2 * maximum + 10


def test_a_moderation_of_every_third_text_costs_few_calls() -> None:
    poisoned = range(0, 200, 3)
    server = Poisoned(poisoned, FORBIDDEN)
    took = gone(server)
    assert failed(took) == set(poisoned)
    assert took.seconds <= 3 * healthy_seconds()
    assert len(server.asked) <= 133 + 67 * 4


def test_a_run_that_has_answers_probes_with_a_request_that_worked() -> None:
    server = Poisoned(range(100, 200), FORBIDDEN)
    took = gone(server)
    assert verdicts(took) == {"answered": 100, "error": 100}
    assert server.probes == 0
    states = Counter(call.state for result in took.results for call in result.calls)
    assert states["probe-answered"] > 0
    assert sum(states.values()) == len(server.asked)


def test_the_calls_of_probes_are_stored_with_their_tokens() -> None:
    server = Poisoned(range(200), DOWN)
    took = gone(server)
    calls = [call for result in took.results for call in result.calls]
    assert len(calls) == len(server.asked)
    probes = [call for call in calls if call.state == "probe-answered"]
    assert probes
    assert all(call.answer and call.answer.usage for call in probes)


def test_a_long_wait_for_all_lets_the_run_rest_and_asks_little() -> None:
    server = Poisoned(outage=lambda moment: LONG if moment > 3 else None)
    took = gone(server)
    assert took.ended == [("rest", LONG.message, False)]
    assert took.seconds < 5
    assert sum(moment > 3 for moment in server.began) <= 16 + 6
    assert set(verdicts(took)) == {"answered", "open"}


def test_a_long_wait_before_the_first_answer_lets_the_run_rest_too() -> None:
    server = Poisoned(outage=lambda moment: LONG)
    took = gone(server)
    assert took.ended == [("rest", LONG.message, False)]
    assert len(server.asked) <= 22
    assert set(verdicts(took)) == {"open"}


@pytest.mark.parametrize("maximum", [1, 16])
def test_a_long_wait_for_some_leaves_them_for_later_and_the_others_are_answered(
    maximum: int,
) -> None:
    server = Poisoned(EVERY_FIFTH, LONG)
    took = gone(server, maximum=maximum)
    assert took.ended == []
    assert verdicts(took) == {"answered": 160, "open": 40}
    assert max(server.calls[number] for number in EVERY_FIFTH) == 1


def test_a_request_that_had_to_wait_for_long_before_fails_at_the_next_refusal() -> None:
    server = Poisoned({7}, LONG)
    took = gone(server, 20, refused={7: 3600.0})
    assert verdicts(took) == {"answered": 19, "error": 1}
    assert server.calls[7] == 1
