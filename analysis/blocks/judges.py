"""A judge held against people: together, each of them, and by the alternative annotator test."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.blocks.alternative import alternative
from analysis.blocks.calibration import calibration
from analysis.blocks.crowd import is_crowd, judged_distribution
from analysis.blocks.curves import curves
from analysis.blocks.floor import Floor, beside_floor, floor, gap_of
from analysis.blocks.pairs import NO_ORDER, numbers, pair
from analysis.blocks.resampling import JSON, TOO_MANY, Sample
from analysis.blocks.thresholds import thresholds
from analysis.people import Reference, mean_rating, reference
from analysis.statistics import (
    COEFFICIENT,
    SHARE,
    Alignment,
    Estimate,
    Floats,
    Ints,
    agreement_estimates,
    alignment_estimates,
    alpha_of_two,
    ceiling_estimates,
    correlation_estimates,
    crowd_ceiling_estimates,
    mean_by_cluster,
    undefined,
)
from analysis.statistics.alternative import EPSILONS
from analysis.statistics.ceiling import METHODS as CEILINGS
from analysis.statistics.ceiling import ceiling_pairs
from analysis.statistics.coefficients import OVERALL
from analysis.statistics.correlations import FUNCTIONS
from analysis.statistics.pair_means import LEAST_SHARED

OF_TWO = ("krippendorff_alpha", "gwet_ac")
ERROR = "mean absolute error, mean human rating"


def judges(sample: Sample, epsilon: float, with_curves: bool = True) -> JSON:
    """Each judge of the frame against its people, by the judge's name.

    `with_curves`: whether what is told over a range of thresholds and epsilons stands there, too.
    """
    columns = sample.frame.columns("judge")
    epsilons = (epsilon, *(EPSILONS if with_curves else ()))
    if not columns:
        return {}
    beside = floor(sample, epsilons)
    return {sample.frame.raters[n].name: judge(sample, n, beside, epsilons) for n in columns}


def judge(sample: Sample, column: int, beside: Floor, epsilons: tuple[float, ...]) -> JSON:
    """One judge against people together: the most frequent label, or the mean of interval-level
    ratings (see `analysis.people`). Ties are left out and counted.

    The first of `epsilons` is the report's own, and the others are those of its curve, if any.
    """
    frame = sample.frame
    name, codes, people = frame.raters[column].name, frame.codes[:, column], reference(frame)
    ratings, mean = numbers(sample, codes), mean_rating(frame)
    return {
        "reference": people.rule,
        "units": int(((people.codes >= 0) & (codes >= 0)).sum()),
        "ties": int(people.ties.sum()),
        "missing": frame.aside(name, is_missing=True),
        "escapes": frame.aside(name, is_missing=False),
        "agreement": agreement_with(sample, people, codes),
        **alignment_with(sample, people.codes, codes, ratings - mean),
        **_pairs(sample, codes),
        **human_ceiling(sample, codes),
        "gap": _as_json(gap_of(sample, codes)),
        "floor": beside_floor(sample, codes, beside),
        "correlation": _correlation(sample, ratings, mean),
        "thresholds": thresholds(sample, codes),
        "curves": curves(sample, column, people.codes) if len(epsilons) > 1 else [],
        "alt_test": alternative(sample, codes, epsilons, beside.tests),
        **calibration(sample, column, people.codes),
    }


def _pairs(sample: Sample, codes: Ints) -> JSON:
    """A judge's codes (U,) with each person's; of a crowd, how they are distributed."""
    frame = sample.frame
    if is_crowd(frame):
        return {"pairs_distribution": judged_distribution(sample, codes)}
    names = ("cohen_kappa", "percent")
    return {
        "pairs": {
            frame.raters[n].name: _as_json(pair(sample, frame.codes[:, n], codes, names))
            for n in frame.columns("human")
        }
    }


def _as_json(estimates: Mapping[str, Estimate]) -> JSON:
    return {name: estimate.as_json() for name, estimate in estimates.items()}


def agreement_with(sample: Sample, people: Reference, codes: Ints) -> JSON:
    """A judge's codes (U,) with a reference. Interval alpha takes a mean as it is; coefficients of
    categories take the category nearest to it."""
    scale, both = sample.frame.scale, np.stack([people.codes, codes], axis=1)
    corrected = agreement_estimates(
        both,
        sample.clusters,
        sample.k,
        scale.level,
        scale.values() if scale.categories else None,
        names=("krippendorff_alpha",) if sample.is_continuous else OF_TWO,
        **sample.drawing,
    )
    if sample.is_continuous:
        n = corrected["krippendorff_alpha"].n
        corrected["gwet_ac"] = undefined(TOO_MANY, n, "Gwet's AC")
    if people.rule == "mean":
        corrected["krippendorff_alpha"] = alpha_of_two(
            people.values, numbers(sample, codes), sample.clusters, **sample.drawing
        )
    return _as_json(pair(sample, people.codes, codes) | corrected)


def alignment_with(
    sample: Sample, reference: Ints, codes: Ints, gaps: Floats, error: str = ERROR
) -> JSON:
    """Categories one by one, all of them together, and the table that both are made of.

    `gaps` (U,) are how far ratings lie from the reference's, and `error` says which that is.
    """
    if sample.is_continuous:
        n = int(((reference >= 0) & (codes >= 0)).sum())
        nothing = {name: undefined(TOO_MANY, n, method) for name, (_, method) in OVERALL.items()}
        overall = {**nothing, "mean_absolute_error": _error(sample, gaps, error)}
        empty: JSON = {"labels": [], "matrix": []}
        return {"classes": {}, "overall": _as_json(overall), "confusion": empty}
    made = alignment_estimates(reference, codes, sample.clusters, sample.k, **sample.drawing)
    overall = {**made.overall, "mean_absolute_error": _error(sample, gaps, error)}
    used = np.flatnonzero(made.confusion.sum(axis=0) + made.confusion.sum(axis=1))
    names = [sample.frame.scale.categories[n] for n in used]
    return {
        "classes": {name: _class(made, int(n)) for name, n in zip(names, used, strict=True)},
        "overall": _as_json(overall),
        "confusion": {
            "labels": names,
            "matrix": made.confusion[np.ix_(used, used)].astype(int).tolist(),
        },
    }


def _class(made: Alignment, place: int) -> JSON:
    of_class = {name: estimates[place] for name, estimates in made.classes.items()}
    return {**_as_json(of_class), "support": int(made.confusion[place].sum())}


def _error(sample: Sample, gaps: Floats, method: str) -> Estimate:
    if not sample.is_ordered:
        return undefined(NO_ORDER, 0, method)
    return mean_by_cluster(np.abs(gaps), sample.clusters, method).within(0, sample.span)


def human_ceiling(sample: Sample, judge: Ints) -> JSON:
    """What people reach with each other on the units that a judge (U,) labelled: kappa and the
    share of equal labels, the mean over pairs of people weighted by shared units; and which pairs
    enter.

    Units on which people tie are among them: to leave these out would be to leave out where people
    differ.
    """
    people = np.where(judge[:, None] >= 0, sample.frame.of("human"), -1)
    pairs = ceiling_pairs(people)
    told = {"kept": len(pairs.kept), "left_out": pairs.left_out, "least_shared": LEAST_SHARED}
    return {"human_ceiling": _ceiling(sample, people), "ceiling_pairs": told}


def _ceiling(sample: Sample, people: Ints) -> JSON:
    estimates = crowd_ceiling_estimates if is_crowd(sample.frame) else ceiling_estimates
    if not sample.is_continuous:
        made = estimates(people, sample.clusters, sample.k, **sample.drawing)
    else:
        n = int(((people >= 0).sum(axis=1) >= 2).sum())
        of_share = estimates(
            people, sample.clusters, sample.k, names=("percent",), **sample.drawing
        )
        made = {**of_share, "cohen_kappa": undefined(TOO_MANY, n, CEILINGS["cohen_kappa"])}
    ranges = {"cohen_kappa": COEFFICIENT, "percent": SHARE}
    return {name: made[name].within(*limits).as_json() for name, limits in ranges.items()}


def _correlation(sample: Sample, ratings: Floats, mean: Floats) -> JSON:
    """Rank and linear correlation with the mean human rating, where categories have an order."""
    if not sample.is_ordered:
        return {name: undefined(NO_ORDER, 0, of).as_json() for name, (_, of) in FUNCTIONS.items()}
    made = correlation_estimates(
        ratings, mean, sample.clusters, detail=", mean human rating", **sample.drawing
    )
    return _as_json({str(name): estimate for name, estimate in made.items()})
