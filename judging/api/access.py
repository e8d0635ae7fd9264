"""What an account may see of judges. A judge belongs to the site, its runs to their campaigns."""

from __future__ import annotations

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from annotation.api.access import person, visible_studies
from annotation.models import Campaign, User
from annotation.models import Response as Answer
from annotation.preparation.base import Step
from datasets.access import READERS
from datasets.models import Batch
from judging.access import runs_of
from judging.display import with_clock
from judging.models import Judge, JudgeCall, JudgeRun
from judging.preparation.status import name_of


def visible_judges(user: User) -> QuerySet[Judge]:
    if user.role not in READERS:
        return Judge.objects.none()
    return Judge.objects.select_related("rater").order_by("rater__name", "pk")


def visible_runs(user: User) -> QuerySet[JudgeRun]:
    """The runs over campaigns that the account may read, the newest first."""
    if user.role not in READERS:
        return JudgeRun.objects.none()
    return with_clock(runs_of(user)).order_by("-pk")


def visible_calls(user: User) -> QuerySet[JudgeCall]:
    related = ("run__campaign", "assignment__item")
    return JudgeCall.objects.filter(run__in=runs_of(user)).select_related(*related)


def judge_of(request: Request, pk: int) -> Judge:
    return get_object_or_404(visible_judges(person(request)), pk=pk)


def run_of(request: Request, pk: int) -> JudgeRun:
    return get_object_or_404(visible_runs(person(request)), pk=pk)


def visible_written(user: User) -> QuerySet[Answer]:
    """The standing answers of the campaigns that the account may read."""
    return Answer.objects.filter(
        current=True,
        assignment__replicate=0,
        assignment__item__campaign__in=visible_studies(user),
    )


def step_campaign(request: Request, batch: Batch, step: Step) -> Campaign:
    """Where judges write for a step; not there before somebody began it, and if others did."""
    mine = visible_studies(person(request)).filter(batch=batch, protocol=step.protocol)
    return get_object_or_404(mine, name=name_of(batch, step))
