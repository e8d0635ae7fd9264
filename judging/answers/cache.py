"""Reusing the answer that an equal request got before, instead of paying for it again.

Two requests are equal if their hashes are: the same endpoint, model, messages, form of the answer
and sampling. A reused answer is a call of its own that names its origin and costs nothing. It is
stored together with its labels, so that a run that dies before reuses it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.models import Assignment, Campaign
from judging.answers.calls import Call
from judging.answers.results import ANSWERED, Failure, Result
from judging.backends.base import Answer
from judging.models import Judge, JudgeCall, JudgeRun
from judging.prompts.request import Prepared

CHUNK = 500
MOST_WAITING = 1000
Reuse = JudgeRun.Reuse


def reused_results(run: JudgeRun, prepared: Sequence[Prepared]) -> list[Result]:
    """Results from equal requests, as far as the run's choice allows; nothing is stored yet."""
    found = answers_to(run, (p.request_hash for p in prepared))
    return [_taken(p, found[p.request_hash]) for p in prepared if p.request_hash in found]


class Equals:
    """Of equal requests in one run the first is asked, and the others wait for its answer.

    They stay leased meanwhile, `waiting` of them. Reads the database; for one thread.
    """

    def __init__(self, run: JudgeRun) -> None:
        self._run = run
        self._asking: set[str] = set()
        self._later: dict[str, list[Prepared]] = {}
        self.waiting = 0

    @property
    def is_full(self) -> bool:
        """Whether so many wait that no more should be claimed."""
        return self.waiting >= MOST_WAITING

    def firsts_of(self, prepared: Sequence[Prepared]) -> list[Prepared]:
        """Those that are to be asked now."""
        if not may_take(self._run):
            return list(prepared)
        firsts: list[Prepared] = []
        for each in prepared:
            if each.request_hash in self._asking:
                self._later.setdefault(each.request_hash, []).append(each)
                self.waiting += 1
            else:
                self._asking.add(each.request_hash)
                firsts.append(each)
        return firsts

    def released_by(self, stored: Iterable[Result]) -> tuple[list[Prepared], list[Result]]:
        """Rows that are to be asked now after all, and results for others, by what was stored.

        Where the first brought no answer that may be taken the second is asked, and so on.
        """
        if not self._asking:
            return [], []
        back = {result.prepared.request_hash for result in stored if result.verdict}
        self._asking -= back
        others = [each for digest in back for each in self._later.pop(digest, ())]
        self.waiting -= len(others)
        taken = reused_results(self._run, others) if others else []
        known = {result.prepared.assignment.pk for result in taken}
        return self.firsts_of([p for p in others if p.assignment.pk not in known]), taken


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
