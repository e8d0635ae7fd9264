"""Tables in the forms that people have, as numbered rows of JSON values.

The form is recognised by the file's content: JSON Lines, a JSON array of objects, CSV and its kin
(`delimited`), Parquet (`columnar`), and workbooks of spreadsheets (`workbook`). Rows are mappings
without empty cells. Rows of empty cells are skipped. The index that data frames write beside their
columns is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tandem.files.columnar import MAGIC, read_columnar
from tandem.files.delimited import Grid, is_delimited, read_grid
from tandem.files.file_kinds import WORKBOOKS, kind_of_bytes, refuse_kind
from tandem.files.jsonl import CHUNK, UTF16_BOMS, excerpt, objects
from tandem.files.rows import InputError, Place, ReadNotes
from tandem.files.spelling import is_blank
from tandem.files.workbook import read_workbook
from tandem.verbs import verb_of

Form = Literal["jsonl", "json", "delimited", "parquet", "xlsx"]
Row = tuple[int, dict[str, Any]]

JSON: frozenset[Form] = frozenset(("jsonl", "json"))
IMPORT = "import_labels"
SCALES, ORDERS = "scales", "orders"
"""The keys of a first object that declares the scales of variables, and the orders of columns."""
UNNAMED = "Unnamed: "
"""A column without a name is called so and by its number from 0, as by pandas."""

_DELIMITED = (".csv", ".tsv", ".tab")
INDEX_NAMES = ("index", UNNAMED, "__index_level_")
"""How the name of a column begins that may be an index."""
_INDEX = re.compile(rf"({UNNAMED}|__index_level_)\d+(\.\d+)*(__)?|index")
_WHOLE = re.compile(r"-?\d+(\.0*)?", re.ASCII)


@dataclass
class Table:
    """A table that was opened: its columns, None for JSON, their place, its rows, declared scales.

    A row's number is its line, or the line on which an object begins. Rows of Parquet, and objects
    that share a line, are counted.
    `scales` has what the file declares of variables: text such as `1,2,3:ordinal`, or codes.
    `orders` has the codes of columns with ordered categories, in their order.
    """

    form: Form
    columns: tuple[str, ...] | None
    rows: Iterator[Row]
    head: Place
    scales: dict[str, Any] = field(default_factory=dict)
    orders: dict[str, list[str]] = field(default_factory=dict)


def form_of(path: Path) -> Form:
    """Return the form of a file by its content. Raises InputError for a form that is not read.

    A file that cannot be opened, or is UTF-16, counts as JSON Lines, whose reader says why.
    """
    try:
        with path.open("rb") as file:
            start = file.read(CHUNK)
    except OSError:
        return "jsonl"
    if start.startswith(MAGIC):
        return "parquet"
    kind = kind_of_bytes(start)
    if kind in WORKBOOKS:
        return "xlsx"
    refuse_kind(kind, Place(os.fspath(path)))
    if start.startswith(UTF16_BOMS):
        return "jsonl"
    text = start.decode("utf-8-sig", "replace")
    if (opening := text.lstrip()[:1]) in ("[", "{"):
        return "json" if opening == "[" else "jsonl"
    if path.suffix.lower() in _DELIMITED or is_delimited(text):
        return "delimited"
    return "jsonl"


def open_table(path: Path, notes: ReadNotes) -> Table:
    """Open a table, whose rows raise InputError. Remarks about what was left out go to `notes`."""
    form, file = form_of(path), os.fspath(path)
    if form in JSON:
        return _of_objects(form, path, notes)
    if form == "parquet":
        found = read_columnar(path)
        columns = _checked(found.columns, Place(file))
        rows = _without_index(found.rows, columns, file, notes)
        return Table(form, _without(columns), rows, Place(file), orders=found.orders)
    grid = read_grid(path) if form == "delimited" else read_workbook(path, notes)
    return _of_grid(form, grid, file, notes)


def first_object(path: Path) -> Mapping[str, Any]:
    """Return the first row of JSON or Parquet, as it stands. Raises InputError for other forms."""
    return next(object_rows(path))[1]


def object_rows(path: Path) -> Iterator[Row]:
    """Yield the objects of JSON Lines, of a JSON array or of Parquet, with the number of each.

    Raises InputError for other forms, whose cells hold no lists.
    """
    form = form_of(path)
    if form == "parquet":
        yield from read_columnar(path).rows
    elif form == "xlsx":
        wrong = "the file is an Excel workbook, and a batch has lists within its queries"
        remedy = (
            "give JSON Lines, a JSON array or Parquet; labels, as a workbook or CSV, go to "
            f"`{verb_of(IMPORT)}`"
        )
        raise InputError(Place(os.fspath(path)), wrong, remedy)
    else:
        # Of a table with separated cells this says what it is.
        yield from _numbered(objects(path))


def _of_objects(form: Form, path: Path, notes: ReadNotes) -> Table:
    rows = _numbered(objects(path))
    first = next(rows, None)
    declared: dict[str, dict[str, Any]] = {}
    if first is not None and first[1] and first[1].keys() <= {SCALES, ORDERS}:
        line, found = first
        for name, of in found.items():
            if not isinstance(of, dict):
                remedy = 'write {"scales": {"rating": "1,2,3:ordinal"}}'
                raise InputError(Place(os.fspath(path), line), f"{name} is not an object", remedy)
            declared[name] = of
        first = next(rows, None)
    if first is not None:
        _refuse_columns(first[1], Place(os.fspath(path), first[0]))
    columns = list(first[1]) if first else []
    given = _followed(first, rows)
    file = os.fspath(path)
    scales, orders = declared.get(SCALES, {}), declared.get(ORDERS, {})
    kept = _without_index(given, columns, file, notes)
    return Table(form, None, kept, Place(file), scales, orders)


def _refuse_columns(row: Mapping[str, Any], place: Place) -> None:
    """Raise InputError for one object of columns, as pandas writes a table by default."""
    columns = list(row.values())
    if len(columns) < 2 or not all(isinstance(each, dict | list) for each in columns):
        return
    if len({type(each) for each in columns}) == 1 and len(set(map(len, columns))) == 1:
        wrong = "is one object of columns"
        raise InputError(place, wrong, 'write one object for each row, in pandas orient="records"')


def _numbered(rows: Iterator[Row]) -> Iterator[Row]:
    """Give objects on one line numbers of their own, so that each row has its place."""
    last = 0
    for line, row in rows:
        last = max(line, last + 1)
        yield last, row


def _followed(first: Row | None, rows: Iterator[Row]) -> Iterator[Row]:
    if first is not None:
        yield first
        yield from rows


def _of_grid(form: Form, grid: Grid, file: str, notes: ReadNotes) -> Table:
    lines = ((line, cells) for line, cells in grid.lines if not all(map(_is_empty, cells)))
    line, head = next(lines, (None, []))
    if line is None:
        raise InputError(Place(file), "holds no records", "check that it is the right file")
    columns = _checked(_names(head), Place(file, line))
    rows = _without_index(_named(columns, lines, grid, file), columns, file, notes)
    scales = _declared(grid.scales, file)
    return Table(form, _without(columns), rows, Place(file, line), scales)


def _names(head: Sequence[Any]) -> list[str]:
    """Return the header's names. Spreadsheets write columns without content at its end, too."""
    return [f"{UNNAMED}{n}" if _is_empty(c) else str(c).strip() for n, c in enumerate(head)]


