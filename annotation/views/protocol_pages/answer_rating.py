"""The page of answer rating: each answer in steps, first without the passages, then with them.

If eligibility is held against the writer's references, they are closed and opened like passages.
Answers are numbered in the recorded order; nothing on the page comes from the id of a report.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotation.item_context import Asked, Row, Sheet
from annotation.models import Assignment
from annotation.presentation import asked_units
from annotation.protocols.answer_rating import NEEDS_PASSAGES, NEEDS_REFERENCES
from annotation.protocols.base import ItemSpec, Text, UnitSpec
from annotation.views.protocol_pages.base import Page

GRADE = "appropriate"
OF_PASSAGES = ("passage", "report-passage")
NEAR = 5000


@dataclass(frozen=True)
class Piece:
    """A stretch of an answer: a sentence with the number of its row, or what stands between."""

    text: str
    number: int | None = None


@dataclass(frozen=True)
class Answer:
    """One answer with what is asked of it: `first` with all else closed, `then` with it open."""

    number: int
    pieces: tuple[Piece, ...]
    report: Row | None
    first: tuple[Asked, ...]
    then: tuple[Asked, ...]
    sentences: tuple[Row, ...]


@dataclass(frozen=True)
class Beside:
    """A passage beside one answer, by the answer's number on the page."""

    number: int
    row: Row


@dataclass(frozen=True)
class Card:
    """One passage, with its row where something is asked of it; `each` are those beside answers."""

    number: int
    heading: str
    text: Text
    row: Row | None
    each: tuple[Beside, ...] = ()

    @property
    def question(self) -> str:
        """What is asked of the passage for each answer."""
        return self.each[0].row.variables[0].question if self.each else ""


def facts(assignment: Assignment, spec: ItemSpec, sheet: Sheet) -> Mapping[str, Any]:
    units = list(asked_units(assignment, spec).values())
    rows = list(zip(units, sheet.rows, strict=True))
    shown = [(heading, text) for heading, text in sheet.texts if _kind(text) == "passage"]
    references = [(heading, text) for heading, text in sheet.texts if _kind(text) == "reference"]
    later = NEEDS_PASSAGES | (NEEDS_REFERENCES if references else set())
    answers = tuple(_answers(sheet, rows, later))
    graded = any(asked.name == GRADE for answer in answers for asked in answer.first)
    # A judge's verdict on faithfulness stands beside the grade: there nothing is left to hide.
    gated = graded and bool(shown or references) and not assignment.assisted_by
    return {
        "answers": [_gated(answer) for answer in answers] if gated else answers,
        "cards": tuple(_cards(sheet, rows, spec)),
        "references": references,
        "gated": gated,
        "closed": _closed(bool(shown), bool(references)),
        "single": len({asked.name for row in sheet.rows for asked in row.variables}) == 1,
        "rated": any(answer.report or answer.sentences for answer in answers),
        "passage_questions": any(unit.kind in OF_PASSAGES for unit in units),
    }


def _closed(passages: bool, references: bool) -> str:
    """What is closed until an answer is graded without it, in words."""
    kinds = {"passages": passages, "reference answers": references}
    return " and ".join(kind for kind, there in kinds.items() if there)


def _kind(text: Text) -> str:
    return text.field.partition(":")[0]


def _answers(
    sheet: Sheet, rows: Sequence[tuple[UnitSpec, Row]], later: Collection[str]
) -> Iterator[Answer]:
    """The answers in their order; `later` are the variables that wait for what is closed."""
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
            tuple(cut(text.text, sentences)),
            report,
            tuple(each for each in asked if each.name not in later),
            tuple(each for each in asked if each.name in later),
            sentences,
        )


def _gated(answer: Answer) -> Answer:
    """What needs the passages is asked once all else of the answer is said without them."""
    said = {asked.name: [choice.code for choice in asked.choices] for asked in answer.first}
    conditions = json.dumps(said)
    return replace(answer, then=tuple(replace(a, conditions=conditions) for a in answer.then))


def cut(text: str, sentences: Sequence[Row]) -> Iterator[Piece]:
    """A text as pieces that joined are the text; a sentence that is not found has no piece.

    It is found where its words stand, but for blanks, not far after the sentence before it.
    """
    squeezed, places = _squeezed(text)
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


def _squeezed(text: str) -> tuple[str, list[int]]:
    """A text with one space for each run of blanks, and where each of its characters stood."""
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
        ("n b", "the next answer, and back"),
        ("p", "open the passages and reference answers, once the answer has its grade; go to them"),
        ("s", "two answers side by side; o takes another one beside"),
        ("r", "at the passages: no for all that have no answer yet"),
    ),
    facts=facts,
)
