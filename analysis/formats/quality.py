"""The section of a report that asks to look before counting."""

from __future__ import annotations

from typing import Any

from analysis.formats.document import Block, Section, Table, Who

PLACES = {"report": "in a report", "passage": "in another passage", "reference": "in a reference"}
ABOUT_QUALITY = (
    "These raters quoted words that do not stand in the text that they judged, but word for word "
    "in another text of the same query. They may have judged what they read there: look at their "
    "answers before you count them."
)


def quality_section(report: dict[str, Any]) -> Section:
    """Rationales that stand elsewhere, a row for each rater and variable."""
    header = ("Rater", "Variable", "Rationales", *(f"only {where}" for where in PLACES.values()))
    rows = tuple(
        (
            Who(hint["name"], hint["kind"]),
            hint["variable"],
            hint["rationales"],
            *(hint["elsewhere"][place] for place in PLACES),
        )
        for hint in report["hints"]
    )
    table = Table("Rationales that stand in another text", header, rows)
    return Section("Data quality", (Block("", (table,)),), ABOUT_QUALITY)
