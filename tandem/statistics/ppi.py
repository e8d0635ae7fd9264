"""Prediction-powered inference: estimates from few human and many judge labels (PPI, PPI++).

After Angelopoulos and others 2023. The units are query means. For a ratio of sums, such as F1 or
micro-averaged recall, each query has a numerator and a denominator, (n, 2). A mean is such a ratio
with all denominators 1. `human` and `judge` (n,) belong to the n queries that people labelled, in
the same order, and `judge_only` (N,) to the others. The labelled queries must be a random sample of
all. If they had unequal chances, for instance because difficult queries are labelled more often,
the chances must be known.

The interval of a mean between two finite `bounds`, such as a share, is that of `bounded_interval`
for the estimate's variance. Without bounds it is value +- t_(n-1) * root(variance). A correction
has no interval if the judge differs from people on fewer than five labelled queries: errors that
happen not to show in the labelled queries would make it much too narrow.
"""

from __future__ import annotations

import numpy as np

from .cluster_means import ROUNDING, bounded_interval, informative_shares, too_few_differ
from .estimate import UNBOUNDED, Bounds, Estimate, Floats, defined, ratio, t_quantile, undefined
from .resampling import (
    FEWEST_INFORMATIVE,
    MINIMUM_CLUSTERS,
    ONE_SIDED,
    bca_interval,
    expanded_level,
    resamples_of,
    too_few,
    too_few_informative,
    too_unequal,
)
from .tally import effective_number

#: The reason for no estimate if people labelled every query that the judge labelled.
PEOPLE_ALONE = "no query is judged without people's labels: the figure is people's own"
UNKNOWN = "the chance to be labelled is not known for every labelled query"
NO_VARIANCE = "no interval: the labelled queries show no variance"
NO_DENOMINATOR = "a denominator is zero"


def people_only_mean(human: Floats, bounds: Bounds = UNBOUNDED) -> Estimate:
    """Return the mean of the labelled queries alone, with its interval."""
    value = float(np.mean(human)) if len(human) else 0.0
    return _estimate(value, _error(human), human, "people only", bounds)


def prediction_powered_mean(
    human: Floats,
    judge: Floats,
    judge_only: Floats,
    lam: float | None = None,
    bounds: Bounds = UNBOUNDED,
) -> Estimate:
    """Return the prediction-powered mean (PPI++) of human labels and a judge's, with its interval.

        value = lambda * mean(judge_only) + mean(human - lambda * judge)
        variance = lambda^2 * s2(judge_only)/N + s2(human - lambda * judge)/n

    lambda defaults to `tuning`; 1 is plain PPI. Without judge-only queries this is people's mean.
    """
    _check(human, judge, judge_only)
    name = "PPI++" if lam is None else "PPI"
    lam = tuning(human, judge, judge_only) if lam is None else lam * (len(judge_only) > 0)
    method = f"{name}, lambda {lam:.3f}, {len(judge_only)} queries with judge labels only"
    correction = human - lam * judge
    shift = lam * float(np.mean(judge_only)) if lam else 0.0
    value = shift + float(np.mean(correction)) if len(human) else 0.0
    variance = _error(correction) + lam**2 * _error(judge_only)
    why = _too_alike(human - judge, len(judge_only))
    return _estimate(value, variance, human, method, bounds, why)


def fixed_collection_mean(
    human: Floats, judge: Floats, judge_only: Floats, bounds: Bounds = UNBOUNDED
) -> Estimate:
    """Return the mean over exactly these n + N queries, without a claim about other queries.

        value = mean of all judge scores + mean(human - judge)
        variance = (1 - n/(n+N)) * s2(human - judge)/n

    Only the judge's error on the queries without people's labels remains unknown. The interval is
    value +- t_(n-1) * root(variance), cut at the bounds. If people labelled all queries, the mean
    is known exactly.
    """
    _check(human, judge, judge_only)
    everything = np.concatenate([judge, judge_only])
    method = f"difference estimator over a fixed collection of {len(everything)} queries"
    errors, n = human - judge, len(human)
    if n == 0:
        return undefined("no labelled queries", 0, method)
    value = float(np.mean(everything)) + float(np.mean(errors))
    return _of_collection(value, errors, errors, len(judge_only), method).within(*bounds)


