"""Access to the pages of judges and of preparation."""

from __future__ import annotations

import uuid

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from annotation.access import is_blind
from annotation.models import Campaign, Response, User
from annotation.people.membership import readable
from annotation.preparation.base import Step
from annotation.registry import STEPS
from judging.models import JudgeRun
from judging.preparation.review import Written, with_all
from judging.preparation.status import name_of

BLIND = "You have an open item in this campaign; answer it before you read a judge's labels."


def person(request: HttpRequest) -> User:
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def runs_of(user: User) -> QuerySet[JudgeRun]:
    """Return the runs over campaigns that an account may read."""
    return JudgeRun.objects.filter(campaign__in=readable(user)).select_related("campaign")


def blind_page(request: HttpRequest, campaign: Campaign) -> HttpResponse | None:
    """Return the page for a person with an open item, who must not see others' labels yet."""
    if not is_blind(person(request), campaign):
        return None
    return render(request, "reports/blind.html", {"campaign": campaign}, status=403)


def step_called(name: str) -> Step:
    if name not in STEPS:
        raise Http404
    return STEPS[name]


def step_of(campaign: Campaign) -> Step:
    """Return the preparation step of a campaign. Raises Http404 for other campaigns."""
    for step in STEPS.values():
        asked = step.protocol == campaign.protocol
        if asked and name_of(campaign.batch, step) == campaign.name:
            return step
    raise Http404


def written_by(user: User, uid: uuid.UUID) -> Written:
    """Return the current answer to an assignment in a campaign that the account may read."""
    responses = Response.objects.filter(
        current=True,
        assignment__uid=uid,
        assignment__replicate=0,
        assignment__item__campaign__in=readable(user),
    )
    response = get_object_or_404(with_all(responses))
    return Written(step_of(response.assignment.item.campaign), response)
