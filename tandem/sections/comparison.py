"""How people and judges are compared on the labels of a sample, and which labels that are."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ..document import count
from ..labels.frame import Frame, VariableFrame
from ..labels.reference import reference
from ..labels.resampling import Sample
from ..labels.selection import ReportOptions
from ..labels.splits import evaluation_items, item_mask
from ..types import JSON
from .adjudicated import adjudicated
from .agreement import agreement
from .base import OF_JUDGES, SectionPart
from .floor import add_gap_tests
from .judges import agreement_with, judges
from .nouns import joined
from .two_way import over_raters

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
