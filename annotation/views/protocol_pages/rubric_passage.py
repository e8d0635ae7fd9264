"""The page of passage rating: a passage, the scale, and the person's own highlights beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.assignments.context import nuggets_for
from annotation.item_context import Sheet
from annotation.models import Assignment
from annotation.prerequisites.base import prerequisite_of
from annotation.views.protocol_pages.base import Page
from tandem.protocols.base import ItemSpec, name_units


def facts(assignment: Assignment, spec: ItemSpec, sheet: Sheet) -> Mapping[str, Any]:
    """Return each question's row with this rater's highlights from the prerequisite."""
    follows = bool(prerequisite_of(assignment.item.campaign))
    found = nuggets_for(assignment) if follows else {}
    units = name_units(spec.units)
    keys = [units[name].key for name in assignment.asked]
    rated = [(row, found.get(key)) for row, key in zip(sheet.rows, keys, strict=True)]
    return {"rated": rated, "has_nuggets": any(each and each.found for _, each in rated)}


PAGE = Page(
    template="work/pages/rubric_passage.html",
    script="js/work/rubric_passage.js",
    style="css/work/rubric_passage.css",
    keys=(
        ("0 – 5", "rate the current question"),
        ("m", "edit your highlights in your report for the current question"),
    ),
    facts=facts,
)
