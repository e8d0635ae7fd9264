"""Systems compared by people's scores of each query: what is decided, and how many more it takes.

Beside what people decide stand figures that decide nothing: the prediction-powered difference at a
number of queries that was registered before, and each judge's own difference.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from math import inf, isinf
from typing import Literal

import numpy as np

from ..labels.resampling import Scores
from ..scores.agreement import POWERED, Labelled, powered_pairs
from ..statistics import PEOPLE_ALONE, Bools, Estimate, Floats, paired_t, undefined
from ..types import JSON
from .better import SIDES, Difference, More, Standing, standings
from .draws import even_order
from .plan import DELTA

Drawn = Literal["committed", "even", "all", "unknown"]

HOW_DRAWN: Mapping[Drawn, str] = {
    "committed": "drawn evenly at random, in an order that was committed before the first label",
    "even": "drawn evenly at random, as whoever asked says; read in a random order",
    "all": "all that have labels, read as if drawn evenly at random from more queries like them",
    "unknown": "not known to be drawn at random, so they are no evidence",
}
NEVER_DECIDES = "the judge alone never decides"
NO_EVIDENCE = "the labelled queries are not known to be drawn at random"
WHOLE = (-1.0, 1.0)


class UnboundedScoreError(ValueError):
    """A score has no ends, so a difference could be of any size, and nothing can be decided."""


@dataclass(frozen=True)
class QueryScores:
    """Scores in [0, 1] of S systems on Q queries by people and by judges, (Q, S), NaN = none.

    `queries` (Q,) are keys, and `asked` (Q, S) says on which queries a system is judged at all,
    and `answered` (Q, S) where people gave an answer, which may be an escape, without a score.
    """

    name: str
    systems: tuple[str, ...]
    queries: tuple[str, ...]
    people: Floats
    judges: Mapping[str, Floats]
    asked: Bools
    answered: Bools

    @classmethod
    def of(cls, name: str, table: Scores) -> QueryScores:
        """Read the scores of items: their mean over people, queries and the scale's range.

        Raises UnboundedScoreError if the ends of the scale are unknown.
        """
        low, high = table.bounds
        if isinf(low) or isinf(high) or low == high:
            raise UnboundedScoreError(
                f"{name!r} has no known ends, so no difference can be decided; declare its scale "
                "in the protocol, or for a labels file with --scale VARIABLE=CODES"
            )

        def scaled(values: Floats) -> Floats:
            # Judges may use categories beyond the scale.
            return np.clip((table.by_query(values)[1] - low) / (high - low), 0, 1)

        systems, there = table.by_query(np.ones(len(table.values)))
        keys = dict(zip(table.queries.tolist(), (i.query for i in table.frame.items), strict=True))
        raters = table.labels.raters
        return cls(
            name,
            tuple(systems),
            tuple(keys.get(n, "") for n in range(len(there))),
            scaled(table.people),
            {raters[n].name: scaled(table.values[:, n]) for n in table.labels.columns("judge")},
            np.isfinite(there),
            np.isfinite(table.by_query(_answered(table))[1]),
        )

    def of_systems(self, systems: Sequence[str]) -> QueryScores:
        """Return the scores of some systems, in their order. Raises ValueError for an unknown."""
        if unknown := [each for each in systems if each not in self.systems]:
            there = ", ".join(sorted(self.systems))
            raise ValueError(
                f"there is no system {unknown[0]!r} in these labels; there are {there}"
            )
        at = [self.systems.index(each) for each in systems]
        return QueryScores(
            self.name,
            tuple(systems),
            self.queries,
            self.people[:, at],
            {judge: of[:, at] for judge, of in self.judges.items()},
            self.asked[:, at],
            self.answered[:, at],
        )

    def over(self, queries: Sequence[str]) -> QueryScores:
        """Return the scores of these queries, all of which ask about every system."""
        known = {key: n for n, key in enumerate(self.queries)}
        rows = np.array([known.get(key, -1) for key in queries], dtype=np.int64)

        def placed(values: Floats) -> Floats:
            # The last row is for queries without any label.
            return np.vstack([values, np.full((1, values.shape[1]), np.nan)])[rows]

        return QueryScores(
            self.name,
            self.systems,
            tuple(queries),
            placed(self.people),
            {judge: placed(of) for judge, of in self.judges.items()},
            np.ones((len(queries), len(self.systems)), bool),
            np.isfinite(placed(np.where(self.answered, 1, np.nan))),
        )

    def labelled(self) -> list[int]:
        """Return the rows with two systems or more on which people answered about all of them."""
        everywhere = (self.answered | ~self.asked).all(axis=1)
        return np.flatnonzero(everywhere & (self.asked.sum(axis=1) > 1)).tolist()

    def in_hashed_order(self, rows: Collection[int], seed: str) -> list[int]:
        """Return rows in a random order that follows from the seed and the queries' keys."""
        ranked = sorted(range(len(self.queries)), key=self.queries.__getitem__)
        kept = set(rows)
        return [ranked[n] for n in even_order(len(ranked), seed) if ranked[n] in kept]


