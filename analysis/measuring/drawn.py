"""Which queries were drawn for people, with which chance, and whether people are through with them.

Only evaluation queries take people and judges together, where queries have roles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from django.db.models import Exists, OuterRef

from analysis.measures.powered import Labelled
from analysis.statistics import Bools, Floats
from annotation.campaigns.sampling import EVALUATION
from annotation.models import Campaign, Item, QueryDraw, Response
from annotation.people.membership import excluded

NO_DRAW = "no draw of the queries for people is stored"


@dataclass(frozen=True)
class Drawn:
    """`chances` are those with which people were asked about each evaluation query, by its id.

    `asked` are those that were drawn, `unfinished` those of them that people still owe.
    """

    chances: Mapping[str, float] = field(default_factory=dict)
    asked: frozenset[str] = frozenset()
    unfinished: frozenset[str] = frozenset()

    def among(self, queries: Sequence[str]) -> Bools:
        """Which queries (Q,) take people and judges together; all where no draw is stored."""
        return np.array([not self.chances or each in self.chances for each in queries], dtype=bool)

    def known(self, queries: int) -> int:
        """How many of so many queries take people and judges together."""
        return len(self.chances) if self.chances else queries

    def labelled(self, queries: Sequence[str], human: Floats, judge: Floats) -> Labelled:
        """Scores (Q, S) of people and a judge on the queries that take both."""
        kept = self.among(queries)
        names = [each for each, there in zip(queries, kept, strict=True) if there]
        asked = np.array([each in self.asked for each in names], dtype=bool)
        chances = np.array([self.chances.get(each, np.nan) for each in names], dtype=float)
        return Labelled(human[kept], judge[kept], asked, chances, self._reason())

    def _reason(self) -> str | None:
        if not self.chances:
            return NO_DRAW
        if self.unfinished:
            of = f"{len(self.unfinished)} of the {len(self.asked)} queries"
            return f"people have not finished {of} that were drawn for them"
        return None


def drawn_queries(campaign: Campaign) -> Drawn:
    """What is stored of a campaign's draw."""
    rows = list(
        QueryDraw.objects.filter(campaign=campaign).values_list(
            "query__key", "probability", "drawn", "role", "role_probability"
        )
    )
    kept = {drawn: _kept([r for r in rows if r[2] is drawn]) for drawn in (True, False)}
    evaluated = [row for row in rows if row[3] == EVALUATION]
    asked = frozenset(key for key, _, drawn, *_ in evaluated if drawn)
    return Drawn(
        {key: given_role(chance, kept[True], kept[False]) for key, chance, *_ in evaluated},
        asked,
        frozenset(_unfinished(campaign)) & asked,
    )


def given_role(chance: float, asked: float, others: float) -> float:
    """The chance to be asked of a query that is known to be for evaluation (Bayes' rule).

    `asked` and `others` are the chances to become that among the queries that people are asked and
    among the others: roles are drawn apart there.
    """
    return chance * asked / (chance * asked + (1 - chance) * others)


def _kept(rows: Sequence[tuple[str, float, bool, str, float]]) -> float:
    """The chance of an evaluation query's role among rows that were drawn alike."""
    return next((chance for *_, role, chance in rows if role == EVALUATION), 1.0)


def _unfinished(campaign: Campaign) -> set[str]:
    """The queries with an item that nobody who counts has answered."""
    answers = Response.objects.filter(
        current=True, assignment__item=OuterRef("pk"), assignment__rater__kind="human"
    ).exclude(assignment__rater__name__in=list(excluded(campaign.name)))
    items = Item.objects.filter(campaign=campaign, use=Item.Use.STUDY)
    return set(items.exclude(Exists(answers)).values_list("query__key", flat=True))
