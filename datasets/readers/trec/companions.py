"""The files that TREC releases beside runs: topics, nugget banks, documents, ranked lists.

- Topics: lines of id, tab and text (2024, 2026), or JSON objects with an id and a `title` or
  `narrative` (2025; the AutoJudge kit's requests, with `request_id`).
- Nugget banks: `{qid, query, nuggets: [{text, importance}]}` of AutoNuggetizer and of the track's
  development data, and the AutoJudge kit's banks of version 3, `{query_id, title_query,
  nugget_bank, claim_bank}`. A claim is a nugget. A question is a sub-question of the query.
- Documents: `{docid, segment}` and the like, of MS MARCO V2.1 and of Pyserini; and the retrieved
  lists that were given to the task of augmented generation, `{query, candidates}`.
- Ranked lists: `topic Q0 document rank score run`, six columns.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from datasets.readers.trec.answers import identifier, is_answer, is_report_of_another_track
from datasets.readers.trec.slips import Slips
from tandem.files.fields import MAX_ID, Fields, part_id
from tandem.files.jsonl import describe_type, excerpt, lines
from tandem.files.rows import IMPORTANCE, InputError, Nugget, Passage, Place, Question

Kind = Literal["answers", "topics", "nuggets", "candidates", "passages", "rankings"]

BANK_IDS = ("qid", "query_id", "topic_id", "request_id", "narrative_id")
"""The keys of a topic's id beside nuggets: a line of the native format has `id` there."""
TOPIC_IDS = ("id", *BANK_IDS)
TOPIC_TEXTS = ("narrative", "title", "topic", "query", "text")
_DOCUMENT_IDS = ("docid", "doc_id", "id")
_DOCUMENT_TEXTS = ("segment", "contents", "body", "text", "doc")
_BANK_TEXTS = ("query", "title_query")
_SOURCES = ("sources", "references", "docids")
_ANSWER_REPORT = "other tracks' reports are not read; write their sentences under `answer`"

UNKNOWN_IMPORTANCE = "nuggets have an importance other than vital and okay; it was kept in meta"
NESTED = "nuggets have nuggets of their own; these were left out"

HEAD = 4096
_RANKED = re.compile(r"\S+\s+Q0\s+\S+\s+\S+\s+\S+\s+\S+\s*")


