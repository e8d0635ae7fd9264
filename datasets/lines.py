"""Rows as lines of the native format: for `export --what batch`, and to take digests of."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from typing import Any

from datasets.rows import Query


def as_line(query: Query) -> dict[str, Any]:
    """A query as the object that its line holds; what is absent or an empty list is left out."""
    return _plain(query)


def _plain(row: Any) -> Any:
    if is_dataclass(row):
        pairs = ((f.name, getattr(row, f.name)) for f in fields(row))
        return {name: _plain(value) for name, value in pairs if not _absent(row, name, value)}
    if isinstance(row, tuple):
        return [_plain(each) for each in row]
    return row


def _absent(row: object, name: str, value: object) -> bool:
    return value is None or (isinstance(row, Query) and value == ())


class Digest:
    """A SHA-256 over rows in their order, whatever file they came from."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, query: Query) -> None:
        text = json.dumps(as_line(query), sort_keys=True, ensure_ascii=False)
        self._hash.update(text.encode("utf-8") + b"\n")

    def hexdigest(self) -> str:
        return self._hash.hexdigest()
