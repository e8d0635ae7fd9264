"""Events in words: who, what, of what, and whether it is sealed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from annotation.models import Rater, User
from annotation.trail.finding import STAFF
from audit.models import Event
from audit.recording import EVENTS

CHUNK = 500
NOBODY = "nobody logged in"
COMMAND = "a command or worker"
KINDS = {"prolificstudy": "Prolific study", "judgerun": "run", "frozenreport": "frozen report"}


@dataclass(frozen=True)
class Told:
    """One event as it is shown. `object` is what it happened to, by a name where it has one."""

    event: Event
    who: str
    object: str

    @property
    def title(self) -> str:
        return EVENTS[self.event.event].title if self.event.event in EVENTS else self.event.event

    @property
    def of(self) -> str:
        """`object` as people call it."""
        kind = self.event.object_kind
        return f"{KINDS[kind]} {self.event.object_id}" if kind in KINDS else self.object

    @property
    def facts(self) -> list[str]:
        """What was noted besides, without what is not there."""
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


def told(events: Iterable[Event], whole: bool) -> Iterator[Told]:
    """The events with names; `whole` is the admin's trail, which names all accounts."""
    waiting = iter(events)
    while chunk := list(islice(waiting, CHUNK)):
        names = _Names(chunk, whole)
        yield from (Told(event, names.who(event), names.object(event)) for event in chunk)


class _Names:
    """The people and raters that some events name, looked up together."""

    def __init__(self, events: Sequence[Event], whole: bool) -> None:
        self.whole = whole
        people = {event.who for event in events if event.who is not None}
        people |= _ids(events, "account")
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
        return user.username if self.whole or user.role in STAFF else "an annotator"

    def _rater(self, pk: int) -> str:
        rater = getattr(self.users.get(pk), "rater", None)
        return rater.name if rater else "a deleted account"


def _ids(events: Sequence[Event], kind: str) -> set[int]:
    return {int(each.object_id) for each in events if each.object_kind == kind and each.object_id}


def _word(fact: object) -> str:
    return {True: "yes", False: "no"}.get(fact, str(fact)) if isinstance(fact, bool) else str(fact)