@dataclass(frozen=True, slots=True)
class Bank:
    """The nuggets of a topic. `text` is the topic's, where the bank repeats it."""

    topic: str
    text: str | None
    nuggets: tuple[Nugget, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    """One line of a ranked list."""

    topic: str
    document: str
    rank: int
    score: float
    run: str
    place: Place


def kind_of_table(path: Path) -> Kind | None:
    """Return what a text file that is not JSON holds: topics, rankings, or None for neither."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD).decode("utf-8-sig", "replace").lstrip()
    except OSError:
        return None
    first = head.partition("\n")[0]
    if not first or first[0] in "[{" or "\0" in head:
        return None
    if _RANKED.fullmatch(first):
        return "rankings"
    topic, tab, text = first.partition("\t")
    is_topic = tab and topic.strip() and " " in text.strip() and "\t" not in text.strip()
    return "topics" if is_topic else None


def kind_of(record: Mapping[str, Any], place: Place) -> Kind:
    """Return what a file with this object holds. Raises InputError if it is of no use here."""
    if is_answer(record):
        return "answers"
    if is_report_of_another_track(record):
        raise InputError(place, "this is a report of RAGTIME or DRAGUN", _ANSWER_REPORT)
    if is_bank(record):
        return "nuggets"
    if isinstance(record.get("candidates"), list) and "query" in record:
        return "candidates"
    if record.keys() & set(_DOCUMENT_IDS) and record.keys() & set(_DOCUMENT_TEXTS):
        return "passages"
    if record.keys() & set(TOPIC_IDS) and record.keys() & set(TOPIC_TEXTS):
        return "topics"
    wrong = "holds neither answers of TREC's RAG Track nor topics, nuggets or documents"
    raise InputError(place, wrong, "leave the file out")


def is_bank(record: Mapping[str, Any]) -> bool:
    has_topic = record.keys() & set(BANK_IDS)
    listed = isinstance(record.get("nuggets"), list) and "answer_text" not in record
    return bool(has_topic) and (listed or bool(record.keys() & {"nugget_bank", "claim_bank"}))


def topic_lines(path: Path) -> Iterator[tuple[str, str, Place]]:
    """Yield id, text and place of each topic of a table. Raises InputError."""
    for number, line in lines(path):
        place = Place(os.fspath(path), number)
        topic, tab, text = line.partition("\t")
        if not tab or not topic.strip() or not text.strip():
            wrong = "is not a topic"
            raise InputError(place, wrong, "write its id, a tab and its text on one line")
        if number == 1 and topic.strip().lower() in TOPIC_IDS:
            continue
        yield checked_id(topic.strip(), "topic", place), text.strip(), place


def topic_of(record: Mapping[str, Any], place: Place) -> tuple[str, str, dict[str, Any] | None]:
    """Return id, text and the other keys of a topic in JSON. Raises InputError."""
    fields = Fields(record, place)
    key, text = _first_key(fields, TOPIC_IDS), _first_key(fields, TOPIC_TEXTS)
    rest = {k: v for k, v in record.items() if k not in (key, text) and v is not None}
    return identifier(fields, key), fields.filled(text), rest or None


def bank_of(record: Mapping[str, Any], place: Place, slips: Slips) -> Bank:
    """Return an object as a nugget bank. Raises InputError."""
    fields = Fields(record, place)
    topic = identifier(fields, _first_key(fields, BANK_IDS))
    claims = [*fields.objects("nuggets", "nugget"), *_entries(fields, "claim_bank", "claim")]
    nuggets = tuple(_nugget(each, topic, n, slips) for n, each in enumerate(claims, 1))
    asked = enumerate(_entries(fields, "nugget_bank", "question"), 1)
    questions = tuple(_question(each, topic, n, slips) for n, each in asked)
    text = next((t for key in _BANK_TEXTS if isinstance(t := record.get(key), str) and t), None)
    return Bank(topic, text, nuggets, questions)


def candidates_of(
    record: Mapping[str, Any], place: Place
) -> tuple[str, str | None, tuple[Passage, ...]]:
    """Return topic, its text and the documents of a retrieved list. Raises InputError."""
    fields = Fields(record, place)
    query = Fields(fields.raw["query"], place, '"query"')
    topic = identifier(query, _first_key(query, TOPIC_IDS))
    found = tuple(_passage(each) for each in fields.objects("candidates", "candidate"))
    return topic, query.optional_string("text"), found


def document_id(record: Mapping[str, Any], place: Place) -> str:
    fields = Fields(record, place)
    return fields.id(_first_key(fields, _DOCUMENT_IDS))


def passage_of(record: Mapping[str, Any], place: Place) -> Passage:
    """Return an object of a collection as a passage. Raises InputError."""
    return _passage(Fields(record, place))


def ranked_lines(path: Path) -> Iterator[Ranked]:
    """Yield the lines of a ranked list. Raises InputError for one that does not fit."""
    for number, line in lines(path):
        columns, place = line.split(), Place(os.fspath(path), number)
        if len(columns) != 6:
            wrong = f"{len(columns)} columns where a TREC run has 6"
            raise InputError(place, wrong, "write topic Q0 document rank score run")
        topic, _, document, rank, score, run = columns
        yield Ranked(
            checked_id(topic, "topic", place),
            checked_id(document, "document", place),
            _whole(rank, place),
            _number(score, place),
            checked_id(run, "run", place),
            place,
        )


def checked_id(text: str, what: str, place: Place) -> str:
    """Return an identifier of a table. Raises InputError if it is too long."""
    if len(text) > MAX_ID:
        wrong = f"the {what} id has {len(text)} characters: {excerpt(text, 20)}"
        raise InputError(place, wrong, f"use at most {MAX_ID}")
    return text


def _whole(text: str, place: Place) -> int:
    if not re.fullmatch(r"[+-]?\d{1,9}", text, re.ASCII):
        raise InputError(place, f"the rank is {excerpt(text)}", "write a whole number")
    return int(text)


def _number(text: str, place: Place) -> float:
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if not isfinite(found):
        raise InputError(place, f"the score is {excerpt(text)}", "write a number")
    return found


def _first_key(fields: Fields, keys: tuple[str, ...]) -> str:
    """Return the first key that is there, or else the first one, which is then missing."""
    return next((key for key in keys if fields.raw.get(key) is not None), keys[0])


def _entries(fields: Fields, key: str, one: str) -> Iterator[Fields]:
    """Yield the entries of a bank, which is a list, or an object by the entries' text."""
    found = fields.raw.get(key)
    values = list(found.values()) if isinstance(found, dict) else found or []
    if not isinstance(values, list):
        wrong = f'"{key}" is {describe_type(values)}, not an object'
        raise InputError(fields.place, wrong, f"write an object with one {one} for each text")
    for number, value in enumerate(values, 1):
        yield Fields(value, fields.place, f"{one} {number}")


def _nugget(fields: Fields, topic: str, number: int, slips: Slips) -> Nugget:
    text = "claim" if "claim" in fields.raw else "text"
    own = next((key for key in ("id", "nugget_id") if fields.raw.get(key) is not None), None)
    known, meta = _facts(fields, {text, own}, slips)
    importance = known.get("importance")
    return Nugget(
        identifier(fields, own) if own else part_id(topic, f"n{number}", fields.place),
        fields.filled(text),
        importance if importance in IMPORTANCE else None,
        _documents(known, fields),
        meta,
    )


def _question(fields: Fields, topic: str, number: int, slips: Slips) -> Question:
    known, meta = _facts(fields, {"question"}, slips)
    kept = {**(meta or {}), **{k: v for k, v in known.items() if v is not None}}
    key = part_id(topic, f"q{number}", fields.place)
    return Question(key, fields.filled("question"), meta=kept or None)


def _facts(
    fields: Fields, text: set[str | None], slips: Slips
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return importance and sources, and the other facts about a nugget."""
    rest = {k: v for k, v in fields.raw.items() if k not in text and v is not None}
    if rest.pop("sub_nuggets", None):
        slips.add(NESTED, fields.place)
    importance = rest.get("importance")
    known = {key: rest.pop(key, None) for key in _SOURCES}
    if importance in IMPORTANCE or importance is None:
        known["importance"] = rest.pop("importance", None)
    else:
        slips.add(UNKNOWN_IMPORTANCE, fields.place)
    return known, rest or None


def _documents(known: Mapping[str, Any], fields: Fields) -> tuple[str, ...] | None:
    """Return the ids of a nugget's documents, each an id or the kit's object with `doc_id`."""
    given = next((known[key] for key in _SOURCES if known.get(key) is not None), None)
    if given is None:
        return None
    if isinstance(given, list):
        given = [each.get("doc_id") if isinstance(each, dict) else each for each in given]
    return Fields({"sources": given}, fields.place, fields.of).ids("sources")


def _passage(fields: Fields) -> Passage:
    key, text = _first_key(fields, _DOCUMENT_IDS), _first_key(fields, _DOCUMENT_TEXTS)
    raw = fields.raw
    if isinstance(raw.get(text), dict):
        inner = Fields(raw[text], fields.place, f'"{text}" of {fields.of or "the document"}')
        return _passage_of(fields.id(key), inner, _first_key(inner, _DOCUMENT_TEXTS[:-1]))
    return _passage_of(fields.id(key), fields, text)


def _passage_of(key: str, fields: Fields, text: str) -> Passage:
    title = fields.optional_string("title")
    left = {*_DOCUMENT_IDS, *_DOCUMENT_TEXTS, "title", "rank", "score"}
    meta = {k: v for k, v in fields.raw.items() if k not in left and v is not None}
    return Passage(key, fields.string(text), title=title or None, meta=meta or None)
