"""Read labels files by columns, in blocks of lines, for files of a million labels.

pyarrow reads a block only if each line is certainly valid: an object with known keys, whose values
have the format's types and would be accepted by `read_labels` unchanged. `read_labels` reads all
other blocks line by line, and all lines with spans, meta or a grade. So errors in a file are always
reported by the same reader, with the same line.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json
from numpy.typing import NDArray

from tandem.files.jsonl import MAX_LINE_BYTES
from tandem.files.rows import ReadNotes
from tandem.files.spelling import is_blank
from tandem.files.spreadsheet import unescape_formula
from tandem.files.tables import INDEX_NAMES, form_of
from tandem.labels.file.arrow import (
    LARGEST,
    MEASURED,
    NUMBERS,
    RICH,
    STRINGS,
    TEXTS,
    WHOLE,
    DoubtError,
    column_of,
    metas_of,
    numbers_in,
    parquet_labels,
    with_codes,
)
from tandem.labels.file.reader import KINDS, MAX_COUNT, MAX_RATER, read_labels, rows_in
from tandem.labels.file.rows import KNOWN, REASONS, LabelRow
from tandem.labels.file.wide import Wide

BLOCK = 4 * 1024 * 1024
_MARK = b"\xef\xbb\xbf"
_OF_COLUMNS = re.compile(rb'\s*\{\s*"[^"]*"\s*:\s*[\[{]')
_REFUSED = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
# JSON allows fewer forms of numbers than pyarrow.
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Block:
    """Lines of a file as bytes, from line `first` on, with the function that parses them."""

    path: Path
    first: int
    lines: bytes
    parse: Callable[[bytes], pa.Table]


def json_blocks(path: Path) -> Iterator[Block]:
    first = 1
    with path.open("rb") as file:
        while lines := file.read(BLOCK):
            lines += file.readline()
            yield Block(path, first, lines, _from_json)
            first += lines.count(b"\n")


def csv_blocks(path: Path) -> Iterator[Block]:
    """Return the whole file as one block, since quotes may span several lines."""
    lines = path.read_bytes()
    if b'"' in lines or b"\r" in lines.replace(b"\r\n", b""):
        raise DoubtError
    yield Block(path, 1, lines, _from_csv)


def _check_bytes(lines: bytes) -> None:
    """Raise DoubtError for bytes that the line reader might refuse."""
    try:
        lines.decode("utf-8")
    except UnicodeDecodeError:
        raise DoubtError from None
    # Searching for one byte takes a tenth of the time of the pattern.
    refused = b"\0" in lines or (b"\\u" in lines and _REFUSED.search(lines))
    if refused or len(lines) > MAX_LINE_BYTES or lines.startswith(_MARK):
        raise DoubtError


def _from_json(lines: bytes) -> pa.Table:
    _check_bytes(lines)
    schema = pa.schema({**STRINGS, **NUMBERS})
    found = None
    for value in (pa.string(), pa.float64()):
        # Ratings are strings or numbers.
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
    if not found.num_rows == ends == starts or set(found.column_names) - set(KNOWN):
        raise DoubtError
    return with_codes(found)


def _from_csv(lines: bytes) -> pa.Table:
    _check_bytes(lines)
    try:
        found = pa_csv.read_csv(
            io.BytesIO(lines),
            pa_csv.ReadOptions(use_threads=False, block_size=2 * len(lines) + 1024),
            pa_csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
            pa_csv.ConvertOptions(
                column_types=dict.fromkeys(KNOWN, pa.string()),
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        raise DoubtError from None
    ends = lines.count(b"\n") + (not lines.endswith(b"\n"))
    names = found.column_names
    if found.num_rows + 1 != ends or set(names) - set(KNOWN) or len(set(names)) < len(names):
        raise DoubtError
    return pa.table({name: _cells(name, found.column(name)) for name in names})


def _cells(name: str, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    coded = cells.combine_chunks().dictionary_encode()
    texts = [unescape_formula(text) for text in coded.dictionary.to_pylist()]
    if name in RICH and any(texts):
        raise DoubtError
    values = pa.array([text or None for text in texts], pa.string())
    if name in NUMBERS:
        if not all(text == "" or _NUMBER.fullmatch(text) for text in texts):
            raise DoubtError
        try:
            values = values.cast(NUMBERS[name])
        except pa.ArrowInvalid:
            raise DoubtError from None
    return pa.chunked_array([values.take(coded.indices)])


REQUIRED = ("item", "unit", "variable", "rater")
DEFAULTS = {"rater_kind": "human"}
ABSENT = -1
Codes = NDArray[np.int32]
Numbers = NDArray[np.float64]


@dataclass
class Metas:
    """A member of meta: the `lines` that have it, in order, and the index of each in `values`."""

    values: list[str]
    lines: NDArray[np.int64]
    codes: Codes


@dataclass
class LabelColumns:
    """The lines of labels files in their order, N of them.

    `codes` (N,) has an array for each text column: indices in `values`, with -1 for no value.
    `replicate` and `revision` (N,) are 0 if absent, and `score` (N,) is NaN. `rows` are the lines
    with spans, with a grade, or with meta that is not plain, by their index. `metas` are the
    requested members of meta on all other lines.
    """

    values: dict[str, list[str]]
    codes: dict[str, Codes]
    replicate: NDArray[np.int64]
    revision: NDArray[np.int64]
    score: Numbers
    rows: dict[int, LabelRow] = field(default_factory=dict)
    metas: dict[str, Metas] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.score)


def read_columns(
    paths: Iterable[Path],
    metas: Sequence[str] = (),
    notes: ReadNotes | None = None,
    wide: Wide | None = None,
) -> LabelColumns:
    """Return the labels of files, with the members of meta in `metas`.

    Raises InputError like `read_labels`, at the same line, with the same remarks in `notes`.
    """
    columns = _Columns(metas)
    for path in paths:
        before = columns.lines
        try:
            if form_of(path) == "parquet" and not (wide and wide.variable):
                columns.add_table(parquet_labels(path))
            else:
                for block in _blocks(path, wide):
                    columns.add_block(block)
        except (OSError, DoubtError):
            before = columns.lines
        if columns.lines == before:
            # Nothing was read: the file is missing, is empty, or cannot be split into blocks.
            columns.add_rows(read_labels(path, None, notes, wide))
    return columns.done()


def _blocks(path: Path, wide: Wide | None) -> Iterator[Block]:
    """Return a file's blocks. Raises DoubtError for tables that only the line reader reads."""
    form = form_of(path)
    if (wide and wide.variable) or form not in ("jsonl", "delimited"):
        raise DoubtError
    if form == "delimited":
        return csv_blocks(path)
    with path.open("rb") as file:
        first = file.readline(MAX_LINE_BYTES)
    # The line reader has to see the whole table if its first line is not a label of a known form.
    labels = all(f'"{name}"'.encode() in first for name in ("rater", "variable"))
    indexed = any(f'"{name}'.encode() in first for name in INDEX_NAMES)
    if not labels or indexed or _OF_COLUMNS.match(first):
        raise DoubtError
    return json_blocks(path)