def _of_collection(
    value: float, errors: Floats, linear: Floats, others: int, method: str
) -> Estimate:
    """Return an estimate over the n labelled and the other queries of a fixed collection.

    `errors` (n,) or (n, 2) are those of the judge, and `linear` (n,) the same linearised.
    """
    n = len(errors)
    variance = others / (n + others) * _error(linear)
    why = too_few(n) if n < MINIMUM_CLUSTERS else _too_alike(errors, others)
    if not why and others and variance <= ROUNDING**2:
        why = NO_VARIANCE
    if why:
        return defined(value, None, n, f"{method}; {why}")
    half = t_quantile(0.975, n - 1) * variance**0.5
    method = f"{method}; 95 % t interval, {n} labelled queries"
    return defined(value, (value - half, value + half), n, method)


def tuning(human: Floats, judge: Floats, judge_only: Floats) -> float:
    """Return the weight lambda of the judge that minimises the variance of PPI++.

        lambda = cov(human, judge) / ((1 + n/N) * s2 of all judge scores), clipped to [0, 1]

    With 0 only people's labels count, and 1 is plain PPI. lambda is 0 if the judge cannot help:
    with fewer than two labelled queries, no judge-only queries, or constant scores of the judge.
    """
    everything = np.concatenate([judge, judge_only])
    if len(human) < 2 or len(judge_only) == 0 or np.ptp(everything) == 0:
        return 0.0
    covariance = np.cov(human, judge)[0, 1]
    best = covariance / ((1 + len(human) / len(judge_only)) * everything.var(ddof=1))
    return float(np.clip(best, 0, 1))


def effective_labels(human: Floats, judge: Floats, judge_only: Floats) -> float | None:
    """Return how many queries labelled by people alone would give the same variance as PPI++.

        effective labels = n * variance(people only) / variance(PPI++)

    None below two labelled queries, and if PPI++ has no variance.
    """
    _check(human, judge)
    lam = tuning(human, judge, judge_only)
    powered = _error(human - lam * judge) + lam**2 * _error(judge_only)
    return float(len(human) * _error(human) / powered) if len(human) > 1 and powered > 0 else None


def _check(human: Floats, judge: Floats, judge_only: Floats | None = None) -> None:
    if len(human) != len(judge):
        raise ValueError("human and judge must hold one score for each labelled query")
    if not np.isfinite(human - judge).all():
        raise ValueError("a labelled query lacks a score; leave it out")
    if judge_only is not None:
        _check_rest(judge_only)


def _check_rest(judge_only: Floats) -> None:
    if not np.isfinite(judge_only).all():
        raise ValueError("a query without people's labels lacks a judge's score; leave it out")


def _error(values: Floats) -> float:
    """Return the squared standard error of a mean, or 0 for a single value."""
    return float(np.var(values, ddof=1) / len(values)) if len(values) > 1 else 0.0


def _too_alike(errors: Floats, others: int) -> str:
    """Explain that the judge's errors (n,) or (n, 2) are too few for an interval; or empty.

    Without `others`, queries that only the judge labelled, they do not matter.
    """
    return too_few_differ(errors, "people and judge") if others else ""


def _estimate(
    value: float, variance: float, human: Floats, method: str, bounds: Bounds, why: str = ""
) -> Estimate:
    """Return an estimate from people's labels of n queries, with the interval for its bounds.

    `why` is the reason for no interval, if there is one.
    """
    n = len(human)
    if n == 0:
        return undefined("no labelled queries", 0, method)
    bounded = np.isfinite(bounds).all()
    if n < MINIMUM_CLUSTERS:
        why = too_few(n)
    elif not why and not bounded and variance <= ROUNDING**2:
        why = NO_VARIANCE
    if why:
        return defined(value, None, n, f"{method}; {why}").within(*bounds)
    if bounded:
        # Weights of unequal chances, or a poor judge, can make it less certain than people's mean.
        worth = _error(human) / variance if variance > 0 else 1.0
        least = n * min(worth, 1.0) if worth > 0 else n
        ends, size = bounded_interval(value, variance, human, n, n, bounds, least)
        how = f"95 % Wilson interval, {n} labelled queries, effective size {size:.0f}"
        return defined(value, ends, n, f"{method}; {how}").within(*bounds)
    half = t_quantile(0.975, n - 1) * variance**0.5
    how = f"95 % t interval, {n} labelled queries"
    return defined(value, (value - half, value + half), n, f"{method}; {how}").within(*bounds)


