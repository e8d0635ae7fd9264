"""JSON values kept in a temporary file, so that memory does not grow with their size."""

from __future__ import annotations

import json
from tempfile import TemporaryFile
from typing import Any


class Spill:
    """Values by their place in the file. The file has no name, and ends with the object."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 - open as long as the object lives
        self._end = 0

    def add(self, value: Any) -> int:
        """Keep a value, and return where."""
        at = self._file.seek(self._end)
        self._end += self._file.write(json.dumps(value, ensure_ascii=False).encode() + b"\n")
        return at

    def read(self, at: int) -> Any:
        self._file.seek(at)
        return json.loads(self._file.readline())
