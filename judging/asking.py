"""One row's question to its backend: attempts, waits between them, and what came of it all."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from judging.backends.base import (
    Answer,
    Backend,
    BackendError,
    FatalError,
    FinalError,
    RateError,
    Reason,
    Request,
    TransientError,
)
from judging.preparing import Prepared
from judging.results import ANSWERED, Call, Failure, Result

ATTEMPTS = 6
BACKOFF_SECONDS = 0.5
LONGEST_BACKOFF = 30.0
LONGEST_WAIT = 120.0
RATE_PATIENCE = 15 * 60.0


@dataclass(frozen=True)
class Patience:
    """How often and how long a row is tried. Times in seconds; tests make them short."""

    attempts: int = ATTEMPTS
    backoff: float = BACKOFF_SECONDS
    rate_patience: float = RATE_PATIENCE
    longest_wait: float = LONGEST_WAIT


@dataclass(frozen=True)
class Outcome:
    """What became of asking.

    `settled` has its result. `spent` has it too, but whether the row or the server is to blame
    shows only when other rows are answered. `left` was given up because the run ends; `fatal`
    leaves the row open too, and ends the run.
    """

    result: Result
    kind: Literal["settled", "spent", "left", "fatal"] = "settled"
    error: str = ""
    unreachable: bool = False


class Asker:
    """Asks one backend with at most `concurrency` calls under way; waiting takes up no place."""

    def __init__(self, backend: Backend, concurrency: int, patience: Patience) -> None:
        self.backend, self.patience = backend, patience
        self.places = asyncio.Semaphore(concurrency)
        self.closed = asyncio.Event()

    def close(self) -> None:
        """From here on no call is begun; those under way end."""
        self.closed.set()

    async def ask(self, prepared: Prepared) -> Outcome:
        calls: list[Call] = []
        started = time.monotonic()
        tries = rates = 0
        while True:
            if (attempt := await self._attempt(prepared.request)) is None:
                return Outcome(Result(prepared, tuple(calls)), "left")
            call, came = attempt
            calls.append(call)
            rates += isinstance(came, RateError)
            tries += not isinstance(came, RateError)
            wait = self._wait(came, tries, rates, time.monotonic() - started)
            if wait is None:
                return _outcome(prepared, calls, came)
            await self._sleep(wait)

    async def _sleep(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.closed.wait()

    async def _attempt(self, request: Request) -> tuple[Call, Answer | BackendError] | None:
        async with self.places:
            if self.closed.is_set():
                return None
            sent_at, started = datetime.now(UTC), time.monotonic()
            came = await self._came(request)
            seconds = time.monotonic() - started
        if isinstance(came, Answer):
            return Call(ANSWERED, sent_at, seconds, status=came.status, answer=came), came
        call = Call(came.state, sent_at, seconds, came.message, came.status, came.body)
        return replace(call, answer=getattr(came, "answer", None)), came

    async def _came(self, request: Request) -> Answer | BackendError:
        try:
            return await self.backend.ask(request)
        except BackendError as error:
            return error
        except Exception as error:
            return BackendError(type(error).__name__[:40], f"the backend failed: {error}")

    def _wait(
        self, came: Answer | BackendError, tries: int, rates: int, elapsed: float
    ) -> float | None:
        """Seconds until the next attempt; None where there is to be none."""
        if isinstance(came, RateError) and elapsed < self.patience.rate_patience:
            return (
                self._jitter(rates)
                if came.wait is None
                else min(came.wait, self.patience.longest_wait)
            )
        if isinstance(came, TransientError) and tries < self.patience.attempts:
            return self._jitter(tries)
        return None

    def _jitter(self, tries: int) -> float:
        highest = min(self.patience.backoff * 2 ** (tries - 1), LONGEST_BACKOFF)
        return random.uniform(0, highest)


def _outcome(prepared: Prepared, calls: list[Call], came: Answer | BackendError) -> Outcome:
    result = Result(prepared, tuple(calls), None, calls[-1].seconds)
    if isinstance(came, Answer):
        return Outcome(replace(result, verdict=came))
    if isinstance(came, FinalError):
        return Outcome(replace(result, verdict=Failure(came.reason)))
    if isinstance(came, FatalError):
        return Outcome(result, "fatal", came.message)
    reason: Reason = "timeout" if came.state == "deadline" else "error"
    unreachable = isinstance(came, TransientError) and came.unreachable
    return Outcome(replace(result, verdict=Failure(reason)), "spent", came.message, unreachable)
