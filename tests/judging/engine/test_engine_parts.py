"""Parts of the engine: its start, its orders, and the reasons for which it ends."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from annotation.answers.submission import LostLeaseError
from annotation.models import Campaign
from judging import lanes
from judging.backends.scripted import Scripted
from judging.engine import Control, Ending, _Here, database, loop
from judging.engine.database import RunDatabase, Work
from judging.engine.limits import LONGEST_DEADLINE
from judging.engine.loop import Loop
from judging.engine.persistence import ServerHistory
from judging.models import JudgeRun, Price
from judging.prompts.repair import repair_request
from judging.runs import lifecycle
from judging.runs.grants import Use
from judging.runs.lifecycle import Orders
from tests.judging.cast import HASTY, judge, yes

SERVED: dict[str, Any] = {"backend": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
Made = Callable[..., Any]


@pytest.fixture
def made(campaign: Campaign) -> Made:
    """A function that creates the loop of a new run without starting it, with its database."""

    def make(
        run: dict[str, Any] | None = None, endpoint: str = "", by_unit: bool = False,
        ceiling: int | None = None, **params: Any,
    ) -> Any:  # fmt: skip
        backend: Any = Scripted(yes)
        backend.endpoint = endpoint
        started = lifecycle.start(campaign, judge(f"judge {uuid.uuid4()}", params=params, **SERVED))
        JudgeRun.objects.filter(pk=started.pk).update(**run or {})
        started.refresh_from_db()
        assert started.lane is not None
        lanes.remember_ceiling(started.lane, ceiling)
        started.lane.refresh_from_db()
        preparer: Any = SimpleNamespace(backend=backend, by_unit=by_unit)
        database = RunDatabase(started, uuid.uuid4(), preparer, Control())
        desk = _Here(database)
        work: Any = Loop(database.begin(8), backend, desk, HASTY, database.control)
        work.writer = SimpleNamespace()
        work.dispatcher = SimpleNamespace(calls=[])
        for name in ("close", "wake"):
            setattr(work.dispatcher, name, lambda name=name: work.dispatcher.calls.append(name))
        work.changed, work.database = asyncio.Event(), database
        return work

    return make


def test_the_dispatcher_gets_the_judges_settings(made: Made) -> None:
    work = made(endpoint="http://server/v1", by_unit=True, repair=1, timeout=30)
    means = work._means()
    assert (means.backend, means.limit, means.budget) == (
        work.backend, work.limit.parts[0], work.budget,
    )  # fmt: skip
    assert (means.patience, means.writer) == (HASTY, work.writer)
    assert (means.repair, means.timeout, means.grouped) == (repair_request, 30, True)
    plain = made(endpoint="http://server/v1")._means()
    assert (plain.repair, plain.timeout, plain.grouped) == (None, None, False)
    assert not made(by_unit=True)._means().grouped, "nothing is kept ahead without a server"


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("history", "trouble"),
    [
        (ServerHistory(True, 0.0, 0.0), ""),
        (ServerHistory(True, 5.0, 0.0), "endpoint down"),
        (ServerHistory(False, 0.0, 3.0), "endpoint down"),
    ],
)
def test_the_dispatcher_continues_with_the_servers_earlier_trouble(
    made: Made, monkeypatch: pytest.MonkeyPatch, history: ServerHistory, trouble: str
) -> None:
    monkeypatch.setattr(database, "read_history", lambda run: history)
    monkeypatch.setattr(database, "find_worked_request", lambda *given: None)
    means = made({"error": "endpoint down"})._means()
    found = means.proven, means.down_for, means.busy_for, means.trouble
    assert found == (history.proven, history.down_for, history.busy_for, trouble)


def test_the_budget_starts_with_what_the_run_has_spent(made: Made) -> None:
    spent = {"prompt_tokens": 100, "completion_tokens": 23, "cost": Decimal("1.5")}
    bounds = {"most_tokens": 1000, "most_cost": Decimal(2)}
    Price.objects.create(model="m", since="2020-01-01", prompt=1, cached=1, completion=1)
    work = made(spent | bounds, max_tokens=7)
    budget = work.budget
    assert (budget.tokens, budget.cost, budget.max_tokens) == (123, Decimal("1.5"), 7)
    assert (budget.most_tokens, budget.most_cost) == (1000, Decimal(2))
    assert budget.rates() is work.rates is not None
    assert made().database.allowed is None
    assert made({"limit": 5, "done": 2}).database.allowed == 3


def test_the_limit_starts_where_the_servers_last_limit_ended(made: Made) -> None:
    assert (made(ceiling=3).limit.size, made(ceiling=3).limit.maximum) == (3, 8)
    assert made().limit.maximum == 8


def test_orders_stop_cancel_or_change_the_number_of_calls(made: Made) -> None:
    work = made()
    work._obey(Orders(), 0.0, 30.0)
    assert (work.ending, work.dispatcher.calls) == (None, [])
    for concurrency, maximum in ((3, 3), (3, 3), (None, 8), (0, 8)):
        work._obey(Orders("", concurrency), 0.0, 30.0)
        assert work.limit.maximum == maximum
    assert work.dispatcher.calls == ["wake", "wake"], "only what is new wakes it"
    for wish, ending in (("stop", Ending("stopped")), ("cancel", Ending("cancelled"))):
        work = made()
        work._obey(Orders(wish), 0.0, 30.0)
        assert (work.ending, work.dispatcher.calls) == (ending, ["close"])


def test_the_engine_sends_what_is_granted_until_five_seconds_after_it_asked(made: Made) -> None:
    work = made(endpoint=SERVED["base_url"])
    (limit,) = work.limit.parts
    assert (limit.room(), limit.may_send) == (0, False)
    now = time.monotonic()
    work._obey(Orders(calls=3), now, 40.0)
    assert (limit.room(), limit.size, limit.deadline) == (3, 3, 40.0)
    assert work.dispatcher.calls == ["wake"]
    limit.under_way, limit.refusals = 2, 7
    assert work.limit.use(50.0) == Use(2, 3, 3, 50.0, 7)
    assert work.limit.use(50.0).refused == 0, "each refusal is told once"
    work._obey(Orders(calls=3), now - 5.0, 40.0)
    assert (limit.room(), limit.may_send) == (0, False), "the answer came too late"
    work._obey(Orders(paused="no credit"), now, 40.0)
    assert work.ending == Ending("stopped", "http://127.0.0.1:9/v1 is paused: no credit")


def test_the_first_ending_is_kept_and_a_later_one_makes_it_urgent(made: Made) -> None:
    async def main() -> None:
        work = made_once
        work.urgent = asyncio.get_running_loop().create_future()
        work.end(Ending("time"))
        assert (work.ending, work.urgent.done()) == (Ending("time"), False)
        assert work.changed.is_set()
        work.end(Ending("time"))
        assert not work.urgent.done()
        work.end(Ending("stopped"))
        work.end(Ending("lost"))
        assert (work.ending, work.urgent.result()) == (Ending("time"), "stopped")
        assert work.dispatcher.calls == ["close"] * 4

    made_once = made()
    asyncio.run(main())


def test_a_refusing_server_ends_the_engine_and_pauses_its_lane(made: Made) -> None:
    work = made()
    work._means().end("fatal", "no credit", True)
    assert (work.ending, work.ending.pauses) == (Ending("fatal", "no credit"), True)
    assert work.dispatcher.calls == ["close"]


def test_the_first_error_is_the_one_raised(made: Made) -> None:
    work, first = made(), ZeroDivisionError("seven")
    work._crashed(first)
    assert (work.crash, work.ending) == (first, Ending("crashed", "seven"))
    work.urgent = SimpleNamespace(done=lambda: True)
    work._crashed(KeyError("later"))
    assert (work.crash, work.ending) == (first, Ending("crashed", "seven"))


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("needs_more", "only_suspects", "looks"),
    [(True, False, True), (False, True, True), (False, False, False)],
)
def test_the_engine_claims_again_if_more_is_needed_or_only_suspects_are_left(
    made: Made, needs_more: bool, only_suspects: bool, looks: bool
) -> None:
    work = made()
    work.dispatcher.needs_more = needs_more
    work.dispatcher.outcomes = SimpleNamespace(only_suspects=only_suspects)
    work._check_queue()
    assert work.changed.is_set() == looks
    work.changed.clear()
    work._written()
    assert (work.changed.is_set(), work.dispatcher.calls) == (looks, ["wake"])


def test_stored_results_release_waiting_equal_requests_unless_the_lease_is_lost(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(group: object) -> Work:
        raise LostLeaseError

    work = made()
    added: list[Any] = []
    work.dispatcher.add = added.append
    work.writer.add = added.append
    monkeypatch.setattr(
        work.database,
        "record",
        lambda group: Work([f"ask {group}"], ["known"], full=True),  # type: ignore[list-item]
    )
    asyncio.run(work._record("group"))
    assert (added, work.ending, work.full) == (["known", ["ask group"]], None, True)
    monkeypatch.setattr(work.database, "record", lost)
    asyncio.run(work._record("group"))
    assert (len(added), work.ending) == (2, Ending("lost"))


def test_a_servers_trouble_is_written_once_to_its_own_run_while_leased(
    made: Made, django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, other = made().database, made().database
    JudgeRun.objects.filter(pk=ours.run.pk).update(lease=ours.lease)
    monkeypatch.setattr(lifecycle, "renew", lambda *given: Orders())
    ours.renew(Use(), "endpoint down")
    with django_assert_num_queries(0):
        ours.renew(Use(), "endpoint down")
    other.renew(Use(), "endpoint down")
    shown = {run.pk: run.error for run in JudgeRun.objects.all()}
    assert shown == {ours.run.pk: "endpoint down", other.run.pk: ""}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("ended", "exhausted", "suspects", "judged"),
    [(True, True, True, True), (False, True, True, False), (True, False, True, False),
     (True, True, False, False)],
)  # fmt: skip
def test_suspects_are_decided_at_the_end_if_all_calls_finished(
    made: Made, monkeypatch: pytest.MonkeyPatch,
    ended: bool, exhausted: bool, suspects: bool, judged: bool,
) -> None:  # fmt: skip
    asked: list[Any] = []

    async def drain_calls(dispatcher: object, how: str, longest: float, urgent: object) -> bool:
        asked.append((how, longest))
        return ended

    calls: list[str] = []

    async def confirm() -> None:
        calls.append("probe")

    monkeypatch.setattr(loop, "drain_calls", drain_calls)
    for work, longest in ((made(timeout=30), 30.0), (made(), LONGEST_DEADLINE)):
        work.urgent, work.exhausted = None, exhausted
        work.dispatcher.outcomes = SimpleNamespace(
            has_suspects=suspects,
            open_rows=lambda: ["open"],
        )
        work.dispatcher.confirm = confirm
        assert asyncio.run(work._drain()) == ["open"]
        assert asked[-1] == ("finished", longest)
        work.ending = Ending("time")
        asyncio.run(work._drain())
        assert asked[-1] == ("time", longest)
    assert calls == ["probe"] * 4 * judged


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("under_way", "latency", "seconds"),
    [(0, None, [6.0, 0.0]), (2, None, [6.0, 18.0]), (2, 0.4, [6.0, 2.0]), (0, 0.4, [6.0, 2.0])],
)
def test_the_time_budget_is_extended_by_the_duration_of_calls(
    made: Made, monkeypatch: pytest.MonkeyPatch,
    under_way: int, latency: float | None, seconds: list[float],
) -> None:  # fmt: skip
    slept: list[float] = []

    async def sleep(time: float) -> None:
        slept.append(time)

    work = made()
    monkeypatch.setattr(loop.asyncio, "sleep", sleep)
    asyncio.run(work._watch_clock())
    assert (slept, work.ending) == ([], None), "without a budget of time it does not end"
    work.control.seconds = 6.0
    work.limit = SimpleNamespace(under_way=under_way, p95=latency)
    asyncio.run(work._watch_clock())
    assert (slept, work.ending) == (pytest.approx(seconds), Ending("time"))


def test_the_engine_stops_claiming_if_none_are_left_or_too_many_wait(made: Made) -> None:
    work = made()
    assert not work._has_enough
    work.exhausted = True
    assert work._has_enough
    work.exhausted, work.full = False, True
    assert work._has_enough