class _Columns:
    """Columns under construction. The values of each are numbered in order of appearance."""

    def __init__(self, metas: Sequence[str] = ()) -> None:
        self.lines = 0
        self.metas: dict[str, list[tuple[NDArray[np.int64], Codes]]] = {name: [] for name in metas}
        self.places: dict[str, dict[str, int]] = {name: {} for name in (*TEXTS, *map(_key, metas))}
        self.parts: dict[str, list[NDArray[np.generic]]] = {
            name: [] for name in (*TEXTS, "replicate", "revision", "score")
        }
        self.rows: dict[int, LabelRow] = {}

    def add_block(self, block: Block) -> None:
        try:
            table = block.parse(block.lines)
            parts = {**self._texts(table), **_numbers(table)}
            metas = metas_of(table, list(self.metas))
            rich = _rich(table, RICH if metas is None else ("spans", "grade"))
        except DoubtError:
            if block.parse is _from_csv:
                raise
            self.add_rows(rows_in(block.path, block.lines, block.first))
            return
        if rich:
            lines = block.lines.split(b"\n")
            for n in rich:
                (row,) = rows_in(block.path, lines[n], block.first + n)
                self.rows[self.lines + n] = row
        # A line with spans or other meta has its meta in its row.
        poor = np.ones(table.num_rows, dtype=bool)
        poor[rich] = False
        for name, (found, which) in (metas or {}).items():
            codes = self._number_texts(_key(name), found, which)
            there = np.flatnonzero(poor & (codes >= 0))
            self.metas[name].append((there + self.lines, codes[there]))
        self._add(parts, table.num_rows)

    def add_table(self, table: pa.Table) -> None:
        """Add a table without rich columns. Raises DoubtError."""
        self._add({**self._texts(table), **_numbers(table)}, table.num_rows)

    def add_rows(self, rows: Iterable[LabelRow]) -> None:
        """Add rows from the line reader, which may raise."""
        found: dict[str, list[str | None]] = {name: [] for name in TEXTS}
        numbers: dict[str, list[float]] = {"replicate": [], "revision": [], "score": []}
        count = 0
        for count, row in enumerate(rows, 1):
            for name in TEXTS:
                found[name].append(_text(getattr(row, name)))
            numbers["replicate"].append(row.replicate)
            numbers["revision"].append(row.revision or 0)
            numbers["score"].append(math.nan if row.score is None else row.score)
            if row.spans is not None or row.stored_meta is not None:
                self.rows[self.lines + count - 1] = row
        texts = {name: self._number_texts(name, of, range(count)) for name, of in found.items()}
        whole = {name: np.array(numbers[name], np.int64) for name in WHOLE}
        self._add({**texts, **whole, "score": np.array(numbers["score"], float)}, count)

    def _add(self, parts: dict[str, NDArray[np.generic]], lines: int) -> None:
        for name, part in parts.items():
            self.parts[name].append(part)
        self.lines += lines

    def _texts(self, table: pa.Table) -> dict[str, NDArray[np.generic]]:
        columns = {name: column_of(table, name, pa.string()) for name in TEXTS}
        if any(columns[name].null_count for name in REQUIRED):
            raise DoubtError
        if pc.any(pc.equal(columns["value"].is_null(), columns["missing"].is_null())).as_py():
            raise DoubtError
        return {name: self._encode(name, of) for name, of in columns.items()}

    def _encode(self, name: str, texts: pa.Array) -> NDArray[np.generic]:
        default = DEFAULTS.get(name)
        if texts.null_count == len(texts) and default is None:
            return _absent(len(texts))
        coded = texts.dictionary_encode("encode")
        found = [default if text is None else text for text in coded.dictionary.to_pylist()]
        check, places = CHECKS.get(name, bool), self.places[name]
        if not all(text is None or text in places or check(text) for text in found):
            raise DoubtError
        if any("\0" in text for text in found if text):
            raise DoubtError
        return self._number_texts(name, found, numbers_in(coded.indices, np.int32)[0])

    def _number_texts(
        self, name: str, found: Sequence[str | None], which: Sequence[int] | Codes
    ) -> Codes:
        """Number texts in order of appearance. `which` are their indices for each line."""
        places = self.places[name]
        table = [ABSENT if text is None else places.setdefault(text, len(places)) for text in found]
        numbered: Codes = np.array(table, np.int32)[np.asarray(which, np.int32)]
        return numbered

    def done(self) -> LabelColumns:
        pa.default_memory_pool().release_unused()
        return LabelColumns(
            {name: list(self.places[name]) for name in TEXTS},
            {name: self._concatenate(name) for name in TEXTS},
            _of_one(np.concatenate(self.parts.pop("replicate")).astype(np.int64)),
            _of_one(np.concatenate(self.parts.pop("revision")).astype(np.int64)),
            _of_one(np.concatenate(self.parts.pop("score")).astype(float)),
            self.rows,
            {name: self._metas(name, parts) for name, parts in self.metas.items() if parts},
        )

    def _metas(self, name: str, parts: Sequence[tuple[NDArray[np.int64], Codes]]) -> Metas:
        lines, codes = (np.concatenate(each) for each in zip(*parts, strict=True))
        return Metas(list(self.places[_key(name)]), lines.astype(np.int64), codes.astype(np.int32))

    def _concatenate(self, name: str) -> Codes:
        parts = self.parts.pop(name)
        if not self.places[name]:
            return _absent(self.lines)
        return np.concatenate(parts).astype(np.int32, copy=False)


