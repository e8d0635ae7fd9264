"""Lanes: which server a judge asks under which key; one run at a time may use a lane.

A run takes the lease of its lane together with its own (`judging.runs.lifecycle`), under the same
token.
"""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Now

from datasets.text import sentences
from judging.backends import BACKENDS
from judging.backends.base import Backend, Setup
from judging.models import Judge, JudgeRun, Lane
from judging.servers import listed_hosts_for

LEASE = timedelta(seconds=15)
FREE = Q(lease=None) | Q(lease_until__lt=Now())


def backend_of(judge: Judge) -> Backend:
    """The backend of a judge's definition. Raises SetupError."""
    return BACKENDS[judge.backend](
        Setup(
            judge.model,
            judge.base_url,
            judge.api_key_env,
            judge.params,
            sentences,
            listed_hosts_for(judge),
        )
    )


def lane_of(judge: Judge) -> Lane | None:
    """The lane that a judge's calls go by; None where it asks no server. Raises SetupError."""
    if not (endpoint := backend_of(judge).endpoint):
        return None
    return Lane.objects.get_or_create(endpoint=endpoint, api_key_env=judge.api_key_env)[0]


def take(lane: int | None, token: uuid.UUID) -> bool:
    """Whether the lane is ours now, or none is needed. One that is paused is nobody's."""
    if lane is None:
        return True
    free = Lane.objects.filter(FREE, pk=lane, paused="")
    return bool(free.update(lease=token, lease_until=Now() + LEASE))


def renew(lane: int | None, token: uuid.UUID) -> bool:
    """Holds the lane for longer; False if it went to another."""
    if lane is None:
        return True
    return bool(Lane.objects.filter(pk=lane, lease=token).update(lease_until=Now() + LEASE))


def give_back(lane: int | None, token: uuid.UUID) -> None:
    """Ends our hold on the lane, if there is one and it is ours still."""
    if lane is not None:
        Lane.objects.filter(pk=lane, lease=token).update(lease=None, lease_until=None)


def holder(lane: Lane) -> JudgeRun | None:
    """The run that asks this server now."""
    held = Lane.objects.filter(pk=lane.pk).exclude(FREE).values("lease")
    return JudgeRun.objects.filter(lane=lane, lease__in=held).select_related("judge__rater").first()


def pause(lane: Lane, why: str) -> None:
    """Nothing is asked of this server until somebody says `resume`."""
    Lane.objects.filter(pk=lane.pk).update(paused=why or "the server refused", paused_at=Now())


def resume(lane: Lane) -> None:
    """The server may be asked again: its queued runs go on with the next sweep."""
    Lane.objects.filter(pk=lane.pk).update(paused="", paused_at=None)


def remember_ceiling(lane: Lane, ceiling: int | None) -> None:
    """How many calls at once the server bore; the next pump begins there."""
    if ceiling:
        Lane.objects.filter(pk=lane.pk).update(ceiling=ceiling)
