"""The outcomes of assignments if servers fail, hang, refuse or disappear, in virtual time."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from judging.answers.results import Failure
from judging.backends.base import (
    STARTING,
    Answer,
    RateError,
    RejectedError,
    Request,
    TransientError,
)
from judging.engine.dispatch import Dispatcher
from tests.judging.virtual import Ride, Server, hasty, in_virtual_time, now, ride, verdicts

DOWN = TransientError("status-500", "the server answered 500")
GONE = TransientError("refused-connection", "nobody listens", unreachable=True)
BUSY = RateError("later", wait=None)


def gone(server: Server, count: int, maximum: int, **options: Any) -> Ride:
    return in_virtual_time(lambda: ride(server, count, maximum, **options))


@pytest.fixture(scope="module")
def outage() -> tuple[Server, Ride]:
    """A server that fails from the 10th to the 610th second."""
    server = Server(0.5, lambda moment: DOWN if 10 <= moment < 610 else None)
    return server, gone(server, 4000, 64)


def test_an_unreachable_server_is_probed_every_5_seconds_and_no_assignment_fails(
    outage: tuple[Server, Ride],
) -> None:
    server, took = outage
    assert verdicts(took) == {"answered": 4000}
    away = [moment for moment in server.began if 30 <= moment < 610]
    assert all(after - before >= 5 for before, after in pairwise(away))
    assert len(away) <= 580 / 5 + 1


def test_the_dispatcher_does_not_wake_in_vain_while_a_probe_waits() -> None:
    class Hanging(Server):
        async def ask(self, request: Request) -> Answer:
            self.latency = 25 if 30 < now() < 200 else 0.5
            return await super().ask(request)

    woken: list[float] = []

    async def watch(dispatcher: Dispatcher) -> None:
        wake = dispatcher.wake

        def watched() -> None:
            woken.append(now())
            wake()

        dispatcher.wake = watched  # type: ignore[method-assign]

    server = Hanging(reply=lambda moment: DOWN if 10 <= moment < 200 else None)
    assert verdicts(gone(server, 1000, 16, during=watch)) == {"answered": 1000}
    (probe, *_) = (moment for moment in server.began if moment > 30)
    assert len([moment for moment in woken if probe + 1 < moment < probe + 25]) == 0
    assert len([moment for moment in woken if 30 < moment < 200]) < 100


def test_within_10_seconds_of_its_return_the_server_gets_full_traffic(
    outage: tuple[Server, Ride],
) -> None:
    per_second = Counter(int(moment) for moment in outage[0].began)
    assert per_second[619] >= 0.9 * 64 / 0.5


def test_retries_stay_a_tenth_of_the_calls_outside_an_outage(outage: tuple[Server, Ride]) -> None:
    moments = zip(outage[0].began, outage[0].asked, strict=True)
    well = [request.sample for at, request in moments if not 10 <= at < 615]
    assert len(well) - len(set(well)) <= 0.1 * len(well)


def test_our_own_server_may_start_again_before_the_first_answer() -> None:
    starting = TransientError(STARTING, "it is starting again", unreachable=True)
    took = gone(Server(0.5, lambda moment: starting if moment < 200 else None), 100, 8)
    assert took.ended == []
    assert verdicts(took) == {"answered": 100}


def test_occasional_failures_and_hangs_neither_lower_the_limit_nor_slow_the_run_much() -> None:
    class Ailing(Server):
        async def ask(self, request: Request) -> Answer:
            if len(self.asked) % 100 == 99:
                self.asked.append(request)
                await asyncio.sleep(3600)
            answer = await super().ask(request)
            if len(self.asked) % 20 == 0:
                raise DOWN
            return answer

    server = Ailing(0.5)
    took = gone(server, 2000, 64, timeout=5.0)
    assert verdicts(took) == {"answered": 2000}
    hung = sum(call.state == "deadline" for result in took.results for call in result.calls)
    busy = 0.5 * (len(server.asked) - hung) + 5 * hung
    last_one_hung = 5
    assert busy / 64 >= 0.85 * (took.seconds - last_one_hung)
    assert took.limit is not None
    assert took.limit.size == 64


def test_a_hanging_call_ends_at_the_deadline_of_its_lane() -> None:
    class Slow(Server):
        async def ask(self, request: Request) -> Answer:
            if request.sample == 700:
                self.asked.append(request)
                await asyncio.sleep(3600)
            return await super().ask(request)

    server = Slow(0.5)
    took = gone(server, 1000, 10, patience=hasty(attempts=2))
    result = next(r for r in took.results if r.prepared.request.sample == 700)
    assert result.outcome == Failure("timeout")
    assert [round(call.seconds) for call in result.calls if call.state == "deadline"] == [30, 30]


def test_a_busy_server_uses_up_no_attempts_for_a_quarter_of_an_hour() -> None:
    server = Server(0.1, lambda moment: BUSY if moment < 14 * 60 else None)
    assert verdicts(gone(server, 20, 4)) == {"answered": 20}


def test_a_server_refusing_everything_stops_the_run_after_15_minutes_and_fails_no_assignment() -> (
    None
):
    took = gone(Server(0.1, lambda moment: BUSY), 3, 4)
    how, why, pauses = took.ended[0]
    assert (how, pauses) == ("fatal", False)
    assert re.fullmatch(r"endpoint busy since 20.* UTC: later", why)
    assert verdicts(took) == {"open": 3}
    assert 15 * 60 <= took.seconds < 17 * 60


@pytest.mark.parametrize("before", [0.0, 14.0 * 60])
def test_an_assignment_refused_while_others_are_answered_is_closed_eventually(
    before: float,
) -> None:
    class Picky(Server):
        async def ask(self, request: Request) -> Answer:
            if request.sample == 5:
                raise BUSY
            return await super().ask(request)

    took = gone(Picky(20.0), 200, 4, refused={5: before})
    assert took.ended == []
    assert verdicts(took) == {"answered": 199, "error": 1}
    (failed,) = (each for each in took.results if each.outcome == Failure("error"))
    assert {call.state for call in failed.calls} == {"rate"}
    assert len(failed.calls) >= 6


def test_a_run_says_that_its_server_is_busy_until_it_answers() -> None:
    said: list[str] = []

    async def watch(dispatcher: Dispatcher) -> None:
        while True:
            await asyncio.sleep(1)
            said.append(dispatcher.outcomes.trouble)

    server = Server(0.5, lambda moment: BUSY if 20 < moment < 100 else None)
    assert verdicts(gone(server, 1000, 8, during=watch)) == {"answered": 1000}
    assert said[:20] == [""] * 20
    assert all("endpoint busy since 20" in words for words in said[35:95])
    assert said[-2:] == ["", ""]


def test_a_server_with_a_small_capacity_is_not_said_to_be_busy() -> None:
    said: set[str] = set()

    async def watch(dispatcher: Dispatcher) -> None:
        while True:
            await asyncio.sleep(1)
            said.add(dispatcher.outcomes.trouble)

    server = Server(60.0, cap=2)
    assert verdicts(gone(server, 30, 16, during=watch)) == {"answered": 30}
    assert server.refused
    assert said == {""}


def test_if_every_call_is_refused_only_one_is_tried_at_a_time() -> None:
    wait = RateError("later", wait=20.0)
    server = Server(0.1, lambda moment: wait if moment < 60 else None)
    took = gone(server, 2000, 64)
    assert verdicts(took) == {"answered": 2000}
    assert sum(1 < moment < 59 for moment in server.began) <= 10


@pytest.mark.first_case
@pytest.mark.parametrize("error", [GONE, DOWN], ids=["gone", "down"])
def test_a_server_that_never_answered_is_not_waited_for_long(error: TransientError) -> None:
    took = gone(Server(0.05, lambda moment: error), 1000, 8)
    how, why, pauses = took.ended[0]
    assert (how, pauses) == ("fatal", False)
    assert why.startswith("endpoint down since 20")
    assert why.endswith(error.message)
    assert took.seconds < 120
    assert set(verdicts(took)) == {"open"}


def test_an_assignment_that_fails_while_others_are_answered_is_closed_with_a_reason() -> None:
    class Picky(Server):
        async def ask(self, request: Request) -> Answer:
            answer = await super().ask(request)
            if request.sample == 5:
                raise TransientError("status-500", "no")
            return answer

    took = gone(Picky(0.1), 50, 4)
    assert verdicts(took) == {"answered": 49, "error": 1}


def test_if_every_assignment_fails_it_is_the_servers_fault() -> None:
    server = Server(0.5, lambda moment: DOWN if moment < 3 else None)
    assert verdicts(gone(server, 8, 8, patience=hasty(attempts=1))) == {"answered": 8}


@pytest.mark.every_case
@pytest.mark.parametrize(("attempts", "calls"), [(1, 1), (2, 2), (6, 6)])
def test_an_assignment_is_tried_only_a_limited_number_of_times(attempts: int, calls: int) -> None:
    class Picky(Server):
        async def ask(self, request: Request) -> Answer:
            answer = await super().ask(request)
            if request.sample == 5:
                raise DOWN
            return answer

    took = gone(Picky(0.1), 50, 4, patience=hasty(attempts=attempts))
    failed = next(result for result in took.results if result.outcome == Failure("error"))
    assert sum(call.state == "status-500" for call in failed.calls) == calls


def test_a_server_that_rejects_every_request_ends_the_run_with_its_message() -> None:
    rejected = RejectedError("status-400", "temperature is not supported")
    server = Server(0.1, lambda moment: rejected)
    took = gone(server, 1000, 4)
    assert took.ended[0] == ("fatal", "temperature is not supported", False)
    assert len(server.asked) <= 9
    assert set(verdicts(took)) == {"open"}


def test_rejections_before_the_first_answer_do_not_end_the_run() -> None:
    class Picky(Server):
        async def ask(self, request: Request) -> Answer:
            if request.sample < 10:
                raise RejectedError("status-400", "no such picture")
            return await super().ask(request)

    took = gone(Picky(0.5), 200, 64)
    assert took.ended == []
    assert verdicts(took) == {"answered": 190, "error": 10}


@pytest.mark.parametrize("raised", [KeyError("x"), RuntimeError("a mistake"), MemoryError()])
def test_an_unexpected_exception_of_a_backend_is_stored_as_the_state_of_its_call(
    raised: Exception,
) -> None:
    class Mistaken(Server):
        async def ask(self, request: Request) -> Answer:
            answer = await super().ask(request)
            if request.sample == 5:
                raise raised
            return answer

    took = gone(Mistaken(0.1), 50, 4)
    assert verdicts(took) == {"answered": 49, "error": 1}
    failed = next(result for result in took.results if result.outcome == Failure("error"))
    assert [call.state for call in failed.calls] == [type(raised).__name__]
