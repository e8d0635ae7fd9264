"""The only writer of Response, Label and Span, on rows that `annotation.answers.locks` has locked.

New answers come from `annotation.answers.submission`; `campaign_setup.carry_over` copies answers,
and `assignments.withdrawal` withdraws and restores them. A group of any size is written in a
handful of statements. An error in one answer is reported for that answer and does not affect the
others.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from annotation.answers.evidence import Spans
from annotation.answers.locks import LockedRow, lock_assignments, lock_rows
from annotation.answers.types import (
    Answer,
    Circumstances,
    ConflictError,
    LockedAnswer,
    LostLeaseError,
    Outcome,
    StoredRevision,
    check_revision,
)
from annotation.exposure.detection import Evidence, evidence_against
from annotation.exposure.ledger import STATED
from annotation.models import REVOKED, Assignment, Exposure, Label, Response, Span
from annotation.presentation import stored_units
from audit.models import Event
from audit.recording import build_event
from audit.recording import write as write_events
from datasets.db.prepared import (
    DATABASE,
    Call,
    InList,
    MappedValue,
    Parameter,
    PreparedInsert,
    PreparedUpdate,
    run_together,
)
from tandem.protocols.base import Payload
from tandem.protocols.schema import Schema
from tandem.protocols.validation import Channel, Entry, Problem, RefusedError

CHUNK = 100
BY_PEOPLE = ("page", "api")
"""The channels whose answers are marked if they come after a look at others' answers."""
Status = Assignment.Status
Row = TypeVar("Row")
CheckedAnswer = tuple[list[Entry], Spans, tuple[Problem, ...]]
CheckConflict = Callable[[LockedAnswer], None]
SubmitError = RefusedError | ConflictError | LostLeaseError


@dataclass(frozen=True)
class PreparedAnswer:
    """A checked answer, or its refusal: everything that is known before a row is locked."""

    assignment: Assignment
    payload: Payload
    channel: Channel
    schema: Schema
    refused: RefusedError | None
    checked: CheckedAnswer
    basis: str | None


@dataclass(frozen=True)
class _Change:
    """An answer that will be written."""

    held: LockedRow
    ready: PreparedAnswer
    circumstances: Circumstances
    answer: Answer
    exposures: Sequence[Evidence] = ()


Submission = tuple[PreparedAnswer, Circumstances]


def write(
    ready: PreparedAnswer, circumstances: Circumstances, check_conflict: CheckConflict | None
) -> Outcome:
    """Write one answer. Raises its error, or Assignment.DoesNotExist."""
    held = lock_assignments({ready.assignment.pk: circumstances.key}).get(ready.assignment.pk)
    if held is None:
        raise Assignment.DoesNotExist
    found = _decide(held, ready, circumstances, check_conflict)
    if isinstance(found, Outcome):
        return found
    (row,) = rows = [_response_row(found)]
    (key,) = _write([found], rows)
    return _outcome(found, key, row)


def write_all(answers: Sequence[Submission]) -> list[StoredRevision | SubmitError]:
    """Write answers to different assignments. Returns a revision or an error for each."""
    keys = {ready.assignment.pk: circumstances.key for ready, circumstances in answers}
    held = lock_assignments(keys)
    outcomes: list[StoredRevision | SubmitError] = []
    changes: list[_Change] = []
    rows: list[tuple[Any, ...]] = []
    for ready, circumstances in answers:
        try:
            if ready.assignment.pk not in held:
                raise LostLeaseError
            found = _decide(held[ready.assignment.pk], ready, circumstances)
        except (RefusedError, ConflictError, LostLeaseError) as error:
            outcomes.append(error)
            continue
        if isinstance(found, _Change):
            changes.append(found)
            rows.append(_response_row(found))
            outcomes.append(StoredRevision(rows[-1][REVISION], created=True))
        else:
            outcomes.append(StoredRevision(found.response.revision, created=False))
    if changes:
        _write(changes, rows)
    return outcomes


@dataclass(frozen=True)
class AnswerCopy:
    """An answer to be copied to another assignment. `units` are new units by the old ones' keys.

    `payload` has the answers to these units alone.
    """

    origin: Response
    assignment: Assignment
    units: Mapping[int, int]
    payload: Payload


