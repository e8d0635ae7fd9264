"""The native format to download: its JSON Schema, and a small batch as an example."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "formats"


@dataclass(frozen=True)
class FormatFile:
    """A file to download, with a label."""

    name: str
    media_type: str
    label: str

    @property
    def path(self) -> Path:
        return FOLDER / self.name

    def read(self) -> str:
        return self.path.read_text("utf-8")


FORMAT_FILES = {
    "schema": FormatFile(
        "native.schema.json", "application/schema+json", "JSON Schema of the native format"
    ),
    "example": FormatFile("native.example.jsonl", "application/x-ndjson", "example batch"),
}


@cache
def native_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one line of a native batch file."""
    found: dict[str, Any] = json.loads(FORMAT_FILES["schema"].read())
    return found


def properties_of(part: str) -> dict[str, dict[str, Any]]:
    """Return the schemas of a part's keys, by key. `Query` is the line itself."""
    schema = native_schema()
    found: dict[str, dict[str, Any]] = (schema if part == "Query" else schema["$defs"][part])[
        "properties"
    ]
    return found
