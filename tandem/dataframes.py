"""Tables for notebooks: rows as a frame of pandas, polars or pyarrow.

Only pyarrow is always installed. Columns are built by it, a block of rows at a time, so that
millions of rows never lie in memory as text or as mappings all at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from itertools import islice
from typing import Any, Literal

Kind = Literal["pandas", "polars", "arrow"]
KINDS: tuple[Kind, ...] = ("pandas", "polars", "arrow")
BLOCK = 10_000


def default_kind() -> Kind:
    """Return `pandas` if it is installed, else `arrow`."""
    return "pandas" if find_spec("pandas") else "arrow"


def frame_of_rows(
    rows: Iterable[Mapping[str, Any]], columns: Mapping[str, type], kind: Kind | None = None
) -> Any:
    """Return rows as a frame with these columns, each of its type: str, float, int, bool or object.

    `kind` is `pandas`, `polars` or `arrow`, by default pandas if it is installed, else pyarrow. A
    cell that a row lacks is null. A column of objects is JSON as text. Raises ValueError for
    another kind, and ImportError if the package is not installed.
    """
    import pyarrow as pa

    kind = check_kind(kind)
    types = {str: pa.string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}
    schema = pa.schema([(name, types.get(of, pa.string())) for name, of in columns.items()])
    blocks = [
        pa.RecordBatch.from_pylist([_cells(row, columns) for row in block], schema=schema)
        for block in _blocks(rows)
    ]
    return convert(pa.Table.from_batches(blocks, schema=schema), kind)


def check_kind(kind: str | None) -> Kind:
    """Return the kind, or the default one. Raises ValueError, and ImportError if it is missing."""
    if kind is None:
        return default_kind()
    for each in KINDS:
        if each == kind:
            if each != "arrow" and not find_spec(each):
                raise ImportError(f"{each} is not installed; install it, or ask for 'arrow'")
            return each
    raise ValueError(f"a frame is of {', '.join(KINDS[:-1])} or {KINDS[-1]}, not {kind!r}")


def convert(table: Any, kind: Kind) -> Any:
    """Return an Arrow table as a frame of this kind."""
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        from importlib import import_module

        return import_module("polars").from_arrow(table)
    return table


def _blocks(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    each = iter(rows)
    while block := list(islice(each, BLOCK)):
        yield block


def _cells(row: Mapping[str, Any], columns: Mapping[str, type]) -> dict[str, Any]:
    return {name: _cell(row.get(name), of) for name, of in columns.items()}


def _cell(value: Any, of: type) -> Any:
    if value is None:
        return None
    if of is object:
        return json.dumps(value, ensure_ascii=False)
    return of(value)
