"""Responses as a file: whole answers as they were given, with what raters wrote.

One line is `{campaign, protocol, item, rater, rater_kind, replicate, revision, created_at, seconds,
assisted_by, comment, units}`; `units` maps unit names to answers, as the API takes them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.files.labels import KINDS
from annotation.files.rows import SpanRow
from datasets.readers.fields import Fields
from datasets.readers.jsonl import records, shown
from datasets.rows import InputError, Place

COLUMNS = (
    "campaign",
    "protocol",
    "item",
    "rater",
    "rater_kind",
    "replicate",
    "revision",
    "created_at",
    "seconds",
    "assisted_by",
    "comment",
    "units",
)


@dataclass(frozen=True, slots=True)
class ResponseRow:
    """One rater's whole answer to one item."""

    item: str
    rater: str
    rater_kind: str
    replicate: int
    revision: int | None
    created_at: str | None
    seconds: float | None
    assisted_by: str | None
    comment: str | None
    units: Mapping[str, Mapping[str, Any]]
    place: Place


def looks_like_responses(record: Mapping[str, Any]) -> bool:
    return "units" in record


def read_responses(path: Path, rater: str | None = None) -> Iterator[ResponseRow]:
    """The answers of a responses file. Raises InputError."""
    for line, raw in records(path):
        place = Place(os.fspath(path), line)
        fields = Fields(raw, place, known=COLUMNS)
        kind = fields.optional_string("rater_kind") or "human"
        if kind not in KINDS:
            raise InputError(place, f"rater_kind is {shown(kind)}", f"give {', '.join(KINDS)}")
        yield ResponseRow(
            item=fields.filled("item"),
            rater=fields.optional_string("rater") or rater or fields.filled("rater"),
            rater_kind=kind,
            replicate=int(fields.number("replicate", 0, 30_000) or 0),
            revision=_revision(fields),
            created_at=fields.date("created_at"),
            seconds=fields.number("seconds", 0, float("inf")),
            assisted_by=fields.optional_string("assisted_by"),
            comment=fields.optional_string("comment"),
            units=_units(fields),
            place=place,
        )


def _revision(fields: Fields) -> int | None:
    number = fields.number("revision", 1, 30_000)
    return None if number is None else int(number)


def _units(fields: Fields) -> Mapping[str, Mapping[str, Any]]:
    units = fields.object("units") or {}
    for name, answer in units.items():
        if not isinstance(answer, dict):
            raise InputError(fields.place, f"unit {shown(name)} is no object", "write its answer")
    return units


def quote_rows(evidence: object, field: str, place: Place) -> tuple[SpanRow, ...] | None:
    """An answer's evidence as spans; the text is searched for quotes without a start."""
    if not evidence:
        return None
    if not isinstance(evidence, list) or not all(isinstance(one, dict) for one in evidence):
        raise InputError(place, "evidence is no list of quotes", "write {quote, start} for each")
    quotes = [Fields(one, place, "a quote", _QUOTE_KEYS) for one in evidence]
    return tuple(
        SpanRow(quote.optional_string("field") or field, _start(quote), None, quote.filled("quote"))
        for quote in quotes
    )


_QUOTE_KEYS = ("quote", "start", "field", "variable")


def _start(quote: Fields) -> int | None:
    number = quote.number("start", 0, 2**31)
    return None if number is None else int(number)
