"""Whether an event of the trail explains that an object was changed, added or deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Q

from audit.models import Event
from audit.sealed.kinds import CAMPAIGN, Kind


def unexplained(
    kind: Kind, columns: Iterable[str], scope: Mapping[str, Any], since: int
) -> list[str]:
    """Return the columns whose change no event after `since` explains."""
    wanted = {name: frozenset(kind.events_of.get(name, ())) for name in columns}
    if not any(wanted.values()):
        return list(wanted)
    there = _events(kind, frozenset().union(*wanted.values()), scope, since)
    return [name for name, events in wanted.items() if not events & there]


def is_explained(kind: Kind, events: Iterable[str], scope: Mapping[str, Any], since: int) -> bool:
    """Return whether an event after `since` explains that the object was added or deleted."""
    return bool(_events(kind, frozenset(events), scope, since))


def _events(
    kind: Kind, events: frozenset[str], scope: Mapping[str, Any], since: int
) -> frozenset[str]:
    if not events:
        return frozenset()
    rows = Event.objects.filter(pk__gt=since, event__in=events)
    found = rows.filter(concerning(kind, scope)).order_by().values_list("event", flat=True)
    return frozenset(found.distinct())


def concerning(kind: Kind, scope: Mapping[str, Any]) -> Q:
    """Return a condition on events: they name the object, or something else in its campaign."""
    other = ~Q(object_kind__in=[*kind.scope])
    if CAMPAIGN in kind.scope:
        other &= Q(campaign=scope.get(CAMPAIGN))
    for name, value in scope.items():
        other |= Q(object_kind=name, object_id=str(value))
    return other
