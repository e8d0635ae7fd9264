"""Which row is asked next and when: one lane's traffic on an event loop.

Everything here runs on that loop between two calls, so nothing is locked and nothing waits. A call
holds a place; a row that waits for its next attempt holds none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from judging.answers.results import Result
from judging.prompts.preparing import Prepared
from judging.pump.asking import Row, attempt
from judging.pump.breaking import deadline
from judging.pump.outcomes import Means, Outcomes
from judging.pump.writing import GROUP


class Dispatcher:
    """Keeps as many calls under way as may be.

    `changed` hears that a row is done with or that none is left to ask, `crashed` of a mistake of
    ours.
    """

    def __init__(
        self,
        means: Means,
        changed: Callable[[], None],
        crashed: Callable[[BaseException], None],
    ) -> None:
        self.means, self.limit, self._crashed = means, means.limit, crashed
        self.outcomes, self._hungry = Outcomes(means, changed), changed
        self.line, self.breaker = self.outcomes.line, self.outcomes.breaker
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self.closed = False

    def add(self, rows: Iterable[Prepared]) -> None:
        """Rows that were claimed. Each is tried once at least, however often it was late."""
        for prepared in rows:
            tries = min(prepared.late, self.means.patience.attempts - 1)
            self.line.fresh.add(Row(prepared, tries=tries))
            self.outcomes.held += 1
        self.wake()

    @property
    def hungry(self) -> bool:
        """Whether more rows should be claimed: fewer wait than are asked at once."""
        size = self.limit.size
        return len(self.line.fresh) < size and self.outcomes.held < 3 * size

    def close(self) -> None:
        """From here on no call is begun; those under way end."""
        self.closed = True
        self._disarm()

    async def drain(self, seconds: float) -> list[Result]:
        """Lets calls under way end, for so long; the calls of rows that stay open."""
        if self._tasks and seconds > 0:
            await asyncio.wait(self._tasks, timeout=seconds)
        left = list(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        return self.outcomes.open_rows()

    def wake(self) -> None:
        """Begins whatever may be begun."""
        while (row := self._take()) is not None:
            task = asyncio.get_running_loop().create_task(self._serve(row))
            self._tasks.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._crashed(error)

    async def _serve(self, first: Row) -> None:
        """A place: one call after the other, as long as there is one to make."""
        row: Row | None = first
        while row is not None:
            limit = self.means.timeout or deadline(self.limit.latencies.p95)
            try:
                call, came = await attempt(self.means.backend, row, limit, self.means.clock)
            except asyncio.CancelledError:
                self.outcomes.abandoned(row)
                raise
            self.outcomes.received(row, call, came)
            row = self._take()
            if row is not None and self.limit.under_way < self.limit.size:
                self.wake()

    def _take(self) -> Row | None:
        """The next row, for which a place, a probe and a share of the budget are taken."""
        if self.closed or self._is_full():
            return None
        if not self.breaker.lets():
            self._arm()
            return None
        latencies = self.limit.latencies
        row = self.line.take(self.means.clock(), self.limit.size, latencies.median)
        if row is None:
            self._hungry()
            self._arm()
            return None
        if (estimate := self.means.budget.reserve(row.request)) is None:
            self.line.put_back(row)
            if not self.limit.under_way:
                self.means.end("budget", self.means.budget.spent(), False)
            return None
        row.estimate, row.probe = estimate, self.breaker.begin()
        self.limit.begin()
        self.outcomes.retries.called()
        return row

    def _is_full(self) -> bool:
        """Whether all places are taken, or a crash would lose more than one group of answers."""
        if self.limit.room() <= 0:
            if self.limit.rests_until:
                self._arm()
            return True
        if not self.limit.under_way and not self.means.writer.owed:
            # Only answers that wait for their repair are owed, and nothing but a call settles them.
            return False
        return self.limit.under_way + self.outcomes.owed >= self.limit.size + GROUP

    def _arm(self) -> None:
        """Looks again when time alone makes a row ready; the end of a call wakes by itself."""
        self._disarm()
        if self.breaker.probing:
            return
        now = self.means.clock()
        floor = max(self.limit.rests_until, self.breaker.probes_at)
        ready_at = self.line.ready_at(floor, now, self.limit.latencies.median)
        if ready_at is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(ready_at - now, 0.001), self.wake)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
