"""A mean from few human and many judge scores where queries had unequal chances to be labelled.

As when difficult queries are labelled more often. The chances must be known: what was merely
finished has none.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from analysis.statistics.arrays import Floats
from analysis.statistics.bootstrap import MINIMUM_CLUSTERS, too_few
from analysis.statistics.estimate import Estimate, defined, undefined

UNKNOWN = "the chance to be labelled is not known for every labelled query"


def prediction_powered_mean_unequal(
    human: Floats, judge: Floats, chances: Floats, judge_only: Floats, lam: float | None = None
) -> Estimate:
    """mean over all queries of z = lambda * F + (Y - lambda * F) * labelled / chance.

    human Y, judge F and `chances` (n,) belong to the labelled queries, `judge_only` F (N,) to the
    others; each query was labelled with its own chance, apart from the others. The variance is
    s2(z) / (n + N), the interval +- t_(n-1) (Zrnic and Candes 2024). lambda is -cov(a, b) / s2(b)
    with z = a + lambda * b, clipped to [0, 1], unless it is given. Undefined where a chance is
    unknown (NaN) or is none.
    """
    n, everything = len(human), len(human) + len(judge_only)
    method = f"prediction-powered mean, labelling chances unequal, {len(judge_only)} judged only"
    if not (len(judge) == len(chances) == n and np.isfinite(human - judge).all()):
        raise ValueError("human, judge and chances must hold one number for each labelled query")
    if n == 0:
        return undefined("no labelled queries", 0, method)
    if not (np.isfinite(chances) & (chances > 0) & (chances <= 1)).all():
        return undefined(UNKNOWN, n, method)
    people = np.concatenate([human / chances, np.zeros(len(judge_only))])
    gain = np.concatenate([judge * (1 - 1 / chances), judge_only])
    found = _tuned(people, gain) if lam is None else lam
    z = people + found * gain
    method = f"{method}, lambda {found:.3f}"
    if n < MINIMUM_CLUSTERS:
        return defined(float(z.mean()), None, n, f"{method}; {too_few(n)}")
    half = float(stats.t.ppf(0.975, n - 1) * z.std(ddof=1) / np.sqrt(everything))
    method = f"{method}; 95 % t interval, {n} labelled queries"
    return defined(float(z.mean()), (float(z.mean()) - half, float(z.mean()) + half), n, method)


def _tuned(people: Floats, gain: Floats) -> float:
    if len(gain) < 2 or np.ptp(gain) == 0:
        return 0.0
    return float(np.clip(-np.cov(people, gain)[0, 1] / gain.var(ddof=1), 0, 1))
