"""Section: agreement among people, overall and in pairs, and the distribution of their labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import combinations
from typing import TypedDict

import numpy as np

from ..labels.frame import VariableFrame
from ..labels.reference import category_numbers
from ..labels.resampling import TOO_MANY, Sample
from ..statistics import (
    Estimate,
    Floats,
    Ints,
    Level,
    agreement_estimates,
    ceiling_estimates,
    correlation_estimates,
    crowd_ceiling_estimates,
    mean_by_cluster,
    pair_estimates,
    undefined,
)
from ..statistics.coefficients import EQUAL, KAPPA, OF_TWO, WEIGHTED
from ..statistics.correlation import CORRELATIONS
from ..statistics.pairwise import METHODS as OF_PAIRS
from ..types import JSON
from .coefficient import MEAN_OF_PAIRS
from .crowd import is_crowd, large_pairs, pairs_distribution

NO_ORDER = "its categories have no order"
ERROR, DISTANCE = "mean_absolute_error", "mean absolute difference"


def pair(
    sample: Sample, one: Ints, other: Ints, names: Collection[str] = OF_TWO
) -> dict[str, Estimate]:
    """Return the coefficients `names` of two columns (U,): `percent` or one of Cohen's kappas."""
    apart = {name: no for name in names if (no := _undefined(sample, name, one, other))}
    others = [name for name in names if name not in apart]
    k, scale = sample.k, sample.frame.scale
    values = scale.values() if scale.categories else None
    if sample.is_continuous:
        # A share depends only on whether two labels are equal, not on the number of values.
        one, other, k, values = *_equal_or_not(one, other), 2, None
    made = pair_estimates(
        one, other, sample.clusters, k, values, names=others, **sample.resampling_arguments
    )
    return {name: (made | apart)[name] for name in names}


def pair_names(sample: Sample) -> tuple[str, ...]:
    """Return the coefficients of a judge with one person."""
    return (KAPPA.key, EQUAL.key, *([WEIGHTED.key] if sample.is_ordered else ()))


class PairArguments(TypedDict):
    """Arguments of means over pairs: the coefficients that a scale has, and its numbers."""

    names: tuple[str, ...]
    values: Floats | None


def pair_arguments(sample: Sample) -> PairArguments:
    """Return the coefficients of pairs on a sample's scale.

    Kappa needs few categories, and kappa with quadratic weights needs their order.
    """
    kappa = () if sample.is_continuous else (KAPPA.key,)
    weighted = (WEIGHTED.key,) if sample.is_ordered else ()
    scale = sample.frame.scale
    values = scale.values() if scale.categories and sample.is_ordered else None
    return {"names": (*kappa, EQUAL.key, *weighted), "values": values}


def pair_means(sample: Sample, codes: Ints) -> Mapping[str, Estimate]:
    """Return the means over pairs of people's codes (U, R), weighted by the units that they share.

    Units with a single label are in no pair, so that people alone and a judge who labelled all
    shared units have the same means, which are computed once.
    """
    several = (codes >= 0).sum(axis=1) >= 2
    held = np.where(several[:, None], codes, -1)
    arguments = pair_arguments(sample)
    key = held.tobytes(), arguments["names"]
    if key not in sample.pair_means:
        estimates = crowd_ceiling_estimates if is_crowd(sample.frame) else ceiling_estimates
        made = estimates(
            held, sample.clusters, sample.k, **arguments, **sample.resampling_arguments
        )
        many = undefined(TOO_MANY, int(several.sum()), OF_PAIRS[KAPPA.key])
        bounded = {name: of.within(*OF_TWO[name].bounds) for name, of in made.items()}
        sample.pair_means[key] = {KAPPA.key: many, **bounded}
    return sample.pair_means[key]


def numbers(sample: Sample, codes: Ints) -> Floats:
    """Return codes as the numbers of their categories, NaN without a label."""
    return category_numbers(sample.frame.scale, codes)


def _undefined(sample: Sample, name: str, one: Ints, other: Ints) -> Estimate | None:
    method, needs = OF_TWO[name].method, OF_TWO[name].needs
    if needs == "order" and not sample.is_ordered:
        return undefined(NO_ORDER, 0, method)
    if needs and sample.is_continuous:
        return undefined(TOO_MANY, int(((one >= 0) & (other >= 0)).sum()), method)
    return None


def _equal_or_not(one: Ints, other: Ints) -> tuple[Ints, Ints]:
    both = (one >= 0) & (other >= 0)
    return np.where(both, 0, -1), np.where(both, one != other, -1)


