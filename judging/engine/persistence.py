"""Claim assignments, turn them into requests, and store results in groups.

If possible, an assignment is answered from stored calls. The number of results waiting to be stored
is limited.
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
from annotation.models import Assignment
from datasets.db.locks import brief_transaction
from judging.answers.cache import EqualRequests, reused_results
from judging.answers.results import ANSWERED, FINAL, Result, find_stored_results
from judging.backends.base import Request
from judging.engine.journal import Journal
from judging.models import JudgeRun
from judging.prompts.request import Prepared, Preparer
from judging.runs import ledger
from judging.runs.shards import has_lease

MIN_FAILURES = 5
GROUP, LARGE_GROUP = 32, 128
"""The most results of a group: while a kill would lose them, and if a journal keeps them.

The groups are small, too, where people's answers would wait for a large one.
"""
MOST_UNWRITTEN = 3 * LARGE_GROUP
GROUP_SECONDS = 0.25
MIN_GROUP = 8
LATE = ("deadline", "abandoned")
BUSY = "rate"
PROBE = "probe-"
"""The beginning of the state of a probe's call (`judging.engine.probing`)."""
PROBE_ANSWERED = f"{PROBE}answered"


@dataclass(frozen=True)
class ServerHistory:
    """The state of the server at the end of earlier work on this run.

    `proven` says whether it has answered. `down_for` and `busy_for` are the seconds for which it
    has not responded, or has refused everything.
    """

    proven: bool
    down_for: float
    busy_for: float


@dataclass(frozen=True)
class Claim:
    """The number of claimed assignments, the requests to ask, and the results of others.

    The remaining ones wait for the answer to an equal request.
    """

    rows: int
    ready: list[Prepared]
    known: list[Result]


def claim_requests(
    run: JudgeRun, lease: uuid.UUID, preparer: Preparer, equals: EqualRequests, count: int
) -> Claim:
    """Claim up to `count` assignments. Raises LostLeaseError.

    Answers that are stored without labels, or reusable from an equal request, are not paid for
    again.
    """
    with brief_transaction():
        # A process that was suspended until it lost its lease must not lease anything.
        if not has_lease(run, lease):
            raise LostLeaseError
        if run.limit is not None:
            # Locked, so that workers that claim at once do not pass the limit together.
            ledger.lock(JudgeRun.objects.filter(pk=run.pk))
            count = min(count, ledger.left_to_claim(run) or 0)
        rows = ledger.claim(run.campaign, run.judge, lease, count)
    prepared = preparer.prepare_all(rows)
    known = find_stored_results(prepared)
    left = _without(prepared, known)
    if left and run.reuse != JudgeRun.Reuse.NEVER:
        taken = reused_results(run, left)
        known, left = known + taken, equals.claim_firsts(_without(left, taken))
    return Claim(len(rows), _with_history(run, left), known)


def _with_history(run: JudgeRun, rows: list[Prepared]) -> list[Prepared]:
    """Add to each request its earlier timeouts and the time for which it was refused.

    Otherwise a request that hangs would start from zero with every worker, and the run would never
    end.
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


def read_history(run: JudgeRun) -> ServerHistory:
    """Read the server's state from the calls since its last answer. A few failures are normal."""
    last, answered_at = _last_answer(run)
    since = run.judge_calls.filter(id__gt=last, reused_from=None).order_by()
    if answered_at:
        # Calls are stored with their assignment's result, so older ones may have higher ids.
        since = since.filter(sent_at__gt=answered_at)
    refused = (BUSY, f"{PROBE}{BUSY}")
    busy, down = Q(state__in=refused), ~Q(state__in=(*refused, "abandoned", f"{PROBE}abandoned"))
    counts = since.aggregate(
        downs=Count("id", filter=down),
        down_at=Min("sent_at", filter=down),
        busies=Count("id", filter=busy),
        busy_at=Min("sent_at", filter=busy),
    )
    return ServerHistory(
        proven=last > 0,
        down_for=_since(counts["down_at"]) if counts["downs"] >= MIN_FAILURES else 0.0,
        busy_for=_since(counts["busy_at"]) if counts["busies"] >= MIN_FAILURES else 0.0,
    )


