"""Reuse the answer to an equal earlier request instead of paying for it again.

Two requests are equal if their hashes are: the same endpoint, model, messages, answer schema and
sampling parameters. A reused answer is a call of its own that names its origin and costs nothing.
It is stored together with its labels, so if a run dies before that, the next one reuses it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import get_args

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Lower
from django.utils import timezone

from annotation.models import Assignment, Campaign
from judging.answers.calls import Call
from judging.answers.results import ANSWERED, Failure, Result
from judging.backends.base import Answer
from judging.backends.completeness import GOOD, accepts_no_reason, is_prompt_cut
from judging.backends.contents import is_deterministic
from judging.models import Judge, JudgeCall, JudgeRun
from judging.parsers.base import Fault
from judging.prompts.request import Prepared

CHUNK = 500
MAX_WAITING = 1000
UNREAD = get_args(Fault)
"""The missing reasons of an answer that a parser has read."""
Reuse = JudgeRun.Reuse


def reused_results(run: JudgeRun, prepared: Sequence[Prepared]) -> list[Result]:
    """Return results from equal requests, if the run may reuse them. Nothing is stored yet."""
    found = find_answers(run, (p.request_hash for p in prepared))
    pairs = ((each, found.get(each.request_hash)) for each in prepared)
    return [
        _reuse(each, call)
        for each, call in pairs
        if call and not is_prompt_cut(each.request, call.usage)
    ]


class EqualRequests:
    """Asks the first of several equal requests in a run; the others wait for its answer.

    The `waiting` ones stay leased. Reads the database; for use in one thread.
    """

    def __init__(self, run: JudgeRun) -> None:
        self._run = run
        self._asking: set[str] = set()
        self._later: dict[str, list[Prepared]] = {}
        self.waiting = 0

    @property
    def is_full(self) -> bool:
        """Whether too many requests are waiting to claim more."""
        return self.waiting >= MAX_WAITING

    def claim_firsts(self, prepared: Sequence[Prepared]) -> list[Prepared]:
        """Return the requests to ask now, and let the others wait."""
        if not may_reuse(self._run):
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

    def release(self, stored: Iterable[Result]) -> tuple[list[Prepared], list[Result]]:
        """Return waiting requests to ask now and results for others, after results were stored.

        If the first request brought no reusable answer, the second is asked, and so on.
        """
        back = {result.prepared.request_hash for result in stored if result.outcome}
        self._asking -= back
        others = [each for digest in back for each in self._later.pop(digest, ())]
        self.waiting -= len(others)
        taken = reused_results(self._run, others) if others else []
        answered = {result.prepared.assignment.pk for result in taken}
        return self.claim_firsts([p for p in others if p.assignment.pk not in answered]), taken


def find_answers(run: JudgeRun, hashes: Iterable[str]) -> dict[str, JudgeCall]:
    """Return the newest answer to each request that this run may reuse, by hash."""
    if not may_reuse(run):
        return {}
    unique = list(dict.fromkeys(hashes))
    calls = reusable_calls(run.reuse, run.campaign, run.judge)
    return {
        call.request_hash: call
        for start in range(0, len(unique), CHUNK)
        for call in calls.filter(request_hash__in=unique[start : start + CHUNK]).order_by("id")
    }


def may_reuse(run: JudgeRun) -> bool:
    """Return whether the run may reuse answers. A trial may not, since it tests for differences."""
    return run.reuse != Reuse.NEVER and run.judge.base_id is None


def reusable_calls(reuse: str, campaign: Campaign, judge: Judge) -> QuerySet[JudgeCall]:
    """Return the calls whose answers may be reused.

    Answers that became labels may be reused. Unreadable answers may be reused at temperature 0,
    where asking again should give the same. Failed calls are never reused, nor are answers that did
    not end well, which older versions made labels of. All runs are those over campaigns of the same
    team.
    """
    good = Q(state=ANSWERED, assignment__status=Assignment.Status.DONE)
    if is_deterministic(judge.params):
        unreadable = Q(state=ANSWERED) | Q(state="unreadable")
        good |= unreadable & Q(assignment__reason__in=UNREAD)
    # Where a repair was needed, neither call is reused: the one before it has the unreadable
    # answer.
    repairs = JudgeCall.objects.filter(assignment=OuterRef("assignment"), repair=True)
    calls = JudgeCall.objects.filter(good, ~Exists(repairs), reused_from=None)
    words = (*GOOD, "") if accepts_no_reason(judge.params) else GOOD
    calls = calls.alias(ended_by=Lower("finish_reason")).filter(ended_by__in=words)
    if reuse == Reuse.CAMPAIGN:
        return calls.filter(run__campaign=campaign)
    return calls.filter(run__campaign__team=campaign.team_id)


def _reuse(prepared: Prepared, call: JudgeCall) -> Result:
    """Turn another call's answer into a result with a call of its own that names the origin."""
    answer = Answer(
        call.completion or "",
        call.finish_reason,
        model=call.model_returned,
        logprobs=call.logprobs,
        reasoning=call.reasoning,
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
    outcome = answer if call.state == ANSWERED else Failure("unreadable")
    return Result(prepared, (taken,), outcome, call.seconds)