def _of_one(numbers: NDArray[Any]) -> NDArray[Any]:
    """Store a column of equal numbers as one number; return other columns unchanged."""
    if len(numbers) and not (numbers != numbers[0]).any():
        return np.broadcast_to(numbers[0], numbers.shape)
    nothing = numbers.dtype.kind == "f" and np.isnan(numbers).all()
    return np.broadcast_to(np.float64("nan"), numbers.shape) if nothing else numbers


def _absent(lines: int) -> Codes:
    """Return a column without any values, which takes no memory."""
    return np.broadcast_to(np.int32(ABSENT), (lines,))


def _numbers(table: pa.Table) -> dict[str, NDArray[np.generic]]:
    found: dict[str, NDArray[np.generic]] = {}
    for name, low in WHOLE.items():
        whole, present = numbers_in(column_of(table, name, pa.int64()), np.int64)
        known = whole[present] if len(whole) else whole
        if len(known) and not low <= known.min() <= known.max() <= MAX_COUNT:
            raise DoubtError
        found[name] = (
            np.where(present, whole, 0) if len(known) else np.zeros(len(present), np.int64)
        )
    for name in MEASURED:
        measured, present = numbers_in(column_of(table, name, pa.float64()), np.float64)
        known = measured[present] if len(measured) else measured
        if not (np.abs(known) < LARGEST).all() or (name == "seconds" and (known < 0).any()):
            raise DoubtError
        nothing = np.full(len(present), np.nan)
        found[name] = np.where(present, measured, nothing) if len(known) else nothing
    del found["seconds"]
    return found