def _checked(columns: Sequence[str], place: Place) -> tuple[str, ...]:
    if len(set(columns)) < len(columns):
        raise InputError(place, "a column occurs twice", "keep one of the two")
    return tuple(columns)


def _named(
    columns: Sequence[str], lines: Iterator[tuple[int, list[Any]]], grid: Grid, file: str
) -> Iterator[Row]:
    empty = True
    for line, cells in lines:
        # Only a text has a separator between all cells; a sheet's row ends with its last cell.
        if len(cells) != len(columns) and (grid.separators or _has_more(cells, columns)):
            wrong = f"{len(cells)} cells where the header has {len(columns)}"
            remedy = f"correct the line's {grid.separators or 'cells'} and quotes"
            raise InputError(Place(file, line), wrong, remedy)
        empty = False
        named = zip(columns, cells, strict=False)
        yield line, {name: cell for name, cell in named if not _is_empty(cell)}
    if empty:
        raise InputError(Place(file), "holds no records", "check that it is the right file")


def _has_more(cells: Sequence[Any], columns: Sequence[str]) -> bool:
    return not all(map(_is_empty, cells[len(columns) :]))


def _is_empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and is_blank(cell))


def _declared(lines: Sequence[str], file: str) -> dict[str, str]:
    scales: dict[str, str] = {}
    for each in lines:
        name, is_one, codes = each.partition("=")
        if not is_one or not name.strip():
            wrong = f"{excerpt(each)} declares no scale"
            raise InputError(Place(file), wrong, "write #scale rating=1,2,3:ordinal")
        scales[name.strip()] = codes.strip()
    return scales


def _without(columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in columns if not _INDEX.fullmatch(name))


def _without_index(
    rows: Iterator[Row], columns: Sequence[str], file: str, notes: ReadNotes
) -> Iterator[Row]:
    """Leave out columns that are an index, with one remark. Raises InputError if one is not."""
    names = [name for name in columns if _INDEX.fullmatch(name)]
    if not names:
        yield from rows
        return
    noted: set[str] = set()
    for number, (line, row) in enumerate(rows):
        for name in names:
            value = row.pop(name, None)
            _check_index(name, value, number, Place(file, line))
            if value is not None and name not in noted:
                noted.add(name)
                unnamed = name.startswith(UNNAMED)
                what = "the column without a name" if unnamed else f"the column {excerpt(name)}"
                notes.warnings.append(f"{file}: {what} is the index of a data frame; left out")
        yield line, row


def _check_index(name: str, value: Any, number: int, place: Place) -> None:
    text = "" if value is None else str(value)
    if name == "index" and (not _WHOLE.fullmatch(text) or int(float(text)) != number):
        wrong = f'unknown column "index", which does not count from 0: {excerpt(text)}'
        raise InputError(place, wrong, "remove it, or name it as one of the columns")
    if text and not _WHOLE.fullmatch(text):
        wrong = f"a column without a name contains {excerpt(text)}"
        raise InputError(place, wrong, "give it a name, such as item or unit, or remove it")
