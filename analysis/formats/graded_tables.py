"""Tables on a judge's own grades, beside the codes to which its file maps them."""

from __future__ import annotations

from collections.abc import Callable

from ..document import Cell, Number, Table
from ..types import JSON

CORRELATIONS = {"spearman": "Spearman", "kendall": "Kendall's tau-b", "pearson": "Pearson"}
AREAS = {"roc_auc": "ROC AUC", "average_precision": "Average precision"}


def graded_tables(found: JSON, reference: str, units: Callable[[int], int] = int) -> list[Table]:
    """Return the grades with what people say at each, their correlation, and their curves.

    `units` links a count of units to its list.
    """
    tables = []
    if found["grades"]:
        tables.append(_by_grade(found))
    if "correlation" in found:
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (label, Number.from_estimate(found["correlation"][key]), found["correlation"][key]["n"])
            for key, label in CORRELATIONS.items()
        )
        caption = f"Its grades and people's {found['people']}"
        tables.append(Table(caption, ("Correlation", "Value", "Units"), rows))
    if found.get("curves"):
        tables.append(_curves(found["curves"], reference, units))
    return tables


def _by_grade(found: JSON) -> Table:
    has_people = any("people" in row for row in found["grades"])
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            row["grade"],
            row["label"],
            row["labels"],
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
    return Table(caption, ("Finding", *AREAS.values(), "Units"), rows)
