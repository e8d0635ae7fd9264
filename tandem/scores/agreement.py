"""Agreement of evaluators on the ranking of systems, and prediction-powered means of systems.

For prediction-powered means the labelled queries must be a random sample of all, with known
probabilities. The queries that happen to be finished are not such a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..statistics import (
    MINIMUM_CLUSTERS,
    PEOPLE_ALONE,
    UNBOUNDED,
    Bools,
    Bootstrap,
    Bounds,
    Draws,
    Estimate,
    Floats,
    PairedTest,
    Tally,
    adjust_tests,
    correlation_within_queries,
    effective_labels,
    paired_t,
    prediction_powered_mean,
    prediction_powered_mean_unequal,
    tau_ap,
    undefined,
    wilcoxon_signed_rank,
)
from ..statistics.estimate import ratio, t_quantile
from ..statistics.paired import DECIMALS, OF_ROWS, sums_and_counts
from ..statistics.system_order import WITHIN, Within

Ranks = NDArray[np.signedinteger[Any]]

FEWEST, FEWEST_OF_EVALUATORS = 3, 6
"""The fewest systems for an order, and for a comparison of evaluators, which claims more."""
IN_WORDS = {
    FEWEST: "three systems",
    FEWEST_OF_EVALUATORS: "six systems, the oracle apart",
}
#: The maximum number of pairs of means compared at once; their signs take 2 MB.
NEAR = 1_000_000
METHODS = tuple(
    f"{OF_ROWS[name][1]} of the means of {{}} systems" for name in ("kendall", "tau_ap")
)
EQUAL = "the systems' means are all equal, or a system has no scores"
NO_INTERVAL = "fewer than ten queries have both scores"
NO_POWERED_INTERVAL = "fewer than ten labelled queries"
POWERED = "prediction-powered mean (PPI++)"
TEST = "t test of the prediction-powered mean difference"


@dataclass(frozen=True)
class Ordering:
    """Kendall's tau-b between the orders that `a` and `b` give to the same systems.

    `tau_ap` is that of the one of them that is not the reference; None if neither is. `within` has
    the same two as means over queries of those within a query, by name, if they are computed.
    """

    a: str
    b: str
    kendall: Estimate
    tau_ap: Estimate | None = None
    within: Mapping[Within, Estimate] = field(default_factory=dict)


def orderings(
    scores: Mapping[str, Floats],
    draws: Draws = None,
    seed: int = 0,
    unknown: Mapping[str, str] = MappingProxyType({}),
    fewest: int = FEWEST,
    reference: str = "",
) -> list[Ordering]:
    """Return tau-b of the systems' means over queries for every pair of measures or evaluators.

    `scores` holds a table (Q, S) for each measure or evaluator, NaN = none. The systems may be
    sampled contexts. Whole queries are resampled, the same ones for all pairs (Ju and others 2025,
    section 5, for measures; Qi and others 2024 for evaluators). Tau is undefined with fewer than
    `fewest` systems, and for tables in `unknown`, which maps their names to the reason. With the
    name of a `reference`, whose order is taken as true, its pairs have tau_AP, too.
    """
    pairs = list(combinations(scores, 2))
    if not pairs:
        return []
    systems = next(iter(scores.values())).shape[1]
    if systems < fewest:
        few = f"fewer than {IN_WORDS[fewest]}"
        return [_undefined(a, b, few, systems, reference) for a, b in pairs]
    known = {name: table for name, table in scores.items() if name not in unknown}
    taus = _orderings(known, draws, seed, systems, reference)
    return [
        _undefined(a, b, unknown.get(a, unknown.get(b, "")), systems, reference)
        if a in unknown or b in unknown
        else taus[a, b]
        for a, b in pairs
    ]


def with_correlations_within(
    ordering: Ordering,
    scores: Mapping[str, Floats],
    unknown: Mapping[str, str] = MappingProxyType({}),
    reference: str = "",
) -> Ordering:
    """Add the correlations within queries to an ordering of `orderings`, of the same arguments.

    They need three systems, since each query has its own order, and their mean varies with queries.
    """
    a, b = ordering.a, ordering.b
    if reference == b:
        a, b = b, a
    names: tuple[Within, ...] = ("kendall", "tau_ap") if reference == a else ("kendall",)
    reason = unknown.get(a, unknown.get(b))
    if scores[a].shape[1] < FEWEST:
        reason = f"fewer than {IN_WORDS[FEWEST]}"
    return replace(
        ordering,
        within={
            name: correlation_within_queries(scores[a], scores[b], name)
            if reason is None
            else undefined(reason, 0, WITHIN[name])
            for name in names
        },
    )


def _undefined(a: str, b: str, reason: str, systems: int, reference: str) -> Ordering:
    kendall, tau_ap = (undefined(reason, systems, each.format(systems)) for each in METHODS)
    return Ordering(a, b, kendall, tau_ap if reference in (a, b) else None)


def _orderings(
    scores: Mapping[str, Floats], draws: Draws, seed: int, systems: int, reference: str
) -> dict[tuple[str, str], Ordering]:
    pairs, names = list(combinations(scores, 2)), list(scores)
    if not pairs:
        return {}
    sums = np.concatenate([sums_and_counts(table) for table in scores.values()], axis=1)
    bootstrap = Bootstrap(Tally.of_sums(sums, np.arange(len(sums))), draws, seed)
    of_kendall, of_tau_ap = (method.format(systems) for method in METHODS)
    made = bootstrap.estimates(partial(_taus, len(names)), systems, of_kendall, EQUAL)
    beside: dict[str, Estimate] = {}
    if reference in scores:
        others = [name for name in names if name != reference]
        taus = partial(_taus_ap, len(names), names.index(reference))
        found = bootstrap.estimates(taus, systems, of_tau_ap, EQUAL)
        beside = dict(zip(others, found, strict=True))
    return {
        (a, b): Ordering(a, b, each, beside.get(b if a == reference else a))
        if reference in (a, b)
        else Ordering(a, b, each)
        for (a, b), each in zip(pairs, made, strict=True)
    }


def _means(tables: int, weights: Floats) -> Floats:
    """Return the systems' means of each table, (..., T, S), from sums and sizes (..., T * 2 S)."""
    sums, sizes = np.moveaxis(weights.reshape(*weights.shape[:-1], tables, 2, -1), -2, 0)
    # Equal means of decimal fractions may differ in the last bits.
    return np.round(ratio(sums, sizes), DECIMALS)


