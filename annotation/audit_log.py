"""The audit trail as pages and the API show it: search, wording, and answer counts.

Admins see all events, and researchers those of their campaigns. A campaign's trail never connects a
pseudonym with an account. A person's acts as a rater are shown under the pseudonym. Other acts are
shown under the account's name if it belongs to a researcher or an admin, and as "an annotator"
otherwise. Filters accept only these names.

First answers are not events. A response never changes and has its rater and time, and writing it
twice would double the cost of a save. Instead the number of a campaign's answers is recorded before
each seal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from django.db.models import Count, Max, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.models import Campaign, Rater, Response, User
from annotation.people.membership import find_readable
from audit.models import SITE, Event, Seal
from audit.recording import EVENTS, record
from datasets.access import READERS
from datasets.db.locks import brief_transaction, wait_for_turn

BY_RATER = tuple(name for name, kind in EVENTS.items() if kind.by_rater)


@dataclass(frozen=True)
class EventFilter:
    """A filter for events. Empty fields select all. `before` is the id of a later event."""

    event: str = ""
    person: str = ""
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None


def visible_events(user: User, campaign: Campaign | None = None) -> QuerySet[Event]:
    """Return all events for an admin, or those of a campaign that the account may read."""
    if campaign is None:
        return Event.objects.all() if user.role == User.Role.ADMIN else Event.objects.none()
    if find_readable(user, campaign.pk) is None:
        return Event.objects.none()
    return Event.objects.filter(campaign=campaign.pk)


def filter_events(rows: QuerySet[Event], filters: EventFilter, whole: bool) -> QuerySet[Event]:
    """Filter events, the newest first, each with the number of its `seal`.

    `whole` selects the admin's trail, which has the names of all accounts.
    """
    if filters.event:
        rows = rows.filter(event=filters.event)
    if filters.person:
        rows = rows.filter(_account(filters.person) if whole else _shown_under(filters.person))
    if filters.since:
        rows = rows.filter(at__gte=filters.since)
    if filters.until:
        rows = rows.filter(at__lte=filters.until)
    if filters.before is not None:
        rows = rows.filter(pk__lt=filters.before)
    return rows.annotate(seal=Subquery(_seals().values("number")[:1])).order_by("-pk")


def _seals() -> QuerySet[Seal]:
    chain, last = Coalesce(OuterRef("campaign"), SITE), OuterRef("pk")
    return Seal.objects.filter(chain=chain, last__gte=last, since__lt=last)


def _account(name: str) -> Q:
    return Q(who__in=User.objects.filter(username=name).values("pk"))


def _shown_under(name: str) -> Q:
    """Select the events shown under this name, so that the filter reveals no more than the list."""
    raters = User.objects.filter(rater__name=name).values("pk")
    staff = User.objects.filter(username=name, role__in=READERS).values("pk")
    by_rater = Q(event__in=BY_RATER)
    return (by_rater & Q(who__in=raters)) | (~by_rater & Q(who__in=staff))


COUNTED = "answers.counted"
LOCK = 0x7A6E_0A0F


def count_answers() -> int:
    """Record the number of answers by channel, for each campaign with new ones since the last call.

    Returns the number of these campaigns. Of several processes that count at once, one records.
    """
    before = _last_count()
    new = Response.objects.filter(pk__gt=before.facts["upto"] if before else 0).order_by()
    newest = dict(new.values_list("assignment__item__campaign").annotate(last=Max("pk")))
    # Counted before the transaction, since on SQLite nobody can save during one.
    found = {campaign: _count_by_channel(campaign) for campaign in sorted(newest)}
    with brief_transaction():
        wait_for_turn(LOCK)
        if _last_count() != before:
            return 0
        for campaign, counted in found.items():
            facts = {"upto": max(newest.values()), **counted}
            record(COUNTED, campaign, ("campaign", campaign), **facts)
    return len(found)


def _last_count() -> Event | None:
    return Event.objects.filter(event=COUNTED).order_by("-pk").first()


def _count_by_channel(campaign: int) -> dict[str, Any]:
    rows = Response.objects.filter(assignment__item__campaign=campaign).order_by()
    return dict(rows.values_list("door").annotate(n=Count("pk")))


CHANGES = (
    "campaign.terms",
    "campaign.people",
    "campaign.opened",
    "campaign.archived",
    "campaign.restored",
    "campaign.closed",
    "member.added",
    "member.ended",
    "exclusion.made",
    "exclusion.undone",
    "places.freed",
    "known.set",
    "admission.made",
    "prolific.study",
    "labels.imported",
    "team.moved",
    "team.shared",
    "team.unshared",
)
"""The events that change a campaign which people may be working in."""
MOST_CHANGES = 20


def changes_of(campaign: Campaign) -> list[ShownEvent]:
    """Return a campaign's latest changes, newest first, without its creation and first opening."""
    rows = Event.objects.filter(campaign=campaign.pk)
    created = rows.filter(event="campaign.made").aggregate(first=Min("pk"))["first"] or 0
    changed = rows.filter(event__in=CHANGES, pk__gt=created).order_by("-pk")[:MOST_CHANGES]
    return list(describe_events(changed, whole=False))


