"""Convert tables of labels (data frames, rows, labels files) to frames.

A table is passed on as the lines of a labels file, so that there is one reader with one set of
checks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tandem.files.rows import InputError
from tandem.files.tables import ORDERS
from tandem.labels.file.frames import UnknownLevelError, file_frame
from tandem.labels.file.scales import DeclaredScale, declared_scale
from tandem.labels.file.wide import FACTS
from tandem.labels.frame import Frame
from tandem.labels.selection import ReportOptions
from tandem.protocols.base import Declaration
from tandem.protocols.protocol_file import read_path
from tandem.statistics import Level
from tandem.statistics.estimate import check_level

Table = Any
"""A frame of pandas, polars or pyarrow, an object with Arrow's stream, or mappings. Its columns are
those of a labels file: item, unit, variable, value, rater, and further known ones; or one for each
rater."""
WHOLE = ("replicate", "revision")
KEPT = ("value", "spans", "meta", *WHOLE, "seconds", "score")
"""Columns that are not text. In all others, a whole number is a name written as a number."""
NAMES = (*FACTS, "rater")
"""Columns of names. A data frame writes whole numbers with decimals beside an empty cell."""
ABSENT = ("NAType", "NaTType")


class TableError(ValueError):
    """A table that cannot be read as labels: the row, the error, and the remedy."""


@dataclass(frozen=True)
class Reading:
    """How a table is read: levels and scales of variables, and the variable of a wide table.

    A scale is the codes in their order, or text such as `1,2,3:ordinal`. `wide` is the variable of
    a table with one column for each rater. A `protocol` declares the variables.
    """

    levels: Mapping[str, Level]
    scales: Mapping[str, DeclaredScale]
    wide: str | None = None
    protocol: Declaration | None = None

    @classmethod
    def of(
        cls,
        levels: Mapping[str, Level] | None = None,
        scales: Mapping[str, str | Sequence[Any]] | None = None,
        wide: str | None = None,
        protocol: str | Path | None = None,
    ) -> Reading:
        """Check arguments; `protocol` is a file. Raises TypeError, ValueError and OSError."""
        for name, given in (("levels", levels), ("scales", scales)):
            if not isinstance(given, Mapping | None):
                raise TypeError(f"{name} is a mapping of variables, such as {{'rating': …}}")
        for level in (levels or {}).values():
            check_level(level)
        declared = {}
        for name, of in (scales or {}).items():
            try:
                declared[name] = declared_scale(of)
            except ValueError as error:
                raise ValueError(f"the scale of {name!r} {error}") from None
        own = None if protocol is None else read_path(Path(protocol)).declaration
        return cls(levels or {}, declared, wide, own)


def frame_of(table: Table, reading: Reading, options: ReportOptions) -> tuple[Frame, str | None]:
    """Return the frame of a table or of labels files, and the protocol if its rows name one.

    Raises TableError for a table, InputError for a file, and UnknownOptionError for an option that
    names nothing in it.
    """
    paths = _paths(table)
    if paths:
        frame, protocols = _read(paths, reading, options)
    else:
        with TemporaryDirectory() as folder:
            path = Path(folder, "table.jsonl")
            declarations = _write(path, table)
            try:
                frame, protocols = _read([path], reading, options)
            except InputError as error:
                line = (error.place.line or 0) - declarations
                row = f"row {line}" if line > 0 else "the table"
                raise TableError(f"{row}: {error.wrong}; {error.remedy}") from None
            said = (w._replace(text=w.text.replace(str(path), "the table")) for w in frame.warnings)
            frame = replace(frame, warnings=tuple(said))
    if reading.protocol is not None:
        return frame, reading.protocol.name
    return frame, next(iter(protocols)) if len(protocols) == 1 else None


def _read(paths: list[Path], reading: Reading, options: ReportOptions) -> tuple[Frame, set[str]]:
    try:
        return file_frame(
            paths, reading.levels, options, reading.scales, reading.wide, reading.protocol
        )
    except UnknownLevelError as error:
        raise TableError(str(error).partition(": ")[2]) from None


def _paths(table: Table) -> list[Path]:
    """Return the paths if a table is given as one path or several."""
    if isinstance(table, str | Path):
        return [Path(table)]
    if isinstance(table, list | tuple) and table and isinstance(table[0], str | Path):
        return [Path(each) for each in table]
    return []


def _write(path: Path, table: Table) -> int:
    """Write a table as JSON Lines. Return the number of lines before its rows."""
    table = _as_arrow(table)
    orders = {ORDERS: found} if (found := _orders(table)) else {}
    with path.open("w", encoding="utf-8") as file:
        if orders:
            file.write(json.dumps(orders, default=_plain) + "\n")
        for line in lines_of(table):
            file.write(line + "\n")
    return len(orders)


def lines_of(table: Table) -> Iterator[str]:
    """Yield the rows of a table as lines of a labels file, without their empty cells."""
    for row in rows_of(table):
        there = {name: _member(name, of) for name, of in row.items() if not _is_absent(of)}
        yield json.dumps(there, default=_plain)


def _as_arrow(table: Table) -> Table:
    """Convert frames of polars and others to Arrow, where ordered categories keep their order."""
    if hasattr(table, "__arrow_c_stream__") and not hasattr(table, "itertuples"):
        import pyarrow as pa

        return pa.table(table)
    return table


def _orders(table: Table) -> dict[str, list[str]]:
    """Return the texts of the columns with ordered categories, of pandas or in Arrow's form."""
    if hasattr(table, "dtypes") and hasattr(table, "itertuples"):
        kinds = list(zip(table.columns, table.dtypes, strict=True))
        ordered = {name: of.categories for name, of in kinds if getattr(of, "ordered", False)}
    elif hasattr(table, "schema") and hasattr(table, "combine_chunks"):
        kinds = [(field.name, field.type) for field in table.schema]
        names = [name for name, of in kinds if getattr(of, "ordered", False)]
        chunks = {name: table[name].unify_dictionaries().chunks for name in names}
        ordered = {name: of[0].dictionary.to_pylist() for name, of in chunks.items() if of}
    else:
        return {}
    return {str(name): [str(_member("", each)) for each in of] for name, of in ordered.items()}


def rows_of(table: Table) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a table as mappings. Raises TypeError if it is not a table."""
    table = _as_arrow(table)
    if hasattr(table, "itertuples"):
        names = [str(name) for name in table.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise TableError(f"the table: two columns are called {twice!r}; keep one of them")
        columns = [table.iloc[:, n].tolist() for n in range(len(names))]
        yield from (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
    elif hasattr(table, "to_batches"):
        for batch in table.to_batches():
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
    if name in NAMES and isinstance(value, float) and value.is_integer():
        return str(int(value))
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