def copy_answers(copies: Sequence[AnswerCopy]) -> list[int]:
    """Store copies of answers with their labels and spans; return the keys of the responses.

    Texts and questions of both assignments must be the same, since nothing is checked again.
    """
    rows = [
        (
            copy.assignment.pk,
            1,
            True,
            copy.payload,
            copy.origin.comment,
            copy.origin.door,
            None,
            copy.origin.created_at,
            copy.origin.basis,
            copy.origin.exposed,
        )
        for copy in copies
    ]
    keys = [key for chunk in _chunks(rows) for key in _insert_response.rows(chunk)]
    made = {copy.origin.pk: (key, copy.units) for key, copy in zip(keys, copies, strict=True)}
    labels: list[tuple[Any, ...]] = []
    old: list[int] = []
    columns = ("pk", "response_id", "unit_id", "variable", "value", "score", "meta")
    stored = Label.objects.filter(response__in=list(made)).order_by("pk").values_list(*columns)
    for pk, response, unit, *values in stored:
        key, units = made[response]
        if unit in units:
            old.append(pk)
            labels.append((key, units[unit], *values))
    label_keys = [key for chunk in _chunks(labels) for key in _insert_label.rows(chunk)]
    of = dict(zip(old, label_keys, strict=True))
    spans = Span.objects.filter(label__in=old).order_by("pk")
    found = spans.values_list("label_id", "field", "start", "end", "quote", "method")
    for chunk in _chunks((of[label], *span) for label, *span in found):
        _insert_span.rows(chunk)
    _copy_exposures(keys, copies)
    return keys


def _copy_exposures(keys: Sequence[int], copies: Sequence[AnswerCopy]) -> None:
    """Copy the exposure marks of the units that are copied."""
    marked = {
        copy.origin.pk: (key, copy.payload["units"])
        for key, copy in zip(keys, copies, strict=True)
        if copy.origin.exposed
    }
    rows = []
    for each in Exposure.objects.filter(response__in=list(marked)).order_by("pk"):
        key, units = marked[each.response_id]
        names = [name for name in each.units if name in units]
        if names:
            facts = {"kind": each.kind, "at": each.at, "units": names}
            rows.append(Exposure(response_id=key, look_id=each.look_id, **facts))
    Exposure.objects.bulk_create(rows)
    free = {row.response_id for row in rows}
    unmarked = [key for key, _ in marked.values() if key not in free]
    Response.objects.filter(pk__in=unmarked).update(exposed=False)


def close_without_answer(
    rows: Sequence[tuple[Assignment, str]], lease: uuid.UUID | None
) -> list[LostLeaseError | None]:
    """Close assignments with their missing reasons. Returns an error or None for each."""
    held = lock_rows([row.pk for row, _ in rows])
    wrong: list[LostLeaseError | None] = []
    closed: dict[str, list[int]] = {}
    for assignment, reason in rows:
        row = held.get(assignment.pk)
        lost = (
            row is None or row.status == Status.DONE or (lease is not None and row.lease != lease)
        )
        wrong.append(LostLeaseError() if lost else None)
        if not lost:
            closed.setdefault(reason, []).append(assignment.pk)
    for reason, pks in closed.items():
        status = Status.DECLINED if reason == "declined" else Status.FAILED
        _fail.run(pks=pks, status=status, reason=reason)
    return wrong


def _decide(
    held: LockedRow,
    ready: PreparedAnswer,
    circumstances: Circumstances,
    check_conflict: CheckConflict | None = None,
) -> Outcome | _Change:
    """Return the change to write, or the outcome if nothing changes. Raises the answer's error."""
    entries, spans, doubts = ready.checked
    if check_conflict and not held.sent:
        check_conflict(LockedAnswer(ready.assignment, held.current, held.draft))
    if ready.refused:
        raise ready.refused
    if held.sent:
        return Outcome(held.sent, created=False, warnings=doubts)
    if circumstances.lease is not None and held.lease != circumstances.lease:
        raise LostLeaseError
    # The slot may belong to another person by now, and the item would get one answer too many.
    if ready.channel in BY_PEOPLE and held.status == Status.CANCELLED:
        raise LostLeaseError
    answer = Answer(ready.payload, entries, spans, circumstances.details, ready.schema)
    if held.current and answer.changes_nothing(held.current, ready.channel):
        _drop_draft(held)
        return Outcome(held.current, created=False, warnings=doubts)
    check_revision(held.current, circumstances.seen)
    exposures = _exposures(ready, circumstances, [entry.name for entry in entries])
    return _Change(held, ready, circumstances, answer, exposures)


