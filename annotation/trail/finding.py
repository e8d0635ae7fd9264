"""Which events are meant: the filters of the pages and of the API."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.models import Campaign, User
from annotation.people.members import readable
from audit.models import SITE, Event, Seal
from audit.recording import EVENTS

STAFF = (User.Role.RESEARCHER, User.Role.ADMIN)
BY_RATER = tuple(name for name, kind in EVENTS.items() if kind.by_rater)


@dataclass(frozen=True)
class Wanted:
    """Empty is all. `before` is an event's id: those that came earlier."""

    event: str = ""
    person: str = ""
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None


def visible_events(user: User, campaign: Campaign | None = None) -> QuerySet[Event]:
    """All events for an admin; of a campaign, for whoever may read it."""
    if campaign is None:
        return Event.objects.all() if user.role == User.Role.ADMIN else Event.objects.none()
    if not readable(user).filter(pk=campaign.pk).exists():
        return Event.objects.none()
    return Event.objects.filter(campaign=campaign.pk)


def found(rows: QuerySet[Event], wanted: Wanted, whole: bool) -> QuerySet[Event]:
    """The newest first, each with the number of its `seal`; `whole` is the admin's trail."""
    if wanted.event:
        rows = rows.filter(event=wanted.event)
    if wanted.person:
        rows = rows.filter(_account(wanted.person) if whole else _shown(wanted.person))
    if wanted.since:
        rows = rows.filter(at__gte=wanted.since)
    if wanted.until:
        rows = rows.filter(at__lte=wanted.until)
    if wanted.before is not None:
        rows = rows.filter(pk__lt=wanted.before)
    return rows.annotate(seal=Subquery(_seals().values("number")[:1])).order_by("-pk")


def _seals() -> QuerySet[Seal]:
    chain, last = Coalesce(OuterRef("campaign"), SITE), OuterRef("pk")
    return Seal.objects.filter(chain=chain, last__gte=last, since__lt=last).order_by("last")


def _account(name: str) -> Q:
    return Q(who__in=User.objects.filter(username=name).values("pk"))


def _shown(name: str) -> Q:
    """Whoever is shown by this name: the filter tells no more than the list."""
    raters = User.objects.filter(rater__name=name).values("pk")
    staff = User.objects.filter(username=name, role__in=STAFF).values("pk")
    by_rater = Q(event__in=BY_RATER)
    return (by_rater & Q(who__in=raters)) | (~by_rater & Q(who__in=staff))
