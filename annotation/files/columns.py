"""Labels files by columns: whole blocks of lines at once, for files of a million labels.

A block is taken by pyarrow only where each of its lines is beyond doubt: an object of known keys,
each of the one type that the format gives it, with a value that `read_labels` would take as it
stands. Any other block is read by `read_labels`, line by line, and so are lines with spans or meta:
what is wrong with a file is always told by the same reader, with the same line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from annotation.files.blocks import (
    LARGEST,
    MEASURED,
    RICH,
    TEXTS,
    WHOLE,
    Block,
    DoubtError,
    column_of,
    csv_blocks,
    json_blocks,
    metas_of,
    numbers_in,
)
from annotation.files.labels import KINDS, MAX_COUNT, MAX_RATER, read_labels, rows_in
from annotation.files.rows import LabelRow
from annotation.submit import REASONS

REQUIRED = ("item", "unit", "variable", "rater")
DEFAULTS = {"rater_kind": "human"}
ABSENT = -1
Codes = NDArray[np.int32]
Numbers = NDArray[np.float64]


@dataclass
class Metas:
    """A member of meta: the `lines` that have one, in order, and which of `values` each has."""

    values: list[str]
    lines: NDArray[np.int64]
    codes: Codes


@dataclass
class LabelColumns:
    """The lines of labels files in their order, N of them.

    `codes` (N,) are places in `values`, by name of a column of texts, -1 where nothing stands;
    `replicate` and `revision` (N,) are 0 where there is none, `score` (N,) is NaN. `rows` are the
    lines with spans, or with meta that is no plain one, by their places. `metas` are the members of
    meta that were asked for, on all other lines: for each, texts by place.
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


def read_columns(paths: Iterable[Path], metas: Sequence[str] = ()) -> LabelColumns:
    """The labels of files, with some members of meta.

    Raises InputError as `read_labels` does, at the same line.
    """
    made = _Columns(metas)
    for path in paths:
        before = made.lines
        try:
            blocks = csv_blocks(path) if path.suffix.lower() == ".csv" else json_blocks(path)
            for block in blocks:
                made.add_block(block)
        except (OSError, DoubtError):
            before = made.lines
        if made.lines == before:
            # Nothing was read: the file is none, holds nothing, or cannot be parted in blocks.
            made.add_rows(read_labels(path))
    return made.done()


class _Columns:
    """Columns while blocks come in; the values of each are numbered as they are met."""

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
            rich = _rich(table, RICH if metas is None else ("spans",))
        except DoubtError:
            self.add_rows(block.rows())
            return
        if rich:
            lines = block.lines.split(b"\n")
            for n in rich:
                (row,) = rows_in(block.path, lines[n], block.first + n)
                self.rows[self.lines + n] = row
        # A line that is rich has its meta in its row.
        poor = np.ones(table.num_rows, dtype=bool)
        poor[rich] = False
        for name, (found, which) in (metas or {}).items():
            codes = self._numbered(_key(name), found, which)
            there = np.flatnonzero(poor & (codes >= 0))
            self.metas[name].append((there + self.lines, codes[there]))
        self._add(parts, table.num_rows)

    def add_rows(self, rows: Iterable[LabelRow]) -> None:
        """Rows of the line reader, which may raise."""
        found: dict[str, list[str | None]] = {name: [] for name in TEXTS}
        numbers: dict[str, list[float]] = {"replicate": [], "revision": [], "score": []}
        count = 0
        for count, row in enumerate(rows, 1):
            for name in TEXTS:
                found[name].append(getattr(row, name))
            numbers["replicate"].append(row.replicate)
            numbers["revision"].append(row.revision or 0)
            numbers["score"].append(math.nan if row.score is None else row.score)
            if row.spans is not None or row.meta is not None:
                self.rows[self.lines + count - 1] = row
        texts = {name: self._numbered(name, of, range(count)) for name, of in found.items()}
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
        return {name: self._coded(name, of) for name, of in columns.items()}

    def _coded(self, name: str, texts: pa.Array) -> NDArray[np.generic]:
        default = DEFAULTS.get(name)
        if texts.null_count == len(texts) and default is None:
            return _absent(len(texts))
        coded = texts.dictionary_encode("encode")
        found = [default if text is None else text for text in coded.dictionary.to_pylist()]
        check, places = CHECKS.get(name, bool), self.places[name]
        if not all(text is None or text in places or check(text) for text in found):
            raise DoubtError
        return self._numbered(name, found, numbers_in(coded.indices, np.int32)[0])

    def _numbered(
        self, name: str, found: Sequence[str | None], which: Sequence[int] | Codes
    ) -> Codes:
        """The places of texts, each numbered when it is first met; `which` of them stand where."""
        places = self.places[name]
        table = [ABSENT if text is None else places.setdefault(text, len(places)) for text in found]
        made: Codes = np.array(table, np.int32)[np.asarray(which, np.int32)]
        return made

    def done(self) -> LabelColumns:
        pa.default_memory_pool().release_unused()
        return LabelColumns(
            {name: list(self.places[name]) for name in TEXTS},
            {name: self._joined(name) for name in TEXTS},
            _of_one(np.concatenate(self.parts.pop("replicate")).astype(np.int64)),
            _of_one(np.concatenate(self.parts.pop("revision")).astype(np.int64)),
            _of_one(np.concatenate(self.parts.pop("score")).astype(float)),
            self.rows,
            {name: self._metas(name, parts) for name, parts in self.metas.items() if parts},
        )

    def _metas(self, name: str, parts: Sequence[tuple[NDArray[np.int64], Codes]]) -> Metas:
        lines, codes = (np.concatenate(each) for each in zip(*parts, strict=True))
        return Metas(list(self.places[_key(name)]), lines.astype(np.int64), codes.astype(np.int32))

    def _joined(self, name: str) -> Codes:
        parts = self.parts.pop(name)
        if not self.places[name]:
            return _absent(self.lines)
        return np.concatenate(parts).astype(np.int32, copy=False)


