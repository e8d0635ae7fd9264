"""One judge at several addresses: who asks what, and what an address that falls out costs."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from judging.backends.base import (
    Answer,
    FatalError,
    Findings,
    RateError,
    Request,
    TransientError,
)
from judging.costs import Budget
from judging.engine.limits import Limit
from judging.engine.routing import Router
from judging.engine.total_limit import TotalLimit
from judging.runs.grants import Use
from tests.judging.clock import Clock
from tests.judging.virtual import Ride, Server, hasty, in_virtual_time, now, ride, verdicts

GROUP = 32
LATENCY, PLACES = 0.5, 16
HUNG = math.inf
BUSY = RateError("too many", wait=None)


class Named(Server):
    """A server that reports its model and version, from a moment on perhaps others."""

    def __init__(self, name: str, *reports: tuple[float, Mapping[str, Any]], **rest: Any) -> None:
        super().__init__(name=f"http://{name}", **{"latency": LATENCY, **rest})
        self.reports = reports or ((0.0, {"id": "m", "version": "1"}),)
        self.probed: list[float] = []

    async def probe(self) -> Findings:
        self.probed.append(now())
        return await super().probe()

    async def fingerprint(self, answers: bool = False) -> Mapping[str, Any]:
        self._check()
        return [report for since, report in self.reports if since <= now()][-1]


def servers(count: int = 3, **given: Any) -> list[Named]:
    return [Named(name, **given.get(name, {})) for name in "abcdefgh"[:count]]


def gone(asked: Sequence[Server], count: int, places: int = PLACES, **options: Any) -> Ride:
    return in_virtual_time(lambda: ride(asked, count, places, **options))


def states(took: Ride) -> Counter[str]:
    return Counter(call.state for result in took.results for call in result.calls)


def shares(asked: Sequence[Server]) -> list[float]:
    total = sum(len(server.began) for server in asked)
    return [len(server.began) / total for server in asked]


@pytest.mark.first_case
@pytest.mark.parametrize("items_of", [1, 10])
def test_all_addresses_are_used_fully_until_the_end(items_of: int) -> None:
    asked = servers()
    took = gone(asked, 1200, items_of=items_of, grouped=items_of > 1)
    assert verdicts(took) == {"answered": 1200}
    assert [server.most for server in asked] == [PLACES] * 3
    assert 1200 * LATENCY / (3 * PLACES) / took.seconds >= 0.95
    assert took.most_at_risk <= GROUP


def test_the_requests_of_an_item_go_to_one_address() -> None:
    asked = servers()
    gone(asked, 750, items_of=15, grouped=True)
    where: dict[int, set[int]] = defaultdict(set)
    for number, server in enumerate(asked):
        for request in server.asked:
            where[request.sample // 15].add(number)
    assert Counter(map(len, where.values())) == {1: 50}


def test_an_item_with_very_many_requests_is_spread_over_all_addresses() -> None:
    asked = servers()
    took = gone(asked, 900, items_of=900, grouped=True)
    assert 900 * LATENCY / (3 * PLACES) / took.seconds >= 0.8


@pytest.mark.first_case
@pytest.mark.parametrize("until", [HUNG, 8.0], ids=["for good", "for a while"])
def test_a_server_that_is_killed_costs_only_its_calls_in_flight(until: float) -> None:
    asked = servers(b={"down": (3.2, until)})
    alone = servers()
    gone(alone, 1200, items_of=10, grouped=True)
    took = gone(asked, 1200, items_of=10, grouped=True)
    assert verdicts(took) == {"answered": 1200}
    assert not took.ended
    assert 0 < asked[1].cut_off <= PLACES
    paid = sum(len(server.began) for server in asked)
    assert paid == 1200 + asked[1].cut_off
    # A call that meets a closed port costs nothing.
    assert states(took)["refused-connection"] <= 2
    assert [server.most for server in asked] == [PLACES] * 3
    assert any("http://b: endpoint down since" in each for each in took.troubles)
    before = sum(moment < 3.2 for moment in asked[0].began)
    assert asked[0].began[:before] == alone[0].began[:before]
    first = [request.sample for request in asked[0].asked[:before]]
    assert first == [request.sample for request in alone[0].asked[:before]]
    if until < HUNG:
        # It is compared and tried with one call, and then it takes its share again.
        back = [moment for moment in asked[1].began if moment > until]
        assert back[0] - until <= 1.5 * hasty().probe + 1
        assert back[1] - back[0] >= LATENCY
        assert len(back) > 30


def test_the_jobs_of_a_server_that_is_away_lose_no_attempt() -> None:
    patience = hasty(attempts=2)
    flapping = [(at, at + 2.0) for at in (1.2, 9.2)]

    class Flapping(Named):
        def _check(self) -> None:
            self.down = next((each for each in flapping if now() < each[1]), (HUNG, HUNG))
            super()._check()

    asked = [Named("a"), Flapping("b"), Flapping("c")]
    took = gone(asked, 1000, patience=patience)
    assert verdicts(took) == {"answered": 1000}


def test_a_server_that_was_away_at_the_start_is_compared_before_its_first_request() -> None:
    asked = servers(b={"down": (0.0, 8.0)})
    took = gone(asked, 900)
    assert verdicts(took) == {"answered": 900}
    compared = min(moment for moment in asked[1].probed if moment > 8.0)
    assert compared <= min(asked[1].began)
    assert asked[1].began[1] >= asked[1].began[0] + LATENCY


def test_a_server_that_came_up_after_the_others_were_compared_is_compared_first() -> None:
    class Slow(Named):
        async def probe(self) -> Findings:
            await asyncio.sleep(1.0)
            return await super().probe()

    asked = [Slow("a"), Named("b", (0.0, {"version": "2"}), down=(0.0, 0.5))]
    took = gone(asked, 200)
    assert verdicts(took) == {"answered": 200}
    assert not asked[1].began


def test_a_server_that_comes_back_with_another_model_is_not_asked() -> None:
    other = Named("b", (0.0, {"id": "m", "version": "1"}), (5.0, {"id": "m", "version": "2"}),
                  down=(3.2, 6.0))  # fmt: skip
    asked = [Named("a"), other, Named("c")]
    took = gone(asked, 900)
    assert verdicts(took) == {"answered": 900}
    assert max(other.began) < 3.2
    words = "http://b: the version of http://a is 1, and that of http://b 2"
    assert any(words in each for each in took.troubles)


def test_the_jobs_of_a_server_that_hangs_are_asked_elsewhere() -> None:
    class Hanging(Named):
        async def probe(self) -> Findings:
            await asyncio.sleep(10_000.0 if now() >= 2.0 else 0.0)
            return await super().probe()

        async def _wait(self) -> None:
            if now() >= 2.0:
                self.latency = 10_000.0
            await super()._wait()

    asked = [Named("a"), Hanging("b"), Named("c")]
    took = gone(asked, 750)
    assert verdicts(took) == {"answered": 750}
    # All calls under way then wait for their deadline.
    assert took.seconds < 35
    assert states(took)["deadline"] <= PLACES


def test_a_slow_server_gets_less_and_does_not_hold_up_the_end() -> None:
    asked = servers(c={"latency": 10 * LATENCY})
    took = gone(asked, 900)
    assert verdicts(took) == {"answered": 900}
    ideal = 900 / (2 * PLACES / LATENCY + PLACES / (10 * LATENCY))
    assert took.seconds <= ideal + 2 * 10 * LATENCY
    assert shares(asked)[2] < 0.12


def test_a_server_with_a_lower_limit_is_asked_at_its_own_limit() -> None:
    asked = servers(b={"cap": 5})
    took = gone(asked, 900)
    assert verdicts(took) == {"answered": 900}
    limits = took.limit
    assert limits is not None
    assert [limits.parts[n].ceiling is None for n in (0, 1, 2)] == [True, False, True]
    assert limits.parts[1].size <= 6
    assert [server.most for server in asked] == [PLACES, 5, PLACES]


def test_a_server_that_refuses_everything_keeps_one_job_to_ask_again() -> None:
    asked = servers(b={"reply": lambda moment: BUSY if moment < 5 else None, "latency": 0.05})
    took = gone(asked, 2000)
    assert verdicts(took) == {"answered": 2000}
    held_back = [moment for moment in asked[1].began if 2 < moment < 5]
    assert len(held_back) < 10
    assert sum(moment > 5 for moment in asked[1].began) > 50


def test_a_server_that_was_busy_for_too_long_comes_back() -> None:
    asked = servers(b={"reply": lambda moment: BUSY if 1 < moment < 4 else None, "latency": 0.05})
    took = gone(asked, 2000, patience=hasty(rate_patience=1.0, probe=0.5))
    assert verdicts(took) == {"answered": 2000}
    assert not took.ended
    assert sum(moment > 6 for moment in asked[1].began) > 50


def test_a_server_that_wants_a_rest_is_left_alone_meanwhile() -> None:
    rest = RateError("come back later", wait=600.0)
    asked = servers(b={"reply": lambda moment: rest if moment > 3 else None})
    took = gone(asked, 900)
    assert verdicts(took) == {"answered": 900}
    assert not took.ended
    assert not [moment for moment in asked[1].began if moment > 5]


def test_a_run_rests_if_all_addresses_want_it() -> None:
    rests = [RateError("later", wait=wait) for wait in (900.0, 600.0)]
    asked = servers(
        2, a={"reply": lambda moment: rests[0] if moment > 2 else None},
        b={"reply": lambda moment: rests[1] if moment > 4 else None},
    )  # fmt: skip
    seconds: list[float] = []
    took = gone(asked, 900, end=lambda router: seconds.append(router.rest_seconds()))
    assert [how for how, *_ in took.ended] == ["rest"]
    assert 590 < seconds[0] <= 600


@pytest.mark.parametrize("state", ["status-401", "status-404", "status-403"])
def test_a_server_that_refuses_the_key_is_out_for_good(state: str) -> None:
    refuses = FatalError(state, "the server forbids it")
    asked = servers(b={"reply": lambda moment: refuses if moment > 3 else None})
    took = gone(asked, 900, patience=hasty(probe=1.0))
    assert verdicts(took) == {"answered": 900}
    assert not took.ended
    assert isinstance(took.dispatcher, Router)
    ends = took.dispatcher.ends
    assert [end.refused for end in ends] == ["", "the server forbids it", ""]
    assert [end.answered for end in ends] == [True, False, True]
    assert "http://b: the server forbids it" in took.troubles
    assert sum(moment > 4 for moment in asked[1].began) <= 3
    assert max(asked[1].began) < 8


def test_a_run_ends_if_all_addresses_refuse_it() -> None:
    refuses = FatalError("status-401", "the server does not accept this key")
    asked = servers(2, **{
        name: {"reply": lambda moment, at=at: refuses if moment > at else None}
        for name, at in {"a": 2, "b": 4}.items()
    })  # fmt: skip
    took = gone(asked, 900)
    words = "; ".join(f"http://{name}: the server does not accept this key" for name in "ab")
    assert took.ended == [("fatal", words, True)]


def test_a_run_waits_for_an_outage_of_all_addresses_as_for_one() -> None:
    asked = servers(3, **{name: {"down": (2.0 + n, 100.0)} for n, name in enumerate("abc")})
    took = gone(asked, 750)
    assert verdicts(took) == {"answered": 750}
    assert not took.ended


def test_a_run_ends_after_too_long_an_outage_of_all_addresses() -> None:
    asked = servers(3, **{name: {"down": (2.0 + n, HUNG)} for n, name in enumerate("abc")})
    took = gone(asked, 750)
    (how, words, pauses), *_ = took.ended
    assert (how, pauses) == ("fatal", False)
    assert [f"http://{name}: endpoint down since" in words for name in "abc"] == [True] * 3
    assert hasty().outage <= took.seconds <= hasty().outage + 4 * hasty().probe + 10
    assert verdicts(took).keys() == {"answered", "open"}


def test_addresses_that_never_respond_end_a_run_soon() -> None:
    took = gone(servers(3, **{name: {"down": (0.0, HUNG)} for name in "abc"}), 100)
    assert [how for how, *_ in took.ended] == ["fatal"]
    assert took.seconds <= hasty().unproven + 3 * hasty().probe


def test_one_that_comes_up_first_is_what_the_others_are_compared_with() -> None:
    asked = [
        Named("a", (0.0, {"version": "1"}), down=(0.0, 20.0)),
        Named("b", (0.0, {"version": "2"}), down=(0.0, 5.0)),
    ]
    took = gone(asked, 800)
    assert verdicts(took) == {"answered": 800}
    assert not asked[0].began


def test_a_request_that_ends_servers_is_asked_last() -> None:
    class Mortal(Named):
        """Its process ends for two seconds when it meets the request."""

        async def ask(self, request: Request) -> Answer:
            if request.sample == 40 and not self.down[0] <= now() < self.down[1]:
                self.down = now(), now() + 2.0
                raise TransientError("reset", "the connection was lost")
            return await super().ask(request)

    asked = [Mortal(name) for name in "abc"]
    took = gone(asked, 750, during=None)
    answered = {r.prepared.assignment.pk for r in took.results if isinstance(r.outcome, Answer)}
    assert answered == set(range(750)) - {40}


def test_requests_that_are_wrong_fail_once_and_bring_no_address_down() -> None:
    class Strict(Named):
        async def ask(self, request: Request) -> Answer:
            if request.sample % 10 == 3:
                self.began.append(now())
                raise TransientError("status-500", "the server answered 500")
            return await super().ask(request)

    asked = [Strict(name) for name in "abc"]
    took = gone(asked, 600)
    assert verdicts(took) == {"answered": 540, "error": 60}
    assert not took.ended


def test_a_budget_that_is_spent_ends_the_run_once_no_call_is_under_way() -> None:
    asked = servers()
    took = gone(asked, 1200, budget=Budget(most_tokens=3000))
    assert [how for how, *_ in took.ended] == ["budget"]
    assert 120 <= verdicts(took)["answered"] <= 200


def test_results_that_are_stored_slowly_hold_up_all_addresses() -> None:
    took = gone(servers(), 1000, write_seconds=2.0)
    assert verdicts(took) == {"answered": 1000}
    assert took.most_at_risk <= GROUP


def test_each_address_has_a_grant_of_its_own() -> None:
    clock = Clock()
    total = TotalLimit([Limit(10, clock=clock, granted=True) for _ in range(2)])
    assert total.granted == 0
    total.grant((3, 5), 5.0, 30.0)
    assert (total.granted, total.size, [part.room() for part in total.parts]) == (8, 8, [3, 5])
    total.parts[1].begin()
    total.parts[1].refusals = 2
    own = Use(0, 3, 3, 40.0), Use(1, 5, 5, 40.0, 2)
    assert total.use(40.0) == Use(1, 8, 8, 40.0, 2, lanes=own)
    assert total.use(40.0).refused == 0, "each refusal is told once"
    alone = TotalLimit([Limit(10, clock=clock)])
    assert (alone.granted, alone.use(30.0)) == (None, Use(0, 10, 0, 30.0))


def test_an_address_without_a_grant_leaves_its_jobs_to_others() -> None:
    async def revoke(router: Router) -> None:
        await asyncio.sleep(2.0)
        router.limit.grant((16, 0, 16), math.inf, math.inf)
        router.wake()

    asked = servers()
    took = gone(asked, 900, granted=True, during=revoke)
    assert verdicts(took) == {"answered": 900}
    assert max(asked[1].began) <= 2.0


def test_the_total_limit_leaves_out_what_is_out() -> None:
    clock = Clock()
    total = TotalLimit([Limit(10, clock=clock), Limit(4, clock=clock), Limit(6, 3, clock=clock)])
    assert (total.size, total.under_way, total.p95) == (17, 0, None)
    total.out = {0}
    assert total.size == 7
    total.out = {0, 1, 2}
    assert total.size == 10
    total.parts[1].begin()
    assert total.under_way == 1
    total.maximum = 2
    assert [part.size for part in total.parts] == [2, 2, 2]
    assert total.history == [(0.0, 6)]
    clock.now = 5.0
    total.parts[2].begin()
    total.parts[2].answered(1.0)
    assert total.p95 == 4.0
    assert list(itertools.accumulate(size for _, size in total.history))[-1] == 6