def _answered(table: Scores) -> Floats:
    """Return 1 for each item about which a person answered, also by an escape, NaN for others."""
    labels = table.labels
    people = {labels.raters[n].name for n in labels.columns("human")}
    units = np.asarray((labels.codes_of("human") >= 0).any(axis=1))
    units[[a.unit for a in labels.asides if not a.is_missing and a.rater in people]] = True
    found = np.full(len(table.values), np.nan)
    found[labels.units.item[units]] = 1
    return found


@dataclass(frozen=True)
class Draw:
    """The labelled queries (rows) in the order of their draw, and how they were drawn.

    `late` are those that people did not answer in time. `registered` is the number of queries at
    which prediction-powered differences are read, fixed before the first label. `among` is the
    number of queries from which they were drawn, by default those with scores of both systems.
    """

    how: Drawn
    rows: Sequence[int]
    late: frozenset[int] = field(default_factory=frozenset)
    registered: int | None = None
    among: int | None = None

    @property
    def is_exploratory(self) -> bool:
        return self.how != "committed"


def differences_of(scores: QueryScores, draw: Draw) -> list[Difference]:
    """Return people's differences of each pair of systems, b - a, on the drawn queries with both.

    A pair of n systems is one of n (n - 1) / 2, in the systems' order.
    """
    return [_difference(scores, draw, a, b) for a, b in combinations(range(len(scores.systems)), 2)]


def _difference(scores: QueryScores, draw: Draw, a: int, b: int) -> Difference:
    both = scores.asked[:, a] & scores.asked[:, b]
    drawn = [(place, row) for place, row in enumerate(draw.rows, 1) if both[row]]
    rows = [row for _, row in drawn]
    # Where a score is undefined, nothing is added to the sum of which the hypotheses speak.
    apart = np.nan_to_num(scores.people[rows, b] - scores.people[rows, a], nan=0.0)
    values = np.where([row in draw.late for row in rows], np.nan, apart)
    queries = inf if draw.how == "all" else float(draw.among or both.sum())
    places = np.array([place for place, _ in drawn], dtype=np.int64)
    return Difference(scores.systems[a], scores.systems[b], values, queries, places)


def compared(scores: QueryScores, draw: Draw, delta: float = DELTA, seed: int = 0) -> JSON:
    """Return the comparison of all pairs of systems, which share `delta` by Holm, as JSON."""
    return {
        "score": scores.name,
        "systems": list(scores.systems),
        **_head(draw, delta),
        "pairs": [
            {
                **_pair(each, draw, seed),
                "prediction_powered": _powered(scores, draw, each.difference),
                "judges": _judges(scores, each.difference),
            }
            for each in standings(differences_of(scores, draw), delta)
        ],
    }


def neighbours(scores: QueryScores, draw: Draw, delta: float = DELTA, seed: int = 0) -> JSON:
    """Return what is known of each two neighbours in the order of the systems, as JSON.

    All pairs of systems share `delta`, since their order is not known beforehand. The evidence is
    the greatest for the first of the two so far.
    """
    found = standings(differences_of(scores, draw), delta)
    next_to = set(pairwise(scores.systems))
    pairs = [
        _pair(each, draw, seed)
        for each in found
        if (each.difference.a, each.difference.b) in next_to
    ]
    for pair in pairs:
        if "evidence" in pair:
            pair["evidence"] = max(pair["evidence"]["a"], default=0.0, key=strength)
    return {**_head(draw, delta), "compared": len(found), "pairs": pairs}