def _key(name: str) -> str:
    """Return the key of a member of meta, distinct from the columns of a file."""
    return f"meta {name}"


def _rich(table: pa.Table, names: Sequence[str]) -> list[int]:
    """Return a mask of the rows in which one of the columns has a value."""
    rich = np.zeros(table.num_rows, dtype=bool)
    for name in names:
        if name in table.column_names:
            valid = table.column(name).combine_chunks().is_valid()
            bits = np.frombuffer(valid.buffers()[1], np.uint8)
            rich |= np.unpackbits(bits, bitorder="little")[: len(rich)].astype(bool)
    found: list[int] = np.flatnonzero(rich).tolist()
    return found


def _text(value: str | bool | None) -> str | None:
    return str(value).lower() if isinstance(value, bool) else value


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return False
    return True


CHECKS: dict[str, Callable[[str], bool]] = {
    **dict.fromkeys(("item", "unit", "variable", "value"), lambda text: not is_blank(text)),
    "rater": lambda text: not is_blank(text) and len(text) <= MAX_RATER,
    "assisted_by": lambda text: 0 < len(text) <= MAX_RATER,
    "missing": lambda text: text in REASONS,
    "rater_kind": lambda text: text in KINDS,
    "created_at": _is_moment,
    "exposed": lambda text: text in ("true", "false"),
}
"""The checks for texts that must have a certain form. Other texts must only not be empty."""
