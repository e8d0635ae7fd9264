"""Claiming rows, turning them into requests, and storing results in groups.

A row that an earlier answer can serve is answered from what is stored. Only a limited number of
results is ever waiting to be written.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Count, Min, Q
from django.utils import timezone

from annotation.answers.submission import LostLeaseError
from judging.answers.cache import Equals, reused_results
from judging.answers.results import ANSWERED, FINAL, Result, stored_results
from judging.models import JudgeRun
from judging.prompts.request import Prepared, Preparer
from judging.runs import ledger, lifecycle
from judging.runs.ledger import brief_transaction

ENOUGH_FAILED = 5
LATE = ("deadline", "abandoned")
BUSY = "rate"


@dataclass(frozen=True)
class Past:
    """What pumps before have seen of the server in this run.

    Whether it has answered, and for how many seconds it has been away since, or has refused
    everything.
    """

    proven: bool = False
    down_for: float = 0.0
    busy_for: float = 0.0


@dataclass(frozen=True)
class Claim:
    """How many rows were claimed; which of them are to be asked, and results of others.

    The rest waits for the answer to an equal request.
    """

    rows: int
    ready: list[Prepared]
    known: list[Result]


def claimed(
    run: JudgeRun, lease: uuid.UUID, preparer: Preparer, equals: Equals, count: int
) -> Claim:
    """Claims so many rows at most. Raises LostLeaseError.

    Where an answer was stored but never written as labels, or the run may take one of an equal
    request, nothing is paid again.
    """
    with brief_transaction():
        # Whoever wakes up after his lease went to another leases nothing any more.
        if not lifecycle.has_lease(run, lease):
            raise LostLeaseError
        rows = ledger.claim(run.campaign, run.judge, lease, count)
    prepared = preparer.prepare_all(rows)
    known = stored_results(prepared)
    left = _without(prepared, known)
    if left and run.reuse != JudgeRun.Reuse.NEVER:
        taken = reused_results(run, left)
        known, left = known + taken, equals.firsts_of(_without(left, taken))
    return Claim(len(rows), _with_their_past(run, left), known)


def _with_their_past(run: JudgeRun, rows: list[Prepared]) -> list[Prepared]:
    """The rows, each with how often it was late and for how long it was refused before.

    Else a row that hangs would begin anew with every pump, and a run of short pumps never end.
    """
    tried = [each.assignment.pk for each in rows if each.assignment.attempts]
    if not tried:
        return rows
    calls = run.judge_calls.filter(assignment__in=tried).order_by().values_list("assignment")
    counted = calls.annotate(
        late=Count("id", filter=Q(state__in=LATE)),
        refused_at=Min("sent_at", filter=Q(state=BUSY)),
    )
    _, answered_at = _last_answer(run)
    known: dict[int, dict[str, Any]] = {}
    for row, late, refused_at in counted:
        passed_over = refused_at and answered_at and refused_at < answered_at
        known[row] = {"late": late, "refused_for": _since(refused_at) if passed_over else 0.0}
    return [replace(each, **known.get(each.assignment.pk, {})) for each in rows]


def past(run: JudgeRun) -> Past:
    """How the server was doing by the calls since its last answer. A few are no outage."""
    last, answered_at = _last_answer(run)
    since = run.judge_calls.filter(id__gt=last, reused_from=None).order_by()
    if answered_at:
        # The calls of a row are written with its result, so that older ones may come later.
        since = since.filter(sent_at__gt=answered_at)
    busy, down = Q(state=BUSY), ~Q(state__in=(BUSY, "abandoned"))
    told = since.aggregate(
        downs=Count("id", filter=down),
        down_at=Min("sent_at", filter=down),
        busies=Count("id", filter=busy),
        busy_at=Min("sent_at", filter=busy),
    )
    return Past(
        proven=last > 0,
        down_for=_since(told["down_at"]) if told["downs"] >= ENOUGH_FAILED else 0.0,
        busy_for=_since(told["busy_at"]) if told["busies"] >= ENOUGH_FAILED else 0.0,
    )


def _last_answer(run: JudgeRun) -> tuple[int, datetime | None]:
    """The newest call that the server answered in this run, by its number, and when it began."""
    answered = run.judge_calls.filter(state__in=(ANSWERED, *FINAL), reused_from=None)
    return answered.order_by("-id").values_list("id", "sent_at").first() or (0, None)


def _since(moment: datetime | None) -> float:
    return max(0.0, (timezone.now() - moment).total_seconds()) if moment else 0.0


def _without(prepared: list[Prepared], known: list[Result]) -> list[Prepared]:
    answered = {result.prepared.assignment.pk for result in known}
    return [each for each in prepared if each.assignment.pk not in answered]


GROUP = 32
GROUP_SECONDS = 0.25
LEAST = 8


class Writer:
    """Collects results and hands them on, at most `GROUP` at a time or after `GROUP_SECONDS`.

    A group is begun before it is full where, by the last one, results that come while it is being
    written would fill the next: so calls never wait for the database as long as it can keep up.
    """

    def __init__(
        self,
        write: Callable[[list[Result]], Awaitable[None]],
        written: Callable[[], None],
    ) -> None:
        self._write, self._written = write, written
        self._waiting: deque[Result] = deque()
        self._writing = self._added = 0
        self._enough = GROUP
        self._ready = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = self._hurried = False

    @property
    def owed(self) -> int:
        """How many results are not written yet: a crash now would lose them."""
        return len(self._waiting) + self._writing

    def add(self, result: Result) -> None:
        self._waiting.append(result)
        self._added += 1
        self._hurried = False
        self._look()

    def hurry(self) -> None:
        """What is there is written now, or next: nothing comes that would fill the group."""
        self._hurried = True
        self._look()

    def close(self) -> None:
        """What is there is written, and nothing comes after it."""
        self._closed = True
        self._ready.set()

    async def run(self) -> None:
        while not self._closed or self._waiting:
            await self._ready.wait()
            self._disarm()
            size = min(GROUP, len(self._waiting))
            group = [self._waiting.popleft() for _ in range(size)]
            if group:
                self._writing, before = size, self._added
                await self._write(group)
                self._writing = 0
                self._enough = max(LEAST, GROUP - 2 * (self._added - before))
                self._written()
            self._ready.clear()
            self._look()

    def _look(self) -> None:
        """Whether a group is to be begun: now, in a moment, or not yet."""
        enough = 1 if self._hurried else self._enough
        if self._closed or len(self._waiting) >= enough:
            self._ready.set()
        elif self._waiting and self._timer is None and not self._writing:
            self._timer = asyncio.get_running_loop().call_later(GROUP_SECONDS, self._ready.set)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
