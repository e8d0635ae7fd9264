"""Tables on a judge's own grades, which its file maps to codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ..document import UNITS_HEAD, Cell, Number, Table, UnitCount
from ..statistics.correlation import CORRELATIONS
from ..types import JSON
from .people_sections import ANY

AREAS = {"roc_auc": "ROC AUC", "average_precision": "Average precision"}


def graded_tables(
    found: JSON,
    reference: str,
    units: Callable[[int], int] = int,
    judge: str = "",
    codes: Mapping[str, str] = MappingProxyType({}),
) -> list[Table]:
    """Return the grades with people's labels at each, their correlation, and their curves.

    `units` links a count of units to its list. `codes` maps words to codes.
    """
    tables = []
    if found["grades"]:
        tables.append(_by_grade(found, judge, codes))
    if "correlation" in found:
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (
                of.head or of.name,
                Number.from_estimate(found["correlation"][key]),
                UnitCount.of(found["correlation"][key]["n"], show="labelled", one=judge, grade=ANY),
            )
            for key, of in CORRELATIONS.items()
        )
        caption = f"Its grades and people's {found['people']}"
        tables.append(Table(caption, ("Correlation", "Value", UNITS_HEAD), rows))
    if found.get("curves"):
        tables.append(_curves(found["curves"], reference, units))
    return tables


def _by_grade(found: JSON, judge: str, codes: Mapping[str, str]) -> Table:
    has_people = any("people" in row for row in found["grades"])
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            row["grade"],
            row["label"],
            UnitCount.of(
                row["labels"],
                show="all",
                one=judge,
                label=codes.get(row["label"], row["label"]),
                grade=row["grade"],
            ),
            *((Number.from_estimate(row["people"]),) if has_people else ()),
        )
        for row in found["grades"]
    )
    header = ("Grade", "Label", "Labels", *((f"People's {found['people']}",) if has_people else ()))
    return Table("Its own grades, before they became labels", header, rows)


def _curves(curves: list[JSON], reference: str, units: Callable[[int], int]) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            f"≥ {of['threshold']}" if "threshold" in of else of["category"],
            *(Number.from_estimate(of[key]) for key in AREAS),
            units(of["roc_auc"]["n"]),
        )
        for of in curves
    )
    caption = f"Its grades over all cuts, against the {reference}"
    return Table(caption, ("Finding", *AREAS.values(), UNITS_HEAD), rows)
