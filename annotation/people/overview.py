"""What the pages and the API tell of people: accounts, and those who answer in a campaign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min, Q, QuerySet

from annotation.models import Campaign, Exclusion, Invitation, Rater, User
from annotation.people.leases import held
from annotation.people.members import readable
from annotation.tallies.reading import answers_by_rater


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
    numbers = answers_by_rater(campaign)
    raters = Rater.objects.filter(pk__in=numbers).exclude(kind=Rater.Kind.TRIAL)
    times, out = _times_of_places(campaign), standing_exclusions(campaign)
    found = []
    for pk, name, kind in raters.values_list("pk", "name", "kind"):
        done, places = _with(numbers[pk], "done"), _with(numbers[pk], "open", "placed")
        since, until = times.get(pk, (None, None))
        found.append(Answering(pk, name, kind, done, places, since, until, out.get(pk)))
    kinds = list(Rater.Kind.values)
    return sorted(found, key=lambda each: (kinds.index(each.kind), each.name))


def _with(numbers: Mapping[str, int], *words: str) -> int:
    """The sum of what is under all of these words."""
    return sum(n for what, n in numbers.items() if set(words) <= set(what.split("/")))


def _times_of_places(campaign: Campaign) -> dict[int, tuple[datetime, datetime | None]]:
    """Since when somebody holds a place, and until when the first of them."""
    rows = held(campaign).order_by().values_list("rater")
    times = rows.annotate(since=Min("created_at"), until=Min("held_until"))
    return {pk: (since, until) for pk, since, until in times}


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