CHUNK = 500
NOBODY = "nobody logged in"
COMMAND = "a command or worker"
KINDS = {"prolificstudy": "Prolific study", "judgerun": "run", "frozenreport": "frozen report"}


@dataclass(frozen=True)
class ShownEvent:
    """One event as it is shown. `object` is the name of the thing that it is about."""

    event: Event
    who: str
    object: str

    @property
    def title(self) -> str:
        return EVENTS[self.event.event].title if self.event.event in EVENTS else self.event.event

    @property
    def of(self) -> str:
        """Return the name of the event's object, in the words of the pages."""
        kind = self.event.object_kind
        return f"{KINDS[kind]} {self.event.object_id}" if kind in KINDS else self.object

    @property
    def facts(self) -> list[str]:
        """The event's further facts, without empty ones."""
        known = {name: fact for name, fact in self.event.facts.items() if fact is not None}
        return [f"{name.replace('_', ' ')} {_word(fact)}" for name, fact in known.items()]

    @property
    def seal(self) -> int | None:
        number: int | None = getattr(self.event, "seal", None)
        return number

    def as_json(self) -> dict[str, Any]:
        event = self.event
        return {
            "id": event.pk,
            "at": event.at.isoformat(),
            "event": event.event,
            "who": self.who,
            "object": self.object,
            "campaign": event.campaign,
            "facts": event.facts,
            "before": event.before or None,
            "after": event.after or None,
            "request": event.request or None,
            "address": event.address or None,
            "seal": self.seal,
        }


def describe_events(events: Iterable[Event], whole: bool) -> Iterator[ShownEvent]:
    """Yield the events with names. `whole` is the admin's trail, with the names of all accounts."""
    waiting = iter(events)
    while chunk := list(islice(waiting, CHUNK)):
        names = _Names(chunk, whole)
        yield from (ShownEvent(event, names.who(event), names.object(event)) for event in chunk)


class _Names:
    """The people and raters in some events, looked up together."""

    def __init__(self, events: Sequence[Event], whole: bool) -> None:
        self.whole = whole
        people: set[Any] = {event.who for event in events} | _ids(events, "account")
        users = User.objects.filter(pk__in=people).select_related("rater")
        self.users = {user.pk: user for user in users}
        raters = Rater.objects.filter(pk__in=_ids(events, "rater"))
        self.raters = {rater.pk: rater.name for rater in raters}

    def who(self, event: Event) -> str:
        if event.who is None:
            return COMMAND if event.address == "command" else NOBODY
        by_rater = event.event in EVENTS and EVENTS[event.event].by_rater
        return self._rater(event.who) if by_rater and not self.whole else self._account(event.who)

    def object(self, event: Event) -> str:
        kind, key = event.object_kind, event.object_id
        if kind == "account" and key:
            return self._account(int(key))
        if kind == "rater" and key:
            return self.raters.get(int(key), f"rater {key}, deleted")
        return f"{kind} {key}".strip()

    def _account(self, pk: int) -> str:
        user = self.users.get(pk)
        if user is None:
            return f"account {pk}, deleted" if self.whole else "a deleted account"
        return user.username if self.whole or user.role in READERS else "an annotator"

    def _rater(self, pk: int) -> str:
        rater = getattr(self.users.get(pk), "rater", None)
        return rater.name if rater else "a deleted account"


def _ids(events: Sequence[Event], kind: str) -> set[int]:
    return {int(each.object_id) for each in events if each.object_kind == kind and each.object_id}


def _word(fact: object) -> str:
    return {True: "yes", False: "no"}.get(fact, str(fact)) if isinstance(fact, bool) else str(fact)
