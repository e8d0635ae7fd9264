"""Dispatch: ask the next job when there is room, and turn its reply into a result or a retry.

Everything runs on one event loop, so nothing needs locks. A call occupies a slot of the limit. A
job that waits for its next attempt does not. A job counts as failed only if the server answers
others. While a server fails or refuses everything, the engine waits and no job loses an attempt.
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
from judging.engine.limits import Breaker, Limit, Refusals, RetryBudget, deadline
from judging.engine.persistence import GROUP, Writer
from judging.engine.queue import (
    RECOVERY_SECONDS,
    CallReply,
    Job,
    Queue,
    as_repair,
    attempt,
    reason_for,
)
from judging.prompts.request import Prepared
from judging.retries import Patience

DEAD_AFTER = 5
BUSY_SHOWN_AFTER = 10.0
SHORTEST_PAUSE = 0.001
FailureKind = Literal["fatal", "budget"]
Repair = Callable[[Prepared, Answer], Request | None]


@dataclass(frozen=True)
class Resources:
    """The parts that a dispatcher works with. `end` is called with the reason to stop.

    `timeout` is the judge's own time limit in seconds. Without it, the deadline follows from the
    latencies. `proven` says that the server has answered in this run before. `down_for` and
    `busy_for` are the seconds for which it has not responded, or has refused everything.
    """

    backend: Backend
    limit: Limit
    writer: Writer
    budget: Budget
    patience: Patience
    end: Callable[[FailureKind, str, bool], None]
    repair: Repair | None = None
    timeout: float | None = None
    grouped: bool = False
    proven: bool = False
    down_for: float = 0.0
    busy_for: float = 0.0
    trouble: str = ""
    clock: Callable[[], float] = time.monotonic


class Outcomes:
    """The jobs in hand and the state of their server. `changed` is called when a job is done.

    `unfinished` counts the jobs without a result. `trouble` describes an outage or a busy server.
    Its initial value comes from the previous engine.
    """

    def __init__(self, resources: Resources, changed: Callable[[], None]) -> None:
        self.resources, self.limit, self._changed = resources, resources.limit, changed
        self._clock = resources.clock
        self.breaker = Breaker(resources.patience.probe, self._clock)
        self.retries, self._refusals = RetryBudget(self._clock), Refusals()
        self.queue = Queue(resources.grouped)
        self._suspects: list[tuple[Job, CallReply]] = []
        self._given_up: list[Job] = []
        self._answered_at: float | None = None
        self._busy_since = self._clock() - resources.busy_for if resources.busy_for else None
        self._repairing = self.unfinished = 0
        self.trouble = resources.trouble

    @property
    def unwritten(self) -> int:
        """The number of answers not yet stored, which a crash would lose."""
        return self.resources.writer.unwritten + self._repairing

    @property
    def only_suspects(self) -> bool:
        """Whether all remaining jobs failed while no other was answered."""
        return self.unfinished == len(self._suspects)

    def open_rows(self) -> list[Result]:
        """Return the calls of jobs that were tried but have no result yet."""
        rows = (*self.queue.tried(), *(job for job, _ in self._suspects), *self._given_up)
        return [job.open_result() for job in rows if job.calls]

    def judge_suspects(self) -> None:
        """Count the suspects as failed, since other jobs were answered or none are left to ask."""
        for job, reply in self._suspects:
            self._settle(job, job.failed(reason_for(reply)))
        self._suspects.clear()

    def abandon(self, job: Job) -> None:
        """Keep a call that was cancelled at the end, since it may have been billed."""
        seconds = self._clock() - job.begun
        sent_at = datetime.now(UTC) - timedelta(seconds=seconds)
        call = Call("abandoned", sent_at, seconds)
        job.calls.append(as_repair(call, self.resources.backend, job))
        self._given_up.append(job)

    def receive(self, job: Job, call: Call, reply: CallReply) -> None:
        """Take in a reply, and update the limit, the breaker, the budget and the job."""
        job.calls.append(call)
        self.queue.fresh.back(job)
        wait = self._tell_limit(job, reply)
        if not self.resources.budget.bounds_nothing:
            usage = call.answer.usage if call.answer else None
            self.resources.budget.settle(job.estimate, usage)
        failed = isinstance(reply, TransientError)
        if self.breaker.ended(failed, job.probe):
            self.trouble = ""
            self.queue.hurry(self._clock())
        match reply:
            case Answer() | FinalError():
                self._note_answer()
                self._close(job, reply)
            case RateError():
                self._busy(job, reply, wait)
            case TransientError():
                self._retry_later(job, reply)
            case FatalError() if self._refusals.is_final(reply.state):
                self._given_up.append(job)
                self.resources.end("fatal", reply.message, True)
            case FatalError():
                self._retry_later(job, reply)
            case _:
                self._give_up(job, reply)

    def _tell_limit(self, job: Job, reply: CallReply) -> float:
        """Update the limit, and return for how many seconds to wait for a busy server."""
        if isinstance(reply, RateError):
            job.rates += 1
            typical = self.limit.latencies.median
            wait = self.resources.patience.before_busy(job.rates, reply.wait, typical)
            self.limit.refused(job.begun, wait)
            return wait
        if isinstance(reply, Answer):
            self.limit.answered(job.begun)
        elif isinstance(reply, TransientError) and reply.state == "deadline":
            self.limit.overran(job.begun)
        else:
            self.limit.failed()
        return 0.0

    def _note_answer(self) -> None:
        """Note that the server answers, so earlier failures were caused by the jobs."""
        self._answered_at, self._busy_since = self._clock(), None
        self._refusals.answered()
        if not self.breaker.is_open:
            self.trouble = ""
        if self._suspects:
            self.judge_suspects()

    def _close(self, job: Job, reply: Answer | FinalError) -> None:
        if isinstance(reply, FinalError):
            self._settle(job, job.failed(reply.reason))
            return
        repair = self.resources.repair if job.repair is None else None
        mended = repair(job.prepared, reply) if repair else None
        if mended is None:
            self._settle(job, job.answered(reply))
            return
        job.repair, job.answer, job.tries = mended, reply, 0
        self._repairing += 1
        self.queue.put_back(job)

    def _settle(self, job: Job, result: Result) -> None:
        self._repairing -= job.repair is not None
        self.unfinished -= 1
        self.resources.writer.add(result)
        if not self.unfinished:
            self.resources.writer.hurry()
        self._changed()

    def _busy(self, job: Job, reply: RateError, wait: float) -> None:
        """Wait for a busy server, with the job's patience if others are answered."""
        now, longest = self._clock(), self.resources.patience.rate_patience
        refused_for = job.prepared.refused_for + now - (job.first_sent or 0.0)
        busy_for = self._busy_for(reply, now)
        if refused_for >= longest and self._others_answered(job):
            self._retry_later(job, reply)
        elif busy_for < longest or self.limit.under_way:
            self.queue.wait(job, now + wait)
        else:
            self._given_up.append(job)
            self.resources.end("fatal", self.trouble, False)

    def _busy_for(self, reply: RateError, now: float) -> float:
        """Return for how many seconds the server has refused everything, and report it in time."""
        self._busy_since = now if self._busy_since is None else self._busy_since
        busy_for = now - self._busy_since
        shown_after = min(BUSY_SHOWN_AFTER, self.resources.patience.rate_patience)
        if busy_for >= shown_after and not self.limit.under_way:
            self.trouble = f"endpoint busy since {_format_time_ago(busy_for)}: {reply.message}"
        return busy_for

    def _others_answered(self, job: Job) -> bool:
        """Return whether the server has answered another job since this one was first asked."""
        passed_over = bool(job.prepared.refused_for)
        return passed_over or (self._answered_at or 0.0) > (job.first_sent or 0.0)

    def _retry_later(self, job: Job, reply: TransientError | FatalError | RateError) -> None:
        """Retry the job unless this was its last attempt. An outage uses up no attempts."""
        if self.breaker.is_open:
            self._wait_out(job, reply)
            return
        job.tries += 1
        if job.tries >= self.resources.patience.attempts:
            self._give_up(job, reply)
            return
        at = self._clock() + self.resources.patience.before_retry(job.tries)
        self.queue.wait(job, at, for_others=not self.retries.allow())

    def _wait_out(self, job: Job, reply: TransientError | FatalError | RateError) -> None:
        now = self._clock()
        self.queue.wait(job, now + random.uniform(0, RECOVERY_SECONDS))
        before = self.resources.down_for if self._answered_at is None else 0.0
        down_for = now - (self.breaker.opened_at or now) + before
        self.trouble = f"endpoint down since {_format_time_ago(down_for)}: {reply.message}"
        answered = self.resources.proven or self._answered_at is not None
        # A server that this process starts takes minutes, but is known to exist.
        proven = answered or reply.state == STARTING
        patience = self.resources.patience
        if down_for >= (patience.outage if proven else patience.unproven):
            self.resources.end("fatal", self.trouble, False)

    def _give_up(self, job: Job, reply: CallReply) -> None:
        """Give up a job: it failed if another was answered meanwhile, else it is a suspect."""
        if isinstance(reply, TransientError) and reply.unreachable:
            self.breaker.trip()
            self._once_more(job, reply)
        elif self._others_answered(job):
            self._settle(job, job.failed(reason_for(reply)))
        else:
            self._suspects.append((job, reply))
            self._changed()
            if len(self._suspects) >= DEAD_AFTER:
                self._suspect_server(reply)

    def _suspect_server(self, reply: CallReply) -> None:
        """Suspect the server instead of the jobs, since many failed and none was answered."""
        if not isinstance(reply, TransientError):
            # A rejection arrives sooner than an answer, so wait for the calls in flight.
            if self.limit.under_way < len(self._suspects):
                self.resources.end("fatal", getattr(reply, "message", ""), False)
            return
        self.breaker.trip()
        suspects, self._suspects = self._suspects, []
        for job, last in suspects:
            if isinstance(last, TransientError):
                self._once_more(job, last)
            else:
                self._suspects.append((job, last))

    def _once_more(self, job: Job, reply: TransientError) -> None:
        job.tries = self.resources.patience.attempts - 1
        self._wait_out(job, reply)


