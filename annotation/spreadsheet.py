"""Write CSV without cells that a spreadsheet runs as formulas, and read it back unchanged."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets.readers.file_kinds import kind_of_bytes, refuse_header, refuse_kind
from datasets.readers.jsonl import MAX_LINE_BYTES
from datasets.rows import InputError, Place
from datasets.similar import did_you_mean

_RUNS = frozenset("=+-@\t\r＝＋－＠﹢﹣﹦﹫")
_QUIET = "\"'`\ufeff\u200b\u200c\u200d\u2060"
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def escape_formula(text: str) -> str:
    """Return a cell that no spreadsheet runs as a formula, with an apostrophe in front if needed.

    Formulas begin with a character of `_RUNS`, perhaps after blanks, quotes and zero-width
    characters. Numbers do not change.
    """
    first = next((c for c in text if c in _RUNS or not (c.isspace() or c in _QUIET)), "")
    return f"'{text}" if first in _RUNS and not _NUMBER.fullmatch(text) else text


def unescape_formula(cell: str) -> str:
    """Return the original text of a cell from `escape_formula`."""
    return cell[1:] if cell.startswith("'") and escape_formula(cell[1:]) == cell else cell


def cell(value: Any) -> str:
    """Return a value as a cell: lists and objects as JSON, None as an empty cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str):
        return escape_formula(value)
    return json.dumps(value, ensure_ascii=False)


def write_rows(columns: Sequence[str], rows: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    """Yield lines of CSV, starting with the header. Line ends inside cells do not change."""
    buffer = io.StringIO(newline="")
    # The writer quotes a lone CR only if CR is part of its line end.
    writer = csv.writer(buffer, lineterminator="\r\n")
    for cells in _with_header(columns, rows):
        writer.writerow(cells)
        yield buffer.getvalue().removesuffix("\r\n") + "\n"
        buffer.seek(0)
        buffer.truncate()


def _with_header(
    columns: Sequence[str], rows: Iterator[Mapping[str, Any]]
) -> Iterator[Sequence[str]]:
    yield [escape_formula(column) for column in columns]
    for row in rows:
        yield [cell(row.get(column)) for column in columns]


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a CSV file: the line of the last cell, and the cells that are not empty.

    Raises InputError.
    """
    csv.field_size_limit(MAX_LINE_BYTES)
    header: list[str] | None = None
    empty = True
    for line, cells in _records(path):
        if header is None:
            header = _header(cells, columns, Place(os.fspath(path), line))
        elif cells:
            empty = False
            yield line, _row(header, cells, Place(os.fspath(path), line))
    if empty:
        raise InputError(
            Place(os.fspath(path)), "holds no records", "check that it is the right file"
        )


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    with _open(path) as handle:
        text = _Text(handle, os.fspath(path))
        reader = csv.reader(text, strict=True)
        while True:
            try:
                cells = next(reader, None)
            except csv.Error as error:
                place = Place(os.fspath(path), reader.line_num)
                wrong, remedy = f"broken CSV ({error})", "correct its quotes"
                if "new-line character" in str(error):
                    wrong = "a line ends with a carriage return alone"
                    remedy = "save the file with the line ends of Windows or Unix"
                raise InputError(place, wrong, remedy) from None
            if cells is None:
                return
            yield reader.line_num, cells


def _open(path: Path) -> io.BufferedReader:
    try:
        return path.open("rb")
    except OSError as error:
        wrong = f"cannot be read ({(error.strerror or str(error)).lower()})"
        remedy = "check the path and its permissions"
        raise InputError(Place(os.fspath(path)), wrong, remedy) from None


class _Text:
    """The lines of a UTF-8 file with their line ends. Raises InputError for other content."""

    def __init__(self, handle: io.BufferedReader, file: str) -> None:
        self.handle, self.file, self.number = handle, file, 0

    def __iter__(self) -> _Text:
        return self

    def __next__(self) -> str:
        raw = self.handle.readline(MAX_LINE_BYTES + 2)
        if not raw:
            raise StopIteration
        self.number += 1
        place = Place(self.file, self.number)
        if len(raw) > MAX_LINE_BYTES:
            raise InputError(place, "the line is longer than 32 MiB", "check its quotes")
        if self.number == 1:
            refuse_kind(kind_of_bytes(raw), place)
        if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError(place, "the file is UTF-16", "save it as UTF-8")
        if b"\0" in raw:
            raise InputError(place, "holds a NUL character", "take it out")
        try:
            return raw.decode("utf-8-sig" if self.number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise InputError(place, "not UTF-8", "save the file as UTF-8") from None


def _header(cells: list[str], columns: Sequence[str], place: Place) -> list[str]:
    for name in cells:
        if name not in columns:
            refuse_header(cells, place)
            known = ", ".join(columns)
            remedy = did_you_mean(name, columns, f"the columns are {known}")
            if len(cells) == 1 and len(re.split(r"[;\t|]", name)) > 1:
                remedy = "separate the columns by commas"
            raise InputError(place, f"unknown column {name!r}", remedy)
    if len(set(cells)) < len(cells):
        raise InputError(place, "a column occurs twice", "keep one of the two")
    return cells


def _row(header: list[str], cells: list[str], place: Place) -> dict[str, str]:
    if len(cells) != len(header):
        wrong = f"{len(cells)} cells where the header has {len(header)}"
        raise InputError(place, wrong, "correct the line's commas and quotes")
    return {
        name: unescape_formula(value)
        for name, value in zip(header, cells, strict=True)
        if value != ""
    }
