"""The pump: keeps calls in flight, writes their results in groups, and holds on to its lease.

Calls live on an event loop in a thread of its own; all work on the database stays in the thread
that called `pump`, one piece after the other, so that any engine serves and nothing blocks a call.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any, Literal, ParamSpec, TypeVar

from asgiref.sync import async_to_sync, sync_to_async

from annotation.submit import LostLeaseError
from judging import ledger, runs
from judging.asking import Asker, Outcome, Patience
from judging.backends.base import Backend
from judging.models import JudgeRun
from judging.preparing import Prepared, Preparer
from judging.results import Result, record, stored_results

P = ParamSpec("P")
T = TypeVar("T")

GROUP = 32
GROUP_SECONDS = 0.05
RENEW_SECONDS = 5.0
GRACE_SECONDS = 10.0
LEAST_CLAIM = 32
DEAD_AFTER = 5

End = Literal["finished", "fatal", "stopped", "time", "lost", "crashed"]


@dataclass
class Control:
    """How the thread that called can end the pump: once, and calls in flight may finish.

    Safe to use from a signal handler. `seconds` is the time budget, if there is one.
    """

    seconds: float | None = None
    progress: Callable[[int], None] = lambda settled: None
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
    """Why the pump ended, with one line where something is wrong."""

    how: End
    error: str = ""


def pump(
    run: JudgeRun,
    lease: uuid.UUID,
    preparer: Preparer,
    concurrency: int,
    patience: Patience | None = None,
    control: Control | None = None,
) -> Ending:
    """Works on a run until nothing is left, its limit is reached, or it is told to end.

    The lease is the caller's to take before and to give back after.
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
        self.concurrency, self.patience, self.control = concurrency, patience, control
        self.backend: Backend = preparer.backend
        self.asker = Asker(self.backend, concurrency, patience)
        self.allowed = runs.remaining(run)
        self.capacity = max(2 * concurrency, LEAST_CLAIM)
        self.asking: set[asyncio.Task[None]] = set()
        self.suspects: list[Outcome] = []
        self.settled = 0
        self.exhausted = False
        self.ending: Ending | None = None
        self.crash: BaseException | None = None

    async def run(self) -> Ending:
        loop = asyncio.get_running_loop()
        self.changed = asyncio.Event()
        self.results: asyncio.Queue[Result | None] = asyncio.Queue()
        self.control.listen(lambda: loop.call_soon_threadsafe(self.end, Ending("stopped")))
        helpers = [
            self._watched(job) for job in (self._renew(), self._watch_clock(), self._write())
        ]
        try:
            async with self.backend:
                await self._keep_asking()
                await self._drain()
            self._judge_suspects()
            self.results.put_nowait(None)
            await helpers[-1]
        finally:
            self.control.listen(None)
            for task in (*helpers, *self.asking):
                task.cancel()
        if self.crash is not None:
            raise self.crash
        return self.ending or Ending("finished")

    def _watched(self, job: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task whose exception ends the pump, instead of being found out about too late."""
        task = asyncio.create_task(job)
        task.add_done_callback(self._look_for_crash)
        return task

    def _look_for_crash(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            self.crash = self.crash or error
            self.end(Ending("crashed", str(error)))

    def end(self, ending: Ending) -> None:
        """Nothing new is begun from here on. The first reason stands."""
        self.ending = self.ending or ending
        self.asker.close()
        self.changed.set()

    async def _keep_asking(self) -> None:
        while self.ending is None:
            await self._refill()
            if not self.asking and self.exhausted:
                return
            await self.changed.wait()
            self.changed.clear()

    async def _refill(self) -> None:
        room = self.capacity - len(self.asking)
        if self.exhausted or room < self.capacity // 4:
            return
        if self.allowed is not None:
            room = min(room, self.allowed)
            self.allowed -= room
        ready, known = await in_database(self._claim, room)
        self.exhausted = len(ready) + len(known) < room or self.allowed == 0
        for result in known:
            self.results.put_nowait(result)
        for prepared in ready:
            self._begin(prepared)

    def _claim(self, room: int) -> tuple[list[Prepared], list[Result]]:
        run = self.judge_run
        rows = ledger.claim(run.campaign, run.judge, self.lease, room)
        prepared = [self.preparer.prepare(row) for row in rows]
        known = stored_results(prepared)
        answered = {result.prepared.assignment.pk for result in known}
        return [p for p in prepared if p.assignment.pk not in answered], known

    def _begin(self, prepared: Prepared) -> None:
        task = self._watched(self._ask(prepared))
        self.asking.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.asking.discard(task)
        self.changed.set()

    async def _ask(self, prepared: Prepared) -> None:
        outcome = await self.asker.ask(prepared)
        if outcome.kind == "settled":
            self._clear_suspects()
            self.results.put_nowait(outcome.result)
            return
        self.results.put_nowait(replace(outcome.result, verdict=None))
        if outcome.kind == "fatal":
            self.end(Ending("fatal", outcome.error))
        elif outcome.kind == "spent":
            self.suspects.append(outcome)
            if len(self.suspects) >= DEAD_AFTER:
                self.end(Ending("fatal", outcome.error))

    def _clear_suspects(self) -> None:
        """The server answers others, so what was spent on these rows is their own result."""
        for outcome in self.suspects:
            self.results.put_nowait(replace(outcome.result, calls=()))
        self.suspects.clear()

    def _judge_suspects(self) -> None:
        """At the end the last suspects fail, unless there was no server to answer anything."""
        if unreachable := [outcome for outcome in self.suspects if outcome.unreachable]:
            self.end(Ending("fatal", unreachable[-1].error))
        if self.ending is None:
            self._clear_suspects()

    async def _drain(self) -> None:
        """Lets calls under way come to their end, for a while; what only waits is given back."""
        if self.ending is None or not self.asking:
            return
        if self.ending.how not in ("lost", "crashed"):
            await asyncio.wait(self.asking, timeout=GRACE_SECONDS)
        left = list(self.asking)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _write(self) -> None:
        group: list[Result] | None = []
        while group is not None:
            group = await self._next_group()
            if group:
                await self._record(group)

    async def _next_group(self) -> list[Result] | None:
        """Results that came close together; None after the last."""
        if (first := await self.results.get()) is None:
            return None
        group, loop = [first], asyncio.get_running_loop()
        until = loop.time() + GROUP_SECONDS
        while len(group) < GROUP:
            try:
                async with asyncio.timeout_at(until):
                    result = await self.results.get()
            except TimeoutError:
                break
            if result is None:
                self.results.put_nowait(None)
                break
            group.append(result)
        return group

    async def _record(self, group: list[Result]) -> None:
        try:
            await in_database(self._record_group, group)
        except LostLeaseError:
            self.end(Ending("lost"))

    def _record_group(self, group: list[Result]) -> None:
        preparer = self.preparer
        self.settled += record(self.judge_run, self.lease, preparer.schema, preparer.by_unit, group)
        self.control.progress(self.settled)

    async def _renew(self) -> None:
        while await in_database(runs.renew, self.judge_run, self.lease) is not None:
            await asyncio.sleep(RENEW_SECONDS)
        self.end(Ending("lost"))

    async def _watch_clock(self) -> None:
        if self.control.seconds is not None:
            await asyncio.sleep(self.control.seconds)
            self.end(Ending("time"))
