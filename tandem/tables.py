"""Convert tables of labels (data frames, rows, labels files) to frames.

A table is passed on as the lines of a labels file, so that there is one reader with one set of
checks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from analysis.data.frame import Frame
from analysis.data.selection import ReportOptions
from analysis.labels_file.frames import UnknownLevelError, file_frame
from analysis.statistics import Level
from analysis.statistics.arrays import check_level
from datasets.rows import InputError

Table = Any
"""A frame of pandas, polars or pyarrow, an object with Arrow's stream, or mappings. Its columns are
those of a labels file: item, unit, variable, value, rater, and further known ones."""
WHOLE = ("replicate", "revision")
KEPT = ("value", "spans", "meta", *WHOLE, "seconds", "score")
"""Columns that are not text. In all others, a whole number is a name written as a number."""
ABSENT = ("NAType", "NaTType")


class TableError(ValueError):
    """A table that cannot be read as labels: the row, the error, and the remedy."""


def frame_of(
    table: Table, levels: Mapping[str, Level], options: ReportOptions
) -> tuple[Frame, str | None]:
    """Return the frame of a table or of labels files, and the protocol if its rows name one.

    Raises TableError for a table, InputError for a file, and UnknownOptionError for an option that
    names nothing in it.
    """
    if not isinstance(levels, Mapping):
        raise TypeError("levels is a mapping of variables, such as {'rating': 'ordinal'}")
    for level in levels.values():
        check_level(level)
    paths = _paths(table)
    if paths:
        frame, protocols = _read(paths, levels, options)
    else:
        with TemporaryDirectory() as folder:
            path = Path(folder, "table.jsonl")
            _write(path, table)
            try:
                frame, protocols = _read([path], levels, options)
            except InputError as error:
                row = f"row {error.place.line}" if error.place.line else "the table"
                raise TableError(f"{row}: {error.wrong}; {error.remedy}") from None
    return frame, next(iter(protocols)) if len(protocols) == 1 else None


def _read(
    paths: list[Path], levels: Mapping[str, Level], options: ReportOptions
) -> tuple[Frame, set[str]]:
    try:
        return file_frame(paths, levels, options)
    except UnknownLevelError as error:
        raise TableError(str(error).removeprefix("--level: ")) from None


def _paths(table: Table) -> list[Path]:
    """Return the paths if a table is given as one path or several."""
    if isinstance(table, str | Path):
        return [Path(table)]
    if isinstance(table, list | tuple) and table and isinstance(table[0], str | Path):
        return [Path(each) for each in table]
    return []


def _write(path: Path, table: Table) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows_of(table):
            there = {name: _member(name, of) for name, of in row.items() if not _is_absent(of)}
            file.write(json.dumps(there, default=_plain) + "\n")


def rows_of(table: Table) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a table as mappings. Raises TypeError if it is not a table."""
    if hasattr(table, "itertuples"):
        names = [str(name) for name in table.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise TableError(f"the table: two columns are called {twice!r}; keep one of them")
        columns = [table.iloc[:, n].tolist() for n in range(len(names))]
        yield from (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
    elif hasattr(table, "iter_rows"):
        yield from table.iter_rows(named=True)
    elif hasattr(table, "to_batches") or hasattr(table, "__arrow_c_stream__"):
        import pyarrow as pa

        for batch in pa.table(table).to_batches():
            yield from batch.to_pylist()
    elif isinstance(table, Iterable) and not isinstance(table, Mapping | bytes):
        for row in table:
            if not isinstance(row, Mapping):
                raise TypeError(f"a row is {type(row).__name__}; give mappings by column")
            yield row
    else:
        raise TypeError(
            f"{type(table).__name__} is not a table; give a data frame, mappings, or a path"
        )


def _is_absent(value: Any) -> bool:
    is_nan = isinstance(value, float) and math.isnan(value)
    return value is None or is_nan or type(value).__name__ in ABSENT


def _member(name: str, value: Any) -> Any:
    if name in WHOLE and isinstance(value, float) and value.is_integer():
        return int(value)
    if name not in KEPT and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value


def _plain(value: Any) -> Any:
    """Convert NumPy numbers and arrays, and dates, which JSON cannot represent."""
    if isinstance(value, date):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be in a table of labels; give text or a number")
