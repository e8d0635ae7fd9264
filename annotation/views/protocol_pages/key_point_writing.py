"""The page of key-point writing: one's own list first, the extracted points only after it.

Until the list is stored as complete, the browser gets no word of the extracted points.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.item_context import Sheet
from annotation.models import Assignment
from annotation.protocols.base import ItemSpec
from annotation.views.protocol_pages.base import Page


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
        ("e", "edit the words of the point in hand"),
        ("[ ]", "move the point in hand up or down"),
        ("x", "delete the point in hand; z brings it back"),
        ("d", "go on to say that the list is complete"),
        ("1 2 3", "when matching: your point by its number; 0 for none of yours"),
    ),
    facts=facts,
)
