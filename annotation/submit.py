"""The waist: `submit` takes an answer through any of four doors, and alone writes Response, Label
and Span. `fail` closes an assignment that gave no answer, with the reason and no label.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from django.db import transaction
from django.utils import timezone

from annotation.answer import Answer, Detail
from annotation.basis import basis_of
from annotation.doors import Payload
from annotation.drafts import stored
from annotation.follows.grounded_answer import check_action, shown_beside
from annotation.locating import Spans, locate
from annotation.models import Assignment, Item, Label, Response, Span
from annotation.presenting import asked_units, present, schema, stored_units
from annotation.protocols.base import ItemSpec
from annotation.protocols.checking import Door, Entry, Problem, RefusedError, check
from annotation.protocols.citing import check_citations
from annotation.protocols.schema import Schema
from annotation.saves import Circumstances, ConflictError, Held, LostLeaseError, Outcome
from datasets.prepared import Given, PreparedInsert, PreparedModels, PreparedUpdate, columns_of

__all__ = [
    "REASONS", "Circumstances", "ConflictError", "Detail", "Held", "LostLeaseError", "Outcome",
    "fail", "prepare", "store", "submit",
]  # fmt: skip

CHUNK = 100
Row = TypeVar("Row")
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
    spec = spec or present(assignment.item)
    asked_schema = asked_schema or schema(assignment.item.campaign)
    ready = prepare(assignment, payload, door, spec, asked_schema)
    with transaction.atomic():
        return store(ready, circumstances or Circumstances())


@dataclass(frozen=True)
class Ready:
    """A checked answer, or why it is refused: all that can be known before any row is locked."""

    assignment: Assignment
    payload: Payload
    door: Door
    schema: Schema
    refused: RefusedError | None
    checked: Checked
    basis: str | None


def prepare(
    assignment: Assignment,
    payload: Payload,
    door: Door,
    spec: ItemSpec,
    asked_schema: Schema,
    keep_refusal: bool = False,
) -> Ready:
    """The first half of `submit`. Raises RefusedError, unless it is for later.

    That an answer is refused is said only to who has seen what stands.
    """
    refused, checked = _tried(assignment, payload, door, spec, asked_schema)
    if refused and not keep_refusal:
        raise refused
    # A file tells what was answered, and nothing of what its rater saw.
    units = asked_units(assignment, spec).values()
    beside = "" if door == "import" else shown_beside(assignment)
    basis = None if door == "import" else str(basis_of(asked_schema, spec, units, beside))
    return Ready(assignment, payload, door, asked_schema, refused, checked, basis)


def store(
    ready: Ready,
    circumstances: Circumstances,
    check_fresh: Callable[[Held], None] | None = None,
) -> Outcome:
    """The second half, in a transaction; `check_fresh` may look at what stands, and raise."""
    door, (entries, spans, doubts) = ready.door, ready.checked
    held, sent_before = _hold(ready.assignment, circumstances)
    if check_fresh and not sent_before:
        check_fresh(held)
    if ready.refused:
        raise ready.refused
    if sent_before:
        return Outcome(sent_before, created=False, warnings=doubts)
    _check_lease(held.assignment, circumstances)
    answer = Answer(ready.payload, entries, spans, circumstances.details, ready.schema)
    if held.current and answer.stands_as(held.current, door):
        _drop_draft(held)
        return Outcome(held.current, created=False, warnings=doubts)
    _check_conflict(held.current, circumstances)
    response = _revise(held, ready, circumstances)
    _write_labels(response, ready.assignment.item, answer)
    _close(held, circumstances)
    return Outcome(response, created=True, warnings=doubts)


Checked = tuple[list[Entry], Spans, tuple[Problem, ...]]


def _tried(
    assignment: Assignment, payload: Payload, door: Door, spec: ItemSpec, asked_schema: Schema
) -> tuple[RefusedError | None, Checked]:
    """What an answer holds, where its quotes stand, and warnings; or why it is refused."""
    asked = asked_units(assignment, spec)
    try:
        entries, warnings = check(asked_schema, asked, payload["units"], door)
        spans, doubts = locate(entries, spec, door)
        check_action(assignment, entries, door)
        cited = check_citations(asked_schema, spec, entries, door)
    except RefusedError as error:
        return error, ([], {}, ())
    return None, (entries, spans, (*warnings, *doubts, *cited))


def _hold(assignment: Assignment, circumstances: Circumstances) -> tuple[Held, Response | None]:
    """The assignment, locked, and what this very save made if it came before.

    Whatever happened since, that is stored.
    """
    # What stands is read when the row is held: whoever writes it holds that row, and one who waits
    # for it in PostgreSQL would be told what stood when the waiting began.
    found = _locked.first(pk=assignment.pk)
    if found is None:
        raise Assignment.DoesNotExist
    held = found[0]
    draft, responses = stored(held, circumstances.key)
    current = next((each for each in responses if each.current), None)
    sent_before = next((each for each in responses if each.key == circumstances.key), None)
    return Held(held, current, draft), sent_before if circumstances.key else None


_locked = PreparedModels(
    lambda: Assignment.objects.select_for_update().filter(pk=Given("pk")),
    {"": columns_of(Assignment)},
)


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


def _revise(held: Held, ready: Ready, circumstances: Circumstances) -> Response:
    last = held.current.revision if held.current else 0
    if held.current:
        _replace.run(response=held.current.pk)
    response = Response(
        assignment=held.assignment,
        revision=max(last + 1, circumstances.revision or 1),
        payload=ready.payload,
        comment=ready.payload.get("comment") or "",
        door=ready.door,
        basis=circumstances.basis or ready.basis,
        key=circumstances.key,
        created_at=circumstances.created_at or timezone.now(),
    )
    _respond.run(response)
    return response


def _write_labels(response: Response, item: Item, answer: Answer) -> None:
    ids = stored_units(item)
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
    for label_rows in _chunks(list(labels.values())):
        _label.run(*label_rows)
    spans = [
        Span(label=label, field=s.field, start=s.start, end=s.end, quote=s.quote, method=s.method)
        for name, label in labels.items()
        for s in answer.spans.get(name, ())
    ]
    for span_rows in _chunks(spans):
        _mark.run(*span_rows)


def _chunks(rows: list[Row]) -> Iterator[list[Row]]:
    """A database takes only so many values at once."""
    return (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))


def _close(held: Held, circumstances: Circumstances) -> None:
    row = held.assignment
    row.status = Assignment.Status.DONE
    row.reason, row.lease = "", None
    row.missing = {name: dict(reasons) for name, reasons in circumstances.missing.items()}
    if circumstances.seconds is not None:
        row.seconds = circumstances.seconds
    _finish.run(pk=row.pk, missing=row.missing, seconds=row.seconds)
    _drop_draft(held)


def _drop_draft(held: Held) -> None:
    if held.draft:
        held.draft.delete()


_respond, _label, _mark = PreparedInsert(Response), PreparedInsert(Label), PreparedInsert(Span)
_replace = PreparedUpdate(lambda: Response.objects.filter(pk=Given("response")), current=False)
_finish = PreparedUpdate(
    lambda: Assignment.objects.filter(pk=Given("pk")),
    status=Assignment.Status.DONE,
    reason="",
    lease=None,
    missing=Given("missing", Assignment._meta.get_field("missing")),
    seconds=Given("seconds", Assignment._meta.get_field("seconds")),
)
