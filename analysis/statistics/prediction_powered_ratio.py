"""A ratio of sums from few human and many judge labels, such as a share of all nuggets.

Units are queries with a numerator and a denominator each, (n, 2): F1, micro-averaged coverage and
recall, and whatever else has a denominator that differs between queries. Otherwise as in
`prediction_powered`: with a denominator of 1 everywhere the two agree.
"""

from __future__ import annotations

import numpy as np

from analysis.statistics.arrays import Floats, ratio
from analysis.statistics.bootstrap import MINIMUM_CLUSTERS, too_few
from analysis.statistics.distributions import t_quantile
from analysis.statistics.estimate import Estimate, defined, undefined
from analysis.statistics.intervals import ONE_SIDED, bca_interval, expanded_level, resamples_of
from analysis.statistics.prediction_powered import effective_labels, tuning

NO_DENOMINATOR = "a denominator is zero"


def prediction_powered_ratio(
    human: Floats,
    judge: Floats,
    judge_only: Floats,
    lam: float | None = None,
    *,
    resamples: int | None = None,
    seed: int = 0,
) -> Estimate:
    """lambda * R(judge_only) + R(human) - lambda * R(judge), R being sum / sum over queries.

    human and judge (n, 2) belong to the labelled queries, judge_only (N, 2) to the others. lambda
    is that of PPI++ for the linearised ratios, unless it is given (1 is plain PPI). BCa
    bootstrap: labelled and other queries are resampled apart, each whole in all three terms
    (Angelopoulos and others 2023; of ratios of several samples Davison and Hinkley 1997, 5.3.2),
    at the level for the labelled queries.
    """
    n, others = len(human), len(judge_only)
    labelled, rest = _sums(human, judge), judge_only
    if n == 0:
        return undefined("no labelled queries", 0, "PPI of a ratio")
    found = _tuned_ratio(human, judge, judge_only) if lam is None else lam * (others > 0)
    name = "PPI++" if lam is None else "PPI"
    method = f"{name} of a ratio, lambda {found:.3f}, {others} queries judged only"
    value = float(_powered(labelled.sum(axis=0), rest.sum(axis=0), found))
    if not np.isfinite(value):
        return undefined(NO_DENOMINATOR, n, method)
    if n < MINIMUM_CLUSTERS:
        return defined(value, None, n, f"{method}; {too_few(n)}")
    resamples = resamples_of(n, resamples)
    generator = np.random.Generator(np.random.PCG64(seed))
    drawn = [_resampled(sums, resamples, generator) for sums in (labelled, rest)]
    left_out = _left_out(labelled, rest, found, value)
    interval = bca_interval(
        value, _powered(drawn[0], drawn[1], found), left_out, level=expanded_level(n)
    )
    how = f"95 % BCa bootstrap, {n} labelled queries, {resamples} resamples"
    return defined(value, interval, n, f"{method}; {how if interval else ONE_SIDED}")


def fixed_collection_ratio(human: Floats, judge: Floats, judge_only: Floats) -> Estimate:
    """R(all judged) + R(human) - R(judge): the ratio over exactly these n + N queries.

    Variance (1 - n/(n+N)) * s2/n of the labelled queries' linearised errors, u_q = (x_q - R y_q) /
    mean y of people less that of the judge; interval +- t_(n-1) (Cochran 1977, sections 6 and 7).
    """
    n, everything = len(_sums(human, judge)), np.concatenate([judge, judge_only])
    method = f"difference estimator of a ratio over a fixed collection of {len(everything)} queries"
    value = _ratio(everything) + _ratio(human) - _ratio(judge)
    if n == 0:
        return undefined("no labelled queries", 0, method)
    if not np.isfinite(value):
        return undefined(NO_DENOMINATOR, n, method)
    if n < MINIMUM_CLUSTERS:
        return defined(value, None, n, f"{method}; {too_few(n)}")
    error = np.var(linearised(human) - linearised(judge), ddof=1) / n
    half = float(t_quantile(0.975, n - 1) * np.sqrt(error * len(judge_only) / len(everything)))
    method = f"{method}; 95 % t interval, {n} labelled queries"
    return defined(value, (value - half, value + half), n, method)


def effective_labels_of_ratio(human: Floats, judge: Floats, judge_only: Floats) -> float | None:
    """How many labelled queries the prediction-powered ratio is worth; as `effective_labels`."""
    if not all(len(x) and np.isfinite(_ratio(x)) for x in (human, judge)):
        return None
    others = linearised(judge_only) if len(judge_only) else np.empty(0)
    return effective_labels(linearised(human), linearised(judge), others)


def linearised(sums: Floats) -> Floats:
    """R + (x_q - R y_q) / mean y of each query (n, 2): values whose mean is the ratio R."""
    total = _ratio(sums)
    return np.asarray(total + (sums[:, 0] - total * sums[:, 1]) / sums[:, 1].mean(), float)


def _tuned_ratio(human: Floats, judge: Floats, judge_only: Floats) -> float:
    if not all(np.isfinite(_ratio(x)) for x in (human, judge, judge_only)):
        return 0.0
    return tuning(linearised(human), linearised(judge), linearised(judge_only))


def _ratio(sums: Floats) -> float:
    return float(ratio(sums[:, 0].sum(), sums[:, 1].sum())) if len(sums) else float("nan")


def _sums(human: Floats, judge: Floats) -> Floats:
    if human.shape != judge.shape:
        raise ValueError("human and judge must hold two sums for each labelled query")
    return np.concatenate([human, judge], axis=1)


def _powered(labelled: Floats, rest: Floats, lam: float) -> Floats:
    people = ratio(labelled[..., 0], labelled[..., 1])
    if not lam:
        return people
    judge = ratio(labelled[..., 2], labelled[..., 3])
    return people + lam * (ratio(rest[..., 0], rest[..., 1]) - judge)


def _left_out(labelled: Floats, rest: Floats, lam: float, value: float) -> Floats:
    """The value without each query, its change scaled by (n - 1)/n of the sample it comes from."""
    total, others = labelled.sum(axis=0), rest.sum(axis=0)
    without = _powered(total - labelled, np.broadcast_to(others, (len(labelled), 2)), lam) - value
    changes = [(len(labelled) - 1) / len(labelled) * without]
    if lam and len(rest):
        without = _powered(np.broadcast_to(total, (len(rest), 4)), others - rest, lam) - value
        changes.append((len(rest) - 1) / len(rest) * without)
    # Centred apart, since each sample has a mean of its own.
    return value + np.concatenate([each - each.mean() for each in changes])


def _resampled(sums: Floats, resamples: int, generator: np.random.Generator) -> Floats:
    if not len(sums):
        return np.zeros((resamples, sums.shape[1]))
    shares = np.full(len(sums), 1 / len(sums))
    draws = generator.multinomial(len(sums), shares, size=resamples)
    totals: Floats = draws @ sums
    return totals
