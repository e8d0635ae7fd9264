"""Reader of CLAPnq's annotated JSON Lines: a question, its passage in sentences, people's answers.

Answers are kept verbatim, including unusable ones. The flag `non_consecutive` is kept in `meta` as
released. It is wrong for the second round; compute it from the positions of sentences instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets.readers.native import stray_sentence
from tandem.files.fields import Fields
from tandem.files.rows import Located, Passage, Place, Query, ReadNotes, Reference
from tandem.files.tables import object_rows

SUMMARY = "CLAPnq: annotated JSON Lines with input, passages and output"

NO_ANSWER = ("", "NA", ".")
"""The texts, without blanks around them, of annotators who wrote no answer."""

_KEYS = ("id", "input", "passages", "output")


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    return first is not None and {"input", "output", "passages"} <= first.keys()


def read(paths: Sequence[Path], notes: ReadNotes) -> Iterator[Located]:
    """Yield each line of the files as a query with its passages and references.

    Raises InputError for a missing key or a value of the wrong type. Passages whose sentences are
    not verbatim in their text are kept, and counted in a warning.
    """
    stray = 0
    for path in paths:
        for number, record in object_rows(path):
            place = Place(str(path), number)
            query = _query(Fields(record, place))
            stray += sum(_is_stray(passage) for passage in query.passages)
            yield Located(query, place)
    if stray:
        notes.warnings.append(
            f"the sentences of {stray} passages are not verbatim and in order in their text"
        )


def _query(fields: Fields) -> Query:
    name = fields.id()
    passages = fields.objects("passages", "passage")
    return Query(
        id=name,
        text=fields.filled("input"),
        passages=tuple(_passage(each, f"{name}:p{n}") for n, each in enumerate(passages, 1)),
        references=tuple(_reference(each) for each in fields.objects("output", "output")),
        meta={k: v for k, v in fields.raw.items() if k not in _KEYS} or None,
    )


def _passage(fields: Fields, name: str) -> Passage:
    return Passage(
        id=name,
        text=fields.string("text"),
        title=fields.optional_string("title"),
        sentences=fields.strings("sentences"),
    )


def _reference(fields: Fields) -> Reference:
    answer = fields.string("answer")
    selected = fields.strings("selected_sentences") or ()
    meta = dict(fields.object("meta") or {}) | {"selected_sentences": list(selected)}
    return Reference(text=answer, deflected=answer.strip() in NO_ANSWER, meta=meta)


def _is_stray(passage: Passage) -> bool:
    return stray_sentence(passage.text, passage.sentences or ()) is not None
