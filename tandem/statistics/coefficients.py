"""All coefficients of one table of labels, with intervals over whole resampled clusters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf

import numpy as np

from .agreement import (
    ALIKE,
    NO_PAIR,
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
from .cluster_means import informative_among, informative_by_category, informative_of_each
from .estimate import (
    COEFFICIENT,
    SHARE,
    Coefficient,
    Estimate,
    Floats,
    Ints,
    Level,
    Scale,
    Value,
    by_key,
    undefined,
    unique_integers,
)
from .resampling import UNDEFINED, Bootstrap, Draws, Interval, OfWeights
from .tally import Tally, kinds_of

OfTable = Callable[[Floats], Value]
#: A function of the table of two raters, the description of its method, and why it may be
#: undefined.
Measure = tuple[OfTable, str, str]

#: Fleiss' kappa may lie below -1 if units have unequal numbers of labels, since its agreement
#: averages over units and its chance agreement over labels; Gwet's AC2, if raters choose opposite
#: ends of the scale.
UNBOUNDED_BELOW = (-inf, COEFFICIENT[1])
FLEISS = Coefficient(
    "fleiss_kappa",
    "Fleiss' kappa, averaged over units",
    lambda counts, weights, scale: fleiss_kappa(counts, weights),
    "fleiss_kappa",
    "Fleiss' kappa",
    sign="Fleiss’ κ",
    citation="fleiss1971",
    bounds=UNBOUNDED_BELOW,
    rank=2,
    library={"figure": "fleiss", "method": "fleiss"},
)
ALPHA = Coefficient(
    "krippendorff_alpha",
    "Krippendorff's alpha, {level}",
    lambda counts, weights, scale: krippendorff_alpha(counts, scale.level, scale.values, weights),
    "krippendorff_alpha",
    "Krippendorff's alpha",
    sign="α",
    citation="krippendorff2019",
    rank=1,
    with_judge=True,
    library={"figure": "alpha"},
)
#: Of any number of raters: of counts (U, K), weights (B, U) and a `Scale`.
AMONG = by_key(
    Coefficient(
        "percent",
        "mean share of agreeing pairs",
        lambda counts, weights, scale: percent_agreement(counts, weights),
        "percent_agreement",
        "Percent agreement",
        head="Share of agreeing pairs",
        bounds=SHARE,
        rank=4,
    ),
    Coefficient(
        "percent_pooled",
        "share of agreeing pairs, pooled",
        lambda counts, weights, scale: percent_agreement_pooled(counts, weights),
        "percent_agreement_pooled",
        bounds=SHARE,
    ),
    FLEISS,
    Coefficient(
        "fleiss_kappa_pooled",
        "Fleiss' kappa, pairs pooled",
        lambda counts, weights, scale: fleiss_kappa_pooled(counts, weights),
        "fleiss_kappa_pooled",
        "Fleiss' kappa, pooled",
        citation="fleiss1971",
        bounds=UNBOUNDED_BELOW,
    ),
    Coefficient(
        "randolph_kappa",
        "Randolph's free-marginal kappa, k = {k}",
        lambda counts, weights, scale: randolph_kappa(counts, scale.k, weights),
        "randolph_kappa",
        "Randolph's kappa",
        citation="randolph2005",
        by_number=True,
        library={"figure": "fleiss", "method": "randolph"},
    ),
    ALPHA,
    Coefficient(
        "gwet_ac",
        "Gwet's AC1",
        lambda counts, weights, scale: gwet_ac(counts, scale.level, scale.values, weights),
        "gwet_ac",
        "Gwet's AC",
        ordered="Gwet's AC2, quadratic weights",
        citation="gwet2008",
        bounds=UNBOUNDED_BELOW,
        needs="categories",
        by_number=True,
        rank=3,
        with_judge=True,
    ),
)
EQUAL = Coefficient(
    "percent",
    "share of equal labels",
    lambda table, scale: accuracy(table),
    "percent_agreement",
    "Share of equal labels",
    head="Percent",
    sign="equal labels",
    bounds=SHARE,
)
KAPPA = Coefficient(
    "cohen_kappa",
    "Cohen's kappa",
    lambda table, scale: cohen_kappa(table),
    "cohen_kappa",
    "Cohen's kappa",
    sign="κ",
    citation="cohen1960",
    needs="categories",
    library={"figure": "cohen", "weights": None},
)
WEIGHTED = Coefficient(
    "cohen_kappa_quadratic",
    "Cohen's kappa, quadratic weights",
    lambda table, scale: cohen_kappa(table, "quadratic", scale.values),
    "cohen_kappa",
    "Cohen's kappa, quadratic weights",
    label="Weighted Cohen's kappa",
    head="Quadratic weights",
    sign="weighted κ",
    citation="cohen1968",
    needs="order",
    library={"figure": "cohen", "weights": "quadratic"},
)
OF_SETS = Coefficient(
    "cohen_kappa_masi",
    "Cohen's kappa, MASI weights",
    lambda table, scale: cohen_kappa(table, "masi", scale.values),
    "cohen_kappa",
    "Cohen's kappa, MASI weights",
    head="MASI weights",
    sign="κ by MASI",
    citation="passonneau2006",
    needs="sets",
    library={"figure": "cohen", "weights": "masi"},
)
#: Of two raters: of their table (K, K) or tables (B, K, K), and a `Scale`.
OF_TWO = by_key(
    EQUAL,
    KAPPA,
    Coefficient(
        "cohen_kappa_linear",
        "Cohen's kappa, linear weights",
        lambda table, scale: cohen_kappa(table, "linear", scale.values),
        "cohen_kappa",
        "Cohen's kappa, linear weights",
        head="Linear weights",
        citation="cohen1968",
        needs="order",
        library={"figure": "cohen", "weights": "linear"},
    ),
    WEIGHTED,
    OF_SETS,
)


def keys_of_two(sets: bool = False) -> tuple[str, ...]:
    """Return the keys of the coefficients of two raters, of sets of codes or of categories."""
    return tuple(key for key, each in OF_TWO.items() if sets or each.needs != "sets")


OVERALL: dict[str, tuple[OfTable, str]] = {
    "accuracy": (accuracy, "accuracy"),
    "balanced_accuracy": (balanced_accuracy, "balanced accuracy"),
    "macro_precision": (lambda t: macro(precision(t)), "precision, mean over categories"),
    "macro_recall": (lambda t: macro(recall(t)), "recall, mean over categories"),
    "macro_f1": (lambda t: macro(f1(t)), "F1, mean over categories"),
    "macro_specificity": (lambda t: macro(specificity(t)), "specificity, mean over categories"),
}
PART = "no interval: that of a category has none"
NO_NUMBER = "its chance agreement depends on the number of categories, and sets have no such number"
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
    names: Collection[str] = AMONG,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """Return percent agreement, Fleiss' and Randolph's kappas, Krippendorff's alpha, Gwet's AC.

    `codes` (U, R) are of k categories, -1 = missing. Whole `clusters` (U,) are resampled. Alpha and
    AC are computed at `level`, with `values` (K,) as the numbers of the categories. At level set
    the categories are whole sets, of which `values` (K, M) say which codes they have. Only alpha
    looks into them: the others ask whether two sets are equal, and those `by_number` are undefined.
    `names` selects the coefficients.
    """
    rows, kinds = kinds_by_counts(codes, k)
    tally = Tally.of(kinds, rows.shape[0], clusters)
    informative = informative_among(tally, paired_counts(rows))
    bootstrap = Bootstrap(tally, draws, seed, interval, informative)
    enter = (codes >= 0).sum(axis=1) >= 2
    n, queries = int(enter.sum()), len(unique_integers(clusters[enter])[0])
    reason, scale = reason_undefined(rows), Scale(k, level, values)

    def estimate_of(each: Coefficient) -> Estimate:
        method = each.method_on(scale)
        if each.by_number and level == "set":
            return undefined(NO_NUMBER, n, method)
        made = bootstrap.estimate(
            lambda w: each.compute(rows, w, scale), n, method, reason, queries
        )
        return made.within(*each.bounds)

    return {name: estimate_of(AMONG[name]) for name in names}


def agreement_change(
    before: Ints,
    after: Ints,
    clusters: Ints,
    k: int,
    level: Level = "nominal",
    values: Floats | None = None,
    *,
    names: Collection[str] = AMONG,
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

    scale = Scale(k, level, values)

    def change_of(each: Coefficient) -> Estimate:
        def change(weights: Floats) -> Floats:
            one, other = (np.asarray(each.compute(side, weights, scale)) for side in sides)
            difference: Floats = other - one
            return difference

        method, (least, most) = f"{each.method_on(scale)}: difference", each.bounds
        if each.by_number and level == "set":
            return undefined(NO_NUMBER, n, method)
        made = bootstrap.estimate(change, n, method, reason, queries)
        return made.within(least - most, most - least)

    return {name: change_of(AMONG[name]) for name in names}


def pair_estimates(
    one: Ints,
    other: Ints,
    clusters: Ints,
    k: int,
    values: Floats | None = None,
    *,
    names: Collection[str] | None = None,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """Return two raters' share of equal labels and Cohen's kappa, plain, linear and quadratic.

    Codes (U,) of k categories, -1 = missing; whole `clusters` (U,) are resampled. The weights of
    kappa are distances of `values` (K,), the numbers of the categories (default: their positions).
    `names` selects the coefficients; that of sets has `pair_of_sets_estimate`.
    """
    reason, scale = why_no_kappa(one, other), Scale(k, values=values)
    measures: dict[str, Measure] = {
        name: (partial(OF_TWO[name].compute, scale=scale), OF_TWO[name].method, reason)
        for name in (keys_of_two() if names is None else names)
    }
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

    A measure with the key of a coefficient has its range, and all others are shares.
    """
    bootstrap = _of_pair(pair_tally(one, other, clusters, k), k, draws, seed, interval)
    ranges = {name: each.bounds for name, each in OF_TWO.items()}
    return {
        name: _of_table(bootstrap, *measure, k).within(*ranges.get(name, SHARE))
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


def why_no_kappa(one: Ints, other: Ints) -> str:
    """Explain why kappa of two columns (U,) is undefined."""
    both = (one >= 0) & (other >= 0)
    if not both.any():
        return NO_PAIR
    first = one[both][0]
    alike = (one[both] == first).all() and (other[both] == first).all()
    return ALIKE if alike else UNDEFINED
