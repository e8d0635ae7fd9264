"""What goes into `submit` beside the payload and what comes out: Circumstances, Outcome, errors."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from annotation.answers.evidence import Located, Spans
from annotation.models import Assignment, Draft, Response, Span
from annotation.protocols.base import Payload
from annotation.protocols.schema import Schema
from annotation.protocols.validation import Channel, Entry, Problem

LONGEST_SECONDS = 7 * 24 * 3600
"""More time on task than this is no time on task."""


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

    def stands_as(self, current: Response, channel: Channel) -> bool:
        """Whether it changes nothing. A file may say in other words what stands."""
        if current.payload == self.payload:
            return True
        return channel == "import" and self._same_labels(current) and self._same_prose(current)

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


class ConflictError(Exception):
    """Somebody saved in between: `current` is the response that stands now."""

    def __init__(self, current: Response) -> None:
        self.current = current
        super().__init__(f"revision {current.revision} was saved in between")


class LostLeaseError(Exception):
    """The assignment was given to another worker; this answer comes too late to count."""


@dataclass(frozen=True)
class Circumstances:
    """How an answer came about; everything has a sound default.

    `key` is the client's own for this save. `seen` is the revision that the client had before it
    (0: none), checked if given. `lease` is checked if given. `basis` is what a page had shown, if
    that was another guideline than today's. An import brings its own `revision`,
    `created_at`, `details` by unit name and variable, and `missing` reasons in the same order.
    """

    key: str | None = None
    seen: int | None = None
    lease: uuid.UUID | None = None
    seconds: float | None = None
    basis: str | None = None
    revision: int | None = None
    created_at: datetime | None = None
    details: Mapping[tuple[str, str], Detail] = field(default_factory=dict)
    missing: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """The response that stands, and whether this call made it."""

    response: Response
    created: bool
    warnings: tuple[Problem, ...] = ()


class Stands(NamedTuple):
    """What stands after one answer of a group: its revision, and whether this call made it."""

    revision: int
    created: bool


@dataclass(frozen=True)
class Held:
    """An assignment whose row is locked, with the answer and the draft that stand for it."""

    assignment: Assignment
    current: Response | None
    draft: Draft | None
