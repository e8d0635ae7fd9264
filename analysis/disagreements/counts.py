"""What a disagreement is, and how many there are: the one meaning for tab, first page and list.

A unit is a disagreement in a variable if two people gave it different categories, or if a judge
gave it another category than most people. Escapes are no categories, and labels that the report
leaves out do not count. A decision does not undo a disagreement. The units that an adjudicator is
asked about are counted apart (`annotation.adjudication.disputes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from analysis.disagreements.votes import VoteTable, votes_of
from annotation.models import Campaign
from annotation.presentation import schema
from tandem.statistics import Bools
from tandem.types import JSON


def judge_differs(table: VoteTable, judge: str) -> Bools:
    """Return the units on which a judge's category is not that of most people, (U,)."""
    people, own = table.majority, table.codes_by(judge)
    return np.asarray((people >= 0) & (own >= 0) & (people != own), bool)


def is_disagreement(table: VoteTable) -> Bools:
    """Return the units that are disagreements, (U,)."""
    found = table.people_differ.copy()
    for judge in table.judges:
        found |= judge_differs(table, judge)
    return found


@dataclass(frozen=True)
class Disagreements:
    """The numbers of disagreements in one variable, or in several added up.

    `total` counts each unit of a variable once. On `people` of them people differ among themselves,
    and on `judges`, by name, a judge differs from most people; one unit may be in both.
    """

    total: int = 0
    people: int = 0
    judges: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of_table(cls, table: VoteTable) -> Disagreements:
        judges = {judge: int(judge_differs(table, judge).sum()) for judge in table.judges}
        return cls(int(is_disagreement(table).sum()), int(table.people_differ.sum()), judges)

    @classmethod
    def of_json(cls, found: JSON) -> Disagreements:
        return cls(found["total"], found["people"], found["judges"])

    @property
    def by_judges_alone(self) -> int:
        """On how many people do not differ."""
        return self.total - self.people

    def as_json(self) -> JSON:
        return {"total": self.total, "people": self.people, "judges": dict(self.judges)}


def add_up(found: Iterable[Disagreements]) -> Disagreements:
    """Return the numbers over several variables, whose lists are apart from each other."""
    total, people, judges = 0, 0, dict[str, int]()
    for each in found:
        total, people = total + each.total, people + each.people
        for judge, number in each.judges.items():
            judges[judge] = judges.get(judge, 0) + number
    return Disagreements(total, people, judges)


def count_disagreements(campaign: Campaign) -> dict[str, Disagreements]:
    """Count a campaign's disagreements by variable, in the protocol's order. Reads all labels."""
    names = dict.fromkeys(each.name for each in schema(campaign).variables)
    return {name: Disagreements.of_table(votes_of(campaign, name)) for name in names}


def counts_in(checks: Mapping[str, Any] | None) -> dict[str, Disagreements] | None:
    """Return the numbers by variable from finished checks; None if they have none yet."""
    if checks is None or "disagreements" not in checks:
        return None
    return {name: Disagreements.of_json(of) for name, of in checks["disagreements"].items()}
