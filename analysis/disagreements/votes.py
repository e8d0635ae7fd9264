"""The labels of one variable by unit: what each person and each judge said."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from annotation.adjudication.disputes import counted
from annotation.models import Campaign, Rater
from annotation.presentation import schema
from datasets.jobs.guard import for_workers


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

    def as_json(self) -> list[Any]:
        values = (self.unit, self.position, self.query, self.system)
        return [*values, self.people, self.judges, self.scores]

    @classmethod
    def from_json(cls, values: list[Any], escapes: frozenset[str]) -> Votes:
        unit, position, query, system, people, judges, scores = values
        return cls(unit, tuple(position), query, system, escapes, people, judges, scores)


@for_workers
def votes_of(campaign: Campaign, variable: str) -> list[Votes]:
    """Return the units of a variable that anybody labelled, in the campaign's order.

    Excluded raters, replicates and labels given with a judge's in view are left out.
    """
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
    escapes = escapes_of(campaign, variable)
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


def escapes_of(campaign: Campaign, variable: str) -> frozenset[str]:
    """Return the answers of a variable that are no category."""
    asked = schema(campaign).variables
    return frozenset(code for v in asked if v.name == variable for code in v.escapes)
