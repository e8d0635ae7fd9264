"""How often the alternative annotator test wrongly passes a judge, in simulated studies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tandem.statistics import alt_test

ITEMS, PEOPLE = 5, 3
BROKEN = EPSILON = 0.2
QUERIES = (10, 15, 20, 30)
MOST = 0.05


@dataclass(frozen=True)
class Passing:
    """The share of studies in which the judge passes, by the number of queries."""

    studies: int
    shares: Mapping[int, float]

    @property
    def error(self) -> float:
        """Return the Monte Carlo standard error of a share exactly at the bar."""
        return float(np.sqrt(MOST * (1 - MOST) / self.studies))

    def as_json(self) -> dict[str, object]:
        return {"studies": self.studies, "error": self.error, "passes": dict(self.shares)}

    def lines(self) -> list[str]:
        """Return a line for each number of queries, with its bar."""
        return [
            f"a judge broken on each query with chance {BROKEN:g} passes at epsilon {EPSILON:g} "
            f"with {queries} queries: {share:.3f} ± {self.error:.3f} (bar {MOST:g})"
            for queries, share in self.shares.items()
        ]


def simulate_passing(studies: int) -> Passing:
    """Simulate a judge that ties with three people but is broken on random queries.

    On a broken query all of its labels are wrong. On average it loses a fifth, which is epsilon, so
    that the test should pass it in at most a twentieth of the studies.
    """
    return Passing(studies, {queries: _share(queries, studies) for queries in QUERIES})


def _share(queries: int, studies: int) -> float:
    clusters, passed = np.repeat(np.arange(queries), ITEMS), 0
    for seed in range(studies):
        generator = np.random.default_rng([queries, seed])
        labels = generator.integers(0, 2, queries * ITEMS)
        broken = generator.random(queries)[clusters] < BROKEN
        people = np.repeat(labels[:, None], PEOPLE, axis=1)
        judge = np.where(broken, 1 - labels, labels)
        made = alt_test(people, judge, clusters, level="nominal", epsilon=EPSILON)
        passed += made.passed is True
    return passed / studies
