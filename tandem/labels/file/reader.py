"""Read a labels file in any form of a table, checking each line by itself.

JSON in the cells of a table is checked as strictly as the lines of a JSON Lines file.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from sys import intern
from typing import Any

from tandem.files.fields import Fields, known_fields
from tandem.files.file_kinds import refuse_header
from tandem.files.jsonl import excerpt, records_in
from tandem.files.rows import InputError, Place, ReadNotes
from tandem.files.spelling import is_blank
from tandem.files.spreadsheet import unescape_formula
from tandem.files.tables import Form, Table, open_table
from tandem.files.workbook import Moment
from tandem.labels.file.rows import KNOWN, REASONS, LabelRow, SpanRow
from tandem.labels.file.wide import Wide, is_wide, long_rows
from tandem.protocols.points import is_storable
from tandem.protocols.validation import coerce
from tandem.similar import did_you_mean

MAX_DIGITS = 30
OPEN = "rows without a rater and a value"


def strict_json(text: str) -> Any:
    """Read the JSON value of a cell.

    Raises ValueError for broken JSON, a repeated key, NaN, Infinity, a number of more than
    `MAX_DIGITS` digits, or a character that cannot be stored. Raises RecursionError if it is nested
    too deeply.
    """
    value = json.loads(
        text,
        object_pairs_hook=_unique,
        parse_constant=_refuse,
        parse_float=_finite,
        parse_int=_integer,
    )
    _check_texts(value)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key occurs twice")
    return members


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise ValueError("a number has too many digits")
    return int(digits)


def _check_texts(value: Any) -> None:
    if isinstance(value, str) and not is_storable(value):
        raise ValueError("contains a character that cannot be stored")
    if isinstance(value, dict):
        _check_texts([*value.keys(), *value.values()])
    elif isinstance(value, list):
        for each in value:
            _check_texts(each)


KINDS = ("human", "judge", "reference")
_KNOWN = dict.fromkeys(KNOWN)
_TEXTS = ("missing", "campaign", "protocol", "kind", "batch", "query", "system", "setting")
_NUMBERS = ("replicate", "revision", "seconds", "score")
_OBJECTS = ("spans", "meta")
_NAMES = ("item", "unit", "rater", "variable", *_TEXTS[1:], "grade")
"""Columns of names, which spreadsheets and data frames write as numbers if they look like some."""
_REPEATED = (
    "campaign",
    "protocol",
    "item",
    "kind",
    "variable",
    "value",
    "missing",
    "rater",
    "rater_kind",
    "created_at",
    "assisted_by",
    "batch",
    "query",
    "system",
    "setting",
)
_UNLIMITED = float("inf")
MAX_RATER = 150
MAX_FIELD = 300
MAX_COUNT = 30_000
MAX_OFFSET = 2**31 - 1


@dataclass
class StandIn:
    """The rater for lines that name none. `used` if there was such a line."""

    name: str | None = None
    used: bool = False


def read_labels(
    path: Path,
    rater: StandIn | None = None,
    notes: ReadNotes | None = None,
    wide: Wide | None = None,
) -> Iterator[LabelRow]:
    """Yield the rows of a labels file. Raises InputError.

    `rater` is used for lines without one, and `wide` says how a table with one column for each
    rater is read. Remarks about the table go to `notes`.
    """
    rater = rater or StandIn()
    notes = notes if notes is not None else ReadNotes()
    for line, raw in label_rows(open_table(path, notes), wide or Wide(), notes):
        place = Place(os.fspath(path), line)
        yield _row(known_fields(_intern_strings(raw), place, _KNOWN, "labels"), place, rater)


def label_rows(table: Table, wide: Wide, notes: ReadNotes) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a table as those of JSON Lines, with their numbers. Raises InputError."""
    for name, of in table.scales.items():
        if notes.scales.setdefault(name, of) != of:
            wrong = f"declares another scale of {excerpt(name)} than before"
            raise InputError(table.head, wrong, "declare one scale for all files")
    _refuse_others(table)
    if is_wide(table, wide):
        rows = long_rows(table, wide, notes)
    else:
        _check_columns(table)
        rows = _ordered(table, notes)
        if table.form in ("delimited", "xlsx"):
            rows = _without_open(rows, notes)
    for line, raw in rows:
        yield line, _typed(raw, table.form, Place(table.head.file, line))


