"""A mean from few human and many judge scores (Angelopoulos and others 2023: PPI, PPI++).

The units are query means. `human` and `judge` (n,) belong to the labelled queries, in the same
order, `judge_only` (N,) to the others. The labelled queries must be a random sample of all.
"""

import numpy as np

from analysis.statistics.arrays import Floats
from analysis.statistics.bootstrap import MINIMUM_CLUSTERS, too_few
from analysis.statistics.distributions import t_quantile
from analysis.statistics.estimate import Estimate, defined, undefined

#: Why there is no estimate from both where people labelled all that the judge did.
PEOPLE_ALONE = "no query is judged without people's labels: the figure is people's own"


def people_only_mean(human: Floats) -> Estimate:
    """The mean of the labelled queries alone, with its t interval."""
    return _t_estimate(human, _error(human), "people only")


def prediction_powered_mean(
    human: Floats, judge: Floats, judge_only: Floats, lam: float | None = None
) -> Estimate:
    """PPI++: lambda * mean(judge_only) + mean(human - lambda * judge), interval +- t_(n-1).

    The variance is lambda^2 * s2(judge_only)/N + s2(human - lambda * judge)/n, lambda as in
    `tuning` unless it is given: 1 is plain PPI. Without judge-only queries it is the mean of the
    people.
    """
    _check(human, judge)
    name = "PPI++" if lam is None else "PPI"
    lam = tuning(human, judge, judge_only) if lam is None else lam * (len(judge_only) > 0)
    method = f"{name}, lambda {lam:.3f}, {len(judge_only)} queries judged only"
    correction = human - lam * judge
    shift = lam * float(np.mean(judge_only)) if lam else 0.0
    variance = _error(correction) + lam**2 * _error(judge_only)
    return _t_estimate(correction, variance, method, shift)


def fixed_collection_mean(human: Floats, judge: Floats, judge_only: Floats) -> Estimate:
    """The mean over exactly these n + N queries, no wider population being claimed.

    mean of all judge scores + mean(human - judge), with variance (1 - n/(n+N)) * s2(human-judge)/n:
    what is left unknown is the judge's error on the queries that nobody labelled.
    """
    _check(human, judge)
    everything = np.concatenate([judge, judge_only])
    method = f"difference estimator over a fixed collection of {len(everything)} queries"
    shift = float(np.mean(everything)) if len(everything) else 0.0
    unlabelled = len(judge_only) / max(len(everything), 1)
    return _t_estimate(human - judge, unlabelled * _error(human - judge), method, shift)


def tuning(human: Floats, judge: Floats, judge_only: Floats) -> float:
    """lambda = cov(human, judge) / ((1 + n/N) * s2 of all judge scores), clipped to [0, 1].

    0 uses the people only, 1 is plain PPI. It is 0 where nothing can be gained: fewer than two
    labelled queries, none judged only, or a judge that never varies.
    """
    everything = np.concatenate([judge, judge_only])
    if len(human) < 2 or len(judge_only) == 0 or np.ptp(everything) == 0:
        return 0.0
    covariance = np.cov(human, judge)[0, 1]
    best = covariance / ((1 + len(human) / len(judge_only)) * everything.var(ddof=1))
    return float(np.clip(best, 0, 1))


def effective_labels(human: Floats, judge: Floats, judge_only: Floats) -> float | None:
    """n * variance(people only) / variance(PPI++): how many labelled queries the estimate is worth.

    Null below two labelled queries, and where PPI++ leaves no variance.
    """
    _check(human, judge)
    lam = tuning(human, judge, judge_only)
    powered = _error(human - lam * judge) + lam**2 * _error(judge_only)
    return float(len(human) * _error(human) / powered) if len(human) > 1 and powered > 0 else None


def _check(human: Floats, judge: Floats) -> None:
    if len(human) != len(judge):
        raise ValueError("human and judge must hold one score for each labelled query")
    if not np.isfinite(human - judge).all():
        raise ValueError("a labelled query lacks a score; leave it out")


def _error(values: Floats) -> float:
    """The squared standard error of a mean, 0 where a single value cannot tell."""
    return float(np.var(values, ddof=1) / len(values)) if len(values) > 1 else 0.0


def _t_estimate(values: Floats, variance: float, method: str, shift: float = 0.0) -> Estimate:
    """shift + the mean of one value for each labelled query, with its t interval."""
    n = len(values)
    if n == 0:
        return undefined("no labelled queries", 0, method)
    value = shift + float(np.mean(values))
    if n < MINIMUM_CLUSTERS:
        return defined(value, None, n, f"{method}; {too_few(n)}")
    half = float(t_quantile(0.975, n - 1) * np.sqrt(variance))
    method = f"{method}; 95 % t interval, {n} labelled queries"
    return defined(value, (value - half, value + half), n, method)
