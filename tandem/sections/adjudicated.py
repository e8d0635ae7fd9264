"""Section: judges compared with adjudicators' decisions."""

from __future__ import annotations

import numpy as np

from ..document import UNIT, UNITS, UNITS_HEAD, Cell, Table, UnitCount
from ..labels.frame import VariableFrame
from ..labels.reference import Reference, reference
from ..labels.resampling import Sample
from ..statistics import ALPHA, EQUAL, KAPPA, Bools, Ints
from ..types import JSON
from .agreement import numbers
from .alignment import ERROR, alignment_with
from .base import JUDGE, SectionPart, Shown, estimate_cells
from .judges import FURTHER_COEFFICIENTS, agreement_with

ERROR_WITH = ERROR.replace("mean human rating", "adjudicated rating")


def adjudicated(sample: Sample, column: int) -> JSON:
    """Return the key `adjudicated` of a judge.

    `references` compares the judge with decided units only. These are mostly hard, so the result
    does not represent all of the judge's labels. `settled_codes` adds people's majority on
    undecided units.
    """
    return {
        "references": _against(sample, column, reference(sample.frame, "reference")),
        "settled": _against(sample, column, _settled(sample.frame)),
    }


def settled_codes(frame: VariableFrame) -> tuple[Ints, Bools]:
    """Return the reference's category on decided units, and people's joint label on others.

    Also returns which units were decided, (U,) each; -1 if there is neither.
    """
    return _settled(frame).codes, references_of(frame)[1]


def _settled(frame: VariableFrame) -> Reference:
    is_decided = references_of(frame)[1]
    decided, people = reference(frame, "reference"), reference(frame)
    return Reference(
        people.rule,
        np.where(is_decided, decided.codes, people.codes).astype(np.int64),
        np.where(is_decided, decided.values, people.values),
        np.where(is_decided, decided.ties, people.ties),
    )


def references_of(frame: VariableFrame) -> tuple[Ints, Bools]:
    """Return the reference's category of each unit, and whether the unit was decided, both (U,).

    The category is -1 if nothing was decided, if the decision was an escape, or if several
    references tie. In the last two cases people's joint label does not count either.
    """
    is_decided = np.asarray((frame.codes_of("reference") >= 0).any(axis=1), dtype=np.bool_)
    names = {frame.raters[n].name for n in frame.columns("reference")}
    escaped = [a.unit for a in frame.asides if a.rater in names and not a.is_missing]
    is_decided[escaped] = True
    return reference(frame, "reference").codes, is_decided


def _against(sample: Sample, column: int, said: Reference) -> JSON:
    codes = sample.frame.codes[:, column]
    gaps = numbers(sample, codes) - said.values
    return {
        "units": int(((said.codes >= 0) & (codes >= 0)).sum()),
        "agreement": agreement_with(sample, said, codes),
        **alignment_with(sample, said.codes, codes, gaps, ERROR_WITH),
    }


def adjudicated_tables(shown: Shown) -> list[Table]:
    if not (block := shown.block.get("adjudicated")):
        return []
    names = {each.key: each.head or each.name for each in (KAPPA, EQUAL, ALPHA)}
    labels = {
        "references": "References alone",
        "settled": f"References, and people's {shown.block['reference']} elsewhere",
    }
    shows = {"references": "adjudicated", "settled": "settled"}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            label,
            UnitCount.of(block[key]["units"], show=shows[key], one=shown.judge),
            *estimate_cells(block[key]["agreement"], names),
        )
        for key, label in labels.items()
    )
    header = ("Against", UNITS_HEAD, *names.values())
    return [Table("Compared with adjudicated labels", header, rows)]


def adjudicated_methods(report: JSON) -> list[str]:
    """Describe comparisons of judges with adjudicated labels, and their number."""
    if report["choices"].get("reference", "majority") != "adjudicated":
        return []
    units = {
        name: max(
            (j["adjudicated"]["references"]["units"] for j in v["judges"].values()), default=0
        )
        for name, v in report["variables"].items()
    }
    counts = ", ".join(f"{name} {number}" for name, number in units.items() if number)
    if not counts:
        return [f"No judge labelled a {UNIT} that an adjudicator decided."]
    return [
        "Beside people's majority, judges were compared with the labels that adjudicators decided "
        f"({UNITS}: {counts}), alone and with people's majority on the {UNITS} where none did; the "
        "references are not part of the agreement among people."
    ]


PART = SectionPart(
    JUDGE, title=FURTHER_COEFFICIENTS, tables=adjudicated_tables, methods=adjudicated_methods
)
