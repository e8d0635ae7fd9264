"""Rows for the pump: claimed, made into requests, and answered from what is stored where they can.

Both functions read and write the database.
"""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import replace

from django.utils import timezone

from judging.answers.results import ANSWERED, FINAL, Result, stored_results
from judging.answers.reusing import first_of_each, reused_results
from judging.models import JudgeRun
from judging.prompts.preparing import Prepared, Preparer
from judging.rows import ledger

ENOUGH_FAILED = 5
LATE = ("deadline", "abandoned")


def claimed(
    run: JudgeRun, lease: uuid.UUID, preparer: Preparer, count: int
) -> tuple[list[Prepared], list[Result]]:
    """Rows that are to be asked, and results of those that need not be; `count` together at most.

    Where an answer was stored but never written as labels, or the run may take one of an equal
    request, nothing is paid again.
    """
    rows = ledger.claim(run.campaign, run.judge, lease, count)
    prepared = [preparer.prepare(row) for row in rows]
    known = stored_results(prepared)
    left = _without(prepared, known)
    if left and run.reuse != JudgeRun.Reuse.NEVER:
        taken = reused_results(run, left)
        known, left = known + taken, first_of_each(run, lease, _without(left, taken))
    return _with_the_late(run, left), known


def _with_the_late(run: JudgeRun, rows: list[Prepared]) -> list[Prepared]:
    """The rows, each with how often it was late before.

    Else a row that hangs would begin anew with every pump, and a run of short pumps never end.
    """
    tried = [each.assignment.pk for each in rows if each.assignment.attempts]
    if not tried:
        return rows
    calls = run.judge_calls.filter(assignment__in=tried, state__in=LATE)
    late = Counter(calls.order_by().values_list("assignment", flat=True))
    return [replace(each, late=late[each.assignment.pk]) for each in rows]


def past(run: JudgeRun) -> tuple[bool, float]:
    """Whether the server answered in this run before, and for how many seconds it has not since.

    A few calls that failed are no outage.
    """
    answered = run.judge_calls.filter(state__in=(ANSWERED, *FINAL)).order_by("-id")
    last = answered.values_list("id", flat=True).first()
    since = run.judge_calls.filter(id__gt=last or 0).order_by("id")
    failed = list(since.values_list("sent_at", flat=True)[:ENOUGH_FAILED])
    if len(failed) < ENOUGH_FAILED:
        return last is not None, 0.0
    return last is not None, max(0.0, (timezone.now() - failed[0]).total_seconds())


def _without(prepared: list[Prepared], known: list[Result]) -> list[Prepared]:
    answered = {result.prepared.assignment.pk for result in known}
    return [each for each in prepared if each.assignment.pk not in answered]