def find_worked_request(run: JudgeRun, preparer: Preparer) -> Request | None:
    """Return the request that the server answered last in this run, if there is one."""
    answered = run.judge_calls.filter(state=ANSWERED, reused_from=None, repair=False)
    call = answered.order_by("-id").values_list("assignment").first()
    if call is None:
        return None
    return prepare_again(run, preparer, call[0]).request


def prepare_again(run: JudgeRun, preparer: Preparer, assignment: int) -> Prepared:
    """Build the request of an assignment that may be closed."""
    row = Assignment.objects.select_related("item__query").get(pk=assignment)
    row.item.campaign = run.campaign
    return preparer.prepare(row)


def _last_answer(run: JudgeRun) -> tuple[int, datetime | None]:
    """Return the id and the start of the newest call that the server answered in this run."""
    states = (ANSWERED, *FINAL, PROBE_ANSWERED)
    answered = run.judge_calls.filter(state__in=states, reused_from=None)
    return answered.order_by("-id").values_list("id", "sent_at").first() or (0, None)


def _since(moment: datetime | None) -> float:
    return max(0.0, (timezone.now() - moment).total_seconds()) if moment else 0.0


def _without(prepared: list[Prepared], known: list[Result]) -> list[Prepared]:
    answered = {result.prepared.assignment.pk for result in known}
    return [each for each in prepared if each.assignment.pk not in answered]


class Writer:
    """Collects results and stores them, in groups of limited size or after `GROUP_SECONDS`.

    A group is started early if the results arriving while it is stored would fill the next group,
    judging by the last one. So calls do not wait for the database as long as it keeps up. A
    `journal` keeps the results until they are stored.
    """

    def __init__(
        self,
        write: Callable[[list[Result]], Awaitable[None]],
        written: Callable[[], None],
        journal: Journal | None = None,
        small: bool = False,
    ) -> None:
        self._write, self._written, self._journal = write, written, journal
        self._small = small
        self._waiting: deque[Result] = deque()
        self._writing = self._added = 0
        self._enough = self._most
        self._ready = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = self._hurried = False

    @property
    def unwritten(self) -> int:
        """The number of results not yet stored."""
        return len(self._waiting) + self._writing

    @property
    def at_risk(self) -> int:
        """The number of results that a crash would lose."""
        return 0 if self._is_kept else self.unwritten

    @property
    def is_behind(self) -> bool:
        """Whether the database has so much to store that no calls should be started."""
        return self.unwritten >= MOST_UNWRITTEN

    @property
    def _is_kept(self) -> bool:
        return self._journal is not None and self._journal.works

    @property
    def _most(self) -> int:
        return LARGE_GROUP if self._is_kept and not self._small else GROUP

    def add(self, result: Result) -> None:
        if self._journal is not None:
            self._journal.add(result)
        self._waiting.append(result)
        self._added += 1
        self._hurried = False
        self._look()

    def hurry(self) -> None:
        """Store the waiting results without waiting for a full group."""
        self._hurried = True
        self._look()

    def close(self) -> None:
        """Store the waiting results and end."""
        self._closed = True
        self._ready.set()

    async def run(self) -> None:
        """Store groups until `close`, a full one while another is being stored if both are kept."""
        at_once = 2 if self._is_kept else 1
        await asyncio.gather(*(self._store() for _ in range(at_once)))

    async def _store(self) -> None:
        while not self._closed or self._waiting:
            await self._ready.wait()
            self._disarm()
            size = min(self._most, len(self._waiting))
            group = [self._waiting.popleft() for _ in range(size)]
            if group:
                self._writing, before = self._writing + size, self._added
                await self._write(group)
                self._writing -= size
                if self._journal is not None:
                    self._journal.stored(size)
                self._enough = max(MIN_GROUP, self._most - 2 * (self._added - before))
                self._written()
            self._ready.clear()
            self._look()

    def _look(self) -> None:
        """Start a group now, set a timer for it, or do nothing yet."""
        enough = 1 if self._hurried else self._most if self._writing else self._enough
        if self._closed or len(self._waiting) >= enough:
            self._ready.set()
        elif self._waiting and self._timer is None and not self._writing:
            self._timer = asyncio.get_running_loop().call_later(GROUP_SECONDS, self._ready.set)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
