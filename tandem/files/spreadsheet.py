"""Write CSV without cells that a spreadsheet runs as formulas, which are read back unchanged."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
