"""The page of key-point writing: the person's own list first, then the extracted points.

The browser gets the extracted points only after the list is stored as complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.item_context import Sheet
from annotation.models import Assignment
from annotation.views.protocol_pages.base import Page
from tandem.protocols.base import ItemSpec


def facts(assignment: Assignment, spec: ItemSpec, sheet: Sheet) -> Mapping[str, Any]:
    own = [row for row in sheet.rows if row.listed]
    extracted = [row for row in sheet.rows if not row.listed]
    sealed = bool(extracted) and sheet.list_is_complete
    return {
        "own": own,
        "extracted": extracted if sealed else (),
        "waiting": 0 if sealed else len(extracted),
        "sealed": sealed,
    }


PAGE = Page(
    template="work/pages/key_point_writing.html",
    script="js/work/key_point_writing.js",
    style="css/work/key_point_writing.css",
    keys=(
        ("n", "write a new point"),
        ("e", "edit the current point"),
        ("[ ]", "move the current point up or down"),
        ("x", "delete the current point; z restores it"),
        ("d", "go to the question whether the list is complete"),
        ("1 2 3", "when matching: your point by its number; 0 for none of yours"),
    ),
    facts=facts,
)
