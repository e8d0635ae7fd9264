"""Assignments whose rows are locked, with what stands for them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from annotation.models import Assignment, Draft, Response
from datasets.db.prepared import Among, Prepared, PreparedModels, columns_of


class Locked(NamedTuple):
    """An assignment's row that is held, with what stands for it and what this save made before."""

    status: str
    lease: uuid.UUID | None
    seconds: float | None
    current: Response | None = None
    draft: Draft | None = None
    sent: Response | None = None


def hold(keys: Mapping[int, str | None]) -> dict[int, Locked]:
    """The assignments, locked, by primary key; call it in a transaction.

    They come with what stands, and with what the save of this key made if it came before: whatever
    happened since, that is stored.
    """
    pks = list(keys)
    sought = [key for key in keys.values() if key is not None]
    # What stands is read when the row is held: whoever writes it holds that row, and one who waits
    # for it in PostgreSQL would be told what stood when the waiting began.
    rows = hold_rows(pks)
    drafts = {draft.assignment_id: draft for draft, _ in _drafts.all(assignments=pks)}
    current: dict[int, Response] = {}
    sent: dict[int, Response] = {}
    for response, _ in _responses.all(assignments=pks, keys=sought):
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


def hold_rows(pks: Sequence[int]) -> dict[int, Locked]:
    """The rows alone, locked."""
    return {pk: Locked(*row) for pk, *row in _lock.rows(pks=pks)}


def _current_or_sent() -> QuerySet[Response]:
    sent = Q(Among("key", "keys"))
    return Response.objects.filter(Q(current=True) | sent, Among("assignment", "assignments"))


def _rows_to_lock() -> QuerySet[Assignment, tuple[Any, ...]]:
    # In one order for everybody, so that no two wait for each other.
    rows = Assignment.objects.select_for_update().filter(Among("pk", "pks")).order_by("pk")
    return rows.values_list("pk", "status", "lease", "seconds")


_lock = Prepared(_rows_to_lock)
_drafts = PreparedModels(
    lambda: Draft.objects.filter(Among("assignment", "assignments")), {"": columns_of(Draft)}
)
_responses = PreparedModels(_current_or_sent, {"": columns_of(Response)})
