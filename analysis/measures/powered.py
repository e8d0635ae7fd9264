"""Systems' means from people and a judge together: few queries that people labelled, many others.

The labelled queries must be a random sample of all, with known chances: what was merely finished
is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf

import numpy as np

from analysis.measures.agreeing import Setting
from analysis.measures.base import Bounds
from analysis.statistics import (
    PEOPLE_ALONE,
    Bools,
    Estimate,
    Floats,
    PairedTest,
    effective_labels,
    holm,
    prediction_powered_mean,
    prediction_powered_mean_unequal,
    undefined,
)
from analysis.statistics.distributions import t_quantile

POWERED = "prediction-powered mean (PPI++)"
TEST = "t test of the prediction-powered mean difference"
NO_POWERED_INTERVAL = "fewer than ten labelled queries"
NO_VARIANCE = "the differences do not vary"


@dataclass(frozen=True)
class Labelled:
    """Scores of S systems on Q queries by people and by a judge, (Q, S) each, NaN = none.

    `asked` (Q,) are the queries that were drawn for people: their scores of others do not count.
    `chances` (Q,) are those of the draw, and `reason` says why it cannot be relied on.
    """

    human: Floats
    judge: Floats
    asked: Bools
    chances: Floats
    reason: str | None = None


def powered_mean(
    of: Labelled, column: int, bounds: Bounds = (-inf, inf)
) -> tuple[Estimate, float | None]:
    """A system's mean over queries, and how many labelled queries it is worth.

    PPI++ where all chances are equal (Angelopoulos and others 2023), else weighted by their inverse
    (Zrnic and Candes 2024); the second number is None there. Where no query is judged only there is
    none: it would be people's mean once more. Queries that people were asked about and on which
    they give no value, since the measure has none there, are left out. The correction may carry
    mean and interval out of the `bounds` of the measure, and they are cut there.
    """
    made, worth = _powered(of, of.human[:, column], of.judge[:, column])
    return made.within(*bounds), worth


def powered_pairs(of: Labelled, systems: Sequence[str]) -> list[Setting]:
    """Every pair of systems on the same queries: a - b from people and judge together.

    Two-sided t test on the difference's own interval, n - 1 degrees of freedom; p adjusted over all
    pairs (Holm 1979).
    """
    pairs = list(combinations(range(len(systems)), 2))
    tests = [
        _tested(_powered(of, *(each[:, a] - each[:, b] for each in (of.human, of.judge)))[0])
        for a, b in pairs
    ]
    known = [test.p_value for test in tests if test.p_value is not None]
    adjusted = iter(holm(np.array(known, float)).tolist())
    return [
        Setting(systems[a], systems[b], test, None if test.p_value is None else next(adjusted))
        for (a, b), test in zip(pairs, tests, strict=True)
    ]


def _powered(of: Labelled, human: Floats, judge: Floats) -> tuple[Estimate, float | None]:
    labelled = of.asked & np.isfinite(human)
    only = judge[~of.asked & np.isfinite(judge)]
    n = int(labelled.sum())
    people, machine, chances = human[labelled], judge[labelled], of.chances[labelled]
    if of.reason:
        return undefined(of.reason, n, POWERED), None
    if n and not len(only):
        return undefined(PEOPLE_ALONE, n, POWERED), None
    if np.isnan(machine).any():
        lost = f"the judge has no score on {int(np.isnan(machine).sum())} of the labelled queries"
        return undefined(lost, n, POWERED), None
    if len(set(chances.tolist())) > 1:
        return prediction_powered_mean_unequal(people, machine, chances, only), None
    return prediction_powered_mean(people, machine, only), effective_labels(people, machine, only)


def _tested(difference: Estimate) -> PairedTest:
    if difference.value is None:
        return PairedTest(difference, None, TEST, difference.reason)
    if difference.low is None or difference.high is None:
        return PairedTest(difference, None, TEST, NO_POWERED_INTERVAL)
    half = (difference.high - difference.low) / 2
    if half <= 0:
        return PairedTest(difference, None, TEST, NO_VARIANCE)
    from scipy import stats

    freedom = difference.n - 1
    t = abs(difference.value) / half * t_quantile(0.975, freedom)
    return PairedTest(difference, float(2 * stats.t.sf(t, freedom)), TEST)
