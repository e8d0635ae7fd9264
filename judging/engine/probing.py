"""Probes: a call that shows whether the server answers, while requests of the run fail.

A probe is a request that has worked in this run, or the shortest one if none has. So a failure
with an answered probe is the fault of the request's text, and a failure with a failed probe that
of the server. The call of a probe is stored with a request that failed, and its tokens are paid.

A server may go up and down within seconds. So an answer says something about a failure only if
the server was up right before and right after it (`Evidence`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from judging.answers.calls import Call
from judging.backends.base import Facts, Message, Request
from judging.engine.persistence import PROBE, PROBE_ANSWERED
from judging.engine.queue import Job

SHORT_QUESTION = "Answer in the shortest permitted way."
SHORT_TEXT = "-"
GAP, AT_ONCE = 0.1, 0.02
STRONG, WEAK = 6, 2
ENOUGH_STRONG = 2


def short_request(request: Request) -> Request:
    """Return a request of the same form as another, without any of its texts."""
    facts = request.facts
    units = tuple(replace(unit, text=SHORT_TEXT) for unit in facts.units)
    texts = (SHORT_TEXT,) * len(facts.texts)
    short = Facts(SHORT_TEXT, texts, units, facts.unit_by_unit)
    return Request((Message("user", SHORT_QUESTION),), request.schema, short)


def shorter(one: Request | None, other: Request) -> Request:
    """Return the request with the shorter prompt, which is the cheaper probe."""
    return other if one is None or other.length < one.length else one


def as_probe(call: Call, answered: bool) -> Call:
    """Mark the call of a probe, so that nothing takes it for an attempt at an assignment."""
    state = PROBE_ANSWERED if answered else f"{PROBE}{call.state}"[:40]
    return replace(call, state=state, repair=False)


class Evidence:
    """Which failures happened while the server answered other calls, by the clock.

    A failure between two answers, at most `GAP` seconds from each, or during a call that was
    answered, is strong evidence against its job: only an outage shorter than both gaps could
    explain it. A failure that is only followed, at once, by an answer is weak evidence, since it
    may have met the end of an outage.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures: dict[Job, tuple[float, bool]] = {}
        self._answered_at = self._down_at = float("-inf")

    def failed(self, job: Job) -> None:
        """Note that the job's call has just failed, unless the server was down meanwhile."""
        if job.begun > self._down_at:
            after_answer = job.begun - self._answered_at <= GAP
            self._failures[job] = self._clock(), after_answer

    def answered(self, begun: float) -> None:
        """Note that a call that began at this time was answered just now."""
        for job, (ended, after_answer) in self._failures.items():
            if begun <= job.begun or (after_answer and begun <= ended + GAP):
                job.proof += STRONG
            elif begun <= ended + AT_ONCE:
                job.proof += WEAK
        self._failures.clear()
        self._answered_at = self._clock()

    def was_down(self) -> None:
        """Note that a probe failed, so the failures before it prove nothing."""
        self._failures.clear()
        self._down_at = self._clock()

    def proves(self, job: Job, attempts: int) -> bool:
        """Return whether the failures of a job with this many attempts are its own."""
        return job.proof >= STRONG * min(attempts, ENOUGH_STRONG)
