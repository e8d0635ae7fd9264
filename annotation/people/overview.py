"""What the pages and the API tell of people: accounts, and those who answer in a campaign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, Min, Q, QuerySet

from annotation.models import Assignment, Campaign, Exclusion, Invitation, Rater, User
from annotation.people.members import readable


@dataclass(frozen=True)
class Answering:
    """A rater in a campaign: items answered, places held, since and until when, and why it is out.

    `held_until` is the time of the first place to go back; None where they are held for good.
    """

    rater: int
    name: str
    kind: str
    done: int
    held: int
    since: datetime | None
    held_until: datetime | None
    excluded: Exclusion | None


def answering(campaign: Campaign) -> list[Answering]:
    """Everybody who has an answer or a place in a campaign, people first, by their pseudonyms."""
    held = Q(status=Assignment.Status.OPEN, slot__isnull=False)
    rows = (
        Assignment.objects.filter(item__campaign=campaign)
        .exclude(rater__kind=Rater.Kind.TRIAL)
        .order_by()
        .values("rater", name=F("rater__name"), kind=F("rater__kind"))
        .annotate(
            done=Count("pk", filter=Q(status=Assignment.Status.DONE)),
            held=Count("pk", filter=held),
            since=Min("created_at", filter=held),
            held_until=Min("held_until", filter=held),
        )
    )
    out = standing_exclusions(campaign)
    found = [Answering(**row, excluded=out.get(row["rater"])) for row in rows]
    kinds = list(Rater.Kind.values)
    return sorted(found, key=lambda each: (kinds.index(each.kind), each.name))


def standing_exclusions(campaign: Campaign) -> Mapping[int, Exclusion]:
    rows = campaign.exclusions.filter(undone_at=None).select_related("by")
    return {each.rater_id: each for each in rows}


def accounts(guests: bool = False) -> QuerySet[User]:
    """Accounts by name, with their raters and the number of campaigns that they have a role in."""
    rows = User.objects.filter(is_guest=guests).select_related("rater")
    there = Q(memberships__ended_at=None)
    return rows.annotate(campaigns=Count("memberships", filter=there)).order_by("username")


def invitations_of(user: User) -> QuerySet[Invitation]:
    """The invitations that an account may see and take back, the newest first."""
    rows = Invitation.objects.select_related("campaign", "by", "used_by")
    if user.role == User.Role.ADMIN:
        return rows
    return rows.filter(campaign__in=readable(user))
