"""Rows as lines of the native format: for `export --what batch`, and to take digests of."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from operator import attrgetter
from typing import Any

from datasets import rows

_ROWS = (
    rows.Query,
    rows.Question,
    rows.Passage,
    rows.KeyPoint,
    rows.AnswerPoint,
    rows.Report,
    rows.Ranking,
    rows.Reference,
)
_NAMES: dict[type, tuple[str, ...]] = {row: tuple(f.name for f in fields(row)) for row in _ROWS}
_VALUES = {row: attrgetter(*names) for row, names in _NAMES.items()}
_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


def as_line(query: rows.Query) -> dict[str, Any]:
    """A query as the object that its line holds; what is absent or an empty list is left out."""
    members = zip(_NAMES[rows.Query], _VALUES[rows.Query](query), strict=True)
    return {name: _plain(v) for name, v in members if v is not None and v != ()}


def part_of_line(row: Any) -> dict[str, Any]:
    """One row within a query as the object that stands for it; what is absent is left out."""
    kind = type(row)
    members = zip(_NAMES[kind], _VALUES[kind](row), strict=True)
    return {name: _plain(value) for name, value in members if value is not None}


def _plain(value: Any) -> Any:
    if type(value) is not tuple:
        return value
    return [part_of_line(each) if type(each) in _NAMES else each for each in value]


class Digest:
    """A SHA-256 over rows in their order, whatever file they came from."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, query: rows.Query) -> None:
        self._hash.update(_encode(as_line(query)).encode("utf-8") + b"\n")

    def hexdigest(self) -> str:
        return self._hash.hexdigest()