def _format_time_ago(seconds: float) -> str:
    """Format the time a number of seconds ago, for people."""
    return f"{datetime.now(UTC) - timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S} UTC"


class Dispatcher:
    """Keeps as many calls in flight as the limit allows.

    `changed` is called when a job is done or none is left to ask, `crashed` after a bug.
    """

    def __init__(
        self,
        resources: Resources,
        changed: Callable[[], None],
        crashed: Callable[[BaseException], None],
    ) -> None:
        self.resources, self.limit, self._crashed = resources, resources.limit, crashed
        self.outcomes, self._need_more = Outcomes(resources, changed), changed
        self.queue, self.breaker = self.outcomes.queue, self.outcomes.breaker
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self.closed = False

    def add(self, rows: Iterable[Prepared]) -> None:
        """Add claimed requests. Each gets at least one attempt, even if it has timed out before."""
        for prepared in rows:
            tries = min(prepared.late, self.resources.patience.attempts - 1)
            self.queue.fresh.add(Job(prepared, tries=tries))
            self.outcomes.unfinished += 1
        self.wake()

    @property
    def needs_more(self) -> bool:
        """Whether to claim more, since fewer jobs wait than can be asked at once."""
        size = self.limit.size
        return len(self.queue.fresh) < size and self.outcomes.unfinished < 3 * size

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
        job: Job | None = first
        while job is not None:
            limit = self.resources.timeout or deadline(self.limit.latencies.p95)
            try:
                call, reply = await attempt(
                    self.resources.backend, job, limit, self.resources.clock
                )
            except asyncio.CancelledError:
                self.outcomes.abandon(job)
                raise
            self.outcomes.receive(job, call, reply)
            job = self._take()
            if job is not None:
                self.wake()

    def _take(self) -> Job | None:
        """Return the next job, and reserve a slot, a probe and a share of the budget for it."""
        if self.closed or self._is_full():
            return None
        if not self.breaker.allows():
            self._arm()
            return None
        latencies = self.limit.latencies
        job = self.queue.take(self.resources.clock(), self.limit.size, latencies.median)
        if job is None:
            self._need_more()
            self._arm()
            return None
        if (estimate := self.resources.budget.reserve(job.request)) is None:
            self.queue.put_back(job)
            if not self.limit.under_way:
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
        if not self.limit.under_way and not self.resources.writer.unwritten:
            # The only unwritten answers wait for a repair, which needs a call.
            return False
        return self.limit.under_way + self.outcomes.unwritten >= self.limit.size + GROUP

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
        if ready_at is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(ready_at - now, SHORTEST_PAUSE), self.wake)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
