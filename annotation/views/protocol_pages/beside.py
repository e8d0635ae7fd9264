"""The generic page for units in a report, perhaps beside a passage: the texts stand side by side.

The current unit's sentence is marked in its report, and of many passages its own is open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.item_context import Sheet
from annotation.models import Assignment
from annotation.views.protocol_pages.base import Page
from tandem.protocols.base import ItemSpec


def facts(assignment: Assignment, spec: ItemSpec, sheet: Sheet) -> Mapping[str, Any]:
    """Return the texts of the two sides: the passages, and all others."""
    passages = [each for each in sheet.texts if each[1].field.partition(":")[0] == "passage"]
    others = [each for each in sheet.texts if each not in passages]
    return {"others": others, "passages": passages if others else ()} | (
        {} if others else {"others": passages}
    )


PAGE = Page(
    template="work/pages/beside.html",
    script="js/work/beside.js",
    style="css/work/beside.css",
    keys=(("x", "go to the other text: from the report to the passage, and back"),),
    facts=facts,
)
