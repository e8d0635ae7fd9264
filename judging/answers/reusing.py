"""Answers that equal requests were given before, taken over instead of being paid again.

A request is equal where its hash is: the same endpoint, model, messages, form of the answer and
sampling. A taken answer is a call of its own that names where it came from and cost nothing; it is
stored with its labels, so that a run that dies before takes it again.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from decimal import Decimal

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.models import Assignment, Campaign
from judging.answers.calls import Call
from judging.answers.results import ANSWERED, Failure, Result
from judging.backends.base import Answer
from judging.models import Judge, JudgeCall, JudgeRun
from judging.prompts.preparing import Prepared

CHUNK = 500
LEASED = Assignment.Status.LEASED
Reuse = JudgeRun.Reuse


def reused_results(run: JudgeRun, prepared: Sequence[Prepared]) -> list[Result]:
    """Results from equal requests, as far as the run's choice allows; nothing is stored yet."""
    found = answers_to(run, (p.request_hash for p in prepared))
    return [_taken(p, found[p.request_hash]) for p in prepared if p.request_hash in found]


def first_of_each(run: JudgeRun, lease: uuid.UUID, prepared: Sequence[Prepared]) -> list[Prepared]:
    """Those that are to be asked now. One whose equal is being asked by this run is given back:
    it is claimed again when nothing else is left, and finds the answer then.
    """
    if not may_take(run):
        return list(prepared)
    asking: dict[str, int] = vars(run).setdefault("being_asked", {})
    under_way = _under_way(asking, lease)
    later: list[int] = []
    now: list[Prepared] = []
    for each in prepared:
        if asking.setdefault(each.request_hash, each.assignment.pk) in under_way:
            later.append(each.assignment.pk)
            continue
        asking[each.request_hash] = each.assignment.pk
        under_way.add(each.assignment.pk)
        now.append(each)
    rows = Assignment.objects.filter(pk__in=later, lease=lease, status=LEASED)
    rows.update(status=Assignment.Status.OPEN, lease=None)
    return now


def _under_way(asking: dict[str, int], lease: uuid.UUID) -> set[int]:
    """The rows that are still being asked; the others are forgotten."""
    rows = list(asking.values())
    left: set[int] = set()
    for start in range(0, len(rows), CHUNK):
        some = Assignment.objects.filter(pk__in=rows[start : start + CHUNK], status=LEASED)
        left.update(some.filter(lease=lease).values_list("pk", flat=True))
    for digest in [digest for digest, row in asking.items() if row not in left]:
        del asking[digest]
    return left


def answers_to(run: JudgeRun, hashes: Iterable[str]) -> dict[str, JudgeCall]:
    """The newest answer to each request that this run may take, by hash."""
    if not may_take(run):
        return {}
    wanted = list(dict.fromkeys(hashes))
    calls = reusable(run.reuse, run.campaign, run.judge)
    return {
        call.request_hash: call
        for start in range(0, len(wanted), CHUNK)
        for call in calls.filter(request_hash__in=wanted[start : start + CHUNK]).order_by("id")
    }


def may_take(run: JudgeRun) -> bool:
    """Whether the run takes answers at all.

    A judge under changed conditions takes none: it asks to see whether the answers are the same.
    """
    return run.reuse != Reuse.NEVER and run.judge.base_id is None


def reusable(reuse: str, campaign: Campaign, judge: Judge) -> QuerySet[JudgeCall]:
    """The calls that may serve again.

    Those that became labels always; unreadable ones only where asking again would, as far as the
    request can say, bring the same: at temperature 0. What failed on the way never.
    """
    good = Q(state=ANSWERED, assignment__status=Assignment.Status.DONE)
    if not judge.params.get("temperature", 0.0):
        unreadable = Q(state=ANSWERED) | Q(state="unreadable")
        good |= unreadable & Q(assignment__reason="unreadable")
    # Where a repair was needed, the call before it holds what could not be read.
    mended = JudgeCall.objects.filter(assignment=OuterRef("assignment"), repair=True)
    calls = JudgeCall.objects.filter(good, ~Exists(mended), reused_from=None, repair=False)
    return calls.filter(run__campaign=campaign) if reuse == Reuse.CAMPAIGN else calls


def _taken(prepared: Prepared, call: JudgeCall) -> Result:
    """The result of another call, with a call of its own that says where it came from."""
    answer = Answer(
        call.completion or "",
        call.finish_reason,
        model=call.model_returned,
        logprobs=call.logprobs,
    )
    taken = Call(
        call.state,
        timezone.now(),
        call.seconds,
        detail=call.detail,
        answer=None if call.completion is None else answer,
        cost=Decimal(0),
        reused_from=call.pk,
    )
    verdict = answer if call.state == ANSWERED else Failure("unreadable")
    return Result(prepared, (taken,), verdict, call.seconds)
