"""A lane makes as many calls as allowed, and waits patiently for its server."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from judging.backends.base import (
    Answer,
    FinalError,
    RateError,
    Request,
    TransientError,
)
from judging.costs import Budget, Rates
from judging.engine.dispatch import Dispatcher
from tests.judging.virtual import Ride, Server, hasty, in_virtual_time, ride, verdicts

GROUP = 32

DOWN = TransientError("status-500", "the server answered 500")
GONE = TransientError("refused-connection", "nobody listens", unreachable=True)
BUSY = RateError("later", wait=None)


def gone(server: Server, count: int, maximum: int, **options: Any) -> Ride:
    return in_virtual_time(lambda: ride(server, count, maximum, **options))


def efficiency(took: Ride, count: int, latency: float, places: int) -> float:
    return count * latency / places / took.seconds


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("latency", "count", "least"), [(0.5, 2560, 0.95), (0.1, 2560, 0.9)], ids=["slow", "quick"]
)
@pytest.mark.parametrize("items_of", [1, 10])
def test_the_dispatcher_keeps_all_its_calls_under_way_until_the_end(
    latency: float, count: int, least: float, items_of: int
) -> None:
    server = Server(latency)
    took = gone(server, count, 64, items_of=items_of, grouped=items_of > 1)
    assert verdicts(took) == {"answered": count}
    assert server.most == 64
    assert efficiency(took, count, latency, 64) >= least


@pytest.mark.first_case
@pytest.mark.parametrize("latency", [0.1, 0.5])
def test_a_servers_hard_limit_is_found_and_kept(latency: float) -> None:
    server = Server(latency, cap=50)
    took = gone(server, 3000, 100)
    assert verdicts(took) == {"answered": 3000}
    assert efficiency(took, 3000, latency, 50) >= 0.93
    assert server.refused <= 0.06 * 3000


def test_at_most_one_group_of_results_is_unwritten_at_any_time() -> None:
    took = gone(Server(0.1), 1000, 16, write_seconds=2.0)
    assert verdicts(took) == {"answered": 1000}
    assert took.most_at_risk == GROUP


def test_the_number_of_held_assignments_is_limited() -> None:
    took = gone(Server(0.1, lambda moment: BUSY if moment < 60 else None), 1000, 16)
    assert verdicts(took) == {"answered": 1000}
    assert took.most_held <= 6 * 16 + 32


def test_an_items_first_request_goes_ahead_so_that_the_others_hit_the_cache() -> None:
    began: dict[int, list[float]] = defaultdict(list)
    computed: dict[int, float] = {}
    hits = 0

    class Caching(Server):
        async def ask(self, request: Request) -> Answer:
            nonlocal hits
            item, moment = request.sample // 15, asyncio.get_running_loop().time()
            hits += moment >= computed.get(item, float("inf"))
            computed.setdefault(item, moment + 0.1)
            began[item].append(moment)
            return await super().ask(request)

    took = gone(Caching(0.5), 2400, 64, items_of=15, grouped=True)
    assert verdicts(took) == {"answered": 2400}
    assert hits >= 0.95 * 2400 * 14 / 15
    assert efficiency(took, 2400, 0.5, 64) >= 0.95


def test_few_items_are_open_at_once_so_that_a_small_cache_suffices() -> None:
    open_items: list[int] = []

    class Watching(Server):
        async def ask(self, request: Request) -> Answer:
            done = Counter(r.sample // 15 for r in self.asked)
            open_items.append(sum(0 < count < 15 for count in done.values()))
            return await super().ask(request)

    gone(Watching(0.5), 600, 30, items_of=15, grouped=True)
    assert max(open_items[60:]) <= 30 // 15 + 2


def test_a_token_budget_ends_the_run_and_is_not_exceeded() -> None:
    budget = Budget(most_tokens=1000, max_tokens=5)
    took = gone(Server(0.5), 1000, 8, budget=budget)
    message = "the budget of 1,000 tokens is spent: 990 so far"
    assert took.ended[0] == ("budget", message, False)
    assert budget.tokens == 15 * verdicts(took)["answered"] == 990


def test_a_budget_of_money_counts_what_calls_cost() -> None:
    rates = Rates(Decimal(1000), Decimal(1000), Decimal(2000))
    budget = Budget(most_cost=Decimal("1.00"), rates=lambda: rates)
    took = gone(Server(0.5), 1000, 8, budget=budget)
    assert took.ended[0][0] == "budget"
    assert took.ended[0][1].startswith("the budget of 1.00 USD is spent: ")
    assert Decimal("0.7") < budget.cost <= Decimal("1.00")


def test_failed_calls_do_not_use_up_a_budget() -> None:
    server = Server(0.1, lambda moment: TransientError("status-500", "no") if moment < 2 else None)
    budget = Budget(most_tokens=15 * 20, max_tokens=5)
    took = gone(server, 20, 1, budget=budget, patience=hasty(attempts=40))
    assert verdicts(took) == {"answered": 20}
    assert len(server.asked) > 20
    assert budget.tokens == 15 * 20


def test_an_unreadable_answer_is_repaired_once_and_both_calls_are_stored() -> None:
    def again(prepared: Any, answer: Answer) -> Request | None:
        return prepared.request if answer.text == "prose" else None

    came = iter([Answer("prose"), Answer("{}"), Answer("prose"), Answer("prose")])
    took = gone(Server(0.1, lambda moment: next(came)), 2, 1, repair=again)
    assert [[call.repair for call in r.calls] for r in took.results] == [[False, True]] * 2
    assert [getattr(r.outcome, "text", None) for r in took.results] == ["{}", "prose"]


def test_the_first_answer_counts_if_its_repair_fails() -> None:
    lines: list[Answer | FinalError] = [
        Answer("prose"), FinalError("refused", "no"), Answer("{}"),
    ]  # fmt: skip
    came = iter(lines)

    def again(prepared: Any, answer: Answer) -> Request | None:
        return prepared.request if answer.text == "prose" else None

    took = gone(Server(0.1, lambda moment: next(came)), 2, 1, repair=again)
    assert [getattr(r.outcome, "text", None) for r in took.results] == ["prose", "{}"]


def test_after_the_end_no_call_is_begun_and_running_ones_are_finished() -> None:
    server = Server(0.5)

    async def close(dispatcher: Dispatcher) -> None:
        await asyncio.sleep(4.2)
        dispatcher.resources.end("fatal", "enough", False)

    took = gone(server, 10_000, 64, during=close)
    assert max(server.began) <= 4.2
    assert verdicts(took) == {"answered": len(server.began)}


def test_calls_that_do_not_finish_in_time_are_cancelled_and_stored() -> None:
    async def close(dispatcher: Dispatcher) -> None:
        await asyncio.sleep(5)
        dispatcher.resources.end("fatal", "enough", False)

    took = gone(Server(25), 8, 4, during=close)
    assert verdicts(took) == {"open": 4}
    assert [[call.state for call in result.calls] for result in took.results] == [["abandoned"]] * 4
    assert took.results[0].calls[0].seconds == 15


def test_a_changed_concurrency_applies_from_then_on() -> None:
    server = Server(0.5)

    async def change(dispatcher: Dispatcher) -> None:
        await asyncio.sleep(5)
        dispatcher.limit.maximum = 4
        await asyncio.sleep(5)
        server.most = 0
        dispatcher.limit.maximum = 16
        dispatcher.wake()

    gone(server, 1000, 64, during=change)
    per_second = Counter(int(moment) for moment in server.began)
    assert per_second[3] == 128
    assert per_second[8] <= 8
    assert server.most <= 16
    assert max(per_second[second] for second in range(11, 30)) > 8


def test_answers_waiting_for_repair_do_not_block_the_lane() -> None:
    class Refusing(Server):
        async def ask(self, request: Request) -> Answer:
            if request.sample < 0 and asyncio.get_running_loop().time() < 30:
                raise RateError("later", wait=20.0)
            return await super().ask(request)

    def again(prepared: Any, answer: Answer) -> Request | None:
        return replace(prepared.request, sample=-1)

    took = gone(Refusing(0.1), 200, 64, repair=again)
    assert verdicts(took) == {"answered": 200}
