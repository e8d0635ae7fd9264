"""A file to write to that keeps nothing: whatever was written is taken from it, to be sent on."""

from __future__ import annotations

import io
from typing import Any


class Sink(io.RawIOBase):
    """It cannot be gone back in, as a connection cannot."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written.append(bytes(data))
        return len(self._written[-1])

    def taken(self) -> bytes:
        """What was written since it was last asked."""
        found, self._written = b"".join(self._written), []
        return found