def prediction_powered_mean_unequal(
    human: Floats,
    judge: Floats,
    chances: Floats,
    judge_only: Floats,
    lam: float | None = None,
    bounds: Bounds = UNBOUNDED,
) -> Estimate:
    """Return the prediction-powered mean if queries had unequal chances of being labelled.

    The value is the mean over all n + N queries of

        z = lambda * F + (Y - lambda * F) * labelled / chance,

    where Y is people's score, F the judge's, and `labelled` is 1 or 0. `human` Y, `judge` F and
    `chances` (n,) belong to the labelled queries, and `judge_only` F (N,) to the others. Each query
    was labelled with its own chance, independently of the others. The variance is s2(z) / (n + N)
    (Zrnic and Candes 2024). lambda defaults to -cov(a, b) / s2(b), clipped to [0, 1], where
    z = a + lambda * b. Undefined if a chance is unknown (NaN) or 0.
    """
    n, everything = len(human), len(human) + len(judge_only)
    counted = f"{len(judge_only)} queries with judge labels only"
    method = f"prediction-powered mean, labelling chances unequal, {counted}"
    if not (len(judge) == len(chances) == n and np.isfinite(human - judge).all()):
        raise ValueError("human, judge and chances must hold one number for each labelled query")
    _check_rest(judge_only)
    if n == 0:
        return undefined("no labelled queries", 0, method)
    if not (np.isfinite(chances) & (chances > 0) & (chances <= 1)).all():
        return undefined(UNKNOWN, n, method)
    people = np.concatenate([human / chances, np.zeros(len(judge_only))])
    gain = np.concatenate([judge * (1 - 1 / chances), judge_only])
    found = _tuned(people, gain) if lam is None else lam
    z = people + found * gain
    method = f"{method}, lambda {found:.3f}"
    variance = float(z.var(ddof=1)) / everything if everything > 1 else 0.0
    why = _too_alike(human - judge, len(judge_only))
    return _estimate(float(z.mean()), variance, human, method, bounds, why)


def _tuned(people: Floats, gain: Floats) -> float:
    if len(gain) < 2 or np.ptp(gain) == 0:
        return 0.0
    return float(np.clip(-np.cov(people, gain)[0, 1] / gain.var(ddof=1), 0, 1))


def prediction_powered_ratio(
    human: Floats,
    judge: Floats,
    judge_only: Floats,
    lam: float | None = None,
    *,
    resamples: int | None = None,
    seed: int = 0,
    drawn: tuple[Floats, Floats] | None = None,
) -> Estimate:
    """Return the prediction-powered ratio of sums, with its interval.

        value = lambda * R(judge_only) + R(human) - lambda * R(judge), where R = sum / sum

    `human` and `judge` (n, 2) belong to the labelled queries, `judge_only` (N, 2) to the others.
    lambda defaults to that of PPI++ for the linearised ratios; 1 is plain PPI. The interval is that
    of a BCa bootstrap, at the level for the informative labelled queries (`informative`), or for
    their `effective_number` by people's denominators if that is smaller. Labelled
    and other queries are resampled separately, each query in all terms at once (Angelopoulos and
    others 2023; for ratios of several samples Davison and Hinkley 1997, 5.3.2). `drawn` passes
    existing resamples: how often each labelled query and each other query is drawn, (B, n) and
    (B, N).
    """
    n, others = len(human), len(judge_only)
    labelled, rest = _sums(human, judge), judge_only
    _check_rest(judge_only)
    if n == 0:
        return undefined("no labelled queries", 0, "PPI of a ratio")
    found = _tuned_ratio(human, judge, judge_only) if lam is None else lam * (others > 0)
    name = "PPI++" if lam is None else "PPI"
    method = f"{name} of a ratio, lambda {found:.3f}, {others} queries with judge labels only"
    value = float(_powered(labelled.sum(axis=0), rest.sum(axis=0), found))
    if not np.isfinite(value):
        return undefined(NO_DENOMINATOR, n, method)
    effective, informative = effective_number(human[:, 1]), informative_shares(*human.T)
    why = too_few(n) if n < MINIMUM_CLUSTERS else too_unequal(n, effective)
    why = why or _too_alike(human - judge, others)
    if not why and informative < FEWEST_INFORMATIVE:
        why = too_few_informative(informative, n)
    if why:
        return defined(value, None, n, f"{method}; {why}")
    of_labelled, of_rest = drawn or _draw_samples(n, others, resamples_of(n, resamples), seed)
    resampled = _powered(of_labelled @ labelled, of_rest @ rest, found)
    left_out = _jackknife(labelled, rest, found, value)
    interval = bca_interval(
        value, resampled, left_out, level=expanded_level(min(informative, effective))
    )
    fewer = f", {informative} of them informative" if informative < n else ""
    how = f"95 % BCa bootstrap, {n} labelled queries{fewer}, {len(resampled)} resamples"
    return defined(value, interval, n, f"{method}; {how if interval else ONE_SIDED}")


