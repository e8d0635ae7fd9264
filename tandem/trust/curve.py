"""The share of cells that a plan will likely certify, by the number of labelled queries, simulated.

How often the judge is wrong comes from development labels, or from a scenario: a judge whose score
is informative, or one that is weak because whole queries are hard for it without its knowing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Protocol

import numpy as np

from ..statistics import Floats, Ints
from .evidence import evidence_of_cells
from .plan import Plan
from .state import State, walk

LABELLED = (25, 50, 75, 100, 150, 200, 300, 400)
STUDIES = 100
LOW, HIGH = 0.1, 0.9


class Errors(Protocol):
    """How often a judge is wrong."""

    @property
    def words(self) -> str:
        """Where the error rates come from, in words."""

    def draw(self, plan: Plan, random: np.random.Generator) -> Ints:
        """Return the wrong cells of each query by cut, (G, J), of one simulated study."""


@dataclass(frozen=True)
class Scenario:
    """A judge that is wrong about a cell with probability 1 / (1 + exp(-(a + σ d - b s))).

    s is the place of the cell's score among all cells, from 0 to 1, and d ~ N(0, 1) the difficulty
    of its query, which the score does not see. `intercept`, `slope` and `spread` are a, b and σ.
    """

    words: str
    intercept: float
    slope: float
    spread: float

    def chance(self, place: Floats, difficulty: Floats) -> Floats:
        chance: Floats = 1 / (
            1 + np.exp(self.slope * place - self.intercept - self.spread * difficulty)
        )
        return chance

    def draw(self, plan: Plan, random: np.random.Generator) -> Ints:
        difficulty = random.normal(size=len(plan.cells))
        ends = 1 - plan.totals / plan.cells.sum()
        wrong, above, before = [], 1.0, np.zeros(len(plan.cells), int)
        for cut, end in enumerate(ends):
            query = np.repeat(np.arange(len(before)), plan.accepted[:, cut] - before)
            chance = self.chance(random.uniform(end, above, len(query)), difficulty[query])
            is_wrong = random.random(len(query)) < chance
            wrong.append(np.bincount(query[is_wrong], minlength=len(before)))
            above, before = float(end), plan.accepted[:, cut]
        return np.cumsum(np.stack(wrong, axis=1), axis=1)


INFORMATIVE = Scenario("a judge whose score tells its errors", -0.81, 3.62, 1.0)
WEAK = Scenario("a judge that is wrong on whole queries without knowing", -0.81, 3.62, 2.0)
"""Solved so that the surest 88 and 52 % of cells have a risk of .1."""


@dataclass(frozen=True)
class DevelopmentErrors:
    """A judge that is wrong as often as on D development queries, of which each is as likely.

    `accepted` and `wrong` (D, J) are their cells by cut. The error rate of a query between two cuts
    is (wrong + the rate of all queries) / (cells + 1), so that a query of few cells is not taken
    for one without errors.
    """

    accepted: Ints
    wrong: Ints

    @property
    def words(self) -> str:
        return f"the judge's errors on {len(self.accepted)} development queries"

    def draw(self, plan: Plan, random: np.random.Generator) -> Ints:
        cells, wrong = (np.diff(each, axis=1, prepend=0) for each in (self.accepted, self.wrong))
        overall = wrong.sum(axis=0) / np.maximum(cells.sum(axis=0), 1)
        rate = (wrong + overall) / (cells + 1)
        alike = random.integers(len(rate), size=len(plan.cells))
        sizes = np.diff(plan.accepted, axis=1, prepend=0)
        return np.cumsum(random.binomial(sizes, rate[alike]), axis=1)


@dataclass(frozen=True)
class Point:
    """After so many labelled queries, or draws: the mean share certified, 10 and 90 % of studies.

    `any` is the share of studies in which some cut was certified.
    """

    labelled: int
    share: float
    low: float
    high: float
    any: float


def curve(
    plan: Plan,
    errors: Errors,
    labelled: Sequence[int] = LABELLED,
    studies: int = STUDIES,
    seed: int = 0,
) -> list[Point]:
    """Return what a plan certifies after these numbers of labelled queries, over simulated studies.

    Numbers above the plan's queries are left out, and all of them are added. In the form `cells`
    numbers are those of draws, of which there is no end.
    """
    random = np.random.default_rng(seed)
    numbers = sorted(labelled)
    if plan.k is None:
        numbers = sorted({n for n in labelled if n < len(plan.cells)} | {len(plan.cells)})
        numbers = [n for n in numbers if n <= max(labelled)] or numbers
    shares = np.zeros((studies, len(numbers)))
    for study in range(studies):
        made = replace(plan, seed=f"{seed} {study}")
        wrong = errors.draw(made, random)
        if plan.k is None:
            state = simulated(made, wrong, numbers[-1])
            shares[study] = [share_after(state, n) for n in numbers]
        else:
            after = certified_after(made, wrong[:, 0], numbers[-1], random)
            shares[study] = [plan.share(after is not None and after <= n) for n in numbers]
    low, high = np.quantile(shares, (LOW, HIGH), axis=0)
    return [
        Point(n, float(own.mean()), float(low[at]), float(high[at]), float((own > 0).mean()))
        for at, (n, own) in enumerate(zip(numbers, shares.T, strict=True))
    ]


def simulated(plan: Plan, wrong: Ints, most: int) -> State:
    """Return the state after at most so many labelled queries of a study with these wrong cells."""
    left = most

    def wrong_of(query: int) -> Ints | None:
        nonlocal left
        left -= 1
        return np.asarray(wrong[query]) if left >= 0 else None

    return walk(plan, wrong_of)


def certified_after(plan: Plan, wrong: Ints, most: int, random: np.random.Generator) -> int | None:
    """Return after how many draws of the form `cells` a plan is certified, None if not by `most`.

    `wrong` (G,) are the wrong cells of each query, of which each draw sees a random part.
    """
    size, total = plan.accepted[:, 0], int(plan.totals[0])
    query = np.searchsorted(np.cumsum(size), random.integers(total, size=most), side="right")
    asked = plan.asked(size[query])
    seen = random.hypergeometric(wrong[query], (size - wrong)[query], asked)
    reached = evidence_of_cells(seen.astype(float), asked.astype(float), plan.risk)
    hit = np.flatnonzero(reached >= log(1 / plan.delta))
    return int(hit[0]) + 1 if len(hit) else None


def share_after(state: State, labelled: int) -> float:
    """Return the share of cells that was certified after so many labelled queries."""
    return state.plan.share(sum(after <= labelled for after in state.decided_after))
