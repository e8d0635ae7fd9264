"""What an account may see: the only ways by which the API reaches campaigns and assignments."""

from __future__ import annotations

import uuid

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.shortcuts import get_object_or_404
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request

from annotation.models import Assignment, Campaign, Item, User
from annotation.opening import open_now
from annotation.views.campaigns import counted
from annotation.views.mine import my_assignments
from datasets.api.base import READERS, WORKERS
from datasets.api.errors import BlindError

COUNTED = (Item.Use.STUDY, Item.Use.PRACTICE)
"""What makes a campaign somebody's: gold items come beside others, and never by themselves."""


def person(request: Request) -> User:
    if not isinstance(request.user, User):
        raise NotAuthenticated
    return request.user


def visible_campaigns(user: User) -> QuerySet[Campaign]:
    """All for those who read studies; for annotators those with an item of theirs or for them."""
    if user.role in READERS:
        return counted().order_by("name")
    mine = my_assignments(user).filter(item__campaign=OuterRef("pk"))
    free = Item.objects.filter(
        campaign=OuterRef("pk"), taken__lt=F("quota"), use__in=COUNTED
    ).exclude(assignments__rater__user=user)
    theirs = Campaign.objects.filter(Exists(mine) | Q(Exists(free)) & open_now())
    return theirs.order_by("name")


def visible_studies(user: User) -> QuerySet[Campaign]:
    """The campaigns whose units, answers and reports an account may read."""
    if user.role not in READERS:
        return Campaign.objects.none()
    return Campaign.objects.select_related("batch")


def check_blind(user: User, campaign: Campaign) -> None:
    """Whoever has an item of a campaign before him sees no one else's answers to it first."""
    begun = my_assignments(user).filter(item__campaign=campaign, status=Assignment.Status.OPEN)
    if campaign.is_open and begun.exists():
        raise BlindError(
            "you have an open item in this campaign; answer it before you read what others said"
        )


def visible_open_campaigns(user: User) -> QuerySet[Campaign]:
    """Those in which a person may take the next item, as on the page."""
    if user.role not in WORKERS:
        return Campaign.objects.none()
    return Campaign.objects.filter(open_now())


def visible_assignments(user: User) -> QuerySet[Assignment]:
    return my_assignments(user).select_related("item__campaign", "item__query", "rater")


def mine(request: Request, uid: uuid.UUID) -> Assignment:
    return get_object_or_404(visible_assignments(person(request)), uid=uid)
