"""Read CRUX label files: `qlabels.jsonl` (task 1, questions of reports), `qrels.jsonl` (task 2).

In task 1, -2 means that the question is null, and -1 that nothing was chosen. In task 2, -1 means
that a question was not in the sample. None of these is a label. Highlights are stored under the
question's text, since null questions share one key, and the label under the question's number.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tandem.files.fields import Fields
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Place, ReadNotes
from tandem.files.tables import object_rows
from tandem.labels.file.rows import LabelRow, SpanRow

Texts = Callable[[str], Mapping[str, str]]
"""Maps an item's key to the texts of its query's questions by key (empty: unknown item)."""

_ANSWERS = {1: "yes", 0: "no"}
_NOT_ASKED = (-1, -2)


def read_crux(path: Path, rater: str, texts: Texts, notes: ReadNotes) -> Iterator[LabelRow]:
    """Yield the labels of one annotator's file. Ratings of null questions are counted in `notes`.

    Raises InputError.
    """
    for line, raw in object_rows(path):
        place = Place(os.fspath(path), line)
        if "answerability" in raw:
            yield from _answers(Fields(raw, place), rater, texts)
        elif "relevances" in raw:
            yield from _ratings(Fields(raw, place), rater, texts, notes)
        else:
            raise InputError(place, "is not a CRUX label", "give qlabels.jsonl or qrels.jsonl")


def looks_like_crux(record: Mapping[str, Any]) -> bool:
    return "answerability" in record or "relevances" in record


def rater_of(path: Path) -> str:
    """Return the annotator of a file, which is the name of its folder."""
    return path.resolve().parent.name


def _answers(fields: Fields, rater: str, texts: Texts) -> Iterator[LabelRow]:
    item, labels = fields.id("id"), fields.raw["answerability"]
    quotes = fields.object("question_based_nugget") or {}
    if not isinstance(labels, list):
        raise InputError(fields.place, '"answerability" is not a list', "write a list of labels")
    asked = texts(item)
    for number, label in enumerate(labels):
        unit = f"{_topic(item)}:q{number}"
        if label in _NOT_ASKED:
            continue
        if isinstance(label, bool) or label not in (0, 1):
            raise InputError(
                fields.place,
                f"label {number} is {excerpt(str(label))}",
                "give 1, 0, -1 or -2",
            )
        quote = str(quotes.get(asked.get(unit, "")) or "")
        spans = (SpanRow("report", None, None, quote),) if quote.strip() else ()
        yield LabelRow(
            item,
            unit,
            "answerable",
            rater,
            _ANSWERS[label],
            kind="question",
            spans=spans,
            place=fields.place,
        )


def _ratings(fields: Fields, rater: str, texts: Texts, notes: ReadNotes) -> Iterator[LabelRow]:
    topic, passage = fields.id("id"), fields.id("document")
    item, rationales = f"{topic}/{passage}", fields.object("rationales") or {}
    asked = texts(item)
    for number, rating in (fields.object("relevances") or {}).items():
        if rating in _NOT_ASKED:
            continue
        if asked and f"{topic}:q{number}" not in asked:
            notes.skip("ratings of null questions")
            continue
        rationale = str(rationales.get(number) or "")
        spans = (SpanRow("passage", None, None, rationale),) if rationale.strip() else ()
        yield LabelRow(
            item,
            f"{topic}:q{number}",
            "rating",
            rater,
            str(rating),
            kind="question",
            spans=spans,
            place=fields.place,
        )


def _topic(report: str) -> str:
    """Return the topic in a report's id: the part from `duc…` on, after a setting's prefix."""
    return report.rsplit("_", 1)[-1]
