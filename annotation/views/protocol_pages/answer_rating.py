"""The page of answer rating: each answer first without the passages, then with them.

References that eligibility is compared with are hidden and shown like passages. Answers are
numbered in the assignment's order, and nothing on the page comes from the id of a report.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext

from annotation.item_context import AskedVariable, Piece, Row, Sheet
from annotation.models import Assignment
from annotation.presentation import asked_units
from annotation.protocols.answer_rating import NEEDS_PASSAGES, NEEDS_REFERENCES
from annotation.views.protocol_pages.base import Page
from tandem.protocols.base import ItemSpec, Text, UnitSpec

GRADE = "appropriate"
OF_PASSAGES = ("passage", "report-passage")
NEAR = 5000  # characters


@dataclass(frozen=True)
class Answer:
    """One answer. `first` are the variables asked without other texts, `then` those asked with
    them.
    """

    number: int
    pieces: tuple[Piece, ...]
    report: Row | None
    first: tuple[AskedVariable, ...]
    then: tuple[AskedVariable, ...]
    sentences: tuple[Row, ...]


@dataclass(frozen=True)
class Beside:
    """The row of a passage beside one answer, with the answer's number on the page."""

    number: int
    row: Row


@dataclass(frozen=True)
class Card:
    """One passage, perhaps with a row of its own; `each` are its rows beside answers."""

    number: int
    heading: str
    text: Text
    row: Row | None
    each: tuple[Beside, ...] = ()

    @property
    def question(self) -> str:
        """The question that is asked of the passage for each answer, or an empty text."""
        return self.each[0].row.variables[0].question if self.each else ""


def facts(assignment: Assignment, spec: ItemSpec, sheet: Sheet) -> Mapping[str, Any]:
    units = list(asked_units(assignment, spec).values())
    rows = list(zip(units, sheet.rows, strict=True))
    shown = [(heading, text) for heading, text in sheet.texts if _kind(text) == "passage"]
    references = [(heading, text) for heading, text in sheet.texts if _kind(text) == "reference"]
    later = NEEDS_PASSAGES | (NEEDS_REFERENCES if references else set())
    answers = tuple(_answers(sheet, rows, later))
    graded = any(asked.name == GRADE for answer in answers for asked in answer.first)
    # With a judge's label in view, hiding the passages would achieve nothing.
    gated = graded and bool(shown or references) and not assignment.assisted_by
    return {
        "first": [row for unit, row in rows if unit.kind == "query"],
        "answers": [_gate(answer) for answer in answers] if gated else answers,
        "cards": tuple(_cards(sheet, rows, spec)),
        "references": references,
        "gated": gated,
        "closed": _describe_hidden(bool(shown), bool(references)),
        "single": len({asked.name for row in sheet.rows for asked in row.variables}) == 1,
        "rated": any(answer.report or answer.sentences for answer in answers),
        "passage_questions": any(unit.kind in OF_PASSAGES for unit in units),
    }


def _describe_hidden(passages: bool, references: bool) -> dict[str, str]:
    """Describe the texts that are hidden until an answer is rated, for each place on the page."""
    if passages and references:
        return {
            "the": gettext("The passages and reference answers"),
            "hidden": gettext(
                "The passages and reference answers are hidden: rate this answer without them "
                "first."
            ),
            "without": gettext("Without the passages and reference answers"),
            "with": gettext("With the passages and reference answers"),
            "label": gettext("Passages and reference answers"),
        }
    if references:
        return {
            "the": gettext("The reference answers"),
            "hidden": gettext(
                "The reference answers are hidden: rate this answer without them first."
            ),
            "without": gettext("Without the reference answers"),
            "with": gettext("With the reference answers"),
            "label": gettext("Reference answers"),
        }
    return {
        "the": gettext("The passages"),
        "hidden": gettext("The passages are hidden: rate this answer without them first."),
        "without": gettext("Without the passages"),
        "with": gettext("With the passages"),
        "label": gettext("Passages"),
    }


def _kind(text: Text) -> str:
    return text.field.partition(":")[0]


def _answers(
    sheet: Sheet, rows: Sequence[tuple[UnitSpec, Row]], later: Collection[str]
) -> Iterator[Answer]:
    """Yield the answers in order; `later` are the variables asked with the hidden texts."""
    texts = [text for _, text in sheet.texts if _kind(text) == "report"]
    for number, text in enumerate(texts, start=1):
        key = text.field.partition(":")[2]
        report = next((row for u, row in rows if (u.kind, u.key) == ("report", key)), None)
        sentences = tuple(
            row for u, row in rows if u.kind == "sentence" and u.key.rpartition("#")[0] == key
        )
        asked = report.variables if report else ()
        yield Answer(
            number,
            tuple(split_at_sentences(text.text, sentences)),
            report,
            tuple(each for each in asked if each.name not in later),
            tuple(each for each in asked if each.name in later),
            sentences,
        )


def _gate(answer: Answer) -> Answer:
    """Make the later variables depend on answers to all of the first ones."""
    codes = {asked.name: [choice.code for choice in asked.choices] for asked in answer.first}
    conditions = json.dumps(codes)
    return replace(answer, then=tuple(replace(a, conditions=conditions) for a in answer.then))


def split_at_sentences(text: str, sentences: Sequence[Row]) -> Iterator[Piece]:
    """Split a text into pieces that joined are the text, one for each sentence that is found.

    A sentence is searched for, ignoring blanks, within `NEAR` characters after the one before it.
    """
    squeezed, places = _squeeze_blanks(text)
    done = at = 0
    for row in sentences:
        words = " ".join(row.text.split())
        start = squeezed.find(words, at, at + len(words) + NEAR) if words else -1
        if start < 0:
            continue
        if places[start] > done:
            yield Piece(text[done : places[start]])
        at = start + len(words)
        done = places[at - 1] + 1
        yield Piece(text[places[start] : done], row.number)
    if done < len(text):
        yield Piece(text[done:])


def _squeeze_blanks(text: str) -> tuple[str, list[int]]:
    """Replace each run of blanks by a space; return each remaining character's offset, too."""
    places = [n for n, c in enumerate(text) if n == 0 or not (c + text[n - 1]).isspace()]
    return "".join(" " if text[n].isspace() else text[n] for n in places), places


def _cards(sheet: Sheet, rows: Sequence[tuple[UnitSpec, Row]], spec: ItemSpec) -> Iterator[Card]:
    by_key = {unit.key: row for unit, row in rows if unit.kind == "passage"}
    joined = {unit.of: row for unit, row in rows if unit.kind == "report-passage"}
    texts = [text for _, text in sheet.texts]
    answers = [text.field for text in texts if _kind(text) == "report"]
    shown = [text for text in texts if _kind(text) == "passage"]
    for number, text in enumerate(shown, start=1):
        heading = "" if text.heading == "Passage" else text.heading
        key = f"{spec.key}/{text.field.partition(':')[2]}"
        each = tuple(
            Beside(place, row)
            for place, answer in enumerate(answers, start=1)
            if (row := joined.get((answer, text.field)))
        )
        yield Card(number, heading, text, by_key.get(key), each)


PAGE = Page(
    template="work/pages/answer_rating.html",
    script="js/work/answer_rating.js",
    style="css/work/answer_rating.css",
    keys=(
        ("n b", "next answer, previous answer"),
        ("p", "show the passages and reference answers, once the answer is rated; go to them"),
        ("s", "show two answers side by side; o changes the second"),
        ("r", "at the passages: no for all that have no answer yet"),
    ),
    facts=facts,
)
