"""Blocks of a labels file's lines as tables, where no line of a block is in doubt."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json
from numpy.typing import NDArray

from annotation.files.labels import read_labels, rows_in
from annotation.files.rows import COLUMNS, LabelRow
from annotation.files.spreadsheet import armed
from datasets.readers.jsonl import MAX_LINE_BYTES

BLOCK = 4 * 1024 * 1024
TEXTS = (
    "campaign", "protocol", "item", "unit", "kind", "variable", "value", "missing", "rater",
    "rater_kind", "created_at", "assisted_by", "batch", "query", "system", "setting",
)  # fmt: skip
WHOLE = {"replicate": 0, "revision": 1}
"""Whole numbers, and the least that each may be."""
MEASURED = ("seconds", "score")
RICH = ("spans", "meta")
LARGEST = 1e15
"""Numbers from here on are left to the line reader, which counts digits."""

DEEPEST = 32
"""Deeper objects are left to the line reader, which counts levels."""

_WORDS = (pa.string(), pa.int64(), pa.bool_())
_STRINGS = {name: pa.string() for name in TEXTS}
_NUMBERS = {name: pa.int64() for name in WHOLE} | {name: pa.float64() for name in MEASURED}
_MARK = b"\xef\xbb\xbf"
_REFUSED = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
# What JSON takes for a number is narrower than what pyarrow does.
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class DoubtError(Exception):
    """A block that is left to the line reader."""


@dataclass(frozen=True)
class Block:
    """Lines of a file as bytes, from line `first` on, and how pyarrow takes them."""

    path: Path
    first: int
    lines: bytes
    parse: Callable[[bytes], pa.Table]

    def rows(self) -> Iterator[LabelRow]:
        if self.parse is _from_csv:
            return read_labels(self.path)
        return rows_in(self.path, self.lines, self.first)


def json_blocks(path: Path) -> Iterator[Block]:
    first = 1
    with path.open("rb") as file:
        while lines := file.read(BLOCK):
            lines += file.readline()
            yield Block(path, first, lines, _from_json)
            first += lines.count(b"\n")


def csv_blocks(path: Path) -> Iterator[Block]:
    """The whole file as one, since what a line means hangs on the lines before."""
    lines = path.read_bytes()
    if b'"' in lines or b"\r" in lines.replace(b"\r\n", b""):
        raise DoubtError
    yield Block(path, 1, lines, _from_csv)


def _clean(lines: bytes) -> None:
    """Raises DoubtError for bytes that the line reader might refuse."""
    try:
        lines.decode("utf-8")
    except UnicodeDecodeError:
        raise DoubtError from None
    # To look for one byte takes a tenth of the time that the pattern takes.
    refused = b"\0" in lines or (b"\\u" in lines and _REFUSED.search(lines))
    if refused or len(lines) > MAX_LINE_BYTES or lines.startswith(_MARK):
        raise DoubtError


def _from_json(lines: bytes) -> pa.Table:
    _clean(lines)
    schema = pa.schema({**_STRINGS, **_NUMBERS})
    found = None
    for value in (pa.string(), pa.float64()):
        # Ratings stand as texts or as numbers.
        asked = schema.set(schema.get_field_index("value"), pa.field("value", value))
        options = pa_json.ParseOptions(explicit_schema=asked, unexpected_field_behavior="infer")
        reading = pa_json.ReadOptions(use_threads=False, block_size=2 * len(lines) + 1024)
        try:
            found = pa_json.read_json(io.BytesIO(lines), reading, options)
            break
        except pa.ArrowInvalid:
            continue
    if found is None:
        raise DoubtError
    ends = lines.count(b"\n") + (not lines.endswith(b"\n"))
    starts = lines.startswith(b"{") + lines.count(b"\n{")
    if not found.num_rows == ends == starts or set(found.column_names) - set(COLUMNS):
        raise DoubtError
    return _with_codes(found)


def _with_codes(found: pa.Table) -> pa.Table:
    """Values that are numbers as the codes that they stand for: 3 and 3.0 are `3`."""
    place = found.schema.get_field_index("value")
    if found.schema.field(place).type == pa.string():
        return found
    coded = found.column(place).combine_chunks().dictionary_encode()
    numbers, _ = numbers_in(coded.dictionary, np.float64)
    if not (np.abs(numbers) < LARGEST).all():
        raise DoubtError
    texts = [str(int(n)) if n.is_integer() else repr(n) for n in numbers.tolist()]
    return found.set_column(place, "value", pa.array(texts, pa.string()).take(coded.indices))


def _from_csv(lines: bytes) -> pa.Table:
    _clean(lines)
    try:
        found = pa_csv.read_csv(
            io.BytesIO(lines),
            pa_csv.ReadOptions(use_threads=False, block_size=2 * len(lines) + 1024),
            pa_csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
            pa_csv.ConvertOptions(
                column_types=dict.fromkeys(COLUMNS, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        raise DoubtError from None
    ends = lines.count(b"\n") + (not lines.endswith(b"\n"))
    names = found.column_names
    if found.num_rows + 1 != ends or set(names) - set(COLUMNS) or len(set(names)) < len(names):
        raise DoubtError
    return pa.table({name: _cells(name, found.column(name)) for name in names})


def _cells(name: str, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    coded = cells.combine_chunks().dictionary_encode()
    texts = [armed(text) for text in coded.dictionary.to_pylist()]
    if name in RICH and any(texts):
        raise DoubtError
    made = pa.array([text or None for text in texts], pa.string())
    if name in _NUMBERS:
        if not all(text == "" or _NUMBER.fullmatch(text) for text in texts):
            raise DoubtError
        try:
            made = made.cast(_NUMBERS[name])
        except pa.ArrowInvalid:
            raise DoubtError from None
    return pa.chunked_array([made.take(coded.indices)])


def column_of(table: pa.Table, name: str, kind: pa.DataType) -> pa.Array:
    """A column of a block, of nothing where it is not there."""
    if name not in table.column_names:
        return pa.nulls(table.num_rows, kind)
    return table.column(name).combine_chunks().cast(kind)


def metas_of(
    table: pa.Table, names: Collection[str]
) -> dict[str, tuple[list[str | None], NDArray[np.int32]]] | None:
    """Members of meta as words, and which of them each line has; None where meta is no plain one.

    Plain is an object whose numbers are whole, none too long for the line reader, and whose named
    members are texts, whole numbers, or true and false.
    """
    if "meta" not in table.column_names:
        return {}
    meta = table.column("meta").combine_chunks()
    if not (pa.types.is_struct(meta.type) and _is_plain(meta.type)):
        return None
    found = {}
    for field, column in zip(meta.type, meta.flatten(), strict=True):
        if field.name in names and not pa.types.is_null(field.type):
            if field.type not in _WORDS:
                return None
            coded = column.dictionary_encode("encode")
            said = coded.dictionary.to_pylist()
            words = [None if word is None or word == "" else str(word) for word in said]
            found[field.name] = words, numbers_in(coded.indices, np.int32)[0]
    return found


def _is_plain(kind: pa.DataType, depth: int = 1) -> bool:
    if pa.types.is_struct(kind) or pa.types.is_list(kind):
        inside = (kind.field(n).type for n in range(kind.num_fields))
        return depth < DEEPEST and all(_is_plain(each, depth + 1) for each in inside)
    return not pa.types.is_floating(kind)


def numbers_in(column: pa.Array, kind: type[np.generic]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The numbers of a column, 0 or anything where there is none, and where there is one.

    From the buffers, since pyarrow's own way imports pandas, which takes a second.
    """
    bits, numbers = column.buffers()
    size, start = len(column), column.offset
    found = np.frombuffer(numbers or b"", kind)[start : start + size]
    if bits is None:
        return found, np.ones(size, dtype=bool)
    there = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
    return found, there[start : start + size].astype(bool)
