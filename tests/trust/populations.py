"""Random populations of queries with scored cells, of which some are wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tandem.statistics import Ints
from tandem.trust.plan import CutTable, Plan


@dataclass(frozen=True)
class Population:
    """A plan over scored cells, and the wrong cells of each query by cut, (G, J)."""

    plan: Plan
    wrong: Ints


def population(
    random: np.random.Generator,
    queries: int = 120,
    risk: float = 0.1,
    by_query: float = 1.0,
    spread: float = 0.7,
    seed: str = "seed",
) -> Population:
    """Return a judge whose score says something about its errors, which also come by query."""
    cells = np.maximum(1, np.round(random.lognormal(np.log(8), spread, queries))).astype(int)
    query = np.repeat(np.arange(queries), cells)
    score = random.random(len(query))
    difficulty = random.normal(0, by_query, queries)[query]
    chance = 1 / (1 + np.exp(-(difficulty - 4 * score)))
    is_wrong = random.random(len(query)) < chance
    table = CutTable.of(score, query, queries)
    wrong = [
        np.bincount(query[is_wrong & (score >= least)], minlength=queries)
        for least in table.thresholds
    ]
    plan = Plan(table.accepted, cells, risk=risk, seed=seed)
    return Population(plan, np.stack(wrong, axis=1))
