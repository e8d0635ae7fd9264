"""Whose turn it is: runs that nobody works on, by the database's clock."""

from __future__ import annotations

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from judging.models import ACTIVE, JudgeRun


def neglected() -> QuerySet[JudgeRun]:
    """Active runs that are for workers and that nobody works on, though their lane is free."""
    runs = JudgeRun.objects.filter(state__in=ACTIVE, queued=True)
    lane_free = Q(lane__lease=None) | Q(lane__lease_until__lt=Now())
    return free(runs).filter(Q(lane=None) | Q(lane__paused="") & lane_free)


def next_after(run: JudgeRun) -> JudgeRun | None:
    """Whose turn it is when a worker lets go of a run: its lane's runs take turns.

    It may be the run itself. One without a lane is followed by nobody else.
    """
    if run.lane_id is None:
        return neglected().filter(pk=run.pk).first()
    waiting = neglected().filter(lane=run.lane_id)
    return waiting.filter(pk__gt=run.pk).first() or waiting.first()


def free(runs: QuerySet[JudgeRun]) -> QuerySet[JudgeRun]:
    """Those that nobody holds, or whose holder is dead."""
    return runs.filter(Q(lease=None) | Q(lease_until__lt=Now()))