def distribution(frame: VariableFrame) -> JSON:
    """Count labels by rater and category, units by number of human labels, and unanimous units.

    A unit is unanimous if two or more people labelled it and all gave the same category.
    """
    codes, k = frame.codes_of("human"), len(frame.scale.categories)
    labels = (codes >= 0).sum(axis=1)
    lowest = np.where(codes >= 0, codes, k).min(axis=1, initial=k)
    same = lowest == codes.max(axis=1, initial=-1)
    return {
        "counts": {
            frame.raters[n].name: _by_category(frame, n)
            for n in (*frame.columns("human"), *frame.columns("judge"))
        },
        "labels_per_unit": {str(n): units for n, units in sorted(Counter(labels.tolist()).items())},
        "unanimous": int(((labels >= 2) & same).sum()),
    }


def scale_used(frame: VariableFrame) -> JSON:
    """Return the convention of the distances of categories, and the categories that nobody used.

    `distances` is null if the categories have no order.
    """
    scale = frame.scale
    columns = [n for n, rater in enumerate(frame.raters) if rater.excluded is None]
    used = set(np.unique(frame.codes[:, columns]).tolist())
    return {
        "declared": scale.declared,
        "distances": None if scale.level == "nominal" else scale.distances,
        "unused": [
            category
            for n, category in enumerate(scale.categories)
            if n not in used and category not in scale.foreign
        ],
    }


def _by_category(frame: VariableFrame, column: int) -> dict[str, int]:
    codes = frame.codes[:, column]
    counts = np.bincount(codes[codes >= 0], minlength=len(frame.scale.categories))
    return dict(zip(frame.scale.categories, counts.tolist(), strict=True))


def agreement(sample: Sample, with_pairs: bool = False) -> JSON:
    """Return the agreement of people on the units of a sample.

    In a crowd, pairs with enough shared units are listed only with `with_pairs`. Categories that
    only judges used have no effect here, not even on the ranks of other categories.
    """
    if sample.frame.scale.foreign:
        sample = replace(sample, frame=sample.frame.without_foreign())
    codes = sample.frame.codes_of("human")
    return {
        "units": int(((codes >= 0).sum(axis=1) >= 2).sum()),
        "raters": int((codes >= 0).any(axis=0).sum()),
        **{name: of.as_json() for name, of in _coefficients(sample, codes).items()},
        MEAN_OF_PAIRS: {name: of.as_json() for name, of in pair_means(sample, codes).items()},
        **_pairs(sample, with_pairs),
    }


def _pairs(sample: Sample, with_pairs: bool) -> JSON:
    if not is_crowd(sample.frame):
        people = sample.frame.columns("human")
        return {"pairs": [_pair(sample, a, b) for a, b in combinations(people, 2)]}
    large = large_pairs(sample) if with_pairs else []
    listed = {"pairs": [_pair(sample, a, b) for a, b in large]} if with_pairs else {}
    return {"pairs_distribution": pairs_distribution(sample), **listed}


def _coefficients(sample: Sample, codes: Ints) -> dict[str, Estimate]:
    renumbered, k, level, values = own_codes(sample, codes)
    return agreement_estimates(
        renumbered, sample.clusters, k, level, values, **sample.resampling_arguments
    )


def own_codes(sample: Sample, codes: Ints) -> tuple[Ints, int, Level, Floats | None]:
    """Return people's codes (U, R) without categories that only judges used.

    Also returns the number of remaining categories, the level, and the categories' numbers.
    """
    scale = sample.frame.scale
    own = scale.own()
    place = np.cumsum(own) - 1
    renumbered = np.where(codes >= 0, place[np.maximum(codes, 0)], -1) if own.any() else codes
    values = scale.values()[own] if own.any() else None
    return renumbered, max(1, int(own.sum())), scale.level, values


def _pair(sample: Sample, a: int, b: int) -> JSON:
    frame = sample.frame
    one, other = frame.codes[:, a], frame.codes[:, b]
    return {
        "a": frame.raters[a].name,
        "b": frame.raters[b].name,
        "units": int(((one >= 0) & (other >= 0)).sum()),
        **{name: of.as_json() for name, of in pair(sample, one, other).items()},
        **{name: of.as_json() for name, of in _of_numbers(sample, one, other).items()},
    }


def _of_numbers(sample: Sample, one: Ints, other: Ints) -> dict[str, Estimate]:
    """Return correlations and the mean distance of two columns of codes, if they are ordered."""
    if not sample.is_ordered:
        methods = {key: of.method for key, of in CORRELATIONS.items()} | {ERROR: DISTANCE}
        return {name: undefined(NO_ORDER, 0, method) for name, method in methods.items()}
    x, y = numbers(sample, one), numbers(sample, other)
    made = correlation_estimates(x, y, sample.clusters, **sample.resampling_arguments)
    distance = mean_by_cluster(np.abs(x - y), sample.clusters, DISTANCE, (0, sample.span))
    return made | {ERROR: distance}
