"""Intervals over queries and raters, instead of queries alone, where possible."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..labels.resampling import Sample
from ..statistics import MINIMUM_CLUSTERS, Floats, Ints, percentile_interval
from ..statistics.pairwise import CROWD
from ..statistics.two_way import TwoWay, two_way_pairs
from ..types import JSON
from .agreement import own_codes
from .floor import TWO_WAY
from .stated_agreement import MEAN_OF_PAIRS

FEWEST_RATERS = 3
"""Fewer cannot be resampled, since two distinct raters out of two are always the same."""
ONE_SIDED = "no interval: undefined in many resamples"


def over_raters(sample: Sample, compared: Sample, block: JSON) -> None:
    """Insert two-way intervals into a variable's `agreement` and its judges.

    These figures have two-way intervals: people's coefficients, shares and kappas of judges with
    people together, human agreement, and the gap. All other intervals remain over queries alone,
    and so do those of sets of codes.
    """
    if not sample.is_continuous and not sample.is_of_sets:
        _among_people(sample, block["agreement"])
        for column in compared.frame.columns("judge"):
            _judge(compared, column, block["judges"][compared.frame.raters[column].name])


def _among_people(sample: Sample, agreement: JSON) -> None:
    codes = _labelled(sample.frame.codes_of("human"))
    enter = (codes >= 0).sum(axis=1) >= 2
    if not enter.any():
        return
    renumbered, k, _, values = own_codes(sample, codes)
    made = _two_way(sample, renumbered, k, values).of_people()
    _put(agreement, made, sample, sample.clusters[enter], codes.shape[1])
    if codes.shape[1] <= CROWD:
        everyone = np.zeros(len(codes), np.int64)
        arguments = sample.resampling_arguments
        means, _, raters = two_way_pairs(
            everyone, codes, sample.clusters, sample.k, arguments["draws"], arguments["seed"],
            sample.frame.scale.values() if sample.is_ordered else None,
        )  # fmt: skip
        _put(agreement[MEAN_OF_PAIRS], means, sample, sample.clusters[enter], raters)


def _judge(sample: Sample, column: int, block: JSON) -> None:
    judge, people = sample.frame.codes[:, column], _labelled(sample.frame.codes_of("human"))
    enter = (judge >= 0) & (people >= 0).any(axis=1)
    if not enter.any():
        return
    values = sample.frame.scale.values()
    made = _two_way(sample, people, sample.k, values, judge).of_judge()
    _put(block["agreement"], made, sample, sample.clusters[enter], people.shape[1])
    if people.shape[1] > CROWD:
        return
    resampling_arguments = sample.resampling_arguments
    ceiling, gap, raters = two_way_pairs(
        judge,
        people,
        sample.clusters,
        sample.k,
        resampling_arguments["draws"],
        resampling_arguments["seed"],
        values if sample.is_ordered else None,
    )
    both = enter & ((people >= 0).sum(axis=1) >= 2)
    for name, found in (("human_ceiling", ceiling), ("gap", gap)):
        _put(block[name], found, sample, sample.clusters[both], raters)
    for name in gap:
        block["equivalence"][name] |= {"equivalent": None, "reason": TWO_WAY}


def _labelled(codes: Ints) -> Ints:
    """Drop people without labels, whose resamples would be empty."""
    return codes[:, (codes >= 0).any(axis=0)]


def _two_way(
    sample: Sample, codes: Ints, k: int, values: Floats | None, other: Ints | None = None
) -> TwoWay:
    resampling_arguments, level = sample.resampling_arguments, sample.frame.scale.level
    return TwoWay(
        codes,
        sample.clusters,
        k,
        level,
        values,
        resampling_arguments["draws"],
        resampling_arguments["seed"],
        other,
    )


def _put(
    block: JSON, made: Mapping[str, Floats], sample: Sample, clusters: Ints, raters: int
) -> None:
    """Replace the intervals of defined estimates that have enough queries."""
    queries = len(np.unique(clusters))
    for name, resampled in made.items():
        estimate = block.get(name)
        if estimate and estimate["value"] is not None and queries >= MINIMUM_CLUSTERS:
            method = estimate["method"].partition("; ")[0]
            ends = None if raters < FEWEST_RATERS else percentile_interval(resampled)
            why = _few(raters) if raters < FEWEST_RATERS else ONE_SIDED
            how = (
                f"95 % two-way bootstrap of {queries} queries and {raters} raters, "
                f"{len(resampled)} resamples"
            )
            low, high = ends or (None, None)
            words = f"{method}; {how if ends else why}"
            block[name] = {**estimate, "low": low, "high": high, "method": words}


def _few(raters: int) -> str:
    noun = "rater" if raters == 1 else "raters"
    return f"no interval: {raters} {noun}, at least {FEWEST_RATERS} are needed to resample them"
