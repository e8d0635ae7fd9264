"""Lanes: the model of a server that a judge asks under one key.

Workers share the calls at once on a lane by grants (`judging.runs.grants`).
"""

from __future__ import annotations

import json

from django.db.models import Q
from django.db.models.functions import Now

from judging.backends.contents import COMMON, HEADERS, LIMIT
from judging.judge_backends import build_backend
from judging.models import Judge, JudgeRun, Lane

UNPAUSED = Q(lane=None) | Q(lane__paused="")
"""Runs that ask no server, or one that may be used."""


def lanes_of(judge: Judge) -> list[Lane]:
    """Return the lanes of a judge's calls. Empty if it asks no server. Raises SetupError."""
    if not (endpoint := build_backend(judge).endpoint):
        return []
    lane, _ = Lane.objects.get_or_create(
        endpoint=endpoint,
        api_key_env=judge.api_key_env,
        headers=json.dumps(judge.params[HEADERS], sort_keys=True)
        if HEADERS in judge.params
        else "",
        model="" if judge.params.get(LIMIT) == COMMON else judge.model,
    )
    return [lane]


def lanes_of_run(run: JudgeRun) -> list[int]:
    """Return the primary keys of the lanes that a run uses."""
    return [] if run.lane_id is None else [run.lane_id]


def pause(lane: Lane, why: str) -> None:
    """Pause the lane: nothing is asked of its server until `resume`."""
    Lane.objects.filter(pk=lane.pk).update(paused=why or "the server refused", paused_at=Now())


def resume(lane: Lane) -> None:
    """Resume the lane. Its queued runs continue with the next sweep."""
    Lane.objects.filter(pk=lane.pk).update(paused="", paused_at=None)


def remember_ceiling(lane: Lane, ceiling: int | None) -> None:
    """Store how many concurrent calls the server handled. The next run starts with that number."""
    if ceiling:
        Lane.objects.filter(pk=lane.pk).update(ceiling=ceiling)
