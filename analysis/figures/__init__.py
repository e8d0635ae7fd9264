"""The figures of the report, each drawn from its JSON.

Each module is one figure: what it shows, its data and its drawing. `base` holds scales, axes, keys,
panels and grids, `svg` the marks and texts, `vega` the charts as Vega-Lite, and `files` writes a
figure as a file.
`FIGURES` is the registry.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import (
    agreement,
    confusion,
    coverage,
    epsilon,
    missing,
    raters,
    reliability,
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
        raters.FIGURE,
        agreement.FIGURE,
        confusion.FIGURE,
        thresholds.FIGURE,
        epsilon.FIGURE,
        reliability.FIGURE,
        missing.FIGURE,
    )
}


def subjects(report: dict[str, Any], figure: Figure) -> Iterator[Subject]:
    """Return the variables or scores of a report that a figure can show."""
    kinds = {rater["name"]: rater["kind"] for rater in report["raters"]}
    for name, block in report[figure.part].items():
        subject = Subject(name, block, kinds)
        if figure.suits(subject):
            yield subject
