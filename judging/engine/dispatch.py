"""Which row is asked next and when, and what follows from its call: a result or another attempt.

Everything runs on one event loop between two calls, so nothing is locked and nothing waits. A call
holds a place; a row that waits for its next attempt holds none. A row counts as failed only if the
server answers others. A server that fails or refuses everything is waited for, and no row loses an
attempt by it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from judging.answers.calls import Call
from judging.answers.results import Result
from judging.backends.base import (
    STARTING,
    Answer,
    Backend,
    FatalError,
    FinalError,
    RateError,
    Request,
    TransientError,
)
from judging.costs import Budget
from judging.engine.limits import Breaker, Limit, Refusals, Retries, deadline
from judging.engine.persistence import GROUP, Writer
from judging.engine.queue import RECOVERY_SECONDS, Came, Line, Row, as_repair, attempt, reason_for
from judging.prompts.request import Prepared
from judging.retries import Patience

DEAD_AFTER = 5
BUSY_SHOWN = 10.0
How = Literal["fatal", "budget"]
Repair = Callable[[Prepared, Answer], Request | None]


@dataclass(frozen=True)
class Means:
    """What a dispatcher works with. `end` is told why nothing more is to be asked.

    `timeout` is the judge's own time limit in seconds; without it, the lane's calls tell. `proven`
    says that the server has answered in this run before; `down_for` and `busy_for`, for how many
    seconds it has been away, or has refused everything, when the pump begins.
    """

    backend: Backend
    limit: Limit
    writer: Writer
    budget: Budget
    patience: Patience
    end: Callable[[How, str, bool], None]
    repair: Repair | None = None
    timeout: float | None = None
    grouped: bool = False
    proven: bool = False
    down_for: float = 0.0
    busy_for: float = 0.0
    trouble: str = ""
    clock: Callable[[], float] = time.monotonic


class Outcomes:
    """The rows in hand and what is known of their server; `changed` hears that a row is done with.

    `held` rows have no result yet. While the server is away or busy `trouble` says so in words; it
    begins with what the pump before has said.
    """

    def __init__(self, means: Means, changed: Callable[[], None]) -> None:
        self.means, self.limit, self._changed = means, means.limit, changed
        self._clock = means.clock
        self.breaker = Breaker(means.patience.probe, self._clock)
        self.retries, self._refusals = Retries(self._clock), Refusals()
        self.line = Line(means.grouped)
        self._suspects: list[tuple[Row, Came]] = []
        self._given_up: list[Row] = []
        self._answered_at: float | None = None
        self._busy_since = self._clock() - means.busy_for if means.busy_for else None
        self._repairing = self.held = 0
        self.trouble = means.trouble

    @property
    def owed(self) -> int:
        """How many answers are not written yet: a crash now would lose them."""
        return self.means.writer.owed + self._repairing

    @property
    def only_suspects(self) -> bool:
        """Whether nothing is left but rows that failed while no other was answered."""
        return self.held == len(self._suspects)

    def open_rows(self) -> list[Result]:
        """The calls of rows that were tried and stay open."""
        rows = (*self.line.tried(), *(row for row, _ in self._suspects), *self._given_up)
        return [row.left() for row in rows if row.calls]

    def judge_suspects(self) -> None:
        """At the end they failed: others had their answers, or were too few to tell."""
        for row, came in self._suspects:
            self._settle(row, row.failed(reason_for(came)))
        self._suspects.clear()

    def abandoned(self, row: Row) -> None:
        """A call was called off at the end; it may have been paid, so it is kept."""
        seconds = self._clock() - row.begun
        sent_at = datetime.now(UTC) - timedelta(seconds=seconds)
        call = Call("abandoned", sent_at, seconds)
        row.calls.append(as_repair(call, self.means.backend, row))
        self._given_up.append(row)

    def received(self, row: Row, call: Call, came: Came) -> None:
        """A call came back: the limit, the breaker, the budget and the row itself hear of it."""
        row.calls.append(call)
        self.line.fresh.back(row)
        wait = self._tell_limit(row, came)
        if not self.means.budget.bounds_nothing:
            usage = call.answer.usage if call.answer else None
            self.means.budget.settle(row.estimate, usage)
        failed = isinstance(came, TransientError)
        if self.breaker.ended(failed, row.probe):
            self.trouble = ""
            self.line.hurry(self._clock())
        match came:
            case Answer() | FinalError():
                self._alive()
                self._close(row, came)
            case RateError():
                self._busy(row, came, wait)
            case TransientError():
                self._failed(row, came)
            case FatalError() if self._refusals.is_final(came.state):
                self._given_up.append(row)
                self.means.end("fatal", came.message, True)
            case FatalError():
                self._failed(row, came)
            case _:
                self._spent(row, came)

    def _tell_limit(self, row: Row, came: Came) -> float:
        """Tells the limit what came; for how many seconds a busy server is to be left alone."""
        if isinstance(came, RateError):
            row.rates += 1
            typical = self.limit.latencies.median
            wait = self.means.patience.before_busy(row.rates, came.wait, typical)
            self.limit.refused(row.begun, wait)
            return wait
        if isinstance(came, Answer):
            self.limit.answered(row.begun)
        elif isinstance(came, TransientError) and came.state == "deadline":
            self.limit.overran(row.begun)
        else:
            self.limit.failed()
        return 0.0

    def _alive(self) -> None:
        """The server answers, so what was spent on the rows that failed is their own result."""
        self._answered_at, self._busy_since = self._clock(), None
        self._refusals.answered()
        if not self.breaker.is_open:
            self.trouble = ""
        if self._suspects:
            self.judge_suspects()

    def _close(self, row: Row, came: Answer | FinalError) -> None:
        if isinstance(came, FinalError):
            self._settle(row, row.failed(came.reason))
            return
        repair = self.means.repair if row.repair is None else None
        mended = repair(row.prepared, came) if repair else None
        if mended is None:
            self._settle(row, row.answered(came))
            return
        row.repair, row.answer, row.tries = mended, came, 0
        self._repairing += 1
        self.line.put_back(row)

    def _settle(self, row: Row, result: Result) -> None:
        self._repairing -= row.repair is not None
        self.held -= 1
        self.means.writer.add(result)
        if not self.held:
            self.means.writer.hurry()
        self._changed()

    def _busy(self, row: Row, came: RateError, wait: float) -> None:
        """Patience with the row where others are answered, else with the server."""
        now, longest = self._clock(), self.means.patience.rate_patience
        refused_for = row.prepared.refused_for + now - (row.first_sent or 0.0)
        busy_for = self._busy_for(came, now)
        if refused_for >= longest and self._others_answered(row):
            self._failed(row, came)
        elif busy_for < longest or self.limit.under_way:
            self.line.wait(row, now + wait)
        else:
            self._given_up.append(row)
            self.means.end("fatal", self.trouble, False)

    def _busy_for(self, came: RateError, now: float) -> float:
        """For how many seconds the server has refused everything; said once that is no chance."""
        self._busy_since = now if self._busy_since is None else self._busy_since
        busy_for = now - self._busy_since
        shown_after = min(BUSY_SHOWN, self.means.patience.rate_patience)
        if busy_for >= shown_after and not self.limit.under_way:
            self.trouble = f"endpoint busy since {_ago(busy_for)}: {came.message}"
        return busy_for

    def _others_answered(self, row: Row) -> bool:
        """Whether the server has answered another row since this one was first asked."""
        passed_over = bool(row.prepared.refused_for)
        return passed_over or (self._answered_at or 0.0) > (row.first_sent or 0.0)

    def _failed(self, row: Row, came: TransientError | FatalError | RateError) -> None:
        """Another attempt, unless this was the last; none is used up while the server is away."""
        if self.breaker.is_open:
            self._wait_out(row, came)
            return
        row.tries += 1
        if row.tries >= self.means.patience.attempts:
            self._spent(row, came)
            return
        at = self._clock() + self.means.patience.before_retry(row.tries)
        self.line.wait(row, at, for_others=not self.retries.allow())

    def _wait_out(self, row: Row, came: TransientError | FatalError | RateError) -> None:
        now = self._clock()
        self.line.wait(row, now + random.uniform(0, RECOVERY_SECONDS))
        before = self.means.down_for if self._answered_at is None else 0.0
        down_for = now - (self.breaker.opened_at or now) + before
        self.trouble = f"endpoint down since {_ago(down_for)}: {came.message}"
        answered = self.means.proven or self._answered_at is not None
        # Our own server takes its minutes to start, and is known to be there.
        proven = answered or came.state == STARTING
        patience = self.means.patience
        if down_for >= (patience.outage if proven else patience.unproven):
            self.means.end("fatal", self.trouble, False)

    def _spent(self, row: Row, came: Came) -> None:
        """A row that was given up: its own fault where another was answered meanwhile."""
        if isinstance(came, TransientError) and came.unreachable:
            self.breaker.trip()
            self._once_more(row, came)
        elif self._others_answered(row):
            self._settle(row, row.failed(reason_for(came)))
        else:
            self._suspects.append((row, came))
            self._changed()
            if len(self._suspects) >= DEAD_AFTER:
                self._suspect_server(came)

    def _suspect_server(self, came: Came) -> None:
        """So many rows failed and none was answered: then it is not the rows."""
        if not isinstance(came, TransientError):
            # A rejection comes sooner than an answer: more of these may be under way.
            if self.limit.under_way < len(self._suspects):
                self.means.end("fatal", getattr(came, "message", ""), False)
            return
        self.breaker.trip()
        suspects, self._suspects = self._suspects, []
        for row, last in suspects:
            if isinstance(last, TransientError):
                self._once_more(row, last)
            else:
                self._suspects.append((row, last))

    def _once_more(self, row: Row, came: TransientError) -> None:
        row.tries = self.means.patience.attempts - 1
        self._wait_out(row, came)


def _ago(seconds: float) -> str:
    """The moment so long ago, for people."""
    return f"{datetime.now(UTC) - timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S} UTC"


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
                self.means.end("budget", self.means.budget.describe_limit(), False)
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
