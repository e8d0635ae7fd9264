"""Access: the account of a request, and the campaigns, people and assignments that it may see.

Pages and the API look objects up only through these functions and `annotation.people.membership`.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.core.exceptions import PermissionDenied
from django.db.models import (
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    UUIDField,
)
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from annotation.campaigns.changes import open_now
from annotation.campaigns.settings import SETTINGS
from annotation.models import CARRIED, REVOKED, Assignment, Campaign, Item, Rater, Unit, User
from annotation.people.leases import EXPIRED
from annotation.people.membership import find_readable, may_manage, readable, workable
from annotation.progress.counts import with_counts
from datasets.access import READERS, NotManagedError, found_or_404
from datasets.db.prepared import Parameter, PreparedModels

VISIBLE_STATUSES = (Assignment.Status.OPEN, Assignment.Status.DONE)
ASSIGNABLE_USES = (Item.Use.STUDY, Item.Use.PRACTICE)
"""The uses of items for which a campaign is listed. Gold items only come among other items."""


def get_account(request: HttpRequest | Request) -> User:
    """Return the account of a request that its role has admitted."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def readable_campaign(request: HttpRequest | Request, pk: int) -> Campaign:
    """Return a campaign that the account may read. Raises Http404 for any other."""
    return found_or_404(find_readable(get_account(request), pk))


def managed_campaign(request: HttpRequest | Request, pk: int, lock: bool = False) -> Campaign:
    """Return a campaign that the account may change, locked if asked to.

    Raises Http404 if it may not read it, and NotManagedError if it may only read it.
    """
    campaign = readable_campaign(request, pk)
    check_managed_campaign(get_account(request), campaign)
    if lock:
        rows = Campaign.objects.select_for_update(of=("self",))
        return get_object_or_404(rows, pk=campaign.pk)
    return campaign


def check_managed_campaign(user: User, campaign: Campaign) -> None:
    """Raise NotManagedError unless the account may change a campaign that it may read."""
    if not may_manage(user, campaign.pk):
        raise NotManagedError


def open_campaigns(user: User) -> QuerySet[Campaign]:
    """Return the campaigns in which a person may take the next item now."""
    return workable(user).filter(open_now(), raters_per_item__gt=0)


def intake_campaigns(user: User) -> QuerySet[Campaign]:
    """Return the open campaigns of a person, and those in which they agreed to a consent text.

    A person who no longer takes part may still revoke.
    """
    agreed = Campaign.objects.filter(consent_texts__consents__rater__user=user)
    mine = Q(pk__in=open_campaigns(user).values("pk")) | Q(pk__in=agreed.values("pk"))
    return Campaign.objects.filter(mine)


def visible_campaigns(user: User) -> QuerySet[Campaign]:
    """Return the campaigns on an account's list.

    Researchers and admins get those that they may read, with counts. Annotators get those in which
    they have an item or may take one.
    """
    if user.role in READERS:
        rows = with_counts(readable(user)).select_related("batch", "team", "made_by")
        return rows.order_by("name")
    mine = my_assignments(user).filter(item__campaign=OuterRef("pk"))
    had = Assignment.objects.filter(item=OuterRef("pk"), rater__user=user).exclude(scope=CARRIED)
    free = Item.objects.filter(
        campaign=OuterRef("pk"), taken__lt=F("quota"), use__in=ASSIGNABLE_USES
    ).filter(~Exists(had))
    may_take = Q(Exists(free), pk__in=open_campaigns(user).values("pk"))
    return Campaign.objects.filter(Exists(mine) | may_take).order_by("name")


def visible_accounts(user: User) -> QuerySet[User]:
    """Return all accounts and guests for an admin, and none for others."""
    if user.role != User.Role.ADMIN:
        return User.objects.none()
    return User.objects.select_related("rater").order_by("username")


def visible_raters(campaign: Campaign) -> QuerySet[Rater]:
    """Return the raters with an assignment in a campaign, so that no other name leaks."""
    raters = Rater.objects.exclude(kind=Rater.Kind.TRIAL)
    return raters.filter(assignments__item__campaign=campaign).distinct()


def visible_items(campaign: Campaign) -> QuerySet[Item]:
    """Return the items of a campaign in order, with `units_total`, the number of their units."""
    # Units are counted only for the items of a page; a join would group the whole campaign each
    # time.
    units = Unit.objects.filter(item=OuterRef("pk")).order_by().values("item")
    number = Subquery(units.annotate(n=Count("pk")).values("n"), IntegerField())
    items = campaign.items.select_related("query", "report")
    return items.annotate(units_total=Coalesce(number, 0)).order_by("position")


def visible_assignments(campaign: Campaign) -> QuerySet[Assignment]:
    """Return all assignments in a campaign, except those of trials."""
    rows = Assignment.objects.filter(item__campaign=campaign)
    rows = rows.exclude(rater__kind=Rater.Kind.TRIAL).select_related("item", "rater")
    return rows.order_by("item__position", "pk")