def _without_open(
    rows: Iterator[tuple[int, dict[str, Any]]], notes: ReadNotes
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Leave out the rows of a sheet that name a unit, and neither a rater nor an answer."""
    for line, row in rows:
        if any(row.get(name) is not None for name in ("value", "missing", "rater")):
            yield line, row
        else:
            notes.skip(OPEN)


def _ordered(table: Table, notes: ReadNotes) -> Iterator[tuple[int, dict[str, Any]]]:
    """Note the scales of variables if the values are ordered categories, once all rows are read.

    Of several variables each has only the categories that occur.
    """
    order = table.orders.get("value")
    if order is None:
        yield from table.rows
        return
    used: dict[str, set[str]] = {}
    for line, row in table.rows:
        values = used.setdefault(str(row.get("variable")), set())
        if (value := row.get("value")) is not None:
            values.add(coerce(value) or str(value))
        yield line, row
    for variable, values in used.items():
        codes = order if len(used) == 1 else [code for code in order if code in values]
        notes.scales.setdefault(variable, codes)


def _check_columns(table: Table) -> None:
    for name in table.columns or ():
        if name not in KNOWN:
            remedy = did_you_mean(name, KNOWN, f"the columns are {', '.join(KNOWN)}")
            raise InputError(table.head, f"unknown column {name!r}", remedy)


def _refuse_others(table: Table) -> None:
    """Raise InputError if a table's header shows that it is something else."""
    if table.form == "delimited" and table.columns:
        for separator in (",", "\t"):
            refuse_header([separator.join(table.columns)], table.head)


def rows_in(path: Path, block: bytes, first: int) -> Iterator[LabelRow]:
    """Yield the rows of lines from a JSON Lines file. `first` is the number of the first line."""
    for line, raw in records_in(block, os.fspath(path), first):
        place = Place(os.fspath(path), line)
        yield _row(known_fields(_intern_strings(raw), place, _KNOWN, "labels"), place, StandIn())


def _intern_strings(raw: dict[str, Any]) -> dict[str, Any]:
    """Share equal strings between lines, because a million lines are in memory at once."""
    for name in _REPEATED:
        if type(raw.get(name)) is str:
            raw[name] = intern(raw[name])
    return raw


def _typed(row: dict[str, Any], form: Form, place: Place) -> dict[str, Any]:
    """Convert the cells of a table to the values that JSON Lines would have."""
    if form == "jsonl":
        return row
    typed = row
    if form == "delimited":
        typed = {name: unescape_formula(cell) for name, cell in row.items()}
    for name in (*_NUMBERS, *_OBJECTS):
        if isinstance(typed.get(name), str):
            try:
                typed[name] = strict_json(typed[name])
            except (ValueError, RecursionError):
                raise InputError(
                    place, f"{name} is {excerpt(typed[name])}", "write it as JSON"
                ) from None
    for name in _NAMES:
        if not isinstance(value := typed.get(name), str | None):
            typed[name] = coerce(value) or value
    return _of_sheet(typed, place) if form == "xlsx" else typed


def _of_sheet(row: dict[str, Any], place: Place) -> dict[str, Any]:
    """Refuse a date that a spreadsheet made of a code, and write truths as it does in CSV."""
    for name in ("value", *_NAMES):
        if isinstance(found := row.get(name), Moment):
            wrong = f"{name} is the date {found}, which a spreadsheet may have made of 1-2 or 3/4"
            raise InputError(place, wrong, "format the column as text, and write the cell again")
    if isinstance(value := row.get("value"), bool):
        return {**row, "value": str(value).upper()}
    return row


def _row(fields: Fields, place: Place, rater: StandIn) -> LabelRow:
    value = _value(fields)
    texts = fields.optional_strings(_TEXTS)
    missing, campaign, protocol, kind, batch, query, system, setting = texts
    if (value is None) == (missing is None):
        raise InputError(place, "a label has a value or a missing reason", "give one of the two")
    if missing is not None and missing not in REASONS:
        known = ", ".join(REASONS)
        raise InputError(place, f"missing is {excerpt(missing)}", f"give one of {known}")
    return LabelRow(
        item=_key(fields, "item"),
        unit=_key(fields, "unit"),
        variable=fields.filled("variable"),
        rater=rater_of(fields, rater),
        value=value,
        missing=missing,
        campaign=campaign,
        protocol=protocol,
        kind=kind,
        rater_kind=_kind(fields),
        replicate=read_whole_number(fields, "replicate") or 0,
        created_at=read_moment(fields),
        revision=read_whole_number(fields, "revision", low=1),
        seconds=fields.number("seconds", 0, _UNLIMITED),
        score=fields.number("score", -_UNLIMITED, _UNLIMITED),
        spans=_spans(fields),
        assisted_by=read_text(fields, "assisted_by", MAX_RATER) or None,
        batch=batch,
        query=query,
        system=system,
        setting=setting,
        meta=fields.object("meta"),
        exposed=read_boolean(fields, "exposed"),
        grade=_grade(fields),
        place=place,
    )


def _key(fields: Fields, name: str) -> str:
    key = coerce(fields.raw.get(name))
    return key if key and not is_blank(key) else fields.filled(name)


def _value(fields: Fields) -> str | None:
    value = fields.raw.get("value")
    if value is None:
        return None
    if isinstance(value, list):
        codes = [coerce(each) for each in value]
        if None in codes:
            raise InputError(fields.place, "value is not a list of codes", "write codes as text")
        return json.dumps(codes, ensure_ascii=False)
    broken = isinstance(value, float) and math.isfinite(value) and not value.is_integer()
    code = repr(value) if broken else coerce(value)
    if not code or is_blank(code):
        raise InputError(fields.place, "value is not a code", "write it as text or a number")
    return code


def _grade(fields: Fields) -> str | None:
    given = fields.raw.get("grade")
    grade = coerce(given)
    if grade is None and given is not None:
        wrong = f"grade is {excerpt(str(given))}"
        raise InputError(fields.place, wrong, "write it as text or a whole number")
    if grade and len(grade) > MAX_FIELD:
        wrong = f"grade has {len(grade)} characters"
        raise InputError(fields.place, wrong, f"use at most {MAX_FIELD}")
    return grade or None


def _kind(fields: Fields) -> str:
    kind = fields.optional_string("rater_kind") or "human"
    if kind not in KINDS:
        raise InputError(
            fields.place, f"rater_kind is {excerpt(kind)}", "give human, judge or reference"
        )
    return kind


def rater_of(fields: Fields, rater: StandIn) -> str:
    """Return the rater that a line names, or the default one."""
    own = read_text(fields, "rater", MAX_RATER)
    name = own or rater.name or fields.filled("rater")
    rater.used = rater.used or not own
    if is_blank(name) or len(name) > MAX_RATER:
        wrong = f"the rater is blank or longer than {MAX_RATER} characters"
        raise InputError(fields.place, wrong, "give a name")
    return name


def read_text(fields: Fields, name: str, limit: int) -> str | None:
    text = fields.optional_string(name)
    if text is not None and len(text) > limit:
        raise InputError(fields.place, f"{name} has {len(text)} characters", f"use at most {limit}")
    return text


def read_whole_number(fields: Fields, name: str, high: int = MAX_COUNT, low: int = 0) -> int | None:
    number = fields.number(name, low, high)
    if number is not None and number != int(number):
        raise InputError(fields.place, f"{name} is {number}", "write a whole number")
    return None if number is None else int(number)


def read_boolean(fields: Fields, name: str) -> bool | None:
    """Return a truth value: true or false, in a cell as text, in a data frame perhaps as 1 or 0."""
    value = fields.raw.get(name)
    if value in ("true", "false"):
        return bool(value == "true")
    if value is None or value in (0, 1):
        return None if value is None else bool(value)
    raise InputError(fields.place, f"{name} is {excerpt(str(value))}", "write true or false")


def read_moment(fields: Fields) -> str | None:
    text = fields.optional_string("created_at")
    if text is not None:
        try:
            datetime.fromisoformat(text).astimezone(UTC)
        except (ValueError, OverflowError):
            raise InputError(
                fields.place,
                f"created_at is {excerpt(text)}",
                "write it as 2024-05-31T12:30:00Z",
            ) from None
    return text


def _spans(fields: Fields) -> tuple[SpanRow, ...] | None:
    if fields.raw.get("spans") is None:
        return None
    found = fields.objects("spans", "span", ("field", "start", "end", "text"))
    return tuple(_span(each) for each in found)


def _span(fields: Fields) -> SpanRow:
    start, end = (
        read_whole_number(fields, "start", MAX_OFFSET),
        read_whole_number(fields, "end", MAX_OFFSET),
    )
    text = fields.optional_string("text") or ""
    if not text.strip() and (start is None or end is None or end <= start):
        raise InputError(
            fields.place, f"{fields.of} has no text", "give its quote, or start and end"
        )
    return SpanRow(read_text(fields, "field", MAX_FIELD) or "", start, end, text)