def _taus_ap(tables: int, reference: int, weights: Floats) -> Floats:
    """Return tau_AP of every other table with the reference, (..., T - 1)."""
    means = _means(tables, weights)
    ranks, unknown = _ranks(means), np.asarray(np.isnan(means).any(axis=-1))
    found = tau_ap(ranks[..., reference, None, :], np.delete(ranks, reference, axis=-2))
    without = unknown[..., reference, None] | np.delete(unknown, reference, axis=-1)
    return np.where(without, np.nan, found)


def _taus(tables: int, weights: Floats) -> Floats:
    """Return tau-b of each pair of tables, (..., pairs), from sums and sizes (..., T * 2 S)."""
    means = _means(tables, weights)
    excess = _excess(means.reshape(-1, *means.shape[-2:])).reshape(*means.shape[:-1], tables)
    untied = np.diagonal(excess, axis1=-2, axis2=-1)
    untied = np.where(np.isnan(means).any(axis=-1), np.nan, untied)
    # The root of the product, unlike the product of roots, gives exactly 1 for equal orders.
    whole = ratio(excess, np.sqrt(untied[..., :, None] * untied[..., None, :]))
    return whole[(..., *np.triu_indices(tables, 1))]


def _excess(means: Floats) -> Floats:
    """Return the number of concordant minus discordant pairs of systems for two tables.

    The result is (B, T, T) for means (B, T, S). Blocks of B keep the pairs in the processor's
    cache.
    """
    resamples, tables, systems = means.shape
    step = max(1, NEAR // (tables * systems * systems))
    made = np.empty((resamples, tables, tables))
    for start in range(0, resamples, step):
        across = np.ascontiguousarray(np.moveaxis(means[start : start + step], -1, 0))
        signs = np.moveaxis(_signs(across).astype(np.float32), 0, -1)
        made[start : start + step] = signs @ np.swapaxes(signs, -1, -2)
    return made


def _signs(means: Floats) -> NDArray[np.int8]:
    """Return the sign of each pair's difference, (pairs, ...), from means (S, ...); 0 with NaN."""
    systems = len(means)
    made = np.empty((systems * (systems - 1) // 2, *means.shape[1:]), np.int8)
    start = 0
    for system in range(systems - 1):
        end = start + systems - 1 - system
        one, others = means[system], means[system + 1 :]
        is_above, is_below = (each.view(np.int8) for each in (one > others, one < others))
        np.subtract(is_above, is_below, out=made[start:end])
        start = end
    return made


def _ranks(means: Floats) -> Ranks:
    """Return integers in the order of the means (..., S), equal where the means are equal.

    The smallest integer type is used, since there are many pairs of systems.
    """
    order = np.argsort(means, axis=-1)
    risen = np.take_along_axis(means, order, axis=-1)
    steps = np.zeros(means.shape, np.min_scalar_type(-means.shape[-1]))
    steps[..., 1:] = risen[..., 1:] != risen[..., :-1]
    ranks = np.empty_like(steps)
    np.put_along_axis(ranks, order, np.cumsum(steps, axis=-1, dtype=steps.dtype), axis=-1)
    return ranks


@dataclass(frozen=True)
class Setting:
    """Settings `a` and `b` on the same queries: a - b, and p adjusted over all pairs (Holm).

    The interval of a - b has the level of the adjusted p-value (`adjust_tests`).
    """

    a: str
    b: str
    test: PairedTest
    adjusted_p_value: float | None


def settings(scores: Mapping[str, Floats]) -> list[Setting]:
    """Test each pair of settings by Wilcoxon's signed ranks, scores (Q,) each, NaN = none."""
    return _compared(scores, lambda a, b: wilcoxon_signed_rank(a - b))


def settings_by_mean(scores: Mapping[str, Floats]) -> list[Setting]:
    """Test each pair by paired t, with the variance of `difference_by_cluster`.

    The difference's interval excludes 0 exactly if the adjusted p is below .05. Without an
    interval, because too few queries have both scores or differ, there is no p either.
    """
    return _compared(scores, _by_mean)


def _by_mean(a: Floats, b: Floats) -> PairedTest:
    test = paired_t(a, b, np.arange(len(a)))
    if test.difference.value is None or test.difference.low is not None or test.reason:
        return test
    return replace(test, p_value=None, reason=_why_untested(test.difference, NO_INTERVAL))


def _why_untested(difference: Estimate, few: str) -> str:
    """Explain that a difference without an interval is not tested: `few` queries, or too alike."""
    return few if difference.n < MINIMUM_CLUSTERS else difference.why_no_interval


def _compared(
    scores: Mapping[str, Floats], compare: Callable[[Floats, Floats], PairedTest]
) -> list[Setting]:
    pairs = list(combinations(scores, 2))
    tests = adjust_tests([compare(scores[a], scores[b]) for a, b in pairs])
    return [
        Setting(a, b, test, adjusted) for (a, b), (test, adjusted) in zip(pairs, tests, strict=True)
    ]


@dataclass(frozen=True)
class Labelled:
    """Scores of S systems on Q queries by people and by a judge, (Q, S) each, NaN = none.

    `sampled` (Q,) are the queries sampled for people: their scores on other queries do not count.
    `chances` (Q,) are the sampling probabilities, and `reason` says why they cannot be relied on.
    """

    human: Floats
    judge: Floats
    sampled: Bools
    chances: Floats
    reason: str | None = None


def powered_mean(
    data: Labelled, column: int, bounds: Bounds = UNBOUNDED
) -> tuple[Estimate, float | None]:
    """Return a system's mean over queries, and how many labelled queries it is worth.

    This is PPI++ if all chances are equal (Angelopoulos and others 2023). Otherwise queries are
    weighted by their inverse chances (Zrnic and Candes 2024), and the second number is None. There
    is no mean if the judge alone labelled no query, since the result would be people's own mean.
    Sampled queries for which people's labels leave the measure undefined are left out. The mean is
    cut at the measure's `bounds`, which the correction can exceed.
    """
    return _powered(data, data.human[:, column], data.judge[:, column], bounds)


def powered_pairs(data: Labelled, systems: Sequence[str]) -> list[Setting]:
    """Compare every pair of systems on the same queries: a - b from people and judge together.

    A two-sided t test on the difference's own interval with n - 1 degrees of freedom; p and the
    interval are adjusted over all pairs (Holm 1979).
    """
    pairs = list(combinations(range(len(systems)), 2))
    tests = [
        _tested(
            _powered(
                data, data.human[:, a] - data.human[:, b], data.judge[:, a] - data.judge[:, b]
            )[0]
        )
        for a, b in pairs
    ]
    return [
        Setting(systems[a], systems[b], test, adjusted)
        for (a, b), (test, adjusted) in zip(pairs, adjust_tests(tests), strict=True)
    ]


def _powered(
    data: Labelled, human: Floats, judge: Floats, bounds: Bounds = UNBOUNDED
) -> tuple[Estimate, float | None]:
    labelled = data.sampled & np.isfinite(human)
    only = judge[~data.sampled & np.isfinite(judge)]
    n = int(labelled.sum())
    people, machine, chances = human[labelled], judge[labelled], data.chances[labelled]
    if data.reason:
        return undefined(data.reason, n, POWERED), None
    if n and not len(only):
        return undefined(PEOPLE_ALONE, n, POWERED), None
    if np.isnan(machine).any():
        lost = f"the judge has no score on {int(np.isnan(machine).sum())} of the labelled queries"
        return undefined(lost, n, POWERED), None
    if len(set(chances.tolist())) > 1:
        made = prediction_powered_mean_unequal(people, machine, chances, only, bounds=bounds)
        return made, None
    made = prediction_powered_mean(people, machine, only, bounds=bounds)
    return made, effective_labels(people, machine, only)


def _tested(difference: Estimate) -> PairedTest:
    if difference.value is None:
        return PairedTest(difference, None, TEST, difference.reason)
    if difference.low is None or difference.high is None:
        return PairedTest(difference, None, TEST, _why_untested(difference, NO_POWERED_INTERVAL))
    half = (difference.high - difference.low) / 2
    from scipy import stats

    freedom = difference.n - 1
    t = abs(difference.value) / half * t_quantile(0.975, freedom)
    return PairedTest(difference, float(2 * stats.t.sf(t, freedom)), TEST)
