"""Agreement among people."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from analysis.blocks.crowd import is_crowd, large_pairs, pairs_distribution
from analysis.blocks.pairs import NO_ORDER, numbers, pair
from analysis.blocks.resampling import JSON, Sample
from analysis.statistics import (
    Estimate,
    Ints,
    agreement_estimates,
    correlation_estimates,
    mean_by_cluster,
    undefined,
)
from analysis.statistics.correlations import FUNCTIONS

ERROR, DISTANCE = "mean_absolute_error", "mean absolute difference"


def agreement(sample: Sample, with_pairs: bool = False) -> JSON:
    """The agreement of the human raters on the units of a sample.

    Of a crowd, pairs are told one by one only if asked for: those that share enough units.
    """
    codes = sample.frame.of("human")
    return {
        "units": int(((codes >= 0).sum(axis=1) >= 2).sum()),
        "raters": int((codes >= 0).any(axis=0).sum()),
        **{name: of.as_json() for name, of in _coefficients(sample, codes).items()},
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
    """Categories that judges alone used are none of the people's."""
    scale = sample.frame.scale
    own = scale.own()
    place = np.cumsum(own) - 1
    renumbered = np.where(codes >= 0, place[np.maximum(codes, 0)], -1) if own.any() else codes
    return agreement_estimates(
        renumbered,
        sample.clusters,
        max(1, int(own.sum())),
        scale.level,
        scale.values()[own] if own.any() else None,
        **sample.drawing,
    )


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
    """Correlations and the mean distance of two columns of codes, where these have an order."""
    if not sample.is_ordered:
        methods = {str(name): method for name, (_, method) in FUNCTIONS.items()} | {ERROR: DISTANCE}
        return {name: undefined(NO_ORDER, 0, method) for name, method in methods.items()}
    x, y = numbers(sample, one), numbers(sample, other)
    made = correlation_estimates(x, y, sample.clusters, **sample.drawing)
    distance = mean_by_cluster(np.abs(x - y), sample.clusters, DISTANCE).within(0, sample.span)
    return {str(name): of for name, of in made.items()} | {ERROR: distance}
