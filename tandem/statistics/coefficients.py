"""All coefficients of one table of labels, with intervals over whole resampled clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from .agreement import (
    ALIKE,
    NO_PAIR,
    Counts,
    cohen_kappa,
    counts_of,
    fleiss_kappa,
    fleiss_kappa_pooled,
    gwet_ac,
    kinds_by_counts,
    krippendorff_alpha,
    paired_counts,
    percent_agreement,
    percent_agreement_pooled,
    randolph_kappa,
    reason_undefined,
)
from .alignment import accuracy, balanced_accuracy, f1, macro, precision, recall, specificity
from .arrays import Floats, Ints, Level, Value, unique_integers
from .estimate import COEFFICIENT, COEFFICIENT_DIFFERENCE, SHARE, SHARE_DIFFERENCE, Estimate
from .informative import informative_among, informative_by_category, informative_of_each
from .resampling import UNDEFINED, Bootstrap, Draws, Interval, OfWeights
from .tally import Tally, kinds_of

OfCounts = Callable[[Counts, Floats], Value]
OfTable = Callable[[Floats], Value]
#: A function of the table of two raters, the description of its method, and why it may be
#: undefined.
Measure = tuple[OfTable, str, str]

AGREEMENT = (
    "percent",
    "percent_pooled",
    "fleiss_kappa",
    "fleiss_kappa_pooled",
    "randolph_kappa",
    "krippendorff_alpha",
    "gwet_ac",
)
#: The coefficients of two raters, with the descriptions of their methods.
PAIR = {
    "percent": "share of equal labels",
    "cohen_kappa": "Cohen's kappa",
    "cohen_kappa_linear": "Cohen's kappa, linear weights",
    "cohen_kappa_quadratic": "Cohen's kappa, quadratic weights",
}
OVERALL: dict[str, tuple[OfTable, str]] = {
    "accuracy": (accuracy, "accuracy"),
    "balanced_accuracy": (balanced_accuracy, "balanced accuracy"),
    "macro_precision": (lambda t: macro(precision(t)), "precision, mean over categories"),
    "macro_recall": (lambda t: macro(recall(t)), "recall, mean over categories"),
    "macro_f1": (lambda t: macro(f1(t)), "F1, mean over categories"),
    "macro_specificity": (lambda t: macro(specificity(t)), "specificity, mean over categories"),
}
PART = "no interval: that of a category has none"
#: The per-category measure that each mean over categories averages.
MEANS = {
    "balanced_accuracy": "recall",
    "macro_precision": "precision",
    "macro_recall": "recall",
    "macro_f1": "f1",
    "macro_specificity": "specificity",
}
PER_CLASS: dict[str, tuple[Callable[[Floats], Floats], str]] = {
    "precision": (precision, "the judge never uses the category"),
    "recall": (recall, "people never use the category"),
    "f1": (f1, "neither people nor the judge use the category"),
    "specificity": (specificity, "people use no other category"),
}


@dataclass(frozen=True)
class Alignment:
    """A judge against a reference.

    `confusion` (K, K) has people in its rows. `classes` holds, for each measure, an estimate for
    each category, and `overall` the estimates over all categories.
    """

    confusion: Floats
    classes: dict[str, list[Estimate]]
    overall: dict[str, Estimate]


def agreement_estimates(
    codes: Ints,
    clusters: Ints,
    k: int,
    level: Level = "nominal",
    values: Floats | None = None,
    *,
    names: Sequence[str] = AGREEMENT,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """Return percent agreement, Fleiss' and Randolph's kappas, Krippendorff's alpha, Gwet's AC.

    `codes` (U, R) are of k categories, -1 = missing. Whole `clusters` (U,) are resampled. Alpha and
    AC are computed at `level`, with `values` (K,) as the numbers of the categories. `names` selects
    the coefficients.
    """
    rows, kinds = kinds_by_counts(codes, k)
    tally = Tally.of(kinds, rows.shape[0], clusters)
    informative = informative_among(tally, paired_counts(rows))
    bootstrap = Bootstrap(tally, draws, seed, interval, informative)
    enter = (codes >= 0).sum(axis=1) >= 2
    n, queries = int(enter.sum()), len(unique_integers(clusters[enter])[0])
    reason = reason_undefined(rows)

    def estimate_of(function: OfCounts, method: str) -> Estimate:
        return bootstrap.estimate(lambda w: function(rows, w), n, method, reason, queries)

    functions = _of_counts(k, level, values)
    return {name: estimate_of(*functions[name]).within(*_range(name)) for name in names}


def agreement_change(
    before: Ints,
    after: Ints,
    clusters: Ints,
    k: int,
    level: Level = "nominal",
    values: Floats | None = None,
    *,
    names: Sequence[str] = AGREEMENT,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """Return each coefficient of the labels `after` minus that of the labels `before`, (U, R) each.

    Both use the same resamples of whole `clusters` (U,), since they may have queries in common. `n`
    counts the units that two raters labelled, before or after, whichever is fewer. The interval is
    computed for the number of queries before or after, whichever is fewer. Other arguments are
    those of `agreement_estimates`.
    """
    both = np.concatenate([counts_of(before, k), counts_of(after, k)], axis=1)
    rows, kinds = kinds_of(both)
    tally = Tally.of(kinds, len(rows), clusters)
    sides = rows[:, :k], rows[:, k:]
    informative = min(informative_among(tally, paired_counts(side)) for side in sides)
    bootstrap = Bootstrap(tally, draws, seed, interval, informative)
    enter = [both[:, half].sum(axis=1) >= 2 for half in (slice(0, k), slice(k, None))]
    n = min(int(each.sum()) for each in enter)
    queries = min(len(unique_integers(clusters[each])[0]) for each in enter)
    reason = next((why for why in map(reason_undefined, sides) if why != UNDEFINED), UNDEFINED)

    def change_of(function: OfCounts, method: str) -> Estimate:
        return bootstrap.estimate(
            lambda w: np.asarray(function(sides[1], w)) - np.asarray(function(sides[0], w)),
            n,
            f"{method}: difference",
            reason,
            queries,
        )

    functions = _of_counts(k, level, values)
    return {name: change_of(*functions[name]).within(*_range_of_difference(name)) for name in names}


def _range(name: str) -> tuple[float, float]:
    """Return the range of a coefficient or share. Rounding may exceed it slightly.

    Two coefficients may lie below -1: Fleiss' kappa if units have unequal numbers of labels, since
    its agreement averages over units and its chance agreement over labels, and Gwet's AC2 if raters
    choose opposite ends of the scale.
    """
    if any(word in name for word in ("fleiss", "gwet")):
        return -inf, COEFFICIENT[1]
    return COEFFICIENT if any(word in name for word in ("kappa", "alpha")) else SHARE


def _range_of_difference(name: str) -> tuple[float, float]:
    least, _ = own = _range(name)
    if least == -inf:
        return -inf, inf
    return SHARE_DIFFERENCE if own == SHARE else COEFFICIENT_DIFFERENCE


def _of_counts(k: int, level: Level, values: Floats | None) -> dict[str, tuple[OfCounts, str]]:
    gwet = "Gwet's AC1" if level == "nominal" else "Gwet's AC2, quadratic weights"
    return {
        "percent": (percent_agreement, "mean share of agreeing pairs"),
        "percent_pooled": (percent_agreement_pooled, "share of agreeing pairs, pooled"),
        "fleiss_kappa": (fleiss_kappa, "Fleiss' kappa, averaged over units"),
        "fleiss_kappa_pooled": (fleiss_kappa_pooled, "Fleiss' kappa, pairs pooled"),
        "randolph_kappa": (
            lambda c, w: randolph_kappa(c, k, w),
            f"Randolph's free-marginal kappa, k = {k}",
        ),
        "krippendorff_alpha": (
            lambda c, w: krippendorff_alpha(c, level, values, w),
            f"Krippendorff's alpha, {level}",
        ),
        "gwet_ac": (lambda c, w: gwet_ac(c, level, values, w), gwet),
    }


def pair_estimates(
    one: Ints,
    other: Ints,
    clusters: Ints,
    k: int,
    values: Floats | None = None,
    *,
    names: Sequence[str] = tuple(PAIR),
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """Return two raters' share of equal labels and Cohen's kappa, plain, linear and quadratic.

    Codes (U,) of k categories, -1 = missing; whole `clusters` (U,) are resampled. The weights of
    kappa are distances of `values` (K,), the numbers of the categories (default: their positions).
    `names` selects the coefficients.
    """
    functions: dict[str, OfTable] = {
        "percent": accuracy,
        "cohen_kappa": cohen_kappa,
        "cohen_kappa_linear": lambda t: cohen_kappa(t, "linear", values),
        "cohen_kappa_quadratic": lambda t: cohen_kappa(t, "quadratic", values),
    }
    reason = _why_no_kappa(one, other)
    measures = {name: (functions[name], PAIR[name], reason) for name in names}
    return table_estimates(
        one, other, clusters, k, measures, draws=draws, seed=seed, interval=interval
    )


def table_estimates(
    one: Ints,
    other: Ints,
    clusters: Ints,
    k: int,
    measures: Mapping[str, Measure],
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """Return any measures of two raters' table (K, K), with the first rater in the rows.

    Measures with `kappa` in their name range from -1 to 1, and all others are shares.
    """
    bootstrap = _of_pair(pair_tally(one, other, clusters, k), k, draws, seed, interval)
    return {
        name: _of_table(bootstrap, *measure, k).within(*_range(name))
        for name, measure in measures.items()
    }


def alignment_estimates(
    reference: Ints,
    judge: Ints,
    clusters: Ints,
    k: int,
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> Alignment:
    """Return accuracy, precision, recall, F1, specificity and balanced accuracy of a judge.

    Codes (U,) are of k categories, -1 = missing. Whole `clusters` (U,) are resampled. Each category
    has its own estimates. Means over categories leave out those with an undefined measure. If not
    all queries are informative, a mean has no interval when one of its categories has none. For
    instance, a recall of 1 on the few units with a rare label is the same in every resample, so
    half of a mean over two categories would not vary.
    """
    bootstrap = _of_pair(pair_tally(reference, judge, clusters, k), k, draws, seed, interval)
    table = _square(bootstrap.tally.total, k)
    n = int(table.sum())
    informative = informative_by_category(bootstrap.tally, k, *cells_of(k))
    classes = {
        name: [
            each.within(*SHARE)
            for each in bootstrap.estimates(
                _on_square(function, k), n, name, reason, informative=informative
            )
        ]
        for name, (function, reason) in PER_CLASS.items()
    }
    overall = {
        name: _of_table(bootstrap, function, method, "no unit has both labels", k).within(*SHARE)
        for name, (function, method) in OVERALL.items()
    }
    if (bootstrap.informative or 0) < bootstrap.tally.clusters:
        overall |= {
            name: replace(overall[name], low=None, high=None, method=f"{OVERALL[name][1]}; {PART}")
            for name, of in MEANS.items()
            if overall[name].low is not None and any(map(_has_none, classes[of]))
        }
    return Alignment(table, classes, overall)


def _has_none(estimate: Estimate) -> bool:
    return estimate.value is not None and estimate.low is None


def pair_tally(one: Ints, other: Ints, clusters: Ints, k: int) -> Tally:
    """Tally the table of two raters, on units with both labels: cell `one * k + other`."""
    if max(one.max(initial=-1), other.max(initial=-1)) >= k:
        raise ValueError(f"a code is not one of {k} categories; give a larger k")
    cells = np.where((one >= 0) & (other >= 0), one * k + other, -1)
    return Tally.of(cells, k * k, clusters)


def cells_of(k: int) -> tuple[Ints, Ints]:
    """Return the codes of the two raters in each cell of `pair_tally`, (K * K,) each."""
    return np.divmod(np.arange(k * k), k)


def _of_pair(tally: Tally, k: int, draws: Draws, seed: int, interval: Interval) -> Bootstrap:
    return Bootstrap(tally, draws, seed, interval, informative_of_each(tally, *cells_of(k)))


def _of_table(
    bootstrap: Bootstrap, function: OfTable, method: str, reason: str, k: int
) -> Estimate:
    n = int(bootstrap.tally.total.sum())
    return bootstrap.estimate(_on_square(function, k), n, method, reason)


def _on_square(function: OfTable, k: int) -> OfWeights:
    return lambda weights: function(_square(weights, k))


def _square(weights: Floats, k: int) -> Floats:
    return weights.reshape(*weights.shape[:-1], k, k)


def _why_no_kappa(one: Ints, other: Ints) -> str:
    both = (one >= 0) & (other >= 0)
    if not both.any():
        return NO_PAIR
    first = one[both][0]
    alike = (one[both] == first).all() and (other[both] == first).all()
    return ALIKE if alike else UNDEFINED
