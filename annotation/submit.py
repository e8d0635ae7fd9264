"""The waist: `submit` takes an answer through any of four doors, and alone writes Response, Label
and Span. `fail` closes an assignment that gave no answer, with the reason and no label.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.doors import Payload
from annotation.locating import Located, Spans, locate
from annotation.models import Assignment, Draft, Label, Response, Span, Unit
from annotation.presenting import asked_units, present, schema
from annotation.protocols.base import ItemSpec
from annotation.protocols.checking import Door, Entry, Problem, check
from annotation.protocols.schema import Schema

REASONS = (
    "unreadable",
    "refused",
    "truncated",
    "filtered",
    "too-long",
    "timeout",
    "error",
    "declined",
)


class ConflictError(Exception):
    """Somebody saved in between: `current` is the response that stands now."""

    def __init__(self, current: Response) -> None:
        self.current = current
        super().__init__(f"revision {current.revision} was saved in between")


class LostLeaseError(Exception):
    """The assignment was given to another worker; this answer comes too late to count."""


@dataclass(frozen=True)
class Detail:
    """What a label may carry beside its value."""

    score: float | None = None
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Circumstances:
    """How an answer came about; everything has a sound default.

    `key` is the client's own for this save. `seen` is the revision that the client had before it
    (0: none), checked if given. `lease` is checked if given. An import brings its own `revision`,
    `created_at`, `details` by unit name and variable, and `missing` reasons in the same order.
    """

    key: str | None = None
    seen: int | None = None
    lease: uuid.UUID | None = None
    seconds: float | None = None
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


def submit(
    assignment: Assignment,
    payload: Payload,
    door: Door,
    circumstances: Circumstances | None = None,
    spec: ItemSpec | None = None,
    asked_schema: Schema | None = None,
) -> Outcome:
    """Checks an answer and makes it the current response of its assignment.

    The same `key`, or the same answer as the one that stands, changes nothing. Raises RefusedError,
    ConflictError, LostLeaseError. `spec` and `asked_schema` spare looking them up again.
    """
    circumstances = circumstances or Circumstances()
    spec = spec or present(assignment.item)
    asked_schema = asked_schema or schema(assignment.item.campaign)
    entries, warnings = check(asked_schema, asked_units(assignment, spec), payload["units"], door)
    spans, doubts = locate(entries, spec, door)
    with transaction.atomic():
        held = Assignment.objects.select_for_update().get(pk=assignment.pk)
        if sent_before := _sent_before(held, circumstances):
            return Outcome(sent_before, created=False, warnings=(*warnings, *doubts))
        _check_lease(held, circumstances)
        current = held.responses.filter(current=True).first()
        answer = _Answer(payload, entries, spans, circumstances.details, asked_schema)
        if current and answer.stands_as(current, door):
            Draft.objects.filter(assignment=held).delete()
            return Outcome(current, created=False, warnings=(*warnings, *doubts))
        _check_conflict(current, circumstances)
        response = _revise(held, current, payload, door, circumstances)
        _write_labels(response, held, answer)
        _close(held, circumstances)
    return Outcome(response, created=True, warnings=(*warnings, *doubts))


def fail(assignment: Assignment, reason: str, lease: uuid.UUID | None = None) -> None:
    """Closes an assignment without an answer.

    Raises LostLeaseError where somebody else holds it, or an answer stands already.
    """
    if reason not in REASONS:
        raise ValueError(f"{reason!r} is no reason for a missing label")
    status = Assignment.Status.DECLINED if reason == "declined" else Assignment.Status.FAILED
    rows = Assignment.objects.filter(pk=assignment.pk).exclude(status=Assignment.Status.DONE)
    if lease is not None:
        rows = rows.filter(lease=lease)
    if not rows.update(status=status, reason=reason, missing={}, lease=None):
        raise LostLeaseError


def _check_lease(held: Assignment, circumstances: Circumstances) -> None:
    if circumstances.lease is not None and held.lease != circumstances.lease:
        raise LostLeaseError


def _check_conflict(current: Response | None, circumstances: Circumstances) -> None:
    stands = current.revision if current else 0
    if current and circumstances.seen is not None and circumstances.seen != stands:
        raise ConflictError(current)


def _sent_before(held: Assignment, circumstances: Circumstances) -> Response | None:
    """What this very save made, if it came before: whatever happened since, it is stored."""
    if not circumstances.key:
        return None
    return held.responses.filter(key=circumstances.key).first()


@dataclass(frozen=True)
class _Answer:
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

    def _written(self, units: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        rule = self.asked.protocol.written
        texts = {name: given.get(rule.name) for name, given in units.items()} if rule else {}
        return {name: text for name, text in texts.items() if text is not None}


def _same_spans(given: list[Located], stored: list[Span]) -> bool:
    """A part of a joined quote that was not found may be found now, by itself; it is the same."""
    return len(given) == len(stored) and all(
        (new.field, new.quote) == (old.field, old.quote)
        and (old.start is None or (new.start, new.end) == (old.start, old.end))
        for new, old in zip(given, stored, strict=True)
    )


def _revise(
    held: Assignment,
    current: Response | None,
    payload: Payload,
    door: Door,
    circumstances: Circumstances,
) -> Response:
    last = current.revision if current else 0
    if current:
        held.responses.filter(pk=current.pk).update(current=False)
    return Response.objects.create(
        assignment=held,
        revision=max(last + 1, circumstances.revision or 1),
        payload=payload,
        comment=payload.get("comment") or "",
        door=door,
        key=circumstances.key,
        created_at=circumstances.created_at or timezone.now(),
    )


def _write_labels(response: Response, held: Assignment, answer: _Answer) -> None:
    ids = dict(Unit.objects.filter(item=held.item_id).values_list("name", "id"))
    labels = {
        (entry.name, variable): Label(
            response=response,
            unit_id=ids[entry.name],
            variable=variable,
            value=value,
            score=answer.detail(entry.name, variable).score,
            meta=answer.detail(entry.name, variable).meta,
        )
        for entry in answer.entries
        for variable, value in entry.values.items()
    }
    Label.objects.bulk_create(labels.values())
    Span.objects.bulk_create(
        Span(label=label, field=s.field, start=s.start, end=s.end, quote=s.quote, method=s.method)
        for name, label in labels.items()
        for s in answer.spans.get(name, ())
    )


def _close(held: Assignment, circumstances: Circumstances) -> None:
    held.status = Assignment.Status.DONE
    held.reason, held.lease = "", None
    held.missing = {name: dict(reasons) for name, reasons in circumstances.missing.items()}
    if circumstances.seconds is not None:
        held.seconds = circumstances.seconds
    held.save(update_fields=["status", "reason", "lease", "missing", "seconds"])
    Draft.objects.filter(assignment=held).delete()
