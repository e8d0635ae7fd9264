"""Row locks on assignments, without which no answer is written.

Rows are locked always in the same order, and read after the lock is held.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from annotation.models import Assignment, Draft, Response
from datasets.db.prepared import InList, Prepared, PreparedModels, Row, columns_of, run_together


class LockedRow(NamedTuple):
    """A locked assignment, with its current response, its draft, and the response to this key."""

    status: str
    lease: uuid.UUID | None
    seconds: float | None
    current: Response | None = None
    draft: Draft | None = None
    sent: Response | None = None


def lock_assignments(keys: Mapping[int, str | None]) -> dict[int, LockedRow]:
    """Lock assignments and return them by primary key. Must be called in a transaction.

    Each comes with its current response and draft. `sent` is the response that was stored for this
    key before, if any, even if a later one has replaced it.
    """
    pks = list(keys)
    sought = [key for key in keys.values() if key is not None]
    # Read only after the rows are locked: a single statement that waits for the lock would return
    # responses as they were when the waiting began.
    locked, drafted, answered = run_together(
        _lock.call(pks=pks),
        _drafts.call(assignments=pks),
        _responses.call(assignments=pks, keys=sought),
    )
    rows = _by_key(locked)
    drafts = {draft.assignment_id: draft for draft, _ in drafted}
    current: dict[int, Response] = {}
    sent: dict[int, Response] = {}
    for response, _ in answered:
        owner = response.assignment_id
        if response.current:
            current[owner] = response
        if response.key is not None and response.key == keys.get(owner):
            sent[owner] = response
    if not current and not drafts and not sent:
        return rows
    return {
        pk: row._replace(current=current.get(pk), draft=drafts.get(pk), sent=sent.get(pk))
        for pk, row in rows.items()
    }


def lock_rows(pks: Sequence[int]) -> dict[int, LockedRow]:
    """Lock the rows of assignments, without their responses and drafts."""
    return _by_key(_lock.rows(pks=pks))


def _by_key(rows: Iterable[Row]) -> dict[int, LockedRow]:
    return {pk: LockedRow(*row) for pk, *row in rows}


def _current_or_sent() -> QuerySet[Response]:
    sent = Q(InList("key", "keys"))
    return Response.objects.filter(Q(current=True) | sent, InList("assignment", "assignments"))


def _rows_to_lock() -> QuerySet[Assignment, tuple[Any, ...]]:
    # Always in the same order, so that no two transactions wait for each other.
    rows = Assignment.objects.select_for_update().filter(InList("pk", "pks")).order_by("pk")
    return rows.values_list("pk", "status", "lease", "seconds")


_lock = Prepared(_rows_to_lock)
_drafts = PreparedModels(
    lambda: Draft.objects.filter(InList("assignment", "assignments")), {"": columns_of(Draft)}
)
_responses = PreparedModels(_current_or_sent, {"": columns_of(Response)})
