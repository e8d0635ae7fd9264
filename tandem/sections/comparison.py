"""How people and judges are compared on a sample's labels: which labels, and which intervals."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from ..document import count
from ..labels.frame import Frame, VariableFrame, evaluation_items, item_mask
from ..labels.reference import reference
from ..labels.resampling import Sample
from ..labels.selection import ReportOptions
from ..statistics import MINIMUM_CLUSTERS, Floats, Ints, percentile_interval
from ..statistics.pairwise import CROWD
from ..statistics.two_way import TwoWay, two_way_pairs
from ..types import JSON
from .adjudicated import adjudicated
from .agreement import agreement, own_codes
from .base import MEAN_OF_PAIRS, OF_JUDGES, SectionPart, joined
from .floor import TWO_WAY, add_gap_tests
from .judges import agreement_with, judges

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


Comparable = Collection[str] | None
"""The items on which judges are compared with people; None for all."""


def agreement_of_variables(frame: Frame, options: ReportOptions, order: list[str]) -> JSON:
    """Return the agreement of people, and of each judge with them, by variable.

    The keys are those of the report, whose other parts are not computed.
    """
    comparable = evaluation_items(frame.strata, options)
    found: JSON = {}
    for name in (name for name in order if name in frame.variables):
        of = frame.variables[name]
        sample = Sample(of, options.resamples, options.seed)
        both = comparable_part(sample, comparable)
        people = reference(both.frame)
        found[name] = {
            "categories": own_categories(of),
            "agreement": agreement(sample),
            "judges": {
                of.raters[n].name: {
                    "agreement": agreement_with(both, people, both.frame.codes[:, n])
                }
                for n in of.columns("judge")
            },
        }
    return found


def own_categories(of: VariableFrame) -> list[str]:
    return [c for c in of.scale.categories if c not in of.scale.foreign]


def comparison(
    sample: Sample, options: ReportOptions, comparable: Comparable, with_curves: bool = True
) -> JSON:
    both = comparable_part(sample, comparable)
    found = judges(both, options.epsilon, with_curves, options.margin)
    if options.reference == "adjudicated":
        for column in both.frame.columns("judge"):
            found[both.frame.raters[column].name]["adjudicated"] = adjudicated(both, column)
    for block in found.values() if options.threshold is not None else ():
        block["thresholds"] = _only(block["thresholds"], options.threshold)
        block["curves"] = _only(block["curves"], options.threshold)
    made: JSON = {"agreement": agreement(sample, options.pairs == "all"), "judges": found}
    if options.bootstrap == "two-way":
        over_raters(sample, both, made)
    add_gap_tests(found, len(np.unique(both.clusters)))
    return made


def _only(cuts: list[JSON], threshold: float | None) -> list[JSON]:
    """Return the cuts at one threshold, and the cuts without a threshold."""
    return [cut for cut in cuts if cut.get("threshold", threshold) == threshold]


def comparable_part(sample: Sample, comparable: Comparable) -> Sample:
    """Drop the labels on which judges and people may not be compared."""
    if comparable is None:
        return sample
    return sample.only(item_mask([item for item, _, _ in sample.frame.units.names], comparable))


def split_methods(report: JSON) -> list[str]:
    if not (roles := report.get("roles")):
        return []
    if roles["compared"] == "chosen":
        return ["The split was selected by the reader; see the labels used."]
    others = [f"{roles[name]} of {name}" for name in ("development", "audit") if roles[name]]
    return [
        "Judges and people were compared, and combined in estimates, on the "
        f"{count(roles['evaluation'], 'item')} of evaluation queries only; {joined(others)} were "
        "left out, by a random split made when the campaign was created."
    ]


METHODS = SectionPart(head=OF_JUDGES, methods=split_methods)
