"""The campaigns and assignments that an account may see: the API finds them only here."""

from __future__ import annotations

import uuid

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.shortcuts import get_object_or_404
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request

from annotation.access import is_blind, my_assignments
from annotation.adjudication.disputes import adjudicable
from annotation.assignments.queue import reclaim
from annotation.campaigns.settings import open_now
from annotation.models import Assignment, Campaign, Item, User
from annotation.people.leases import EXPIRED
from annotation.people.membership import readable, workable
from annotation.progress.counts import with_counts
from datasets.access import READERS, WORKERS
from datasets.api.errors import BlindError, RefusedBodyError, problem

GONE = "the time for this item ran out and somebody else has it now; take the next one"

COUNTED = (Item.Use.STUDY, Item.Use.PRACTICE)
"""What makes a campaign somebody's: gold items come beside others, and never by themselves."""


def person(request: Request) -> User:
    if not isinstance(request.user, User):
        raise NotAuthenticated
    return request.user


def visible_campaigns(user: User) -> QuerySet[Campaign]:
    """For those who read studies those that are theirs to read; for annotators those with an item
    of theirs or for them."""
    if user.role in READERS:
        return with_counts(readable(user)).order_by("name")
    mine = my_assignments(user).filter(item__campaign=OuterRef("pk"))
    free = Item.objects.filter(
        campaign=OuterRef("pk"), taken__lt=F("quota"), use__in=COUNTED
    ).exclude(assignments__rater__user=user)
    may_take = Q(Exists(free), open_now(), pk__in=workable(user).values("pk"))
    theirs = Campaign.objects.filter(Exists(mine) | may_take)
    return theirs.order_by("name")


def visible_studies(user: User) -> QuerySet[Campaign]:
    """The campaigns whose units, answers and reports an account may read."""
    if user.role not in READERS:
        return Campaign.objects.none()
    return readable(user).select_related("batch")


def campaign_named(user: User, pk: int, refused: str) -> Campaign:
    """Return a campaign that a body names. Raises RefusedBodyError if it is none of the account's.

    `refused` says what is not done then.
    """
    found = visible_studies(user).filter(pk=pk).first()
    if found is None:
        wrong = [problem("names no campaign of yours; see the list of campaigns", "campaign")]
        raise RefusedBodyError(refused, wrong)
    return found


def check_blind(user: User, campaign: Campaign) -> None:
    """Whoever has an item of a campaign before him sees no one else's answers to it first."""
    if is_blind(user, campaign):
        raise BlindError(
            "you have an open item in this campaign; answer it before you read what others said"
        )


def visible_adjudications(user: User) -> QuerySet[Campaign]:
    """The campaigns that an account adjudicates."""
    return adjudicable(user)


def visible_open_campaigns(user: User) -> QuerySet[Campaign]:
    """Those in which a person may take the next item, as on the page."""
    if user.role not in WORKERS:
        return Campaign.objects.none()
    return workable(user).filter(open_now())


def visible_assignments(user: User) -> QuerySet[Assignment]:
    return my_assignments(user).select_related("item__campaign", "item__query", "rater")


def visible_expired(user: User) -> QuerySet[Assignment]:
    """One's own places that went back when their time had run out."""
    rows = Assignment.objects.filter(rater__user=user, replicate=0, scope="", **EXPIRED)
    return rows.select_related("item__campaign", "item__query", "rater")


def mine(request: Request, uid: uuid.UUID) -> Assignment:
    return get_object_or_404(visible_assignments(person(request)), uid=uid)


def still_mine(request: Request, uid: uuid.UUID) -> Assignment:
    """The same for an answer: a place that went back is taken again, if it is free."""
    user = person(request)
    found = visible_assignments(user).filter(uid=uid).first()
    if found is not None:
        return found
    late = get_object_or_404(visible_expired(user), uid=uid)
    if not reclaim(late):
        raise RefusedBodyError(GONE)
    return late
