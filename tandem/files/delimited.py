"""Read CSV, and tables separated by tabs or semicolons, as lines of cells.

Excel's first line `sep=;` names the separator. Without it the header line shows which one it is.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tandem.files.file_kinds import PLAIN, TABLE, kind_of_bytes, kind_of_line, refuse_kind
from tandem.files.jsonl import MAX_LINE_BYTES, UTF16_BOMS
from tandem.files.rows import InputError, Place

SCALE = "#scale "
"""A line before the header that begins so declares the scale of a variable."""
SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons"}
_SEPARATOR = re.compile(r'"?sep=(.)"?\r?\n?', re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')


@dataclass
class Grid:
    """The lines of a table as cells, each with its number, and the declarations before them.

    `separators` says in words what separates the cells of a text.
    """

    lines: Iterator[tuple[int, list[Any]]]
    scales: list[str] = field(default_factory=list)
    separators: str = ""


def separator_of(header: str) -> str:
    """Return the separator in a header line: a tab, or what occurs more of comma and semicolon."""
    plain = _QUOTED.sub("", header)
    if "\t" in plain:
        return "\t"
    return ";" if plain.count(";") > plain.count(",") else ","


def is_delimited(start: str) -> bool:
    """Return whether a file's first lines look like those of a table with separated cells."""
    first = next((line for line in start.splitlines() if line.strip()), "")
    if first.startswith(SCALE) or _SEPARATOR.fullmatch(first):
        return True
    kind = kind_of_line(first)
    is_table = kind in (None, TABLE) or (kind is not None and kind.door == "labels")
    # Prose has blanks after its commas, and names of columns have none.
    is_table = is_table or (kind is PLAIN and ", " not in first)
    return is_table and separator_of(first) in _QUOTED.sub("", first)


def read_grid(path: Path) -> Grid:
    """Return the cells of each line, numbered by the line of its last cell. Raises InputError."""
    csv.field_size_limit(MAX_LINE_BYTES)
    text = _Text(path)
    lines = iter(text)
    scales: list[str] = []
    separator = ""
    first = next(lines, None)
    while first is not None:
        if found := _SEPARATOR.fullmatch(first):
            separator = found[1]
        elif first.startswith(SCALE):
            # A spreadsheet fills the line up with separators.
            scales.append(first.removeprefix(SCALE).strip().strip('"').rstrip(",;\t"))
        elif first.strip():
            break
        first = next(lines, None)
    separator = separator or separator_of(first or "")
    words = SEPARATORS.get(separator, "separators")
    return Grid(_cells(text, first, separator), scales, words)


def _cells(text: _Text, first: str | None, separator: str) -> Iterator[tuple[int, list[Any]]]:
    if first is None:
        return
    reader = csv.reader(_begun(first, text), delimiter=separator, strict=True)
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            wrong, remedy = f"broken CSV ({error})", "correct its quotes"
            if "new-line character" in str(error):
                wrong = "a line ends with a carriage return alone"
                remedy = "save the file with the line ends of Windows or Unix"
            raise InputError(Place(text.file, text.number), wrong, remedy) from None
        if cells is None:
            return
        yield text.number, cells


def _begun(first: str, text: _Text) -> Iterator[str]:
    yield first
    yield from text


class _Text:
    """The lines of a UTF-8 file with their line ends. Raises InputError for other content."""

    def __init__(self, path: Path) -> None:
        self.file, self.number = os.fspath(path), 0
        self.handle = self._open(path)

    def _open(self, path: Path) -> io.BufferedReader:
        try:
            return path.open("rb")
        except OSError as error:
            wrong = f"cannot be read ({(error.strerror or str(error)).lower()})"
            remedy = "check the path and its permissions"
            raise InputError(Place(self.file), wrong, remedy) from None

    def __iter__(self) -> _Text:
        return self

    def __next__(self) -> str:
        raw = self.handle.readline(MAX_LINE_BYTES + 2)
        if not raw:
            self.handle.close()
            raise StopIteration
        self.number += 1
        place = Place(self.file, self.number)
        if len(raw) > MAX_LINE_BYTES:
            raise InputError(place, "the line is longer than 32 MiB", "check its quotes")
        if self.number == 1:
            refuse_kind(kind_of_bytes(raw), place)
        if raw.startswith(UTF16_BOMS):
            raise InputError(place, "the file is UTF-16", "save it as UTF-8")
        if b"\0" in raw:
            raise InputError(place, "holds a NUL character", "take it out")
        try:
            return raw.decode("utf-8-sig" if self.number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise InputError(place, "not UTF-8", "save the file as UTF-8") from None
