"""The page of answer preference: two answers side by side.

On the page, `first` is the answer on the left. `annotation.presentation` translates it into the
batch's first or second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext, gettext_noop

from annotation.item_context import Choice, Row, Sheet
from annotation.models import Assignment
from annotation.views.protocol_pages.base import Page
from tandem.protocols.base import ItemSpec

SIDES = {"first": gettext_noop("Left"), "second": gettext_noop("Right")}
CHOICE_NAMES = {
    "first": gettext_noop("Left is better"),
    "second": gettext_noop("Right is better"),
    "tie-good": gettext_noop("Both good"),
    "tie-bad": gettext_noop("Both bad"),
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
    return replace(choice, word=gettext(CHOICE_NAMES[choice.code]))


PAGE = Page(
    template="work/pages/answer_preference.html",
    words=CHOICE_NAMES,
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
