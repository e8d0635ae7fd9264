"""The engine: keeps calls in flight, stores their results in groups, and renews the run's lease.

Calls run on an event loop in a thread of its own. All database work stays in the thread that
called `run_engine`, one piece after another, so that it works with any database and delays no call.
`worker` works on a run from lease to end. `persistence` claims assignments and stores results.
`queue` puts assignments in order, `dispatch` asks, and `limits` protects the server. `outcomes`
says what follows from each reply, and `rate_limits` what follows from a 429. `preflight` finds out
before a run what the server can do.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, ParamSpec, TypeVar

from asgiref.sync import async_to_sync, sync_to_async
from django.utils import timezone

from annotation.answers.submission import LostLeaseError
from judging.answers.cache import EqualRequests
from judging.answers.results import Result, record
from judging.costs import Budget, longest_completion, price_book_of
from judging.engine.dispatch import Dispatcher, Resources
from judging.engine.early_end import FIRST_RESULTS, describe_no_yield
from judging.engine.limits import LONGEST_DEADLINE, Limit
from judging.engine.persistence import (
    Writer,
    claim_requests,
    find_worked_request,
    read_history,
)
from judging.models import JudgeRun
from judging.prompts.repair import repair_request
from judging.prompts.request import Prepared, Preparer
from judging.retries import Patience
from judging.runs import ledger, lifecycle

P = ParamSpec("P")
T = TypeVar("T")

RENEW_SECONDS = 1.0
GRACE_SECONDS = 10.0
LONG_CALLS, LONGER = 20, 4
MIN_CLAIM, MAX_CLAIM = 16, 128
End = Literal[
    "finished", "fatal", "stopped", "cancelled", "time", "lost", "crashed", "budget", "rest",
    "fruitless",
]  # fmt: skip


@dataclass
class Control:
    """Lets the calling thread stop the engine, which then lets calls in flight finish.

    Safe to use from a signal handler. `seconds` is the time budget, if there is one. `trouble` is
    called with a sentence when the server begins to fail or to refuse, or for another reason.
    """

    seconds: float | None = None
    progress: Callable[[int], object] = lambda settled: None
    trouble: Callable[[str], object] = lambda sentence: None
    _stopped: bool = field(default=False, repr=False)
    _listener: Callable[[], object] | None = field(default=None, repr=False)

    def stop(self) -> None:
        self._stopped = True
        if self._listener is not None:
            self._listener()

    @property
    def stopped(self) -> bool:
        return self._stopped

    def listen(self, listener: Callable[[], object] | None) -> None:
        self._listener = listener
        if self._stopped and listener is not None:
            listener()


@dataclass(frozen=True)
class Ending:
    """Why the engine stopped, with a line of text if there was an error.

    `finished`: nothing is left, or the run's limit is reached. `budget`: its tokens or its money
    are spent. `fatal`: the server or the requests have to be corrected; with `pauses` the lane is
    unusable until then. `stopped` and `cancelled`: a person or the worker asked for it. `time`: the
    time budget is over. `lost`: another process has the lease. `crashed`: a bug, which is raised.
    `rest`: the server wants to be asked nothing `until` a time. `fruitless`: nearly all first
    results are missing for one `reason`.

    `ceiling` is the number of calls that the server can handle, if it was found out. `limits` is
    the history of the limit, as pairs of seconds and calls at once.
    """

    how: End
    error: str = ""
    pauses: bool = field(default=False, compare=False)
    until: datetime | None = field(default=None, compare=False)
    reason: str = field(default="", compare=False)
    ceiling: int | None = field(default=None, compare=False)
    limits: tuple[tuple[float, int], ...] = field(default=(), compare=False)


async def drain_calls(
    dispatcher: Dispatcher, how: End, longest: float, urgent: asyncio.Future[End]
) -> bool:
    """Wait for the calls in flight, and return whether all of them ended by themselves.

    If the engine stops only because its time budget is over, each call may take up to its deadline,
    at most `longest` seconds, since a cancelled call would be paid for again. An `urgent` reason
    cuts this short.
    """
    if how != "time":
        await dispatcher.drain(_grace(how))
        return False
    drain = asyncio.create_task(dispatcher.drain(longest))
    first: set[asyncio.Future[Any]] = {drain, urgent}
    await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
    if drain.done():
        return True
    drain.cancel()
    await asyncio.wait({drain})
    await dispatcher.drain(_grace(urgent.result()))
    return False


def _grace(how: End) -> float:
    return 0.0 if how in ("lost", "crashed") else GRACE_SECONDS


def run_engine(
    run: JudgeRun,
    lease: uuid.UUID,
    preparer: Preparer,
    concurrency: int,
    patience: Patience | None = None,
    control: Control | None = None,
) -> Ending:
    """Work on a run until nothing is left, a limit is reached, or `control` stops it.

    The caller acquires the lease before and releases it after. `concurrency` is the maximum of
    calls at once, until the run's own number is changed.
    """
    work = _Engine(run, lease, preparer, concurrency, patience or Patience(), control or Control())
    return async_to_sync(work.run)()


def extension(seconds: float, latency: float) -> float:
    """Return by how many seconds to extend a time budget so that `LONG_CALLS` calls fit into it.

    A call takes `latency` seconds. The engine never takes more than `LONGER` times the budget.
    """
    return max(0.0, min(LONG_CALLS * latency, LONGER * seconds) - seconds)


async def in_database(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await sync_to_async(call, thread_sensitive=True)(*args, **kwargs)


def _cause(trouble: str) -> str:
    """Return a trouble without the moment at which it began."""
    return trouble.partition(" UTC: ")[2] or trouble


class _Engine:
    def __init__(
        self,
        run: JudgeRun,
        lease: uuid.UUID,
        preparer: Preparer,
        concurrency: int,
        patience: Patience,
        control: Control,
    ) -> None:
        self.judge_run, self.lease, self.preparer = run, lease, preparer
        self.concurrency, self.control = concurrency, control
        self.allowed = lifecycle.remaining_assignments(run)
        self.settled = 0
        self.exhausted = False
        self.ending: Ending | None = None
        self.crash: BaseException | None = None
        self.shown_trouble = run.error
        self.book = price_book_of(run)
        self.limit = Limit(
            concurrency,
            run.lane.ceiling if run.lane else None,
            queues=bool(getattr(preparer.backend, "queues", False)),
        )
        self.budget = self._budget()
        self.patience, self.history = patience, read_history(run)
        self.worked = find_worked_request(run, preparer) if self.history.proven else None
        self.equals = EqualRequests(run)
        self.look_at_yield = not run.go_on and run.done + run.failed < FIRST_RESULTS

    def _budget(self) -> Budget:
        run = self.judge_run
        run.refresh_from_db(fields=["prompt_tokens", "completion_tokens", "cost"])
        self.rates = self.book.on(datetime.now(UTC).date())
        return Budget(
            run.most_tokens,
            run.most_cost,
            run.prompt_tokens + run.completion_tokens,
            run.cost,
            lambda: self.rates,
            longest_completion(run.judge.params),
        )

    def _means(self) -> Resources:
        preparer, params = self.preparer, self.judge_run.judge.params
        return Resources(
            preparer.backend,
            self.limit,
            self.writer,
            self.budget,
            self.patience,
            lambda how, error, pauses: self.end(
                self._rest(error) if how == "rest" else Ending(how, error, pauses)
            ),
            repair=repair_request if params.get("repair") else None,
            timeout=params.get("timeout"),
            grouped=preparer.by_unit and bool(preparer.backend.endpoint),
            proven=self.history.proven,
            down_for=self.history.down_for,
            busy_for=self.history.busy_for,
            trouble=self.shown_trouble if self.history.down_for or self.history.busy_for else "",
            worked=self.worked,
        )

    async def run(self) -> Ending:
        loop = asyncio.get_running_loop()
        self.changed = asyncio.Event()
        self.urgent: asyncio.Future[End] = loop.create_future()
        self.writer = Writer(self._record, self._written)
        self.dispatcher = Dispatcher(self._means(), self._check_queue, self._crashed)
        self.stop_soon = lambda ending: loop.call_soon_threadsafe(self.end, ending)
        self.control.listen(lambda: self.stop_soon(Ending("stopped")))
        if problem := self.budget.problem():
            self.end(Ending("budget", problem))
        jobs = (self._keep_lease(), self._watch_clock(), self.writer.run())
        helpers = [self._watched(job) for job in jobs]
        try:
            async with self.preparer.backend:
                # Results are stored even if a bug ends the dispatch.
                await asyncio.wait([self._watched(self._keep_asking())])
                for left in await self._drain():
                    self.writer.add(left)
            self.writer.close()
            await asyncio.wait([helpers[-1]])
        finally:
            self.control.listen(None)
            self.dispatcher.close()
            for task in helpers:
                task.cancel()
        if self.crash is not None:
            raise self.crash
        ending = self.ending or Ending("finished")
        return replace(ending, ceiling=self.limit.learned, limits=tuple(self.limit.history))

    def _watched(self, job: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task whose exception stops the engine at once."""
        task = asyncio.create_task(job)
        task.add_done_callback(self._look_for_crash)
        return task

    def _look_for_crash(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            self._crashed(error)

    def _crashed(self, error: BaseException) -> None:
        self.crash = self.crash or error
        self.end(Ending("crashed", str(error)))

    def _rest(self, error: str) -> Ending:
        """End until the server may be asked again. The next engine goes on then."""
        outcomes = self.dispatcher.outcomes
        rests_until = outcomes.rate_limits.rests_until or 0.0
        seconds = max(0.0, rests_until - outcomes.resources.clock())
        return Ending("rest", error, until=timezone.now() + timedelta(seconds=seconds))

    def end(self, ending: Ending) -> None:
        """Start no more calls. The first reason is kept, but a later one may be urgent."""
        if self.ending is None:
            self.ending = ending
        elif ending.how != "time" and not self.urgent.done():
            self.urgent.set_result(ending.how)
        self.dispatcher.close()
        self.changed.set()

    def _check_queue(self) -> None:
        if self.dispatcher.needs_more or self.dispatcher.outcomes.only_suspects:
            self.changed.set()

    def _written(self) -> None:
        self.dispatcher.wake()
        self._check_queue()

    async def _keep_asking(self) -> None:
        """Claim assignments as long as there are any, and wait for the claimed ones."""
        outcomes = self.dispatcher.outcomes
        while self.ending is None:
            self.changed.clear()
            if self.dispatcher.needs_more and not self._has_enough:
                await self._refill()
                continue
            if self._has_enough and outcomes.only_suspects:
                outcomes.judge_suspects()
                self.writer.hurry()
                # New assignments may exist, and some may have waited until all others were closed.
                if not self.writer.unwritten and not await self._refill():
                    if outcomes.put_aside:
                        self.end(self._rest(f"{outcomes.put_aside:,} requests have to wait"))
                    return
                if not self._has_enough:
                    continue
            await self.changed.wait()

    @property
    def _has_enough(self) -> bool:
        """Whether to stop claiming assignments, because of a limit or because none are left."""
        return self.exhausted or self.equals.is_full

    async def _refill(self) -> int:
        """Claim some assignments, and return their number."""
        room = min(max(self.limit.size, MIN_CLAIM), MAX_CLAIM)
        if self.allowed is not None:
            room = min(room, self.allowed)
        if room == 0:
            self.exhausted = True
            return 0
        try:
            claim = await in_database(
                claim_requests, self.judge_run, self.lease, self.preparer, self.equals, room
            )
        except LostLeaseError:
            self.end(Ending("lost"))
            return 0
        self.exhausted = claim.rows < room
        if self.allowed is not None:
            self.allowed -= claim.rows
        self._accept(claim.ready, claim.known)
        return claim.rows

    def _accept(self, ready: list[Prepared], known: list[Result]) -> None:
        for result in known:
            self.writer.add(result)
        self.dispatcher.add(ready)

    async def _record(self, group: list[Result]) -> None:
        try:
            released = await in_database(self._record_group, group)
        except LostLeaseError:
            self.end(Ending("lost"))
        else:
            self._accept(*released)

    def _record_group(self, group: list[Result]) -> tuple[list[Prepared], list[Result]]:
        """Store results, and return the waiting equal requests that they release."""
        preparer = self.preparer
        self.settled += record(self.judge_run, self.lease, preparer.schema, group)
        self.control.progress(self.settled)
        if self.look_at_yield and (ending := self._yields_nothing()):
            self.stop_soon(ending)
        return self.equals.release(group)

    def _yields_nothing(self) -> Ending | None:
        """Return an ending if nearly all of the first results are missing for one reason."""
        run = self.judge_run
        run.refresh_from_db(fields=["done", "failures"])
        if run.done + run.failed < FIRST_RESULTS:
            return None
        self.look_at_yield = False
        if not ledger.count_waiting(run.campaign, run.judge):
            return None
        if (found := describe_no_yield(run.done, run.failures)) is None:
            return None
        reason, sentence = found
        return Ending("fruitless", sentence, reason=reason)

    async def _keep_lease(self) -> None:
        while (orders := await in_database(self._renew_lease)) is not None:
            self._obey(orders)
            await asyncio.sleep(RENEW_SECONDS)
        self.end(Ending("lost"))

    def _renew_lease(self) -> lifecycle.Orders | None:
        """Renew the lease, and show on the run whether its server responds."""
        run, trouble = self.judge_run, self.dispatcher.outcomes.trouble
        self.rates = self.book.on(datetime.now(UTC).date())
        orders = lifecycle.renew(run, self.lease, self.limit.under_way, self.limit.size)
        if orders is not None and trouble != self.shown_trouble:
            JudgeRun.objects.filter(pk=run.pk, lease=self.lease).update(error=trouble)
            if trouble and _cause(trouble) != _cause(self.shown_trouble):
                self.control.trouble(trouble)
            self.shown_trouble = trouble
        return orders

    def _obey(self, orders: lifecycle.Orders) -> None:
        wishes: dict[str, End] = {"stop": "stopped", "cancel": "cancelled"}
        if orders.wish in wishes:
            self.end(Ending(wishes[orders.wish]))
        maximum = max(1, orders.concurrency or self.concurrency)
        if maximum != self.limit.maximum:
            self.limit.maximum = maximum
            self.dispatcher.wake()

    async def _drain(self) -> list[Result]:
        """Wait for the calls in flight, and return the calls of assignments without a result."""
        how = self.ending.how if self.ending else "finished"
        longest = float(self.judge_run.judge.params.get("timeout") or LONGEST_DEADLINE)
        outcomes = self.dispatcher.outcomes
        ended = await drain_calls(self.dispatcher, how, longest, self.urgent)
        if ended and self.exhausted and outcomes.has_suspects:
            # Otherwise assignments that time out would stay open across workers.
            await self.dispatcher.confirm()
        return outcomes.open_rows()

    async def _watch_clock(self) -> None:
        """Stop the engine in time, or later if calls take so long that stopping wastes too much."""
        if (seconds := self.control.seconds) is None:
            return
        await asyncio.sleep(seconds)
        # If no call has ended yet, the calls in flight take at least this long.
        unknown = seconds if self.limit.under_way else 0.0
        await asyncio.sleep(extension(seconds, self.limit.latencies.p95 or unknown))
        self.end(Ending("time"))
