"""Section: reading steps of a judge's answers, and agreement with and without them."""

from __future__ import annotations

from collections import Counter

import numpy as np

from .. import statistics
from ..document import Cell, Number, Table
from ..labels.resampling import Sample
from ..statistics import Bools, Ints
from ..types import JSON
from .base import JUDGE, SectionPart, Shown


def readings(sample: Sample, column: int, reference: Ints) -> JSON:
    """Return the key `reading` of a judge, or nothing if all its answers were read unchanged.

    `steps` counts the labels by each step that their answers needed. The share of units with
    people's label is given for these labels and for the others.
    """
    steps = sample.frame.readings.get(column)
    codes = sample.frame.codes[:, column]
    if steps is None or sample.is_continuous:
        return {}
    mended = (steps != "") & (codes >= 0)
    if not mended.any():
        return {}
    counts = Counter(step for each in steps[mended] for step in each.split("+"))
    plain = ~mended & (codes >= 0)
    return {
        "reading": {
            "as_is": {"labels": int(plain.sum()), **_agreement(sample, codes, reference, plain)},
            "mended": {"labels": int(mended.sum()), **_agreement(sample, codes, reference, mended)},
            "steps": dict(sorted(counts.items())),
        }
    }


def _agreement(sample: Sample, codes: Ints, reference: Ints, of: Bools) -> JSON:
    found = statistics.alignment_estimates(
        reference,
        np.where(of, codes, -1),
        sample.clusters,
        sample.k,
        **sample.resampling_arguments,
    )
    return {"agreement": found.overall["accuracy"].as_json()}


STEPS = {
    "thinking": "reasoning set aside",
    "fence": "Markdown fence removed",
    "prose": "prose set aside",
    "trailing-comma": "trailing comma left out",
    "smart-quotes": "typographic quotation marks replaced",
    "line-breaks": "line breaks within a string accepted",
    "comments": "comments left out",
    "python": "Python's notation read as JSON",
    "boolean": "true and false read as 1 and 0, or yes and no",
    "keys": "keys in another spelling accepted",
    "wrapper": "taken out of another object",
    "struck-out": "struck-out words left out",
    "invisible": "invisible characters left out",
    "width": "full-width and other unusual characters replaced",
    "html": "HTML set aside",
    "latex": "LaTeX set aside",
    "markdown": "Markdown set aside",
}


def reading_tables(shown: Shown) -> list[Table]:
    """Return the agreement of labels by reading step, and the frequency of each step."""
    if not (found := shown.block.get("reading")):
        return []
    labels = {"as_is": "As they stood", "mended": "After a step of the ladder"}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (label, found[key]["labels"], Number.from_estimate(found[key]["agreement"]))
        for key, label in labels.items()
    )
    steps: tuple[tuple[Cell, ...], ...] = tuple(
        (STEPS.get(step, step), labels) for step, labels in found["steps"].items()
    )
    header = ("Read", "Labels", f"Share that agrees with the {shown.block['reference']}")
    return [
        Table("How its answers were read", header, rows),
        Table("Steps that its answers needed", ("Step", "Labels"), steps),
    ]


ABOUT = "No list is cut by how answers were read; the calls of its runs show each one."
PART = SectionPart(JUDGE, title="How it was read", tables=reading_tables, about=lambda shown: ABOUT)
