"""The page of answer preference: two answers beside each other, left and right.

On the page `first` is the answer shown first, on the left; `annotation.presentation` turns it into
the batch's first or second.
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
WORDS = {
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
    return {"sides": sides, "sheet": replace(sheet, rows=tuple(map(_in_words, sheet.rows)))}


def _in_words(row: Row) -> Row:
    asked = (replace(each, choices=tuple(map(_named, each.choices))) for each in row.variables)
    return replace(row, variables=tuple(asked))


def _named(choice: Choice) -> Choice:
    return replace(choice, word=WORDS[choice.code])


PAGE = Page(
    template="work/pages/answer_preference.html",
    script="js/work/answer_preference.js",
    style="css/work/answer_preference.css",
    keys=(
        ("← →", "the left or the right answer is better"),
        ("3 4", "both are good; both are bad"),
        ("j k", "also ↓ and ↑: scroll the answers, as there is but one question"),
        ("s", "scroll the two answers together, or each by itself"),
        ("d", "mark the words that differ"),
        ("x", "on a narrow screen: the other answer"),
    ),
    facts=facts,
)