def _of_one(numbers: NDArray[Any]) -> NDArray[Any]:
    """Numbers that are all the same, which then take no memory; others as they are."""
    if len(numbers) and not (numbers != numbers[0]).any():
        return np.broadcast_to(numbers[0], numbers.shape)
    nothing = numbers.dtype.kind == "f" and np.isnan(numbers).all()
    return np.broadcast_to(np.float64("nan"), numbers.shape) if nothing else numbers


def _absent(lines: int) -> Codes:
    """A column of which nothing stands anywhere, which takes no memory."""
    return np.broadcast_to(np.int32(ABSENT), (lines,))


def _numbers(table: pa.Table) -> dict[str, NDArray[np.generic]]:
    found: dict[str, NDArray[np.generic]] = {}
    for name, low in WHOLE.items():
        whole, there = numbers_in(column_of(table, name, pa.int64()), np.int64)
        known = whole[there] if len(whole) else whole
        if len(known) and not low <= known.min() <= known.max() <= MAX_COUNT:
            raise DoubtError
        found[name] = np.where(there, whole, 0) if len(known) else np.zeros(len(there), np.int64)
    for name in MEASURED:
        measured, there = numbers_in(column_of(table, name, pa.float64()), np.float64)
        known = measured[there] if len(measured) else measured
        if not (np.abs(known) < LARGEST).all() or (name == "seconds" and (known < 0).any()):
            raise DoubtError
        nothing = np.full(len(there), np.nan)
        found[name] = np.where(there, measured, nothing) if len(known) else nothing
    del found["seconds"]
    return found


def _key(name: str) -> str:
    """A member of meta beside the columns of a file."""
    return f"meta {name}"


def _rich(table: pa.Table, names: Sequence[str]) -> list[int]:
    """The rows in which one of the columns holds something."""
    there = np.zeros(table.num_rows, dtype=bool)
    for name in names:
        if name in table.column_names:
            valid = table.column(name).combine_chunks().is_valid()
            bits = np.frombuffer(valid.buffers()[1], np.uint8)
            there |= np.unpackbits(bits, bitorder="little")[: len(there)].astype(bool)
    found: list[int] = np.flatnonzero(there).tolist()
    return found


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return False
    return True


CHECKS: dict[str, Callable[[str], bool]] = {
    "variable": lambda text: bool(text.strip()),
    "rater": lambda text: bool(text.strip()) and len(text) <= MAX_RATER,
    "assisted_by": lambda text: 0 < len(text) <= MAX_RATER,
    "missing": lambda text: text in REASONS,
    "rater_kind": lambda text: text in KINDS,
    "created_at": _is_moment,
}
"""What a text must be to be taken as it stands; any other must only not be empty."""
