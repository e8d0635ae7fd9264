"""Columns of labels in Arrow's form: their types, and a Parquet file in these types.

A file that might have to be refused, or whose rows have more than texts and numbers, raises
DoubtError: it is read row by row.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tandem.files.columnar import MAX_UNPACKED
from tandem.labels.file.rows import KNOWN, UNREAD

WHOLE = {"replicate": 0, "revision": 1}
"""The columns with whole numbers, and the minimum of each."""
MEASURED = ("seconds", "score")
RICH = ("spans", "meta", "grade")
TEXTS = tuple(name for name in KNOWN if name not in {*WHOLE, *MEASURED, *RICH, *UNREAD})
"""All others that are read."""
LARGEST = 1e15
"""Larger numbers are left to the line reader, which counts digits."""

DEEPEST = 32
"""Deeper objects are left to the line reader, which counts levels."""

_WORDS = (pa.string(), pa.int64(), pa.bool_())
STRINGS = {name: pa.string() for name in TEXTS} | {"exposed": pa.bool_(), "grade": pa.string()}
NUMBERS = {name: pa.int64() for name in WHOLE} | {name: pa.float64() for name in MEASURED}


class DoubtError(Exception):
    """The block must be read by the line reader."""


def with_codes(found: pa.Table) -> pa.Table:
    """Convert numeric values to codes: 3 and 3.0 become `3`."""
    place = found.schema.get_field_index("value")
    if found.schema.field(place).type == pa.string():
        return found
    coded = found.column(place).combine_chunks().dictionary_encode()
    numbers, _ = numbers_in(coded.dictionary, np.float64)
    if not (np.abs(numbers) < LARGEST).all():
        raise DoubtError
    texts = [str(int(n)) if n.is_integer() else repr(n) for n in numbers.tolist()]
    return found.set_column(place, "value", pa.array(texts, pa.string()).take(coded.indices))


def column_of(table: pa.Table, name: str, kind: pa.DataType) -> pa.Array:
    """Return a column of a block, or a column of nulls if it is absent."""
    if name not in table.column_names:
        return pa.nulls(table.num_rows, kind)
    return table.column(name).combine_chunks().cast(kind)


def metas_of(
    table: pa.Table, names: Collection[str]
) -> dict[str, tuple[list[str | None], NDArray[np.int32]]] | None:
    """Return members of meta as texts with a code for each line, or None if meta is not plain.

    Meta is plain if its numbers are whole and short enough for the line reader, and the named
    members are strings, whole numbers or booleans.
    """
    if "meta" not in table.column_names:
        return {}
    meta = table.column("meta").combine_chunks()
    if not (pa.types.is_struct(meta.type) and _is_plain(meta.type)):
        return None
    found = {}
    for member, column in zip(meta.type, meta.flatten(), strict=True):
        if member.name in names and not pa.types.is_null(member.type):
            if member.type not in _WORDS:
                return None
            coded = column.dictionary_encode("encode")
            entries = coded.dictionary.to_pylist()
            words = [None if word is None or word == "" else str(word) for word in entries]
            found[member.name] = words, numbers_in(coded.indices, np.int32)[0]
    return found


def _is_plain(kind: pa.DataType, depth: int = 1) -> bool:
    if pa.types.is_struct(kind) or pa.types.is_list(kind):
        inside = (kind.field(n).type for n in range(kind.num_fields))
        return depth < DEEPEST and all(_is_plain(each, depth + 1) for each in inside)
    return not pa.types.is_floating(kind)


def numbers_in(column: pa.Array, kind: type[np.generic]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the numbers of a column, and a mask of the lines that have one.

    They are read from the buffers, since pyarrow's own conversion imports pandas for a second.
    """
    bits, numbers = column.buffers()
    size, start = len(column), column.offset
    found = np.frombuffer(numbers or b"", kind)[start : start + size]
    if bits is None:
        return found, np.ones(size, dtype=bool)
    present = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
    return found, present[start : start + size].astype(bool)


def parquet_labels(path: Path) -> pa.Table:
    """Return the rows of a Parquet file in the types of JSON Lines. Raises DoubtError."""
    try:
        file = pq.ParquetFile(path)
        names, size = file.schema_arrow.names, file.metadata
        groups = (size.row_group(n).total_byte_size for n in range(size.num_row_groups))
        if set(names) - set(KNOWN) or len(set(names)) < len(names) or sum(groups) > MAX_UNPACKED:
            raise DoubtError
        found = file.read(use_threads=False)
        made = {name: _plain_column(name, found.column(name)) for name in names}
    except (OSError, ValueError, pa.ArrowException):
        raise DoubtError from None
    if not found.num_rows:
        raise DoubtError
    return with_codes(pa.table(made)) if "value" in made else pa.table(made)


def _plain_column(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in its type of JSON Lines; names may be whole numbers."""
    kind = column.type
    if pa.types.is_dictionary(kind) and not kind.ordered:
        kind = kind.value_type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    is_whole = pa.types.is_integer(kind)
    is_number = is_whole or pa.types.is_floating(kind)
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), pa.string())])
    if name in NUMBERS and is_number:
        return column.cast(NUMBERS[name])
    if name == "value" and pa.types.is_floating(kind):
        return column.cast(pa.float64())
    fits = is_text or is_whole or (name == "exposed" and pa.types.is_boolean(kind))
    if name in NUMBERS or name in RICH or not fits:
        raise DoubtError
    return column.cast(pa.string())
