"""The order in which rows are asked, and one attempt at a row with its deadline.

Requests that share their texts begin alike, and a server computes that beginning once, if it is
done before the next request arrives. So the first request of an item goes ahead alone and the
others follow when it is back, while several items take turns.
"""

from __future__ import annotations

import asyncio
import heapq
import random
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from judging.answers.calls import Call
from judging.answers.results import ANSWERED, Failure, Result
from judging.backends.base import Answer, Backend, BackendError, Reason, Request, TransientError
from judging.costs import NOTHING, Estimate
from judging.prompts.request import Prepared, request_hash

Came = Answer | BackendError


@dataclass(eq=False, slots=True)
class Row:
    """A row of the ledger on its way: its calls so far, and how often it was tried.

    Moments are of the pump's clock. `repair` is asked instead once an `answer` could not be read.
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

    @property
    def item(self) -> int:
        return self.prepared.assignment.item_id

    @property
    def request(self) -> Request:
        return self.repair or self.prepared.request

    def left(self) -> Result:
        """Its calls, where the row itself stays open."""
        return Result(self.prepared, tuple(self.calls))

    def answered(self, answer: Answer) -> Result:
        """Closed with an answer, or with the one before it where a repair cannot be read."""
        return Result(self.prepared, tuple(self.calls), answer, self._seconds(), self.answer)

    def failed(self, reason: Reason) -> Result:
        """Closed with a reason; the answer that was to be repaired stands, if there is one."""
        verdict = self.answer or Failure(reason)
        return Result(self.prepared, tuple(self.calls), verdict, self._seconds())

    def _seconds(self) -> float | None:
        return self.calls[-1].seconds if self.calls else None


def reason_for(came: Came) -> Reason:
    """Why a row is missing that was given up after this."""
    late = isinstance(came, TransientError) and came.state == "deadline"
    return "timeout" if late else "error"


async def attempt(
    backend: Backend, row: Row, seconds: float, clock: Callable[[], float]
) -> tuple[Call, Came]:
    """Asks once, for so many seconds at most. Whatever the backend raises is what came."""
    sent_at, row.begun = datetime.now(UTC), clock()
    if row.first_sent is None:
        row.first_sent = row.begun
    came = await _came(backend, row.request, seconds)
    call = _call(came, sent_at, clock() - row.begun)
    return as_repair(call, backend, row), came


def as_repair(call: Call, backend: Backend, row: Row) -> Call:
    """The call of a row, marked with its own request's hash where that was a repair."""
    if row.repair is None:
        return call
    return replace(call, repair=True, request_hash=request_hash(backend, row.repair))


async def _came(backend: Backend, request: Request, seconds: float) -> Came:
    try:
        async with asyncio.timeout(seconds):
            return await backend.ask(request)
    except BackendError as error:
        return error
    except TimeoutError:
        return TransientError("deadline", f"no answer within {seconds:.3g} s")
    except Exception as error:
        return BackendError(type(error).__name__[:40], f"the backend failed: {error}")


def _call(came: Came, sent_at: datetime, seconds: float) -> Call:
    if isinstance(came, Answer):
        return Call(ANSWERED, sent_at, seconds, status=came.status, answer=came)
    answer: Answer | None = getattr(came, "answer", None)
    return Call(came.state, sent_at, seconds, came.message, came.status, came.body, answer)


REMEMBERED = 256
RECOVERY_SECONDS = 1.0
UNKNOWN_GRACE, SHORTEST_GRACE, LONGEST_GRACE = 0.2, 0.05, 5.0


