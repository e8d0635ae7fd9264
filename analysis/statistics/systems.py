"""Systems on the same queries: which are better, and whether judge and people rank them alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from analysis.statistics.arrays import Floats, Value, ratio, unbatch
from analysis.statistics.estimate import COEFFICIENT, Estimate, undefined
from analysis.statistics.intervals import Bootstrap, Draws, Interval
from analysis.statistics.paired import PairedTest, paired_t
from analysis.statistics.tally import Tally

RankCorrelation = Literal["kendall", "spearman"]
#: Means that differ by less are tied: sums of decimal fractions are not exact.
DECIMALS = 12


@dataclass(frozen=True)
class Comparison:
    """Systems a and b: the paired test of a - b, and its p-value adjusted for all comparisons."""

    a: str
    b: str
    test: PairedTest
    adjusted_p_value: float | None


def compare_systems(scores: Floats, names: Sequence[str]) -> list[Comparison]:
    """Every pair of S systems on Q queries, scores (Q, S), NaN = none: paired t by query, Holm.

    The family of the adjustment is all pairs whose test is defined.
    """
    queries = np.arange(len(scores))
    pairs = list(combinations(range(len(names)), 2))
    tests = [paired_t(scores[:, a], scores[:, b], queries) for a, b in pairs]
    known = np.array([t.p_value for t in tests if t.p_value is not None], float)
    adjusted = iter(holm(known).tolist())
    return [
        Comparison(names[a], names[b], test, None if test.p_value is None else next(adjusted))
        for (a, b), test in zip(pairs, tests, strict=True)
    ]


def holm(p_values: Floats) -> Floats:
    """p-values (m,) adjusted so that all claims hold together at the level (Holm 1979).

    The i-th smallest becomes the largest of (m - j + 1) * p_(j) over j <= i, at most 1.
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.arange(len(p_values), 0, -1) * p_values[order]
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def system_rank_correlation(
    people: Floats,
    judge: Floats,
    function: RankCorrelation = "kendall",
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> Estimate:
    """Whether people and judge rank S systems alike: scores (Q, S) of each, NaN = none.

    The correlation (Kendall's tau-b or Spearman's rho) of the systems' means over queries, people's
    over what people scored, the judge's over what it scored; queries are resampled whole. Few
    systems give few possible values, so that the interval is coarse.
    """
    n = people.shape[1]
    name = "Kendall's tau-b" if function == "kendall" else "Spearman's rank correlation"
    method = f"{name} of the means of {n} systems"
    if n < 3:
        return undefined("fewer than three systems", n, method)
    sums = np.concatenate([_sums(people), _sums(judge)], axis=1)
    bootstrap = Bootstrap(Tally.of_sums(sums, np.arange(len(sums))), draws, seed, interval)
    correlate = kendall_of_rows if function == "kendall" else spearman_of_rows

    def statistic(weights: Floats) -> Value:
        x, sizes_x, y, sizes_y = np.split(weights, 4, axis=-1)
        return unbatch(correlate(_means(x, sizes_x), _means(y, sizes_y)))

    reason = "the systems' means are all equal, or a system has no scores"
    queries = int((np.isfinite(people).any(axis=1) & np.isfinite(judge).any(axis=1)).sum())
    return bootstrap.estimate(statistic, n, method, reason, queries).within(*COEFFICIENT)


def kendall_of_rows(x: Floats, y: Floats) -> Floats:
    """tau-b of each row of x and y (..., S); NaN where a row is constant or holds NaN."""
    dx = np.sign(x[..., :, None] - x[..., None, :])
    dy = np.sign(y[..., :, None] - y[..., None, :])
    excess = (dx * dy).sum(axis=(-2, -1))
    untied = [(d**2).sum(axis=(-2, -1)) for d in (dx, dy)]
    return ratio(excess, np.sqrt(untied[0] * untied[1]))


def spearman_of_rows(x: Floats, y: Floats) -> Floats:
    """The correlation of the midranks of each row (..., S); NaN where constant or with NaN."""
    from scipy import stats

    centre = (x.shape[-1] + 1) / 2
    rx, ry = (stats.rankdata(s, axis=-1, nan_policy="propagate") - centre for s in (x, y))
    return ratio((rx * ry).sum(axis=-1), np.sqrt((rx**2).sum(axis=-1) * (ry**2).sum(axis=-1)))


def _sums(scores: Floats) -> Floats:
    there = np.isfinite(scores)
    return np.concatenate([np.where(there, scores, 0.0), there.astype(float)], axis=1)


def _means(sums: Floats, sizes: Floats) -> Floats:
    return np.round(ratio(sums, sizes), DECIMALS)
