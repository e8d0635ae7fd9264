"""The queue: the order in which jobs are asked, and one attempt at a job with its deadline.

Requests about the same texts share their beginning, which a server computes only once if the first
request is done before the others arrive. So the first request of an item is sent alone, and the
others follow once it is answered. Meanwhile, several items take turns.
"""

from __future__ import annotations

import asyncio
import heapq
import random
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from judging.answers.calls import Call
from judging.answers.results import ANSWERED, Failure, Result
from judging.backends.base import Answer, Backend, BackendError, Request, TransientError
from judging.costs import NOTHING, Estimate
from judging.prompts.request import Prepared, request_hash
from judging.retries import Patience
from tandem.labels.file.rows import Reason

WARM_ITEMS = 256
RECOVERY_SECONDS = 1.0
UNKNOWN_GRACE, SHORTEST_GRACE, LONGEST_GRACE = 0.2, 0.05, 5.0
CallReply = Answer | BackendError


@dataclass(eq=False, slots=True)
class Job:
    """An assignment in progress: its calls so far, and the number of attempts.

    Times are of the engine's clock. If an `answer` could not be read, `repair` is asked instead.
    `asked` counts the calls, and `seconds` is the latest one's duration. A probe has an `owner`,
    the job that made it necessary. A `deferred` job was refused before any was answered.
    `proof` says how surely its failures are its own (`probing.Evidence`). `moves` counts how often
    another server took it over, and `cut_off` how often a server ended during its call.
    """

    prepared: Prepared
    calls: list[Call] = field(default_factory=list)
    tries: int = 0
    rates: int = 0
    first_sent: float | None = None
    begun: float = 0.0
    estimate: Estimate = NOTHING
    probe: bool = False
    repair: Request | None = None
    answer: Answer | None = None
    asked: int = 0
    seconds: float | None = None
    closed: bool = False
    deferred: bool = False
    proof: int = 0
    owner: Job | None = None
    moves: int = 0
    cut_off: int = 0

    @property
    def item(self) -> int:
        return self.prepared.assignment.item_id

    @property
    def request(self) -> Request:
        return self.repair or self.prepared.request

    def open_result(self) -> Result:
        """Return the calls of a job that has no result yet."""
        return Result(self.prepared, tuple(self.calls))

    def answered(self, answer: Answer) -> Result:
        """Return the result of an answer.

        If a repair cannot be read, the original answer counts.
        """
        return Result(self.prepared, tuple(self.calls), answer, self.seconds, self.answer)

    def failed(self, reason: Reason) -> Result:
        """Return the result of a failure: the answer before a failed repair, or a missing
        reason.
        """
        outcome = self.answer or Failure(reason)
        return Result(self.prepared, tuple(self.calls), outcome, self.seconds)


def reason_for(reply: CallReply) -> Reason:
    """Return the missing reason of a job that was given up after this reply."""
    late = isinstance(reply, TransientError) and reply.state == "deadline"
    return "timeout" if late else "error"


async def attempt(
    backend: Backend, job: Job, seconds: float, clock: Callable[[], float]
) -> tuple[Call, CallReply]:
    """Ask once, with a deadline. Any exception of the backend becomes the reply."""
    sent_at, job.begun = datetime.now(UTC), clock()
    if job.first_sent is None:
        job.first_sent = job.begun
    reply = await _reply(backend, job.request, seconds)
    call = _call(reply, sent_at, clock() - job.begun)
    return as_repair(call, backend, job), reply


def as_repair(call: Call, backend: Backend, job: Job) -> Call:
    """Mark the call of a repair, and give it the hash of its own request."""
    if job.repair is None:
        return call
    return replace(call, repair=True, request_hash=request_hash(backend, job.repair))


