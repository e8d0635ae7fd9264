"""What a reader put right in a file, counted, with the first place of each kind."""

from __future__ import annotations

from collections import Counter

from tandem.files.rows import Place, ReadNotes


class Slips:
    """Counts of small faults by what was done about them."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._first: dict[str, Place] = {}

    def add(self, what: str, place: Place, count: int = 1) -> None:
        if count:
            self._counts[what] += count
            self._first.setdefault(what, place)

    def note(self, notes: ReadNotes) -> None:
        for what, count in self._counts.items():
            notes.warnings.append(f"{self._first[what]} and on: {count} {what}")
