"""A checked answer, and whether it says what stands already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.doors import Payload
from annotation.locating import Located, Spans
from annotation.models import Response, Span
from annotation.protocols.checking import Door, Entry
from annotation.protocols.schema import Schema


@dataclass(frozen=True)
class Detail:
    """What a label may carry beside its value."""

    score: float | None = None
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Answer:
    """A checked answer with the places of its quotes."""

    payload: Payload
    entries: list[Entry]
    spans: Spans
    details: Mapping[tuple[str, str], Detail]
    asked: Schema

    def detail(self, name: str, variable: str) -> Detail:
        return self.details.get((name, variable), Detail())

    def stands_as(self, current: Response, door: Door) -> bool:
        """Whether it changes nothing. A file may say in other words what stands."""
        if current.payload == self.payload:
            return True
        return door == "import" and self._same_labels(current) and self._same_prose(current)

    def _same_labels(self, current: Response) -> bool:
        values = {(e.name, v): value for e in self.entries for v, value in e.values.items()}
        given = {name: (value, self.detail(*name)) for name, value in values.items()}
        labels = current.labels.select_related("unit").prefetch_related("spans")
        there = {(label.unit.name, label.variable): label for label in labels}
        stands = {n: (x.value, Detail(x.score, x.meta)) for n, x in there.items()}
        return given == stands and all(
            _same_spans(self.spans.get(name, []), list(label.spans.all()))
            for name, label in there.items()
        )

    def _same_prose(self, current: Response) -> bool:
        comment = self.payload.get("comment") or ""
        units, there = self.payload["units"], current.payload["units"]
        return comment == current.comment and self._written(units) == self._written(there)

    def _written(self, units: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], Any]:
        """What was written, by unit and key. An empty list says as much as none."""
        keys = {entry.name: self.asked.free_keys(entry.unit.kind) for entry in self.entries}
        said = {(name, key): units.get(name, {}).get(key) for name in keys for key in keys[name]}
        return {place: text for place, text in said.items() if text}


def _same_spans(given: list[Located], stored: list[Span]) -> bool:
    """A part of a joined quote that was not found may be found now, by itself; it is the same."""
    return len(given) == len(stored) and all(
        (new.field, new.quote) == (old.field, old.quote)
        and (old.start is None or (new.start, new.end) == (old.start, old.end))
        for new, old in zip(given, stored, strict=True)
    )