def strength(evidence: float | None) -> float:
    """Return log evidence as a number, infinite where arithmetic proves it."""
    return inf if evidence is None else evidence


def _head(draw: Draw, delta: float) -> JSON:
    return {
        "drawn": draw.how,
        "how_drawn": HOW_DRAWN[draw.how],
        "delta": delta,
        "labelled": len(draw.rows),
    }


def _pair(of: Standing, draw: Draw, seed: int) -> JSON:
    known = draw.how != "unknown"
    difference = of.difference
    return {
        "a": difference.a,
        "b": difference.b,
        "exploratory": draw.is_exploratory,
        **_people(of),
        **(_standing(of, draw) if known else {"state": "no evidence"}),
        "more": _more(of.more(seed) if known else More(reason=NO_EVIDENCE)),
    }


def _people(of: Standing) -> JSON:
    difference = of.difference
    known = difference.values[np.isfinite(difference.values)]
    return {
        "queries": None if isinf(difference.queries) else int(difference.queries),
        "labelled": difference.labelled,
        "mean_difference": float(known.mean()) if len(known) else None,
    }


def _standing(of: Standing, draw: Draw) -> JSON:
    """Return what people's labels decide. Without a committed draw, it is never `decided`."""
    state = "not yet" if of.better is None else "exploratory" if draw.is_exploratory else "decided"
    return {
        "state": state,
        "better": of.name,
        "after": of.after,
        "by": of.by,
        "needed": of.needed,
        "evidence": {side: _series(of.difference.strongest[side]) for side in SIDES},
    }


def _series(values: Floats) -> list[float | None]:
    """Return log evidence by query; null once arithmetic proves it."""
    return [None if each == inf else round(each, 9) for each in values.tolist()]


def _more(of: More) -> JSON:
    made: JSON = {"value": of.median, "low": of.low, "high": of.high}
    return {**made, "reason": of.reason} if of.reason else made


def _columns(scores: QueryScores, of: Difference) -> tuple[int, int]:
    return scores.systems.index(of.a), scores.systems.index(of.b)


def _powered(scores: QueryScores, draw: Draw, of: Difference) -> JSON:
    """Return b - a by people and each judge together, at the registered number of queries."""
    return {
        judge: {**_powered_by(scores, values, draw, of).as_json(), "registered": draw.registered}
        for judge, values in scores.judges.items()
    }


def _powered_by(scores: QueryScores, judge: Floats, draw: Draw, of: Difference) -> Estimate:
    n = len(draw.rows) if draw.registered is None else draw.registered
    first = list(draw.rows[:n])
    late = draw.late.intersection(first)
    reasons = {
        NO_EVIDENCE: draw.how == "unknown",
        PEOPLE_ALONE: draw.how == "all",
        f"{len(first)} of the {n} registered queries are labelled": len(first) < n,
        f"people did not answer {len(late)} of the queries": bool(late),
    }
    if why := next((reason for reason, holds in reasons.items() if holds), ""):
        return undefined(why, n, POWERED)
    a, b = _columns(scores, of)
    sampled = np.isin(np.arange(len(scores.queries)), first)
    # The difference of two columns is the first less the second.
    data = Labelled(scores.people[:, [b, a]], judge[:, [b, a]], sampled, np.ones(len(sampled)))
    return powered_pairs(data, [of.b, of.a])[0].test.difference.within(*WHOLE)


def _judges(scores: QueryScores, of: Difference) -> JSON:
    """Return each judge's own difference b - a over all queries, which never decides."""
    a, b = _columns(scores, of)
    rows = np.arange(len(scores.queries))
    return {
        judge: {
            "difference": paired_t(values[:, b], values[:, a], rows)
            .difference.within(*WHOLE)
            .as_json(),
            "note": NEVER_DECIDES,
        }
        for judge, values in scores.judges.items()
    }
