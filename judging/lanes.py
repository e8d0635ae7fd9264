"""Lanes: the model of a server that a judge asks under one key.

Workers share the calls at once on a lane by grants (`judging.runs.grants`).
"""

from __future__ import annotations

import json

from django.db.models import Q
from django.db.models.functions import Now

from judging.backends.contents import ADDRESSES, COMMON, HEADERS, LIMIT
from judging.judge_backends import backends_of
from judging.models import Judge, JudgeRun, Lane

UNPAUSED = Q(lane=None) | Q(lane__paused="")
"""Runs that ask no server, or one that may be used."""


def lanes_of(judge: Judge) -> list[Lane]:
    """Return the lanes of a judge's calls, one for each address. Raises SetupError.

    There are none if it asks no server.
    """
    headers = json.dumps(judge.params[HEADERS], sort_keys=True) if HEADERS in judge.params else ""
    model = "" if judge.params.get(LIMIT) == COMMON else judge.model
    return [
        Lane.objects.get_or_create(
            endpoint=backend.endpoint, api_key_env=judge.api_key_env, headers=headers, model=model
        )[0]
        for backend in backends_of(judge)
        if backend.endpoint
    ]


def of_run(run: JudgeRun) -> list[Lane]:
    """Return the lanes that a run uses, its own first."""
    if run.lane is None or ADDRESSES not in run.judge.params:
        return [run.lane] if run.lane else []
    return list(Lane.objects.filter(pk=run.lane.pk)) + lanes_of(run.judge)[1:]


def keys_of_run(run: JudgeRun) -> list[int]:
    """Return the primary keys of the lanes that a run uses, its own first."""
    # Kept with the run, since they never change and each renewal of its lease needs them.
    if "lane_keys" not in vars(run):
        vars(run)["lane_keys"] = [lane.pk for lane in of_run(run)]
    keys: list[int] = vars(run)["lane_keys"]
    return keys


def resume_all(run: JudgeRun) -> None:
    """Resume all lanes that a run uses."""
    for lane in of_run(run):
        resume(lane)


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
