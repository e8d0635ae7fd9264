"""The engine: keeps calls in flight, stores their results in groups, and renews the run's lease.

Calls run on an event loop in a thread of its own. All database work stays in the thread that
called `pump`, one piece after the other, so that it works with any database and delays no call.
`worker` works on a run from lease to end, `persistence` claims rows and stores results, `dispatch`
asks, `queue` puts rows in order, `limits` protects the server, and `preflight` finds out
beforehand what a server can do.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, ParamSpec, TypeVar

from asgiref.sync import async_to_sync, sync_to_async

from annotation.answers.submission import LostLeaseError
from judging.answers.cache import Equals
from judging.answers.results import Result, record
from judging.costs import Budget, PriceBook
from judging.engine.dispatch import Dispatcher, Means, Repair
from judging.engine.limits import LONGEST_DEADLINE, Limit
from judging.engine.persistence import Writer, claimed, past
from judging.models import JudgeRun
from judging.prompts.repair import repair_request
from judging.prompts.request import Prepared, Preparer
from judging.retries import Patience
from judging.runs import lifecycle

End = Literal["finished", "fatal", "stopped", "cancelled", "time", "lost", "crashed", "budget"]


@dataclass
class Control:
    """How the thread that called can end the pump: once, and calls in flight may finish.

    Safe to use from a signal handler. `seconds` is the time budget, if there is one.
    """

    seconds: float | None = None
    progress: Callable[[int], object] = lambda settled: None
    _stopped: bool = field(default=False, repr=False)
    _listener: Callable[[], object] | None = field(default=None, repr=False)

    def stop(self) -> None:
        self._stopped = True
        if self._listener is not None:
            self._listener()

    def listen(self, listener: Callable[[], object] | None) -> None:
        self._listener = listener
        if self._stopped and listener is not None:
            listener()


@dataclass(frozen=True)
class Ending:
    """Why the pump ended, with one line where something is wrong.

    `finished`: nothing is left, or the run's limit is reached. `budget`: its tokens or its money
    are spent. `fatal`: the server, or every request to it, needs mending; with `pauses` the lane is
    of no use to anybody until that is done. `stopped` and `cancelled`: somebody wished it, `time`:
    the time budget is over. `lost`: the lease went to another. `crashed`: a mistake of ours, which
    is raised.

    `ceiling` is what the server bore, where that was found out; `limits` how the limit changed, as
    pairs of seconds and calls at once.
    """

    how: End
    error: str = ""
    pauses: bool = field(default=False, compare=False)
    ceiling: int | None = field(default=None, compare=False)
    limits: tuple[tuple[float, int], ...] = field(default=(), compare=False)


GRACE_SECONDS = 10.0


async def drained(
    dispatcher: Dispatcher, how: End, longest: float, pressed: asyncio.Future[End]
) -> bool:
    """Waits for the calls under way; whether each has come to its own end.

    Where only the time is over each ends by its own deadline, of `longest` seconds at most: one
    that was called off would be paid again. Whatever else presses meanwhile cuts that short.
    """
    if how != "time":
        await dispatcher.drain(_grace(how))
        return False
    drain = asyncio.create_task(dispatcher.drain(longest))
    first: set[asyncio.Future[Any]] = {drain, pressed}
    await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
    if drain.done():
        return True
    drain.cancel()
    await asyncio.wait({drain})
    await dispatcher.drain(_grace(pressed.result()))
    return False


def _grace(how: End) -> float:
    return 0.0 if how in ("lost", "crashed") else GRACE_SECONDS


P = ParamSpec("P")
T = TypeVar("T")

RENEW_SECONDS = 1.0
LONG_CALLS, LONGER = 20, 4
LEAST_CLAIM, MOST_CLAIM = 16, 128


def pump(
    run: JudgeRun,
    lease: uuid.UUID,
    preparer: Preparer,
    concurrency: int,
    patience: Patience | None = None,
    control: Control | None = None,
) -> Ending:
    """Works on a run until nothing is left, a bound is reached, or it is told to end.

    The lease is the caller's to take before and to give back after. `concurrency` is the most calls
    at once; the run's own, where somebody sets it meanwhile, goes before it.
    """
    work = _Pump(run, lease, preparer, concurrency, patience or Patience(), control or Control())
    return async_to_sync(work.run)()


async def in_database(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await sync_to_async(call, thread_sensitive=True)(*args, **kwargs)


class _Pump:
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
        self.allowed = lifecycle.remaining(run)
        self.settled = 0
        self.exhausted = False
        self.ending: Ending | None = None
        self.crash: BaseException | None = None
        self.shown = run.error
        self.book = PriceBook(run.judge.model)
        self.limit = Limit(
            concurrency,
            run.lane.ceiling if run.lane else None,
            queues=bool(getattr(preparer.backend, "queues", False)),
        )
        self.budget = self._budget()
        self.patience, self.past = patience, past(run)
        self.equals = Equals(run)

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
            run.judge.params.get("max_tokens"),
        )

    def _means(self) -> Means:
        preparer, params = self.preparer, self.judge_run.judge.params
        return Means(
            preparer.backend,
            self.limit,
            self.writer,
            self.budget,
            self.patience,
            lambda how, error, pauses: self.end(Ending(how, error, pauses)),
            repair=_repair(preparer.by_unit) if params.get("repair") else None,
            timeout=params.get("timeout"),
            grouped=preparer.by_unit and bool(preparer.backend.endpoint),
            proven=self.past.proven,
            down_for=self.past.down_for,
            busy_for=self.past.busy_for,
            trouble=self.shown if self.past.down_for or self.past.busy_for else "",
        )

    async def run(self) -> Ending:
        loop = asyncio.get_running_loop()
        self.changed = asyncio.Event()
        self.pressed: asyncio.Future[End] = loop.create_future()
        self.writer = Writer(self._record, self._written)
        self.dispatcher = Dispatcher(self._means(), self._look, self._crashed)
        self.control.listen(lambda: loop.call_soon_threadsafe(self.end, Ending("stopped")))
        if problem := self.budget.problem():
            self.end(Ending("budget", problem))
        jobs = (self._renew(), self._watch_clock(), self.writer.run())
        helpers = [self._watched(job) for job in jobs]
        try:
            async with self.preparer.backend:
                # What came meanwhile is written even where a mistake ends the asking.
                await asyncio.wait([self._watched(self._keep_asking())])
                for left in await self._drained():
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
        """A task whose exception ends the pump, instead of being found out about too late."""
        task = asyncio.create_task(job)
        task.add_done_callback(self._look_for_crash)
        return task

    def _look_for_crash(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            self._crashed(error)

    def _crashed(self, error: BaseException) -> None:
        self.crash = self.crash or error
        self.end(Ending("crashed", str(error)))

    def end(self, ending: Ending) -> None:
        """Nothing new is begun from here on. The first reason stands, a later one presses."""
        if self.ending is None:
            self.ending = ending
        elif ending.how != "time" and not self.pressed.done():
            self.pressed.set_result(ending.how)
        self.dispatcher.close()
        self.changed.set()

    def _look(self) -> None:
        if self.dispatcher.hungry or self.dispatcher.outcomes.only_suspects:
            self.changed.set()

    def _written(self) -> None:
        self.dispatcher.wake()
        self._look()

    async def _keep_asking(self) -> None:
        """Claims rows as long as there are any, and waits for what was claimed."""
        outcomes = self.dispatcher.outcomes
        while self.ending is None:
            self.changed.clear()
            if self.dispatcher.hungry and not self._has_enough:
                await self._refill()
                continue
            if self._has_enough and outcomes.only_suspects:
                outcomes.judge_suspects()
                self.writer.hurry()
                # Rows may have been added, or have waited until all others were closed.
                if not self.writer.owed and not await self._refill():
                    return
                if not self._has_enough:
                    continue
            await self.changed.wait()

    @property
    def _has_enough(self) -> bool:
        """Whether no more rows should be claimed, or none are left."""
        return self.exhausted or self.equals.is_full

    async def _refill(self) -> int:
        """Claims some rows; how many came."""
        room = min(max(self.limit.size, LEAST_CLAIM), MOST_CLAIM)
        if self.allowed is not None:
            room = min(room, self.allowed)
        if room == 0:
            self.exhausted = True
            return 0
        try:
            claim = await in_database(
                claimed, self.judge_run, self.lease, self.preparer, self.equals, room
            )
        except LostLeaseError:
            self.end(Ending("lost"))
            return 0
        self.exhausted = claim.rows < room
        if self.allowed is not None:
            self.allowed -= claim.rows
        self._take_in(claim.ready, claim.known)
        return claim.rows

    def _take_in(self, ready: list[Prepared], known: list[Result]) -> None:
        for result in known:
            self.writer.add(result)
        self.dispatcher.add(ready)

    async def _record(self, group: list[Result]) -> None:
        try:
            released = await in_database(self._record_group, group)
        except LostLeaseError:
            self.end(Ending("lost"))
        else:
            self._take_in(*released)

    def _record_group(self, group: list[Result]) -> tuple[list[Prepared], list[Result]]:
        """Stores results; whom that releases of those that wait for an equal request."""
        preparer = self.preparer
        self.settled += record(self.judge_run, self.lease, preparer.schema, preparer.by_unit, group)
        self.control.progress(self.settled)
        return self.equals.released_by(group)

    async def _renew(self) -> None:
        while (orders := await in_database(self._renewed)) is not None:
            self._obey(orders)
            await asyncio.sleep(RENEW_SECONDS)
        self.end(Ending("lost"))

    def _renewed(self) -> lifecycle.Orders | None:
        """Holds the lease, and shows on the run whether its server is away."""
        run, trouble = self.judge_run, self.dispatcher.outcomes.trouble
        self.rates = self.book.on(datetime.now(UTC).date())
        orders = lifecycle.renew(run, self.lease, self.limit.under_way, self.limit.size)
        if orders is not None and trouble != self.shown:
            JudgeRun.objects.filter(pk=run.pk, lease=self.lease).update(error=trouble)
            self.shown = trouble
        return orders

    def _obey(self, orders: lifecycle.Orders) -> None:
        wishes: dict[str, End] = {"stop": "stopped", "cancel": "cancelled"}
        if orders.wish in wishes:
            self.end(Ending(wishes[orders.wish]))
        wanted = max(1, orders.concurrency or self.concurrency)
        if wanted != self.limit.maximum:
            self.limit.maximum = wanted
            self.dispatcher.wake()

    async def _drained(self) -> list[Result]:
        """The calls of rows that stay open, once those under way have ended; the lease is held."""
        how = self.ending.how if self.ending else "finished"
        longest = float(self.judge_run.judge.params.get("timeout") or LONGEST_DEADLINE)
        outcomes = self.dispatcher.outcomes
        ended = await drained(self.dispatcher, how, longest, self.pressed)
        if ended and self.exhausted and outcomes.only_suspects:
            # Else rows that hang would be all that is left of a run, from one pump to the next.
            outcomes.judge_suspects()
        return outcomes.open_rows()

    async def _watch_clock(self) -> None:
        """Ends the pump in time; later where calls take so long that ending would cost much."""
        if (seconds := self.control.seconds) is None:
            return
        await asyncio.sleep(seconds)
        # Where nothing has ended yet, what is under way takes all this time at least.
        unknown = seconds if self.limit.under_way else 0.0
        longer = min(LONG_CALLS * (self.limit.latencies.p95 or unknown), LONGER * seconds)
        await asyncio.sleep(max(0.0, longer - seconds))
        self.end(Ending("time"))


def _repair(by_unit: bool) -> Repair:
    return lambda prepared, answer: repair_request(prepared, answer, by_unit)
