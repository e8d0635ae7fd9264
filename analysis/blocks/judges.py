"""A judge held against people: their majority, each of them, and the alternative annotator test."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from analysis.blocks.agreement import NO_ORDER, numbers, pair_kappa, pair_percent
from analysis.blocks.calibration import calibration
from analysis.blocks.itemscores import mean_of
from analysis.blocks.resampling import JSON, TOO_MANY, Sample
from analysis.blocks.thresholds import thresholds
from analysis.statistics import (
    AltTest,
    Estimate,
    Floats,
    Ints,
    Value,
    cohen_kappa,
    confusion,
    epsilon_curve,
    f1,
    krippendorff_alpha,
    majority,
    mean_by_cluster,
    percent_agreement,
    precision,
    recall,
    undefined,
)
from analysis.statistics.alternative import EPSILONS
from analysis.statistics.counts import counts_of
from analysis.statistics.rank import correlation, kendall, pearson, spearman

ERROR = "mean absolute error, mean human rating"


def judges(sample: Sample, epsilon: float) -> JSON:
    """Each judge of the frame against its people, by the judge's name."""
    ceiling = human_ceiling(sample)
    return {
        sample.frame.raters[n].name: judge(sample, n, epsilon, ceiling)
        for n in sample.frame.columns("judge")
    }


def judge(sample: Sample, column: int, epsilon: float, ceiling: JSON) -> JSON:
    """One judge against the most frequent human label; ties are left out and counted."""
    frame = sample.frame
    name, codes, people = frame.raters[column].name, frame.codes[:, column], frame.of("human")
    reference, ties = majority(people)
    return {
        "reference": "majority",
        "units": int(((reference >= 0) & (codes >= 0)).sum()),
        "ties": int(ties.sum()),
        "missing": frame.aside(name, is_missing=True),
        "escapes": frame.aside(name, is_missing=False),
        "agreement": _agreement(sample, reference, codes),
        "classes": _classes(sample, reference, codes),
        "confusion": _confusion(sample, reference, codes),
        "pairs": {
            frame.raters[n].name: {
                "cohen_kappa": pair_kappa(sample, frame.codes[:, n], codes).as_json(),
                "percent": pair_percent(sample, frame.codes[:, n], codes).as_json(),
            }
            for n in frame.columns("human")
        },
        "human_ceiling": ceiling,
        "overall": {"mean_absolute_error": _error(sample, codes).as_json()},
        "correlation": _correlation(sample, codes),
        "thresholds": thresholds(sample, codes),
        "alt_test": _alternative(sample, codes, epsilon),
        **calibration(sample, column, reference),
    }


def _agreement(sample: Sample, reference: Ints, codes: Ints) -> JSON:
    level, values = sample.frame.scale.level, sample.frame.scale.values()
    pair = np.stack([reference, codes], axis=1)
    alpha = sample.of_counts(
        lambda c, w: krippendorff_alpha(c, level, values, w), pair, f"Krippendorff's alpha, {level}"
    )
    return {
        "cohen_kappa": pair_kappa(sample, reference, codes).as_json(),
        "percent": pair_percent(sample, reference, codes).as_json(),
        "krippendorff_alpha": alpha.as_json(),
    }


def _classes(sample: Sample, reference: Ints, codes: Ints) -> JSON:
    if sample.is_continuous:
        return {}
    both = (reference >= 0) & (codes >= 0)
    table = np.asarray(confusion(reference, codes, sample.k))
    scores = {"precision": precision, "recall": recall, "f1": f1}
    reasons = {
        "precision": "the judge never gives this category",
        "recall": "people never give this category",
        "f1": "nobody gives this category",
    }
    found: JSON = {}
    for n, category in enumerate(sample.frame.scale.categories):
        if not table[n].sum() and not table[:, n].sum():
            continue

        def score(name: str, at: int = n) -> Estimate:
            def of(weights: Floats | None) -> Value:
                batched = scores[name](confusion(reference, codes, sample.k, weights))
                return batched[..., at] if batched.ndim > 1 else float(batched[at])

            return sample.estimate(of, both, name, reasons[name])

        found[category] = {name: score(name).as_json() for name in scores}
        found[category]["support"] = int(table[n].sum())
    return found


