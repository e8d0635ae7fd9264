"""Write a table as a spreadsheet's workbook (xlsx) with one sheet, in constant memory.

Texts are cells of texts, so that no spreadsheet runs one as a formula. Lists and objects are JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any
from xml.sax.saxutils import escape

from annotation.exports.zip import stream_zip

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MAX_ROWS, MAX_CHARACTERS = 1_048_576, 32_767
"""The limits of a sheet and of a cell."""
EXACT = 10**15
"""Larger numbers would lose digits in a spreadsheet, so they are texts."""

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OF = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_PARTS = {
    "[Content_Types].xml": (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_KIND}.worksheet+xml"/>'
        "</Types>"
    ),
    "_rels/.rels": (
        f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{_OF}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/_rels/workbook.xml.rels": (
        f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{_OF}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>'
    ),
}
_BEGIN = (
    f'<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" '
    'topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>'
)
_END = "</sheetData></worksheet>"
# XML has no such characters, or reads them as others; the form has escapes for them.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0d\x0e-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_AT_ONCE = 200


class UnfitError(ValueError):
    """A content does not fit into the form of a file."""


class CellError(UnfitError):
    """A table or a text is too long for a spreadsheet."""


def xlsx_pieces(
    title: str, columns: Sequence[str], lines: Iterator[Mapping[str, Any]]
) -> Iterator[bytes]:
    """Yield a workbook in pieces, with the columns' names in the first row. Raises CellError."""
    book = (
        f'<workbook xmlns="{_MAIN}" xmlns:r="{_OF}"><sheets><sheet name="{escape(title[:31])}" '
        'sheetId="1" r:id="rId1"/></sheets></workbook>'
    )
    parts = [*_PARTS.items(), ("xl/workbook.xml", book)]
    small = ((path, iter([(_HEAD + text).encode("utf-8")])) for path, text in parts)
    return stream_zip(chain(small, [("xl/worksheets/sheet1.xml", _sheet(columns, lines))]))


def _sheet(columns: Sequence[str], lines: Iterator[Mapping[str, Any]]) -> Iterator[bytes]:
    yield (_HEAD + _BEGIN).encode("utf-8")
    letters = [_letters(n) for n in range(1, len(columns) + 1)]
    written = [_row(1, letters, columns)]
    for number, line in enumerate(lines, 2):
        if number > MAX_ROWS:
            raise CellError(f"A sheet has at most {MAX_ROWS:,} rows; use --format csv or parquet")
        written.append(_row(number, letters, [line.get(name) for name in columns]))
        if len(written) == _AT_ONCE:
            yield "".join(written).encode("utf-8")
            written.clear()
    yield ("".join(written) + _END).encode("utf-8")


def _row(number: int, letters: Sequence[str], values: Sequence[Any]) -> str:
    cells = (
        _cell(f"{letter}{number}", value)
        for letter, value in zip(letters, values, strict=True)
        if value is not None
    )
    return f'<row r="{number}">{"".join(cells)}</row>'


def _cell(place: str, value: Any) -> str:
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float) and abs(value) < EXACT:
        return f'<c r="{place}"><v>{value!r}</v></c>'
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) > MAX_CHARACTERS:
        wrong = f"Cell {place} would have {len(text):,} characters, and a spreadsheet allows"
        raise CellError(f"{wrong} {MAX_CHARACTERS:,}; use --format csv, jsonl or parquet")
    safe = escape(_UNWRITABLE.sub(lambda found: f"_x{ord(found[0]):04X}_", text))
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{safe}</t></is></c>'


def _letters(number: int) -> str:
    """Return the letters of a column, counted from 1."""
    found = ""
    while number:
        number, rest = divmod(number - 1, 26)
        found = chr(ord("A") + rest) + found
    return found