async def _reply(backend: Backend, request: Request, seconds: float) -> CallReply:
    try:
        async with asyncio.timeout(seconds):
            return await backend.ask(request)
    except BackendError as error:
        return error
    except TimeoutError:
        return TransientError("deadline", f"no answer within {seconds:.3g} s")
    except Exception as error:
        return BackendError(type(error).__name__[:40], f"the backend failed: {error}")


def _call(reply: CallReply, sent_at: datetime, seconds: float) -> Call:
    if isinstance(reply, Answer):
        return Call(ANSWERED, sent_at, seconds, status=reply.status, answer=reply)
    answer: Answer | None = getattr(reply, "answer", None)
    return Call(reply.state, sent_at, seconds, reply.message, reply.status, reply.body, answer)


class FreshQueue:
    """Jobs that have not been asked yet. If `grouped`, jobs wait until their item is warm.

    An item is warm once its first request has been answered.
    """

    def __init__(self, grouped: bool) -> None:
        self._grouped, self._count = grouped, 0
        self._plain: deque[Job] = deque()
        self._fresh: OrderedDict[int, deque[Job]] = OrderedDict()
        self._warming: dict[int, tuple[float, deque[Job]]] = {}
        self._open: OrderedDict[int, deque[Job]] = OrderedDict()
        self._warm: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return self._count

    def add(self, job: Job) -> None:
        self._count += 1
        if not self._grouped:
            self._plain.append(job)
            return
        item = job.item
        if item in self._warming:
            self._warming[item][1].append(job)
        elif item in self._warm:
            self._open.setdefault(item, deque()).append(job)
        else:
            self._fresh.setdefault(item, deque()).append(job)

    def take(self, now: float, places: int, median: float | None) -> Job | None:
        """Return the next job, or None if all must wait; `places` is the number of calls at once.

        `median` is the typical latency in seconds. If nothing else is left to ask, an item counts
        as warm once its first request has been in flight for a quarter of that.
        """
        if not self._grouped:
            job = self._plain.popleft() if self._plain else None
        else:
            job = self._next(now, places, median)
        self._count -= job is not None
        return job

    def give(self, count: int, least: int = 0) -> list[Job]:
        """Give away up to `count` jobs, but at least one if there is any.

        These are whole items, the latest first. If all have begun, they are a part of the longest
        one, if more than `least` of its jobs wait.
        """
        given: list[Job] = []
        if self._plain:
            given = [self._plain.pop() for _ in range(min(count, len(self._plain)))][::-1]
        elif self._fresh:
            while self._fresh and (not given or len(given) < count):
                given += self._fresh.popitem()[1]
        elif len(rows := self._longest()) > least:
            given = [rows.pop() for _ in range(max(1, min(count, len(rows) // 2)))][::-1]
            self._open = OrderedDict((item, left) for item, left in self._open.items() if left)
        self._count -= len(given)
        return given

    def release(self) -> list[Job]:
        """Give away all jobs."""
        warming = [rows for _, rows in self._warming.values()]
        waiting = (self._plain, *self._open.values(), *warming, *self._fresh.values())
        jobs = [job for rows in waiting for job in rows]
        self._plain.clear()
        self._open.clear()
        self._warming.clear()
        self._fresh.clear()
        self._count = 0
        return jobs

    def _longest(self) -> deque[Job]:
        rows = (*self._open.values(), *(rows for _, rows in self._warming.values()))
        return max(rows, key=len, default=deque())

    def back(self, job: Job) -> None:
        """Note that a request about this job's item was answered, so its others may follow."""
        if self._grouped and job.item in self._warming:
            self._release(job.item)

    def opens_at(self, median: float | None) -> float | None:
        """Return when `take` may return a job even if no request has been answered."""
        began = next(iter(self._warming.values()), None)
        return began[0] + _grace(median) if began else None

    def _next(self, now: float, places: int, median: float | None) -> Job | None:
        if self._fresh and (not self._open or self._wants_more(places)):
            return self._first(now)
        if not self._open and self._warming:
            item, (began, _) = next(iter(self._warming.items()))
            if began + _grace(median) <= now:
                self._release(item)
        if not self._open:
            return None
        item, rows = next(iter(self._open.items()))
        job = rows.popleft()
        if not rows:
            del self._open[item]
        return job

    def _wants_more(self, places: int) -> bool:
        """Return whether too few items take turns to fill all slots while one of them warms up."""
        size = len(next(iter(self._fresh.values())))
        return len(self._open) + len(self._warming) < -(-places // size) + 1

    def _first(self, now: float) -> Job:
        item, rows = self._fresh.popitem(last=False)
        self._warming[item] = now, rows
        return rows.popleft()

    def _release(self, item: int) -> None:
        _, rows = self._warming.pop(item)
        if rows:
            self._open.setdefault(item, deque()).extend(rows)
        self._warm[item] = None
        if len(self._warm) > WARM_ITEMS:
            self._warm.popitem(last=False)


def _grace(median: float | None) -> float:
    if median is None:
        return UNKNOWN_GRACE
    return min(max(median / 4, SHORTEST_GRACE), LONGEST_GRACE)


class Queue:
    """All waiting jobs: for a first attempt, for a point in time, or until nothing else is left."""

    def __init__(self, grouped: bool) -> None:
        self.fresh = FreshQueue(grouped)
        self._due: list[tuple[float, int, Job]] = []
        self._later: list[tuple[float, int, Job]] = []
        self._next: deque[Job] = deque()
        self._number = 0

    def put_back(self, job: Job) -> None:
        """Put a job back to the front."""
        self._next.append(job)

    def wait(self, job: Job, until: float, for_others: bool = False) -> None:
        """Make a job due at a time, or with `for_others` only once no fresh job is left."""
        self._number += 1
        heapq.heappush(self._later if for_others else self._due, (until, self._number, job))

    def take(self, now: float, places: int, median: float | None) -> Job | None:
        if self._next:
            return self._next.popleft()
        if self._due and self._due[0][0] <= now:
            return heapq.heappop(self._due)[-1]
        if job := self.fresh.take(now, places, median):
            return job
        if self._later and self._later[0][0] <= now:
            return heapq.heappop(self._later)[-1]
        return None

    def ready_at(self, floor: float, now: float, median: float | None) -> float | None:
        """Return when the next delayed job becomes ready, not before `floor`."""
        times = [heap[0][0] for heap in (self._due, self._later) if heap]
        if (opens := self.fresh.opens_at(median)) is not None:
            times.append(opens)
        if floor > now and (self._next or len(self.fresh)):
            times.append(floor)
        return max(min(times), floor) if times else None

    def hurry(self, now: float) -> None:
        """Make all waiting jobs due within a second."""
        self._due = [
            (min(at, now + random.uniform(0, RECOVERY_SECONDS)), number, job)
            for at, number, job in self._due
        ]
        heapq.heapify(self._due)

    def release(self, keep: int = 0) -> list[Job]:
        """Give away all jobs, except `keep` of those that were asked, the first that are due."""
        due = sorted(self._due)
        jobs = [*self._next, *self.fresh.release()]
        jobs += [job for *_, job in (*due[keep:], *sorted(self._later))]
        self._next.clear()
        self._due, self._later = due[:keep], []
        return jobs

    def tried(self) -> list[Job]:
        """Return the jobs that have been asked before."""
        return [job for *_, job in (*self._due, *self._later)] + list(self._next)


def give_back(job: Job, patience: Patience) -> None:
    """Give a job back the attempts that an outage used up."""
    # A server that fails again and again must not give attempts back for ever.
    job.tries = 0 if job.asked < patience.attempts else min(job.tries, patience.attempts - 1)


def format_time_ago(seconds: float) -> str:
    """Format the time a number of seconds ago, for people."""
    return f"{datetime.now(UTC) - timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S} UTC"