class Order:
    """Rows that have not been asked; `grouped` holds back those whose item is not warm yet."""

    def __init__(self, grouped: bool) -> None:
        self._grouped, self._count = grouped, 0
        self._plain: deque[Row] = deque()
        self._fresh: OrderedDict[int, deque[Row]] = OrderedDict()
        self._warming: dict[int, tuple[float, deque[Row]]] = {}
        self._open: OrderedDict[int, deque[Row]] = OrderedDict()
        self._warm: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return self._count

    def add(self, row: Row) -> None:
        self._count += 1
        if not self._grouped:
            self._plain.append(row)
            return
        item = row.item
        if item in self._warming:
            self._warming[item][1].append(row)
        elif item in self._warm:
            self._open.setdefault(item, deque()).append(row)
        else:
            self._fresh.setdefault(item, deque()).append(row)

    def take(self, now: float, places: int, median: float | None) -> Row | None:
        """The next row to ask with so many calls at once; None where the others must wait.

        `median` is what a call takes, in seconds: where nothing else is left to do, a first request
        that has been under way for a quarter of that is taken to have warmed its item.
        """
        if not self._grouped:
            row = self._plain.popleft() if self._plain else None
        else:
            row = self._next(now, places, median)
        self._count -= row is not None
        return row

    def back(self, row: Row) -> None:
        """A request of this row's item has come back, in whatever way: the others may follow."""
        if self._grouped and row.item in self._warming:
            self._release(row.item)

    def opens_at(self, median: float | None) -> float | None:
        """When `take` may have more without any request coming back."""
        began = next(iter(self._warming.values()), None)
        return began[0] + _grace(median) if began else None

    def _next(self, now: float, places: int, median: float | None) -> Row | None:
        if self._fresh and (not self._open or self._wants_more(places)):
            return self._first(now)
        if not self._open and self._warming:
            item, (began, _) = next(iter(self._warming.items()))
            if began + _grace(median) <= now:
                self._release(item)
        if not self._open:
            return None
        item, rows = next(iter(self._open.items()))
        row = rows.popleft()
        if not rows:
            del self._open[item]
        return row

    def _wants_more(self, places: int) -> bool:
        """Whether too few items take turns to fill the places while one of them warms."""
        size = len(next(iter(self._fresh.values())))
        return len(self._open) + len(self._warming) < -(-places // size) + 1

    def _first(self, now: float) -> Row:
        item, rows = self._fresh.popitem(last=False)
        self._warming[item] = now, rows
        return rows.popleft()

    def _release(self, item: int) -> None:
        _, rows = self._warming.pop(item)
        if rows:
            self._open.setdefault(item, deque()).extend(rows)
        self._warm[item] = None
        if len(self._warm) > REMEMBERED:
            self._warm.popitem(last=False)


def _grace(median: float | None) -> float:
    if median is None:
        return UNKNOWN_GRACE
    return min(max(median / 4, SHORTEST_GRACE), LONGEST_GRACE)


class Line:
    """All rows that wait: for their first attempt, for a time, or until nothing else is left."""

    def __init__(self, grouped: bool) -> None:
        self.fresh = Order(grouped)
        self._due: list[tuple[float, int, Row]] = []
        self._later: list[tuple[float, int, Row]] = []
        self._next: deque[Row] = deque()
        self._number = 0

    def put_back(self, row: Row) -> None:
        """The row that was taken comes next again."""
        self._next.append(row)

    def wait(self, row: Row, until: float, for_others: bool = False) -> None:
        """The row is due then; or, `for_others`, once there is no fresh row left as well."""
        self._number += 1
        heapq.heappush(self._later if for_others else self._due, (until, self._number, row))

    def take(self, now: float, places: int, median: float | None) -> Row | None:
        if self._next:
            return self._next.popleft()
        if self._due and self._due[0][0] <= now:
            return heapq.heappop(self._due)[-1]
        if row := self.fresh.take(now, places, median):
            return row
        if self._later and self._later[0][0] <= now:
            return heapq.heappop(self._later)[-1]
        return None

    def ready_at(self, floor: float, now: float, median: float | None) -> float | None:
        """When time alone makes a row ready that may not be asked before `floor`."""
        times = [heap[0][0] for heap in (self._due, self._later) if heap]
        if (opens := self.fresh.opens_at(median)) is not None:
            times.append(opens)
        if floor > now and (self._next or len(self.fresh)):
            times.append(floor)
        return max(min(times), floor) if times else None

    def hurry(self, now: float) -> None:
        """What waits for a time is due soon, spread over a second."""
        self._due = [
            (min(at, now + random.uniform(0, RECOVERY_SECONDS)), number, row)
            for at, number, row in self._due
        ]
        heapq.heapify(self._due)

    def tried(self) -> list[Row]:
        """The rows that have been asked before."""
        return [row for *_, row in (*self._due, *self._later)] + list(self._next)
