"""The figures of the report and of measures, each drawn from the report's JSON.

Each module is one figure: what it shows, its data and its drawing. `base` holds scales, axes, keys,
panels and grids, `multiples` small multiples, `svg` the marks and texts, `vega` the
charts as Vega-Lite, and `files` writes a figure as a file.
`FIGURES` is the registry.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..labels.evaluators import kinds_by_name
from ..sections.words import worded_slices, worded_variable
from . import (
    agreement,
    confusion,
    coverage,
    epsilon,
    measure_slices,
    missing,
    rank_correlation,
    raters,
    reliability,
    slices,
    system_order,
    systems,
    thresholds,
)
from .base import Figure as Figure
from .base import Subject as Subject

FIGURES: dict[str, Figure] = {
    each.name: each
    for each in (
        coverage.FIGURE,
        systems.FIGURE,
        system_order.FIGURE,
        rank_correlation.RATERS,
        raters.FIGURE,
        agreement.FIGURE,
        confusion.FIGURE,
        thresholds.FIGURE,
        epsilon.FIGURE,
        reliability.FIGURE,
        missing.FIGURE,
        slices.FIGURE,
        rank_correlation.EVALUATORS,
        rank_correlation.METRICS,
        rank_correlation.SAMPLED,
        measure_slices.FIGURE,
    )
}


def subjects(report: dict[str, Any], figure: Figure) -> Iterator[Subject]:
    """Yield the parts of a report that a figure can show: variables, scores, or measures.

    Codes are replaced by the words on annotators' buttons.
    """
    kinds = kinds_by_name(report)
    for name, block in report.get(figure.part, {}).items():
        if isinstance(block, list):
            block = {"pairs": block}
        elif figure.part == "variables":
            block = worded_variable(block)
        elif figure.part == "measures":
            block = {**block, "slices": worded_slices(block["slices"], report.get("strata", {}))}
        subject = Subject(name, block, kinds)
        if figure.suits(subject):
            yield subject