def _confusion(sample: Sample, reference: Ints, codes: Ints) -> JSON:
    """Rows people, columns judge; only categories that occur on either side."""
    if sample.is_continuous:
        return {"labels": [], "matrix": []}
    table = confusion(reference, codes, sample.k).astype(int)
    used = np.flatnonzero(table.sum(axis=0) + table.sum(axis=1))
    return {
        "labels": [sample.frame.scale.categories[n] for n in used],
        "matrix": table[np.ix_(used, used)].tolist(),
    }


def human_ceiling(sample: Sample) -> JSON:
    """What people reach with each other: the mean over pairs of people of kappa and agreement."""
    frame = sample.frame
    pairs = [(frame.codes[:, a], frame.codes[:, b])
             for a, b in combinations(frame.columns("human"), 2)]  # fmt: skip
    enter = (frame.of("human") >= 0).sum(axis=1) >= 2

    def kappa(weights: Floats | None) -> Value:
        return _mean([cohen_kappa(confusion(a, b, sample.k, weights)) for a, b in pairs])

    def percent(weights: Floats | None) -> Value:
        counts = [counts_of(np.stack(pair, axis=1), sample.k) for pair in pairs]
        return _mean([percent_agreement(c, weights) for c in counts])

    method, reason = "mean over pairs of people of", "no two people share labels that vary"
    kappas = f"{method} Cohen's kappa"
    return {
        "cohen_kappa": (
            undefined(TOO_MANY, int(enter.sum()), kappas)
            if sample.is_continuous
            else sample.estimate(kappa, enter, kappas, reason)
        ).as_json(),
        "percent": sample.estimate(
            percent, enter, f"{method} the share of equal labels", reason
        ).as_json(),
    }


def _mean(values: list[Value]) -> Value:
    """The mean of the pairs that are defined; NaN where none is."""
    if not values:
        return float("nan")
    stacked = np.stack([np.asarray(v, dtype=float) for v in values])
    there = np.isfinite(stacked)
    total = np.where(there, stacked, 0.0).sum(axis=0)
    mean = np.divide(
        total, there.sum(axis=0), out=np.full(total.shape, np.nan), where=there.any(axis=0)
    )
    return float(mean) if mean.ndim == 0 else mean


def _correlation(sample: Sample, codes: Ints) -> JSON:
    """Rank and linear correlation with the mean human rating, where categories have an order."""
    functions = {"spearman": spearman, "kendall": kendall, "pearson": pearson}
    if sample.frame.scale.level == "nominal":
        return {name: undefined(NO_ORDER, 0, name).as_json() for name in functions}
    ratings, mean = numbers(sample, codes), mean_of(numbers(sample, sample.frame.of("human")))
    return {
        name: correlation(
            function, ratings, mean, sample.clusters, sample.weights, f"{name}, mean human rating"
        ).as_json()
        for name, function in functions.items()
    }


def _error(sample: Sample, codes: Ints) -> Estimate:
    """The mean distance from the mean human rating."""
    if sample.frame.scale.level == "nominal":
        return undefined(NO_ORDER, 0, ERROR)
    gaps = numbers(sample, codes) - mean_of(numbers(sample, sample.frame.of("human")))
    return mean_by_cluster(np.abs(gaps), sample.clusters, ERROR)


def _alternative(sample: Sample, codes: Ints, epsilon: float) -> JSON:
    """The test at the epsilon of the report, and what it says over a range of others."""
    level = sample.frame.scale.level
    codes_of_people = sample.frame.of("human")
    people: Ints | Floats = codes_of_people
    judge: Ints | Floats = codes
    if level != "nominal":
        people, judge = numbers(sample, codes_of_people), numbers(sample, codes)
    names = [sample.frame.raters[n].name for n in sample.frame.columns("human")]
    epsilons = (epsilon, *EPSILONS)
    test, *curve = epsilon_curve(
        people, judge, sample.clusters, level=level, epsilons=epsilons, names=names
    )
    return {**test.as_json(), "curve": [] if test.reason else [_at(each) for each in curve]}


def _at(test: AltTest) -> JSON:
    return {
        "epsilon": test.epsilon,
        "winning_rate": test.winning_rate,
        "by_query": {"winning_rate": test.by_query.winning_rate},
        "passed": test.passed,
    }
