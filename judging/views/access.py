"""Who sees what on the pages of judges."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotation.models import Assignment, Campaign, User
from annotation.people.members import readable
from annotation.views.mine import my_assignments
from judging.models import JudgeRun

READERS = (User.Role.RESEARCHER, User.Role.ADMIN)
BLIND = "You have an open item in this campaign; answer it before you read what a judge says."


def person(request: HttpRequest) -> User:
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def runs_of(user: User) -> QuerySet[JudgeRun]:
    """The runs over campaigns that an account may read."""
    return JudgeRun.objects.filter(campaign__in=readable(user)).select_related("campaign")


def is_blind(user: User, campaign: Campaign) -> bool:
    """Whether somebody has an item of the campaign before him, and sees no other answers first."""
    begun = my_assignments(user).filter(item__campaign=campaign, status=Assignment.Status.OPEN)
    return campaign.is_open and begun.exists()


def blind_page(request: HttpRequest, campaign: Campaign) -> HttpResponse | None:
    """For whoever has an open item of the campaign: what others said of it comes after."""
    if not is_blind(person(request), campaign):
        return None
    return render(request, "reports/blind.html", {"campaign": campaign}, status=403)
