"""A plan: what is to be certified, at which level, over which nested cuts of a judge's cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ..statistics import Floats, Ints
from ..types import JSON

SHARES = (0.5, 0.7, 0.9)
"""The shares of all cells that the cuts accept, strict to loose."""
RISK, DELTA, LATE_DAYS = 0.1, 0.05, 14
Form = Literal["whole", "cells"]
"""How a plan draws: whole queries, each once, or a few cells of queries that may come again."""
FORMS = {
    "whole": "every query at most once, of which all accepted cells count",
    "cells": "queries that may be drawn again, of each of which a few random accepted cells count",
}
K = 3
"""How many cells count of each draw of the form `cells`, if nobody says."""


def read_shares(text: str) -> tuple[float, ...]:
    """Read shares of cells such as `.5,.7,.9`, in ascending order. Raises ValueError."""
    try:
        found = tuple(sorted({float(part) for part in text.split(",")}))
    except ValueError:
        found = ()
    if not found or any(not 0 < share <= 1 for share in found):
        raise ValueError(f"shares {text!r}: numbers above 0 and at most 1, as .5,.7,.9")
    return found


def level(delta: float, k: int) -> float:
    """Return the level of the k-th plan (from 1) for one population, judge and variable.

    The levels sum to `delta` over all plans: .8 δ for the first, .2 δ / (k (k - 1)) for later ones.
    """
    return 0.8 * delta if k == 1 else 0.2 * delta / (k * (k - 1))


@dataclass(frozen=True)
class Plan:
    """Cells by query and cut, and the statement to be certified.

    `accepted` (G, J) are the cells of each query that each cut accepts, strict cuts first, and
    `cells` (G,) all cells of each query. Risk(j) is the share of wrong cells among those that cut j
    accepts; it is to be at most `risk`, at the level `delta` of this plan. `k` is the number of
    cells that count of each draw of the form `cells`, and None in the form `whole`. Raises
    ValueError unless the cuts are nested, different and not empty, and a single one with `k`.
    """

    accepted: Ints
    cells: Ints
    risk: float = RISK
    delta: float = 0.8 * DELTA
    seed: str = "seed"
    k: int | None = None

    def __post_init__(self) -> None:
        if self.k is not None and (self.k < 1 or self.cuts != 1):
            raise ValueError("draws of cells are of one cut, with at least one cell each")
        totals = self.totals
        if (totals == 0).any() or (np.diff(totals) <= 0).any():
            raise ValueError("a cut accepts no cell, or the same cells as the cut before it")
        if (np.diff(self.accepted, axis=1) < 0).any() or (self.accepted[:, -1] > self.cells).any():
            raise ValueError("the cuts are not nested")

    @property
    def cuts(self) -> int:
        return int(self.accepted.shape[1])

    @cached_property
    def totals(self) -> Ints:
        """The cells that each cut accepts, (J,)."""
        return np.asarray(self.accepted.sum(axis=0), dtype=np.int64)

    def asked(self, cells: Ints) -> Ints:
        """Return how many of so many accepted cells of a drawn query count."""
        return cells if self.k is None else np.minimum(cells, self.k)

    def share(self, certified: int) -> float:
        """Return the share of all cells that the loosest of so many certified cuts accepts."""
        return float(self.totals[certified - 1] / self.cells.sum()) if certified else 0.0


def plan_of(document: JSON) -> Plan:
    """Return the plan that a commitment's document describes. Raises ValueError."""
    return Plan(
        accepted=np.array(document["accepted"], dtype=np.int64),
        cells=np.array(document["population"]["cells"], dtype=np.int64),
        risk=document["risk"],
        delta=document["level"],
        seed=document["seed"],
        k=document.get("k"),
    )


@dataclass(frozen=True)
class CutTable:
    """Nested cuts of scored cells: the least score that each accepts, strict to loose."""

    thresholds: tuple[float, ...]
    accepted: Ints

    @classmethod
    def of(
        cls, scores: Floats, queries: Ints, count: int, shares: tuple[float, ...] = SHARES
    ) -> CutTable:
        """Cut cells so that about these shares of all of them are accepted.

        `scores` (N,) are how sure the judge is of each cell, NaN where it gave no answer, and
        `queries` (N,) the number of its query, below `count`. Cells of equal score enter together.
        Empty and equal cuts are merged.
        """
        known = np.sort(scores[np.isfinite(scores)])[::-1]
        places = (min(len(known), round(share * len(scores))) for share in sorted(shares))
        found = dict.fromkeys(float(known[place - 1]) for place in places if place > 0)
        cuts = [np.bincount(queries[scores >= least], minlength=count) for least in found]
        return cls(tuple(found), np.stack(cuts, axis=1) if cuts else np.empty((count, 0), int))
