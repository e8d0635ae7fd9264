"""Read the first sheet of a spreadsheet's workbook (xlsx) row by row.

A workbook is a ZIP archive of XML from an unknown hand. Its size is checked before anything is
unpacked, nothing is written to the disk, and no formula is computed: a cell has the result that the
spreadsheet program has stored.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time
from itertools import repeat
from pathlib import Path
from typing import Any

from tandem.files.delimited import SCALE, Grid
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Place, ReadNotes

MIB = 1024 * 1024
MAX_UNPACKED = 256 * MIB
MAX_TEXTS = 64 * MIB
"""The limit of the texts that cells share, which are in memory at once."""
MAX_PARTS = 1000
MAX_ROWS = 1_048_576
"""A sheet has at most so many rows."""
MAX_COLUMNS = 2_000
CHUNK = MIB

_FORMULA = re.compile(rb"<(?:\w+:)?f[ />]")
_ESCAPE = re.compile("_x(00[01][0-9A-Fa-f]|005F|FFF[EF])_")


class Moment(str):
    """The ISO text of a date or time. A spreadsheet makes one of a text such as 1-2."""

    __slots__ = ()


def read_workbook(path: Path, notes: ReadNotes) -> Grid:
    """Return the cells of the first sheet that has any. Raises InputError.

    A remark in `notes` names further sheets, which are not read.
    """
    place = Place(os.fspath(path))
    _check(path, place)
    rows = _guarded(_rows(path, place, notes), place)
    scales: list[str] = []
    first = None
    for first in rows:
        head = next((cell for cell in first[1] if cell is not None), None)
        if not (isinstance(head, str) and head.startswith(SCALE)):
            break
        scales.append(head.removeprefix(SCALE).strip())
        first = None
    return Grid(_begun(first, rows), scales)


def _begun(
    first: tuple[int, list[Any]] | None, rows: Iterator[tuple[int, list[Any]]]
) -> Iterator[tuple[int, list[Any]]]:
    if first is not None:
        yield first
    yield from rows


def _check(path: Path, place: Place) -> None:
    """Raise InputError for an archive that is no workbook, or that is too large when unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError):
        raise InputError(place, "is a broken ZIP archive or workbook", "save it again") from None
    names = {part.filename for part in parts}
    if "xl/workbook.bin" in names:
        raise InputError(place, "is a binary workbook (xlsb)", "save it as xlsx or CSV")
    if "[Content_Types].xml" not in names or not any(n.startswith("xl/") for n in names):
        raise InputError(place, "is a ZIP archive", "unpack it, and give the files in it")
    if any(part.flag_bits & 1 for part in parts):
        raise InputError(place, "is encrypted", "save it without a password")
    texts = sum(p.file_size for p in parts if p.filename.lower().endswith("sharedstrings.xml"))
    size = sum(part.file_size for part in parts)
    if len(parts) > MAX_PARTS or size > MAX_UNPACKED or texts > MAX_TEXTS:
        wrong = f"is too large: {len(parts)} parts with {size / MIB:.0f} MiB when unpacked"
        raise InputError(place, wrong, "save the sheet as CSV")


def _guarded(
    rows: Iterator[tuple[int, list[Any]]], place: Place
) -> Iterator[tuple[int, list[Any]]]:
    try:
        yield from rows
    except (InputError, MemoryError, GeneratorExit):
        raise
    except Exception as error:
        why = excerpt(_reason(error))
        wrong = f"the file is an Excel workbook that cannot be read ({why})"
        raise InputError(place, wrong, "save it again, or as CSV") from None


def _reason(error: BaseException) -> str:
    """Return the first cause of an error; later ones repeat it with the file's whole path."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return " ".join(str(error).split()) or type(error).__name__


def _rows(path: Path, place: Place, notes: ReadNotes) -> Iterator[tuple[int, list[Any]]]:
    # Loading takes time that no other form needs.
    from openpyxl import load_workbook

    with path.open("rb") as file:
        book = load_workbook(file, read_only=True, keep_links=False)
        sheets = [sheet for sheet in book.worksheets if _has_cells(sheet, place)]
        if not sheets:
            return
        if rest := [excerpt(sheet.title) for sheet in sheets[1:]]:
            notes.warnings.append(
                f"{place}: only the sheet {excerpt(sheets[0].title)} was read, not "
                f"{', '.join(rest)}; give further sheets as files of their own"
            )
        results: Iterator[Any] = repeat(None)
        if _has_formulas(path, sheets[0]):
            values = load_workbook(file, read_only=True, keep_links=False, data_only=True)
            results = _lines(values[sheets[0].title], place)
        for (number, cells), other in zip(_lines(sheets[0], place), results, strict=False):
            stored = other[1] if other else repeat(None)
            yield (
                number,
                [
                    _value(cell, of, Place(place.file, number))
                    for cell, of in zip(cells, stored, strict=False)
                ],
            )


def _lines(sheet: Any, place: Place) -> Iterator[tuple[int, tuple[Any, ...]]]:
    # The stated size may be wrong, and rows would be filled up to it.
    sheet.reset_dimensions()
    for number, cells in enumerate(sheet.iter_rows(), 1):
        if number > MAX_ROWS or len(cells) > MAX_COLUMNS:
            limits = f"{MAX_ROWS:,} rows or {MAX_COLUMNS:,} columns"
            raise InputError(place, f"has more than {limits}", "save the sheet as CSV")
        yield number, cells


def _has_cells(sheet: Any, place: Place) -> bool:
    return any(cell.value is not None for _, cells in _lines(sheet, place) for cell in cells)


def _has_formulas(path: Path, sheet: Any) -> bool:
    with zipfile.ZipFile(path) as archive, archive.open(sheet._worksheet_path) as part:
        before = b""
        while chunk := part.read(CHUNK):
            if _FORMULA.search(before + chunk):
                return True
            before = chunk[-80:]
    return False


def _value(cell: Any, stored: Any, place: Place) -> Any:
    """Return a cell's content as JSON has it: text, a number, a truth value or None."""
    value = cell.value
    if cell.data_type == "f":
        value = stored.value if stored is not None else None
        if value is None:
            wrong = f"cell {cell.coordinate} is a formula without a stored result"
            raise InputError(place, wrong, "save it with a spreadsheet program, or as values")
    if isinstance(value, datetime) and value.time() == time():
        return Moment(value.date().isoformat())
    if isinstance(value, date | time):
        return Moment(value.isoformat())
    if isinstance(value, str):
        if "_x0000_" in value:
            wrong = f"cell {cell.coordinate} has a NUL character"
            raise InputError(place, wrong, "remove it")
        return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), value)
    return value if isinstance(value, int | float | None) else str(value)
