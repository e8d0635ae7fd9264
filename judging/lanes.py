"""Lanes: the server that a judge asks under one key. One run at a time may use a lane.

A run acquires the lease of its lane together with its own (`judging.runs.lifecycle`), under the
same token.
"""

from __future__ import annotations

import json
import uuid
from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Now

from judging.backends.contents import HEADERS
from judging.judge_backends import build_backend
from judging.models import Judge, JudgeRun, Lane

LEASE = timedelta(seconds=15)
FREE = Q(lease=None) | Q(lease_until__lt=Now())


def get_lane(judge: Judge) -> Lane | None:
    """Return the lane of a judge's calls. None if it asks no server. Raises SetupError."""
    if not (endpoint := build_backend(judge).endpoint):
        return None
    return Lane.objects.get_or_create(
        endpoint=endpoint,
        api_key_env=judge.api_key_env,
        headers=json.dumps(judge.params[HEADERS], sort_keys=True)
        if HEADERS in judge.params
        else "",
    )[0]


def acquire(lane: int | None, token: uuid.UUID) -> bool:
    """Lease the lane; return whether that succeeded or no lane is needed. Paused lanes fail."""
    if lane is None:
        return True
    free = Lane.objects.filter(FREE, pk=lane, paused="")
    return bool(free.update(lease=token, lease_until=Now() + LEASE))


def renew(lane: int | None, token: uuid.UUID) -> bool:
    """Extend the lease. Return False if another run now has the lane."""
    if lane is None:
        return True
    return bool(Lane.objects.filter(pk=lane, lease=token).update(lease_until=Now() + LEASE))


def release(lane: int | None, token: uuid.UUID) -> None:
    """End the lease, if the token still has it."""
    if lane is not None:
        Lane.objects.filter(pk=lane, lease=token).update(lease=None, lease_until=None)


def current_run(lane: Lane) -> JudgeRun | None:
    """Return the run that uses the lane now: the one with the same lease."""
    leases = Lane.objects.filter(pk=lane.pk).exclude(FREE).values("lease")
    runs = JudgeRun.objects.filter(lease__in=leases)
    return runs.select_related("judge__rater").first()


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
