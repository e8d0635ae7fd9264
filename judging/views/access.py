"""Who sees what on the pages of judges."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotation.models import Campaign, User
from annotation.people.membership import readable
from annotation.views.access import is_blind
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


def blind_page(request: HttpRequest, campaign: Campaign) -> HttpResponse | None:
    """For whoever has an open item of the campaign: what others said of it comes after."""
    if not is_blind(person(request), campaign):
        return None
    return render(request, "reports/blind.html", {"campaign": campaign}, status=403)
