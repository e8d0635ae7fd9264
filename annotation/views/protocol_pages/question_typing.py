"""The page of question typing: one question, seven variables, and the meaning of each code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import get_language

from annotation.campaigns.rendering import format_date
from annotation.item_context import AskedVariable, Choice, Sheet, with_button_words
from annotation.models import Assignment
from annotation.presentation import schema
from annotation.protocols import PROTOCOLS
from annotation.views.protocol_pages.base import Page
from tandem.protocols.base import ItemSpec
from tandem.protocols.schema import Schema

_DEFINITION = re.compile(r"^- \*\*([^*]+)\*\*(?: \([^)]+\))?: (.+)$", re.MULTILINE)
MAX_KEYS = 9


@dataclass(frozen=True)
class Option:
    """One code and its meaning, which may be empty."""

    choice: Choice
    meaning: str


@dataclass(frozen=True)
class Question:
    """One variable. A `long` list has a filter; a `late` variable depends on earlier answers."""

    asked: AskedVariable
    meaning: str
    options: tuple[Option, ...]
    long: bool
    late: bool


def definitions(guideline: str, put: Callable[[str], str] = str) -> dict[str, str]:
    """Return the guideline's definitions by name, from the lines of its lists that have a name.

    `put` may rewrite each definition, in which codes are bold.
    """
    found = _DEFINITION.findall(guideline)
    return {name: _capitalize(put(text).replace("**", "")) for name, text in found}


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def questions(sheet: Sheet, asked_schema: Schema) -> Iterator[Question]:
    language = get_language() or "en"
    guideline = PROTOCOLS["question-typing"].guideline_in(language)
    words = definitions(guideline)
    if language != "en":
        # English definitions read well with codes, which are English words.
        words = definitions(guideline, lambda text: with_button_words(text, asked_schema, {}))
    for asked in sheet.rows[0].variables:
        yield Question(
            asked=asked,
            meaning=words.get(asked.name, ""),
            options=tuple(_option(choice, asked.name, words) for choice in asked.choices),
            long=len(asked.choices) > MAX_KEYS,
            late=bool(asked.conditions),
        )


def _option(choice: Choice, variable: str, words: Mapping[str, str]) -> Option:
    """Return a code as an option. Categories have their own meanings, not the guideline's."""
    return Option(choice, choice.meaning if variable == "category" else words.get(choice.code, ""))


def facts(assignment: Assignment, spec: ItemSpec, sheet: Sheet) -> Mapping[str, Any]:
    asked_at = assignment.item.query.asked_at
    shown = tuple(questions(sheet, schema(assignment.item.campaign, "people")))
    return {
        "questions": shown,
        "gated": any(question.late for question in shown),
        "asked_on": format_date(asked_at or ""),
        "asked_at": asked_at,
    }


PAGE = Page(
    template="work/pages/question_typing.html",
    script="js/work/question_typing.js",
    style="css/work/question_typing.css",
    keys=(
        ("y", "yes, then the next question"),
        ("n", "no, then the next question"),
        ("f", "find a category: type a part of it, then ↓ ↑ and ⏎; esc leaves the field"),
    ),
    facts=facts,
)
