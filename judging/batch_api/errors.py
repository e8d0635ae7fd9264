"""Which errors in a file of results are an assignment's own, rather than the service's.

A refusal is the assignment's own if the service answered other requests. An error that may pass,
such as a 500, is its own after three files with it, if the service answered others in the last one,
or the first is longer ago than an outage may last. A line that the service did not process, or that
was refused for a key, credit or rate, says nothing about its assignment.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone

from annotation.models import Assignment
from judging.answers.calls import Call
from judging.answers.results import ANSWERED
from judging.backends.base import (
    BackendError,
    FatalError,
    RateError,
    RejectedError,
    TransientError,
)
from judging.models import JudgeCall, JudgeRun
from judging.retries import OUTAGE_PATIENCE

FILES = 3
ACCOUNT_STATES = ("status-401", "status-402")


@dataclass(frozen=True)
class Errors:
    """Decides about errors, given whether others were answered in this file, or in earlier ones."""

    others_answered: bool
    answered_before: bool

    def is_own(self, row: Assignment, error: BackendError, call: Call) -> bool:
        """Return whether an error closes its assignment. `call` is the one that it came with."""
        if call.status is None or isinstance(error, RateError) or error.state in ACCOUNT_STATES:
            return False
        if isinstance(error, TransientError):
            return self._has_failed_often(row)
        if isinstance(error, RejectedError):
            return self.others_answered or self.answered_before
        return isinstance(error, FatalError) and self.others_answered

    def _has_failed_often(self, row: Assignment) -> bool:
        failed = JudgeCall.objects.filter(
            Q(http_status=200) | Q(http_status__gte=500),
            assignment=row,
            run__manifest__has_key="batch",
        ).exclude(state=ANSWERED)
        times = list(failed.order_by("sent_at").values_list("sent_at", flat=True))
        if len(times) + 1 < FILES:
            return False
        age = (timezone.now() - times[0]).total_seconds()
        return self.others_answered or age > OUTAGE_PATIENCE


def is_answered_before(run: JudgeRun) -> bool:
    """Return whether the judge has an answer of its own in the run's campaign."""
    calls = JudgeCall.objects.filter(run__campaign=run.campaign, run__judge=run.judge)
    return calls.filter(state=ANSWERED, reused_from=None).exists()
