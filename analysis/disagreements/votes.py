"""The labels of one variable by unit: what each person and each judge said."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from threading import Lock

from cachetools import LRUCache

from analysis.campaigns.cache import state_of
from annotation.adjudication.disputes import counted
from annotation.models import Campaign, Rater
from annotation.presentation import schema

_CACHED: LRUCache[str, list[Votes]] = LRUCache(8)
_LOCK = Lock()


@dataclass(slots=True)
class Votes:
    """What raters said of a unit. `position` is the item's and the unit's in the campaign.

    `escapes` are answers that are no category, and so no part of a majority.
    """

    unit: int
    position: tuple[int, int]
    query: int
    system: str
    escapes: frozenset[str] = frozenset()
    people: dict[str, str] = field(default_factory=dict)
    judges: dict[str, str] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)

    @property
    def majority(self) -> str | None:
        """The most frequent category of people, None without one or on a tie."""
        given = (value for value in self.people.values() if value not in self.escapes)
        most = Counter(given).most_common(2)
        if not most or (len(most) == 2 and most[0][1] == most[1][1]):
            return None
        return most[0][0]

    @property
    def dissent(self) -> float:
        """The share of people whose label is not the most frequent one, from 0, all alike."""
        if not self.people:
            return 0.0
        most = Counter(self.people.values()).most_common(1)[0][1]
        return 1 - most / len(self.people)


def votes_of(campaign: Campaign, variable: str) -> list[Votes]:
    """Return the units of a variable that anybody labelled, in the campaign's order.

    Excluded raters, replicates and labels given with a judge's in view are left out. The list is
    kept in memory while the campaign's labels stay the same.
    """
    _, key = state_of(campaign, "disagreements", variable)
    with _LOCK:
        if key in _CACHED:
            return _CACHED[key]
    found = _read(campaign, variable)
    with _LOCK:
        _CACHED[key] = found
    return found


def _read(campaign: Campaign, variable: str) -> list[Votes]:
    rows = (
        counted(campaign)
        .filter(variable=variable)
        .values_list(
            "unit_id",
            "unit__item__position",
            "unit__position",
            "unit__item__query_id",
            "unit__item__report__system",
            "response__assignment__rater__name",
            "response__assignment__rater__kind",
            "value",
            "score",
        )
    )
    asked = schema(campaign).variables
    escapes = frozenset(code for v in asked if v.name == variable for code in v.escapes)
    units: dict[int, Votes] = {}
    for unit, item, place, query, system, name, kind, value, score in rows.iterator(5000):
        votes = units.get(unit)
        if votes is None:
            votes = units[unit] = Votes(unit, (item, place), query, system or "", escapes)
        if kind == Rater.Kind.HUMAN:
            votes.people[name] = value
            continue
        votes.judges[name] = value
        if score is not None:
            votes.scores[name] = score
    return sorted(units.values(), key=lambda each: each.position)
