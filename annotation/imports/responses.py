"""Whole answers as lines of a file, including the texts that raters wrote.

One line is `{campaign, protocol, item, rater, rater_kind, replicate, revision, created_at,
seconds, assisted_by, comment, units}`. `units` maps unit names to answers, as in the API.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tandem.files.fields import Fields
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Place
from tandem.files.tables import object_rows
from tandem.labels.file.reader import (
    KINDS,
    MAX_FIELD,
    MAX_OFFSET,
    MAX_RATER,
    StandIn,
    rater_of,
    read_moment,
    read_text,
    read_whole_number,
)
from tandem.labels.file.rows import SpanRow

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
    "exposed",
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
    protocol: str | None = None
    exposed: frozenset[str] | None = None


def looks_like_responses(record: Mapping[str, Any]) -> bool:
    return "units" in record


def read_responses(path: Path, rater: StandIn | None = None) -> Iterator[ResponseRow]:
    """Yield the answers of a responses file. `rater` is used for lines without one.

    Raises InputError.
    """
    rater = rater or StandIn()
    for line, raw in object_rows(path):
        place = Place(os.fspath(path), line)
        fields = Fields(raw, place, known=COLUMNS)
        kind = fields.optional_string("rater_kind") or "human"
        if kind not in KINDS:
            raise InputError(place, f"rater_kind is {excerpt(kind)}", f"give {', '.join(KINDS)}")
        yield ResponseRow(
            item=fields.filled("item"),
            rater=rater_of(fields, rater),
            rater_kind=kind,
            replicate=read_whole_number(fields, "replicate") or 0,
            revision=read_whole_number(fields, "revision", low=1),
            created_at=read_moment(fields),
            seconds=fields.number("seconds", 0, float("inf")),
            assisted_by=read_text(fields, "assisted_by", MAX_RATER) or None,
            comment=fields.optional_string("comment"),
            units=_units(fields),
            place=place,
            protocol=fields.optional_string("protocol"),
            exposed=_exposed(fields),
        )


def _exposed(fields: Fields) -> frozenset[str] | None:
    names = fields.strings("exposed")
    return None if names is None else frozenset(names)


def _units(fields: Fields) -> Mapping[str, Mapping[str, Any]]:
    units = fields.object("units") or {}
    for name, answer in units.items():
        if not isinstance(answer, dict):
            raise InputError(
                fields.place, f"unit {excerpt(name)} is not an object", "write its answer"
            )
    return units


def quote_rows(
    evidence: object, variable: str, field: str, place: Place
) -> dict[str, tuple[SpanRow, ...]]:
    """Return an answer's evidence as spans by variable.

    `variable` and `field` are the defaults for quotes that name none. Quotes without a start are
    searched for in the text.
    """
    if evidence is not None and not isinstance(evidence, list):
        raise InputError(place, "evidence is not a list of quotes", "write {quote, start} for each")
    rows: dict[str, tuple[SpanRow, ...]] = {}
    for one in evidence or ():
        quote = Fields(one, place, "a quote", _QUOTE_KEYS)
        of = quote.optional_string("variable") or variable or quote.filled("variable")
        where = read_text(quote, "field", MAX_FIELD) or field
        span = SpanRow(
            where, read_whole_number(quote, "start", MAX_OFFSET), None, quote.filled("quote")
        )
        rows[of] = (*rows.get(of, ()), span)
    return rows


_QUOTE_KEYS = ("quote", "start", "field", "variable")