def _exposures(
    ready: PreparedAnswer, circumstances: Circumstances, names: Sequence[str]
) -> Sequence[Evidence]:
    """Return the looks of the person at others' answers to these units. The row is locked."""
    if ready.channel in BY_PEOPLE:
        return evidence_against(ready.assignment, names)
    if marked := [name for name in names if name in (circumstances.exposed or ())]:
        at = circumstances.created_at or datetime.now(UTC)
        return [Evidence(None, STATED, at, tuple(marked))]
    return ()


def _response_row(change: _Change) -> tuple[Any, ...]:
    """Return the columns of a new response, in the order of `_RESPONSE`."""
    ready, circumstances = change.ready, change.circumstances
    return (
        ready.assignment.pk,
        max(_last_revision(change) + 1, circumstances.revision or 1),
        True,
        ready.payload,
        ready.payload.get("comment") or "",
        ready.channel,
        circumstances.key,
        circumstances.created_at or datetime.now(UTC),
        circumstances.basis or ready.basis,
        bool(change.exposures) if _is_judged(ready, circumstances) else None,
    )


def _is_judged(ready: PreparedAnswer, circumstances: Circumstances) -> bool:
    """Whether the ledger or the answer's file states if the answer is exposed."""
    return ready.channel in BY_PEOPLE or circumstances.exposed is not None


def _write(changes: Sequence[_Change], rows: Sequence[tuple[Any, ...]]) -> list[int]:
    """Write the responses, labels and spans of changes. Returns the responses' primary keys."""
    replaced = [change.held.current.pk for change in changes if change.held.current]
    if replaced:
        _replace.run(responses=replaced)
        write_events([_replacement_event(change) for change in changes if change.held.current])
    write_events(
        [
            _numbering_event(change, row)
            for change, row in zip(changes, rows, strict=True)
            if row[REVISION] != _last_revision(change) + 1
        ]
    )
    first, *further = _chunks(rows)
    keys, _ = run_together(_insert_response.call(first), _prepare_closing(changes))
    keys += [key for chunk in further for key in _insert_response.rows(chunk)]
    _write_labels(keys, changes)
    _write_exposures(keys, changes)
    return keys


def _replacement_event(change: _Change) -> Event:
    """Return the event that an answer replaced another.

    First answers have no event, since it would double the writes of a save. Instead, each seal
    counts their rows.
    """
    before, ready = change.held.current, change.ready
    was = before.payload if before else None
    campaign, of = ready.assignment.item.campaign_id, ("assignment", ready.assignment.pk)
    return build_event("answer.changed", campaign, of, was, ready.payload, door=ready.channel)


def _numbering_event(change: _Change, row: Sequence[Any]) -> Event:
    """Return the event that explains a gap in revision numbers that came from a file."""
    assignment = change.ready.assignment
    of = "assignment", assignment.pk
    return build_event("answer.numbered", assignment.item.campaign_id, of, revision=row[REVISION])


def _last_revision(change: _Change) -> int:
    return change.held.current.revision if change.held.current else 0


def _outcome(change: _Change, key: int, row: Sequence[Any]) -> Outcome:
    """Return the outcome of a written answer, with its response as if read from the database."""
    response = Response.from_db(DATABASE, ("id", *_RESPONSE), (key, *row))
    response.assignment = change.ready.assignment
    return Outcome(response, created=True, warnings=change.ready.checked[2])


