"""The types of `submit` other than the payload, its errors, and conflicts with other tabs.

Whoever saves says what they had before: the revision of the answer, and the version of the draft
over it. What counts as a conflict is decided here, for drafts, answers and decisions. A page that
gets a conflict takes over what it sent itself (`static/js/saving.js`), and else shows both versions
(`static/js/conflict_dialog.js`).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from annotation.answers.evidence import LocatedQuote, Spans
from annotation.models import Assignment, Draft, Response, Span
from tandem.protocols.base import Payload
from tandem.protocols.schema import Schema
from tandem.protocols.validation import Channel, Entry, Problem

LONGEST_SECONDS = 7 * 24 * 3600
"""A longer time on task is not credible and is not stored."""


@dataclass(frozen=True)
class Detail:
    """The optional parts of a label: a judge's score, and metadata."""

    score: float | None = None
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Answer:
    """A checked answer with the spans of its quotes."""

    payload: Payload
    entries: list[Entry]
    spans: Spans
    details: Mapping[tuple[str, str], Detail]
    asked: Schema

    def detail(self, name: str, variable: str) -> Detail:
        return self.details.get((name, variable), Detail())

    def changes_nothing(self, current: Response, channel: Channel) -> bool:
        """Whether the answer equals the current response. A file may word it differently."""
        if current.payload == self.payload:
            return True
        return channel == "import" and self._same_labels(current) and self._same_prose(current)

    def _same_labels(self, current: Response) -> bool:
        values = {(e.name, v): value for e in self.entries for v, value in e.values.items()}
        new = {name: (value, self.detail(*name)) for name, value in values.items()}
        labels = current.labels.select_related("unit").prefetch_related("spans")
        stored = {(label.unit.name, label.variable): label for label in labels}
        old = {n: (x.value, Detail(x.score, x.meta)) for n, x in stored.items()}
        return new == old and all(
            _same_spans(self.spans.get(name, []), list(label.spans.all()))
            for name, label in stored.items()
        )

    def _same_prose(self, current: Response) -> bool:
        comment = self.payload.get("comment") or ""
        new, old = self.payload["units"], current.payload["units"]
        return comment == current.comment and self._written_texts(new) == self._written_texts(old)

    def _written_texts(self, units: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], Any]:
        """Return the written texts by unit and key. An empty list is the same as none."""
        keys = {entry.name: self.asked.free_keys(entry.unit.kind) for entry in self.entries}
        texts = {(name, key): units.get(name, {}).get(key) for name in keys for key in keys[name]}
        return {name_and_key: text for name_and_key, text in texts.items() if text}


def _same_spans(given: list[LocatedQuote], stored: list[Span]) -> bool:
    """Whether spans are the same. One stored without a location may meanwhile have been found."""
    return len(given) == len(stored) and all(
        (new.field, new.quote) == (old.field, old.quote)
        and (old.start is None or (new.start, new.end) == (old.start, old.end))
        for new, old in zip(given, stored, strict=True)
    )


class LostLeaseError(Exception):
    """The assignment was given to another worker, so this answer comes too late."""


@dataclass(frozen=True)
class Circumstances:
    """The circumstances of an answer. Every field has a default.

    `key` is the client's own key for this save. `seen` is the revision that the client had before
    it (0: none). `seen` and `lease` are checked if they are not None. `basis` is the basis of
    the page, whose guideline may be an earlier version. The other fields are for imports: the
    file's `revision` and `created_at`, its `details` and `missing` reasons by unit name and
    variable, and the names of the units that it calls `exposed` (None: it does not say).
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
    exposed: frozenset[str] | None = None


@dataclass(frozen=True)
class Outcome:
    """The current response, and whether this call created it."""

    response: Response
    created: bool
    warnings: tuple[Problem, ...] = ()


class StoredRevision(NamedTuple):
    """The current revision after one answer of a group, and whether this call created it."""

    revision: int
    created: bool


@dataclass(frozen=True)
class LockedAnswer:
    """An assignment whose row is locked, with its current response and its draft."""

    assignment: Assignment
    current: Response | None
    draft: Draft | None


class ConflictError(Exception):
    """Another save came in between. `revision` and `version` are what is stored now, 0 for none."""

    def __init__(self, revision: int, version: int = 0) -> None:
        self.revision, self.version = revision, version
        draft = f"draft {version} of " if version else ""
        super().__init__(f"{draft}revision {revision} was saved in between")


@dataclass(frozen=True)
class SavedState:
    """The stored state of an assignment: the newest payload, its draft version, and its revision.

    `version` is 0 without a draft, and `revision` is 0 without a response.
    """

    payload: Payload | None
    version: int
    revision: int
    saved_at: datetime | None


def saved_state(draft: Draft | None, response: Response | None) -> SavedState:
    """Return the state that follows from a draft and a current response."""
    newest = draft or response
    return SavedState(
        payload=newest.payload if newest else None,
        version=draft.version if draft else 0,
        revision=response.revision if response else 0,
        saved_at=draft.saved_at if draft else response.created_at if response else None,
    )


def check_page_save(saved: SavedState, version: int, seen: int, payload: Payload) -> SavedState:
    """Check a draft, or an answer from a page that saves drafts, and return the stored state.

    Raises ConflictError if the stored state is newer and differs.
    """
    if (saved.version, saved.revision) != (version, seen) and saved.payload != payload:
        raise ConflictError(saved.revision, saved.version)
    return saved


def check_revision(current: Response | None, seen: int | None) -> None:
    """Check an answer that differs from the current one. `seen` is None if the writer never reads.

    Raises ConflictError.
    """
    if current and seen not in (None, current.revision):
        raise ConflictError(current.revision)


def check_decision(current: Response | None, seen: int | None) -> None:
    """Check a decision. An unseen one is a conflict even with the same labels.

    Raises ConflictError.
    """
    if current and current.revision != (seen or 0):
        raise ConflictError(current.revision)


def check_correction(draft: Draft | None, current: Response | None) -> None:
    """Check a correction from another page, which would delete the draft. Raises ConflictError."""
    if draft:
        raise ConflictError(current.revision if current else 0, draft.version)
