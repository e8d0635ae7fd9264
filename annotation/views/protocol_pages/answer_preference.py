"""The page of answer preference: two answers side by side.

On the page, `first` is the answer on the left. `annotation.presentation` translates it into the
batch's first or second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from annotation.item_context import Choice, Row, Sheet
from annotation.models import Assignment
from annotation.protocols.base import ItemSpec
from annotation.views.protocol_pages.base import Page

SIDES = {"first": "Left", "second": "Right"}
CHOICE_NAMES = {
    "first": "Left is better",
    "second": "Right is better",
    "tie-good": "Both good",
    "tie-bad": "Both bad",
}


@dataclass(frozen=True)
class Side:
    """One answer of the pair; `name` is left or right."""

    name: str
    heading: str
    text: str


def facts(assignment: Assignment, spec: ItemSpec, sheet: Sheet) -> Mapping[str, Any]:
    sides = [
        Side(word.lower(), word, text.text)
        for word, (_, text) in zip(SIDES.values(), sheet.texts, strict=True)
    ]
    return {"sides": sides, "sheet": replace(sheet, rows=tuple(map(_name_choices, sheet.rows)))}


def _name_choices(row: Row) -> Row:
    asked = (replace(each, choices=tuple(map(_name, each.choices))) for each in row.variables)
    return replace(row, variables=tuple(asked))


def _name(choice: Choice) -> Choice:
    return replace(choice, word=CHOICE_NAMES[choice.code])


PAGE = Page(
    template="work/pages/answer_preference.html",
    script="js/work/answer_preference.js",
    style="css/work/answer_preference.css",
    keys=(
        ("← →", "the left or the right answer is better"),
        ("3 4", "both are good; both are bad"),
        ("j k", "also ↓ and ↑: scroll the answers, since there is only one question"),
        ("s", "scroll the two answers together, or each by itself"),
        ("d", "mark the words that differ"),
        ("x", "on a narrow screen: show the other answer"),
    ),
    facts=facts,
)
