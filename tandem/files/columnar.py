"""Read Parquet row by row, as the JSON values that the same rows have in JSON Lines."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from tandem.files.jsonl import DECODER, LineError, check_object, excerpt
from tandem.files.rows import InputError, Place

MAGIC = b"PAR1"
AT_ONCE = 1000
"""The number of rows that are Python objects at a time."""
MAX_UNPACKED = 2 * 1024**3
OBJECTS = ("meta", "texts", "units")
"""Keys whose objects have free keys, which exports write as text with JSON."""


@dataclass
class Columnar:
    """The columns of a Parquet file, its rows with their numbers from 1, and ordered categories.

    `orders` has the texts of each column whose categories are ordered, as pandas writes them.
    """

    columns: list[str]
    rows: Iterator[tuple[int, dict[str, Any]]]
    orders: dict[str, list[str]]


def read_columnar(path: Path) -> Columnar:
    """Open a Parquet file. Raises InputError, also while iterating.

    Nulls and NaN are left out. Times are ISO texts.
    """
    # Loading takes time and memory that no other form needs.
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = Place(os.fspath(path))
    try:
        file = pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise _broken(place, error) from None
    groups = (file.metadata.row_group(n) for n in range(file.metadata.num_row_groups))
    if sum(group.total_byte_size for group in groups) > MAX_UNPACKED:
        raise InputError(place, "is larger than 2 GiB when unpacked", "split it into several")
    if not file.metadata.num_rows:
        raise InputError(place, "holds no records", "check that it is the right file")
    return Columnar(file.schema_arrow.names, _rows(file, place), _orders(file, place))


def _orders(file: Any, place: Place) -> dict[str, list[str]]:
    import pyarrow as pa

    kinds = {field.name: field.type for field in file.schema_arrow}
    names = [name for name, of in kinds.items() if pa.types.is_dictionary(of) and of.ordered]
    if not names:
        return {}
    try:
        first = next(file.iter_batches(1, columns=names), None)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _broken(place, error) from None
    if first is None:
        return {}
    return {name: [str(of) for of in first[name].dictionary.to_pylist()] for name in names}


def _rows(file: Any, place: Place) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow as pa

    number = 0
    batches = file.iter_batches(AT_ONCE)
    while True:
        try:
            batch = next(batches, None)
            columns = batch and {n: _column(batch.column(n)) for n in batch.schema.names}
        except (OSError, ValueError, pa.ArrowException) as error:
            raise _broken(place, error) from None
        if not columns:
            return
        for row in zip(*columns.values(), strict=True):
            number += 1
            here = Place(place.file, number)
            named = zip(columns, row, strict=True)
            yield (
                number,
                {name: v for name, of in named if (v := _plain(name, of, here)) is not None},
            )


def _column(column: Any) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_timestamp(column.type):
        # Python has no nanoseconds.
        column = column.cast(pa.timestamp("us", tz=column.type.tz), safe=False)
    values: list[Any] = column.to_pylist(maps_as_pydicts="strict")
    return values


def _plain(name: str, value: Any, place: Place) -> Any:
    """Return a value as JSON has it. Members of objects that are null count as absent."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        if "\0" in value:
            raise InputError(place, f"NUL character in {name or 'a text'}", "remove it")
        return _object(name, value, place) if name in OBJECTS else value
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, list):
        return [_plain("", each, place) for each in value]
    if isinstance(value, dict):
        members = ((key, _plain(key, of, place)) for key, of in value.items())
        return {key: of for key, of in members if of is not None}
    wrong = f"{name or 'a value'} is {type(value).__name__}"
    raise InputError(place, wrong, "write text, a number, a truth value, a list or an object")


def _object(name: str, text: str, place: Place) -> dict[str, Any]:
    try:
        return check_object(DECODER.decode(text), text, name)
    except (json.JSONDecodeError, LineError, RecursionError):
        raise InputError(place, f"{name} is {excerpt(text)}", "write it as JSON") from None


def _broken(place: Place, error: Exception) -> InputError:
    why = excerpt(" ".join(str(error).split()))
    return InputError(place, f"is not a readable Parquet file ({why})", "write it again")