def _write_labels(responses: Sequence[int], changes: Sequence[_Change]) -> None:
    rows: list[tuple[Any, ...]] = []
    spans_of_labels: list[tuple[int, Any]] = []
    for response, change in zip(responses, changes, strict=True):
        answer = change.answer
        ids = stored_units(change.ready.assignment.item)
        for entry in answer.entries:
            for variable, value in entry.values.items():
                detail = answer.detail(entry.name, variable)
                spans = answer.spans.get((entry.name, variable), ())
                spans_of_labels += [(len(rows), span) for span in spans]
                label = response, ids[entry.name], variable, value, detail.score, detail.meta
                rows.append(label)
    keys = [key for chunk in _chunks(rows) for key in _insert_label.rows(chunk)]
    for chunk in _chunks(spans_of_labels):
        _insert_span.rows(
            [(keys[n], s.field, s.start, s.end, s.quote, s.method) for n, s in chunk],
        )


def _write_exposures(responses: Sequence[int], changes: Sequence[_Change]) -> None:
    rows = [
        Exposure(
            response_id=response, look_id=each.look, kind=each.kind, at=each.at, units=each.units
        )
        for response, change in zip(responses, changes, strict=True)
        for each in change.exposures
    ]
    if rows:
        Exposure.objects.bulk_create(rows)


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Split rows into chunks, since a database limits the values in one statement."""
    rows = list(rows)
    return (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))


def _prepare_closing(changes: Sequence[_Change]) -> Call[int]:
    """Drop the drafts; return the update by which the assignments are done."""
    missing: dict[int, Mapping[str, Mapping[str, str]]] = {}
    seconds: dict[int, float | None] = {}
    for change in changes:
        pk, circumstances = change.ready.assignment.pk, change.circumstances
        measured = circumstances.seconds
        seconds[pk] = change.held.seconds if measured is None else measured
        missing[pk] = {name: dict(reasons) for name, reasons in circumstances.missing.items()}
        _drop_draft(change.held)
    return _finish.call(pks=list(seconds), missing=missing, seconds=seconds)


def _drop_draft(held: LockedRow) -> None:
    if held.draft:
        held.draft.delete()


_RESPONSE = (
    "assignment_id",
    "revision",
    "current",
    "payload",
    "comment",
    "door",
    "key",
    "created_at",
    "basis",
    "exposed",
)
REVISION = _RESPONSE.index("revision")
_insert_response = PreparedInsert(Response, _RESPONSE)
_insert_label = PreparedInsert(
    Label, ("response_id", "unit_id", "variable", "value", "score", "meta")
)
_insert_span = PreparedInsert(Span, ("label_id", "field", "start", "end", "quote", "method"))
_replace = PreparedUpdate(lambda: Response.objects.filter(InList("pk", "responses")), current=False)
_finish = PreparedUpdate(
    lambda: Assignment.objects.filter(InList("pk", "pks")),
    status=Status.DONE,
    reason="",
    lease=None,
    held_until=None,
    missing=MappedValue("missing", Assignment._meta.get_field("missing")),
    seconds=MappedValue("seconds", Assignment._meta.get_field("seconds")),
)
_fail = PreparedUpdate(
    lambda: Assignment.objects.filter(InList("pk", "pks")),
    status=Parameter("status", Assignment._meta.get_field("status")),
    reason=Parameter("reason", Assignment._meta.get_field("reason")),
    missing={},
    lease=None,
)


def withdraw_answers(assignments: Sequence[int], deletes: bool) -> None:
    """Make the answers to locked assignments not current, so that nothing counts them.

    With `deletes`, they are deleted together with their assignments.
    """
    if deletes:
        Assignment.objects.filter(pk__in=assignments).delete()
        return
    Response.objects.filter(assignment__in=assignments, current=True).update(current=False)
    Assignment.objects.filter(pk__in=assignments).update(
        status=Status.CANCELLED, reason=REVOKED, slot=None, held_until=None, missing={}
    )


def restore_answer(assignment: Assignment, slot: int | None) -> bool:
    """Make the newest answer to a locked assignment current again. Returns False if it has none."""
    newest = Response.objects.filter(assignment=assignment).order_by("-revision").first()
    if newest is None:
        return False
    Response.objects.filter(pk=newest.pk).update(current=True)
    Assignment.objects.filter(pk=assignment.pk).update(status=Status.DONE, reason="", slot=slot)
    return True
