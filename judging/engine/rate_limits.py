"""Rate limits: what follows when a server refuses a call for now, with a 429 or a time to wait.

A refusal cuts the number of calls in flight (`limits`), and its job waits as long as the server
says. A wait that is too long for that is a rest: the job is put aside, and the run goes on then.
A server that refuses everything for longer than the run's patience ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from judging.backends.base import RateError
from judging.engine.limits import Limit
from judging.engine.queue import Job, format_time_ago
from judging.retries import Patience

BUSY_SHOWN_AFTER = 10.0


class RateLimits:
    """What is known of a server's refusals. Times are in seconds of `clock`.

    `busy_for` is for how long it has refused everything in earlier engines of the run.
    `rests_until` is the time before which it wants to be asked nothing.
    """

    def __init__(
        self, patience: Patience, limit: Limit, clock: Callable[[], float], busy_for: float = 0.0
    ) -> None:
        self._patience, self._limit, self._clock = patience, limit, clock
        self._busy_since = clock() - busy_for if busy_for else None
        self.rests_until: float | None = None

    def is_long(self, reply: RateError) -> bool:
        """Return whether a busy server asks for so much time that the run had better rest."""
        return (reply.wait or 0.0) > self._patience.longest_wait

    def refused(self, job: Job, reply: RateError) -> float:
        """Cut the number of calls in flight, and return for how many seconds the job waits."""
        job.rates += 1
        typical = self._limit.latencies.median
        wait = self._patience.before_busy(job.rates, reply.wait, typical)
        self._limit.refused(job.begun, wait)
        return wait

    def answered(self) -> None:
        self._busy_since = None

    def busy_for(self) -> float:
        """Return for how many seconds the server has refused everything."""
        now = self._clock()
        self._busy_since = now if self._busy_since is None else self._busy_since
        return now - self._busy_since

    def describe(self, busy_for: float, reply: RateError) -> str:
        """Say since when the server has been busy; nothing if that is too early to say."""
        shown_after = min(BUSY_SHOWN_AFTER, self._patience.rate_patience)
        if busy_for < shown_after or self._limit.under_way:
            return ""
        return f"endpoint busy since {format_time_ago(busy_for)}: {reply.message}"

    def next_step(
        self, job: Job, busy_for: float, others_answered: bool
    ) -> Literal["retry", "wait", "end"]:
        """Decide about a refused job, with its own patience if others are answered."""
        longest = self._patience.rate_patience
        refused_for = job.prepared.refused_for + self._clock() - (job.first_sent or 0.0)
        if refused_for >= longest and others_answered:
            return "retry"
        return "wait" if busy_for < longest or self._limit.under_way else "end"

    def is_over(self, seconds: float) -> bool:
        """Return whether a job, or the server, has been refused for longer than the patience."""
        return seconds >= self._patience.rate_patience

    def rest_for(self, seconds: float) -> None:
        """Rest until a job that was put aside may be asked again, the first of several."""
        until = self._clock() + seconds
        self.rests_until = min(until, self.rests_until or until)

    def rest_after_probe(self, reply: RateError) -> None:
        """Rest for as long as a probe was told to wait."""
        self.rests_until = self._clock() + (reply.wait or 0.0)
