"""One attempt at a row: the call with its deadline, and what came of it as plain data."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from judging.answers.calls import Call
from judging.answers.results import ANSWERED, Failure, Result
from judging.backends.base import Answer, Backend, BackendError, Reason, Request, TransientError
from judging.costs.budgets import NOTHING, Estimate
from judging.prompts.preparing import Prepared, request_hash

ATTEMPTS = 6
BACKOFF_SECONDS = 0.5
LONGEST_BACKOFF = 30.0
LONGEST_WAIT = 120.0
RATE_PATIENCE = 15 * 60.0
OUTAGE_PATIENCE = 15 * 60.0
UNPROVEN_PATIENCE = 30.0
PROBE_SECONDS = 5.0

Came = Answer | BackendError


@dataclass(frozen=True)
class Patience:
    """How often and how long a row is tried. Times in seconds; tests make them short.

    A server that is away is waited for `outage`, or `unproven` where it never answered in this
    run; meanwhile it is asked each `probe`.
    """

    attempts: int = ATTEMPTS
    backoff: float = BACKOFF_SECONDS
    rate_patience: float = RATE_PATIENCE
    longest_wait: float = LONGEST_WAIT
    outage: float = OUTAGE_PATIENCE
    unproven: float = UNPROVEN_PATIENCE
    probe: float = PROBE_SECONDS

    def before_retry(self, tries: int) -> float:
        """Seconds to wait after so many failures in transport, with full jitter."""
        return jitter(self.backoff, tries)

    def before_busy(self, rates: int, wait: float | None, typical: float | None) -> float:
        """Seconds to wait for a busy server: what it says, or by what a call takes."""
        if wait is not None:
            asked = min(wait, self.longest_wait)
            return asked + random.uniform(0, 0.1 * asked)
        return jitter(self.backoff if typical is None else 2 * typical, rates)


def jitter(seconds: float, tries: int) -> float:
    return random.uniform(0, min(seconds * 2.0 ** (tries - 1), LONGEST_BACKOFF))


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
