"""The loop: keeps calls in flight, and has results stored in groups and the lease renewed.

It knows a run only by its `Beginning`, and its rows only by a `Desk`, so it needs no database and
runs in this process or in one of its own (`apart`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from annotation.answers.submission import LostLeaseError
from judging.answers.results import Result
from judging.backends.base import Backend
from judging.engine.control import Control, End, Ending
from judging.engine.database import Beginning, Renewal, Work
from judging.engine.dispatch import Dispatcher
from judging.engine.journal import Journal
from judging.engine.limits import LONGEST_DEADLINE
from judging.engine.persistence import Writer
from judging.engine.resources import Resources
from judging.engine.routing import Router, dispatcher_for
from judging.engine.total_limit import limit_for
from judging.prompts.repair import repair_request
from judging.retries import Patience
from judging.runs import grants
from judging.runs.grants import Use
from judging.runs.lifecycle import Orders

RENEW_SECONDS = 1.0
GRACE_SECONDS = 10.0
LONG_CALLS, LONGER = 20, 4
MIN_CLAIM, MAX_CLAIM = 16, 256


class Desk(Protocol):
    """Where a loop hands in requests to the database: `RunDatabase`, awaited."""

    async def claim(self, most: int) -> Work: ...

    async def record(self, group: Sequence[Result]) -> Work: ...

    async def renew(self, use: Use, trouble: str) -> Renewal | None: ...


async def drain_calls(
    dispatcher: Dispatcher | Router, how: End, longest: float, urgent: asyncio.Future[End]
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


def extension(seconds: float, latency: float) -> float:
    """Return by how many seconds to extend a time budget so that `LONG_CALLS` calls fit into it.

    A call takes `latency` seconds. The engine never takes more than `LONGER` times the budget.
    """
    return max(0.0, min(LONG_CALLS * latency, LONGER * seconds) - seconds)


class Loop:
    """Works on a run from its `beginning` until nothing is left, or something ends it."""

    def __init__(
        self,
        beginning: Beginning,
        backend: Backend,
        desk: Desk,
        patience: Patience,
        control: Control,
        journal: Journal | None = None,
    ) -> None:
        self.journal = journal
        self.beginning, self.backend, self.desk = beginning, backend, desk
        self.patience, self.control = patience, control
        self.exhausted = self.full = False
        self.ending: Ending | None = None
        self.crash: BaseException | None = None
        self.limit = limit_for(
            backend, beginning.concurrency, beginning.ceilings, beginning.granted
        )
        self.rates = beginning.rates
        self.budget = beginning.budget(lambda: self.rates)

    def _means(self) -> Resources:
        start = self.beginning
        return Resources(
            self.backend,
            self.limit.parts[0],
            self.writer,
            self.budget,
            self.patience,
            lambda how, error, pauses: self.end(
                self._rest(error) if how == "rest" else Ending(how, error, pauses)
            ),
            repair=repair_request if start.params.get("repair") else None,
            timeout=start.params.get("timeout"),
            grouped=start.by_unit and bool(self.backend.endpoint),
            proven=start.history.proven,
            down_for=start.history.down_for,
            busy_for=start.history.busy_for,
            trouble=start.trouble,
            worked=start.worked,
        )

    async def run(self) -> Ending:
        loop = asyncio.get_running_loop()
        self.changed = asyncio.Event()
        self.urgent: asyncio.Future[End] = loop.create_future()
        small = self.beginning.small_groups
        self.writer = Writer(self._record, self._written, self.journal, small)
        self.dispatcher = dispatcher_for(
            self._means(), self.limit, self._check_queue, self._crashed
        )
        self.control.listen(lambda: loop.call_soon_threadsafe(self.end, Ending("stopped")))
        if problem := self.budget.problem():
            self.end(Ending("budget", problem))
        jobs = (self._keep_lease(), self._watch_clock(), self.writer.run())
        helpers = [self._watched(job) for job in jobs]
        try:
            async with self.backend:
                # Results are stored even if a bug ends the dispatch.
                await asyncio.wait([self._watched(self._keep_asking())])
                for left in await self._drain():
                    self.writer.add(left)
                if self.limit.granted is not None:
                    # Calls that were cut off may still be under way at the server.
                    await self._renew(self.dispatcher.longest)
            self.writer.close()
            await asyncio.wait([helpers[-1]])
        finally:
            self.control.listen(None)
            self.dispatcher.close()
            if self.journal is not None:
                self.journal.close()
            for task in helpers:
                task.cancel()
        if self.crash is not None:
            raise self.crash
        ending = self.ending or Ending("finished")
        return replace(
            ending,
            ceiling=self.limit.learned,
            limits=tuple(self.limit.history),
            addresses=self.dispatcher.ends,
        )

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
        rest = timedelta(seconds=self.dispatcher.outcomes.rest_seconds())
        return Ending("rest", error, until=datetime.now(UTC) + rest)

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
        return self.exhausted or self.full

    async def _refill(self) -> int:
        """Claim some assignments, and return their number."""
        try:
            work = await self.desk.claim(min(max(self.limit.size, MIN_CLAIM), MAX_CLAIM))
        except LostLeaseError:
            self.end(Ending("lost"))
            return 0
        self.exhausted = work.exhausted
        self._accept(work)
        return work.rows

    async def _record(self, group: list[Result]) -> None:
        try:
            self._accept(await self.desk.record(group))
        except LostLeaseError:
            self.end(Ending("lost"))

    def _accept(self, work: Work) -> None:
        self.full = work.full
        for result in work.known:
            self.writer.add(result)
        self.dispatcher.add(work.ready)
        if work.ending is not None:
            self.end(work.ending)

    async def _keep_lease(self) -> None:
        while True:
            # By the clock before the question, since the answer may be late.
            asked_at, deadline = self.limit.clock(), self.dispatcher.longest
            if (renewal := await self._renew(deadline)) is None:
                break
            self.rates = renewal.rates
            self._obey(renewal.orders, asked_at, deadline)
            await asyncio.sleep(RENEW_SECONDS)
        self.end(Ending("lost"))

    async def _renew(self, deadline: float) -> Renewal | None:
        return await self.desk.renew(self.limit.use(deadline), self.dispatcher.outcomes.trouble)

    def _obey(self, orders: Orders, asked_at: float, deadline: float) -> None:
        wishes: dict[str, End] = {"stop": "stopped", "cancel": "cancelled"}
        if orders.wish in wishes:
            self.end(Ending(wishes[orders.wish]))
        elif orders.closing:
            self.end(Ending.from_stored(orders.closing))
        elif orders.leaves:
            self.end(Ending("stopped"))
        elif orders.paused:
            self.end(Ending("stopped", f"{self.backend.endpoint} is paused: {orders.paused}"))
        self.budget.catch_up(orders.tokens, orders.cost)
        maximum = max(1, orders.concurrency or self.beginning.concurrency)
        before, self.limit.maximum = self.limit.maximum, maximum
        if orders.calls is not None:
            until = asked_at + grants.SENDS.total_seconds()
            self.limit.grant(orders.by_lane or (orders.calls,), until, deadline)
        if orders.calls is not None or maximum != before:
            self.dispatcher.wake()

    async def _drain(self) -> list[Result]:
        """Wait for the calls in flight, and return the calls of assignments without a result."""
        how = self.ending.how if self.ending else "finished"
        longest = float(self.beginning.params.get("timeout") or LONGEST_DEADLINE)
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
        await asyncio.sleep(extension(seconds, self.limit.p95 or unknown))
        self.end(Ending("time"))
