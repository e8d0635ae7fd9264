"""Rests: a run asks nothing before the time that its server named, and then goes on by itself."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from judging.models import JudgeRun

RESTED = Q(rests_until=None) | Q(rests_until__lte=Now())
"""A run whose server may be asked now."""


def is_resting(run: JudgeRun) -> bool:
    return JudgeRun.objects.filter(pk=run.pk).exclude(RESTED).exists()


def rest_of(runs: QuerySet[JudgeRun]) -> datetime | None:
    """Return until when the newest run rests. None if it does not."""
    newest = list(runs.order_by("-pk").values_list("pk", flat=True)[:1])
    resting = JudgeRun.objects.filter(pk__in=newest).exclude(RESTED)
    return resting.values_list("rests_until", flat=True).first()


def end_rest(run: JudgeRun) -> None:
    """Have a run ask its server before the time that the server named."""
    JudgeRun.objects.filter(pk=run.pk).update(rests_until=None)


def describe_rest(until: datetime, now: datetime | None = None) -> str:
    """Say until when a run rests, by the site's clock and rounded up to the minute."""
    local = timezone.localtime(until + timedelta(seconds=59))
    today = timezone.localtime(now or timezone.now()).date() == local.date()
    return f"resting until {local:%H:%M}" if today else f"resting until {local:%Y-%m-%d %H:%M}"
