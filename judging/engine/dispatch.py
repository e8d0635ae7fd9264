"""Dispatch: ask the next job when there is room, and keep as many calls in flight as allowed.

Everything runs on one event loop, so nothing needs locks. A call occupies a slot of the limit. A
job that waits for its next attempt does not. `outcomes` says what a reply means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol

from judging.answers.calls import Call
from judging.answers.results import Result
from judging.engine.control import AddressEnd
from judging.engine.limits import deadline
from judging.engine.outcomes import Outcomes
from judging.engine.persistence import GROUP
from judging.engine.probing import STRONG
from judging.engine.queue import CallReply, Job, attempt
from judging.engine.resources import Resources
from judging.prompts.request import Prepared
from judging.retries import Patience

SHORTEST_PAUSE = 0.001
CLAIM_SECONDS, MOST_AHEAD = 0.25, 4


class Whole(Protocol):
    """What is in hand in the whole engine: calls, their limit, and answers at risk of a crash."""

    @property
    def under_way(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def at_risk(self) -> int: ...


class Dispatcher:
    """Keeps as many calls in flight as the limit allows.

    `changed` is called when a job is done or none is left to ask, `crashed` after a bug. `whole` is
    the engine of which this is a part, if it has several dispatchers.
    """

    def __init__(
        self,
        resources: Resources,
        changed: Callable[[], None],
        crashed: Callable[[BaseException], None],
        whole: Whole | None = None,
    ) -> None:
        self.whole: Whole = whole or self
        self.resources, self.limit, self._crashed = resources, resources.limit, crashed
        self.outcomes, self._need_more = Outcomes(resources, changed), changed
        self.queue, self.breaker = self.outcomes.queue, self.outcomes.breaker
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self.closed = False

    def add(self, rows: Iterable[Prepared]) -> None:
        """Add claimed requests. Each gets at least one attempt, even if it has timed out before."""
        for prepared in rows:
            self.outcomes.take_over(new_job(prepared, self.resources.patience))
        self.wake()

    @property
    def longest(self) -> float:
        """How many seconds a call may take, as far as is known now."""
        return self.resources.timeout or deadline(self.limit.latencies.p95)

    @property
    def ends(self) -> tuple[AddressEnd, ...]:
        """What was found out about each address, if there are several."""
        return ()

    @property
    def under_way(self) -> int:
        return self.limit.under_way

    @property
    def size(self) -> int:
        return self.limit.size

    @property
    def at_risk(self) -> int:
        return self.outcomes.at_risk

    @property
    def needs_more(self) -> bool:
        """Whether to claim more, since fewer jobs wait than are begun while more are claimed."""
        held = 2 * self.limit.size + self.ahead
        return len(self.queue.fresh) < self.ahead and self.outcomes.unfinished < held

    @property
    def ahead(self) -> float:
        """How many jobs should wait: as many as can be asked at once, or more if calls are fast."""
        size, median = self.limit.size, self.limit.latencies.median
        return size * max(1.0, min(CLAIM_SECONDS / median, MOST_AHEAD)) if median else size

    def close(self) -> None:
        """Start no more calls. Those in flight may end."""
        self.closed = True
        self._disarm()

    async def drain(self, seconds: float) -> list[Result]:
        """Wait for the calls in flight, and return the calls of jobs that have no result."""
        if self._tasks and seconds > 0:
            await asyncio.wait(self._tasks, timeout=seconds)
        open_result = list(self._tasks)
        for task in open_result:
            task.cancel()
        await asyncio.gather(*open_result, return_exceptions=True)
        return self.outcomes.open_rows()

    async def confirm(self) -> None:
        """Send a last probe to decide about suspects, which would stay open across workers."""
        job = self.outcomes.next_probe() if self.limit.may_send else None
        if job is None or (estimate := self.resources.budget.reserve(job.request)) is None:
            return
        job.estimate = estimate
        self.breaker.trip()
        job.probe = self.breaker.begin()
        self.limit.begin()
        self.outcomes.receive(job, *await self._attempt(job))

    def wake(self) -> None:
        """Start all calls that may start now."""
        while (job := self._take()) is not None:
            task = asyncio.get_running_loop().create_task(self._serve(job))
            self._tasks.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._crashed(error)

    async def _serve(self, first: Job) -> None:
        """Make one call after another while there are jobs."""
        if not self.limit.may_send:
            # The process was stopped until its grant had ended.
            self._put_back(first)
            return
        job: Job | None = first
        while job is not None:
            self.outcomes.receive(job, *await self._attempt(job))
            job = self._take()
            if job is not None:
                self.wake()

    def _put_back(self, job: Job) -> None:
        self.limit.give_up()
        self.resources.budget.settle(job.estimate, None)
        if job.probe:
            self.breaker.probing = False
        if job.owner is None:
            self.queue.put_back(job)

    async def _attempt(self, job: Job) -> tuple[Call, CallReply]:
        seconds = min(self.longest, self.limit.deadline)
        try:
            call, reply = await attempt(self.resources.backend, job, seconds, self.resources.clock)
        except asyncio.CancelledError:
            self.outcomes.abandon(job)
            raise
        if self.resources.address is not None:
            call = replace(call, address=self.resources.address)
        return call, reply

    def _take(self) -> Job | None:
        """Return the next job, and reserve a slot, a probe and a share of the budget for it."""
        if self.closed or self._is_full():
            return None
        if not self.breaker.allows():
            self._arm()
            return None
        latencies = self.limit.latencies
        job = self.outcomes.next_probe() if self.breaker.is_open else None
        job = job or self.queue.take(self.resources.clock(), self.limit.size, latencies.median)
        if job is None:
            self._need_more()
            self._arm()
            return None
        if (estimate := self.resources.budget.reserve(job.request)) is None:
            if job.owner is None:
                self.queue.put_back(job)
            if not self.whole.under_way:
                self.resources.end("budget", self.resources.budget.describe_limit(), False)
            return None
        job.estimate, job.probe = estimate, self.breaker.begin()
        self.limit.begin()
        self.outcomes.retries.called()
        return job

    def _is_full(self) -> bool:
        """Return whether all slots are taken, or a crash would lose more than one group."""
        if self.limit.room() <= 0:
            if self.limit.rests_until:
                self._arm()
            return True
        whole = self.whole
        if not whole.under_way and not self.resources.writer.unwritten:
            # The only unwritten answers wait for a repair, which needs a call.
            return False
        at_risk = whole.under_way + whole.at_risk
        return at_risk >= whole.size + GROUP or self.resources.writer.is_behind

    def _arm(self) -> None:
        """Set a timer for the next job that becomes due.

        No timer is needed for the end of a call.
        """
        self._disarm()
        if self.breaker.probing:
            return
        now = self.resources.clock()
        floor = max(self.limit.rests_until, self.breaker.probes_at)
        ready_at = self.queue.ready_at(floor, now, self.limit.latencies.median)
        if self.breaker.is_open and self.outcomes.has_suspects:
            ready_at = floor
        if ready_at is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(ready_at - now, SHORTEST_PAUSE), self.wake)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def new_job(prepared: Prepared, patience: Patience) -> Job:
    """Return a job for a request, which has at least one attempt left."""
    tries = min(prepared.late, patience.attempts - 1)
    return Job(prepared, tries=tries, proof=STRONG if tries else 0)