def fixed_collection_ratio(human: Floats, judge: Floats, judge_only: Floats) -> Estimate:
    """Return the ratio of sums over exactly these n + N queries, without a claim about others.

        value = R(all judge scores) + R(human) - R(judge)

    The variance is (1 - n/(n+N)) * s2/n of the labelled queries' linearised errors. These are
    u_q = (x_q - R y_q) / mean y of people minus that of the judge. The interval uses t_(n-1)
    (Cochran 1977, sections 6 and 7).
    """
    n, everything = len(_sums(human, judge)), np.concatenate([judge, judge_only])
    method = f"difference estimator of a ratio over a fixed collection of {len(everything)} queries"
    value = _ratio(everything) + _ratio(human) - _ratio(judge)
    if n == 0:
        return undefined("no labelled queries", 0, method)
    if not np.isfinite(value):
        return undefined(NO_DENOMINATOR, n, method)
    errors = linearise(human) - linearise(judge)
    return _of_collection(value, human - judge, errors, len(judge_only), method)


def effective_labels_of_ratio(human: Floats, judge: Floats, judge_only: Floats) -> float | None:
    """Return `effective_labels` for a ratio of sums."""
    if not all(len(x) and np.isfinite(_ratio(x)) for x in (human, judge)):
        return None
    others = linearise(judge_only) if len(judge_only) else np.empty(0)
    return effective_labels(linearise(human), linearise(judge), others)


def linearise(sums: Floats) -> Floats:
    """Return R + (x_q - R y_q) / mean y of each query (n, 2): values whose mean is the ratio R."""
    total = _ratio(sums)
    return np.asarray(total + (sums[:, 0] - total * sums[:, 1]) / sums[:, 1].mean(), float)


def _tuned_ratio(human: Floats, judge: Floats, judge_only: Floats) -> float:
    if not all(np.isfinite(_ratio(x)) for x in (human, judge, judge_only)):
        return 0.0
    return tuning(linearise(human), linearise(judge), linearise(judge_only))


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


def _jackknife(labelled: Floats, rest: Floats, lam: float, value: float) -> Floats:
    """Return the value without each query, changes scaled by (n - 1)/n of the query's sample."""
    total, others = labelled.sum(axis=0), rest.sum(axis=0)
    without = _powered(total - labelled, np.broadcast_to(others, (len(labelled), 2)), lam) - value
    changes = [(len(labelled) - 1) / len(labelled) * without]
    if lam and len(rest):
        without = _powered(np.broadcast_to(total, (len(rest), 4)), others - rest, lam) - value
        changes.append((len(rest) - 1) / len(rest) * without)
    # Centred separately, since each sample has its own mean.
    return value + np.concatenate([each - each.mean() for each in changes])


def _draw_samples(labelled: int, others: int, resamples: int, seed: int) -> tuple[Floats, Floats]:
    generator = np.random.Generator(np.random.PCG64(seed))
    one, other = (
        generator.multinomial(size, np.full(size, 1 / size), size=resamples)
        if size
        else np.zeros((resamples, 0))
        for size in (labelled, others)
    )
    return np.asarray(one, float), np.asarray(other, float)
