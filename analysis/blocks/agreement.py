"""Agreement among people."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np

from analysis.blocks.resampling import JSON, TOO_MANY, Sample
from analysis.statistics import (
    Estimate,
    Floats,
    Ints,
    Value,
    cohen_kappa,
    confusion,
    fleiss_kappa,
    fleiss_kappa_pooled,
    gwet_ac,
    krippendorff_alpha,
    mean_by_cluster,
    percent_agreement,
    percent_agreement_pooled,
    randolph_kappa,
    reason_undefined,
    undefined,
)
from analysis.statistics.rank import correlation, kendall, pearson, spearman

NO_ORDER = "its categories have no order"
ERROR = "mean_absolute_error"
MAE = "mean absolute difference"
CORRELATIONS = {
    "spearman": ("Spearman's rank correlation", spearman),
    "kendall": ("Kendall's tau-b", kendall),
    "pearson": ("Pearson's correlation", pearson),
}


def agreement(sample: Sample) -> JSON:
    """The agreement of the human raters on the units of a sample."""
    codes = sample.frame.of("human")
    scale = sample.frame.scale
    own = scale.own()
    level, values, k = scale.level, scale.values()[own], max(1, int(own.sum()))
    labelled = (codes >= 0).sum(axis=1) >= 2
    of = partial(sample.of_counts, own_only=True)
    return {
        "units": int(labelled.sum()),
        "raters": int((codes >= 0).any(axis=0).sum()),
        "percent": of(percent_agreement, codes, "mean share of agreeing pairs").as_json(),
        "percent_pooled": of(
            percent_agreement_pooled, codes, "share of agreeing pairs, pooled"
        ).as_json(),
        "fleiss_kappa": of(fleiss_kappa, codes, "Fleiss' kappa, averaged over units").as_json(),
        "fleiss_kappa_pooled": of(
            fleiss_kappa_pooled, codes, "Fleiss' kappa, pairs pooled"
        ).as_json(),
        "randolph_kappa": of(
            lambda c, w: randolph_kappa(c, k, w),
            codes,
            f"Randolph's free-marginal kappa, k = {k}",
        ).as_json(),
        "krippendorff_alpha": of(
            lambda c, w: krippendorff_alpha(c, level, values, w),
            codes,
            f"Krippendorff's alpha, {level}",
        ).as_json(),
        "gwet_ac": of(
            lambda c, w: gwet_ac(c, level, values, w),
            codes,
            "Gwet's AC1" if level == "nominal" else "Gwet's AC2, quadratic weights",
        ).as_json(),
        "pairs": [_pair(sample, a, b) for a, b in combinations(sample.frame.columns("human"), 2)],
    }


def _pair(sample: Sample, a: int, b: int) -> JSON:
    frame = sample.frame
    one, other = frame.codes[:, a], frame.codes[:, b]
    both = (one >= 0) & (other >= 0)
    ordered = frame.scale.level != "nominal"
    return {
        "a": frame.raters[a].name,
        "b": frame.raters[b].name,
        "units": int(both.sum()),
        "percent": pair_percent(sample, one, other).as_json(),
        "cohen_kappa": pair_kappa(sample, one, other).as_json(),
        "cohen_kappa_linear": _weighted(sample, one, other, "linear", ordered).as_json(),
        "cohen_kappa_quadratic": _weighted(sample, one, other, "quadratic", ordered).as_json(),
        **_of_numbers(sample, one, other, ordered),
    }


def pair_percent(sample: Sample, one: Ints, other: Ints) -> Estimate:
    codes = np.stack([one, other], axis=1)
    return sample.of_counts(percent_agreement, codes, "share of equal labels")


def pair_kappa(sample: Sample, one: Ints, other: Ints, weighting: str | None = None) -> Estimate:
    """Cohen's kappa of two columns of codes."""
    both = (one >= 0) & (other >= 0)
    method = f"Cohen's kappa, {weighting} weights" if weighting else "Cohen's kappa"
    if sample.is_continuous:
        return undefined(TOO_MANY, int(both.sum()), method)
    reason = reason_undefined(_counts(one, other, sample.k))

    def kappa(weights: Floats | None) -> Value:
        return cohen_kappa(confusion(one, other, sample.k, weights), weighting)

    return sample.estimate(kappa, both, method, reason)


def _counts(one: Ints, other: Ints, k: int) -> Ints:
    both = (one >= 0) & (other >= 0)
    counts = np.zeros((int(both.sum()), k), dtype=np.int64)
    rows = np.arange(len(counts))
    np.add.at(counts, (rows, one[both]), 1)
    np.add.at(counts, (rows, other[both]), 1)
    return counts


def _weighted(sample: Sample, one: Ints, other: Ints, weighting: str, ordered: bool) -> Estimate:
    if ordered:
        return pair_kappa(sample, one, other, weighting)
    return undefined(NO_ORDER, 0, f"Cohen's kappa, {weighting} weights")


def _of_numbers(sample: Sample, one: Ints, other: Ints, ordered: bool) -> JSON:
    """Correlations and the mean distance of two columns of codes, where they have an order."""
    if not ordered:
        names = {**{name: method for name, (method, _) in CORRELATIONS.items()}, ERROR: MAE}
        return {name: undefined(NO_ORDER, 0, how).as_json() for name, how in names.items()}
    x, y = numbers(sample, one), numbers(sample, other)
    found = {
        name: correlation(function, x, y, sample.clusters, sample.weights, method)
        for name, (method, function) in CORRELATIONS.items()
    }
    found[ERROR] = mean_by_cluster(np.abs(x - y), sample.clusters, MAE)
    return {name: made.as_json() for name, made in found.items()}


def numbers(sample: Sample, codes: Ints) -> Floats:
    """Codes as the numbers of their categories, NaN where there is no label."""
    values = sample.frame.scale.values()
    return np.where(codes >= 0, values[np.maximum(codes, 0)], np.nan)
