"""Warnings that do not drown the reader of a load report: some in full, then how many more."""

from __future__ import annotations

from datasets.rows import ReadNotes

IN_FULL = 50


class Tally:
    """Warnings of one kind: the first `IN_FULL` are noted as they come, the rest counted."""

    def __init__(self, notes: ReadNotes, more: str) -> None:
        self._notes, self._more = notes, more
        self.count = 0

    def add(self, warning: str) -> None:
        self.count += 1
        if self.count <= IN_FULL:
            self._notes.warnings.append(warning)

    def finish(self) -> None:
        """Notes how many were not noted in full, if any."""
        if self.count > IN_FULL:
            self._notes.warnings.append(f"{self.count - IN_FULL} {self._more}")