def my_assignments(user: User) -> QuerySet[Assignment]:
    return own(Assignment.objects.filter(rater__user=user))


def my_expired_assignments(user: User) -> QuerySet[Assignment]:
    """Return a person's assignments whose lease expired, which a late answer may still take."""
    return Assignment.objects.filter(rater__user=user, replicate=0, scope="", **EXPIRED)


def my_declined_assignments(user: User) -> QuerySet[Assignment]:
    """Return the items that a person said they cannot judge."""
    mine = Assignment.objects.filter(rater__user=user, replicate=0, scope="")
    return mine.filter(status=Assignment.Status.DECLINED)


def is_blind(user: User, campaign: Campaign) -> bool:
    """Whether a person has an open item in the campaign, and so may not see others' answers."""
    begun = my_assignments(user).filter(item__campaign=campaign, status=Assignment.Status.OPEN)
    return campaign.is_open and begun.exists()


def may_read(user: User, campaign: int) -> bool:
    """Return whether a person may read others' answers in a campaign, by key, now."""
    found = find_readable(user, campaign)
    return found is not None and not is_blind(user, found)


def own(assignments: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """Select the assignments that pages show, without partial imports and repetitions."""
    return assignments.filter(replicate=0, scope="", status__in=VISIBLE_STATUSES)


def _my_assignment_query() -> QuerySet[Assignment]:
    return own(
        Assignment.objects.filter(rater__user=Parameter("user"), uid=Parameter("uid", UUIDField()))
    )


def _my_returned_query() -> QuerySet[Assignment]:
    mine = Assignment.objects.filter(
        rater__user=Parameter("user"), uid=Parameter("uid", UUIDField())
    )
    # Answers that were revoked are closed, and nothing may be added to them.
    return mine.filter(replicate=0, scope="").exclude(reason=REVOKED)


def _with_neighbours_query() -> QuerySet[Assignment]:
    """Select a person's assignment with the previous and next one, in the order of assignment.

    In the campaign's order, a gold item would be recognisable by its number.
    """
    mine = own(
        Assignment.objects.filter(
            rater=OuterRef("rater"), item__campaign=OuterRef("item__campaign")
        )
    )
    before = mine.filter(pk__lt=OuterRef("pk")).order_by("-pk")
    after = mine.filter(pk__gt=OuterRef("pk")).order_by("pk")
    so_many = before.order_by().values("item__campaign").annotate(n=Count("pk")).values("n")
    return _my_assignment_query().annotate(
        previous=Subquery(before.values("uid")[:1]),
        following=Subquery(after.values("uid")[:1]),
        before=Coalesce(Subquery(so_many), 0),
    )


COLUMNS = {
    "": (
        "id",
        "uid",
        "item_id",
        "rater_id",
        "asked",
        "shown",
        "status",
        "reason",
        "seconds",
        "assisted_by",
    ),
    "item": (
        "id",
        "campaign_id",
        "key",
        "position",
        "query_id",
        "shown_passages",
        "passage_uses",
        "use",
    ),
    "item__campaign": (
        "id",
        "name",
        "protocol",
        "protocol_version",
        "protocol_file_id",
        "raters_per_item",
        "overlap",
        "human_share",
        "options",
        "is_open",
        "is_archived",
        "pool",
        "hold_minutes",
        "items_per_person",
        "continues_id",
        "has_shares",
        "has_plan",
        "created_at",
        *(setting.attname for setting in SETTINGS if setting.column),
    ),
    "item__query": ("id", "key", "text", "history", "asked_at", "references", "meta"),
    "rater": ("id", "name"),
}
_one = PreparedModels(
    lambda: own(
        Assignment.objects.filter(rater__user=Parameter("user"), uid=Parameter("uid", UUIDField()))
    ),
    COLUMNS,
)
_one_ever = PreparedModels(_my_returned_query, COLUMNS)
_one_with_neighbours = PreparedModels(
    _with_neighbours_query, COLUMNS, ("previous", "following", "before")
)


def my_assignment(user: User, uid: uuid.UUID) -> Assignment:
    """Return a person's own assignment, with its item and campaign. Raises Http404 for others."""
    return found_or_404(_one.first(user=user.pk, uid=uid))[0]


def ever_my_assignment(user: User, uid: uuid.UUID) -> Assignment:
    """Like `my_assignment`, but also for a released one, so that late work is not lost."""
    return found_or_404(_one_ever.first(user=user.pk, uid=uid))[0]


@dataclass(frozen=True)
class Neighbours:
    """A person's previous and next assignment, and the number of this one among them."""

    previous: uuid.UUID | None
    following: uuid.UUID | None
    number: int


def with_neighbours(user: User, uid: uuid.UUID) -> tuple[Assignment, Neighbours]:
    """Like `my_assignment`, with its neighbours."""
    found = found_or_404(_one_with_neighbours.first(user=user.pk, uid=uid))
    assignment, (previous, following, before) = found
    return assignment, Neighbours(previous, following, before + 1)
