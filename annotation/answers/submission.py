"""`submit`: the one function through which every answer passes, from people, judges and files.

An answer comes through one of four channels: page, API, judge or import. `submit_many` takes many
at once. `annotation.answers.storage` writes what they accept. `fail` closes an assignment that
gave no answer, with the reason and without a label, and `fail_many` closes many.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from django.db import transaction

from annotation.answers.evidence import locate
from annotation.answers.storage import Check, Checked, Ready, Wrong, close_without, write, write_all
from annotation.answers.types import (
    Circumstances,
    ConflictError,
    Detail,
    Held,
    LostLeaseError,
    Outcome,
    Stands,
)
from annotation.label_rows import REASONS
from annotation.models import Assignment
from annotation.prerequisites.grounded_answer import check_action, check_grounds, shown_beside
from annotation.presentation import asked_units, present, schema
from annotation.protocols.base import ItemSpec, Payload, UnitSpec
from annotation.protocols.schema import Schema
from annotation.protocols.validation import Channel, RefusedError, check, check_citations
from annotation.provenance import basis_of

__all__ = [
    "REASONS",
    "Circumstances",
    "ConflictError",
    "Detail",
    "Held",
    "LostLeaseError",
    "Outcome",
    "Ready",
    "Stands",
    "Wrong",
    "fail",
    "fail_many",
    "prepare",
    "store",
    "submit",
    "submit_many",
]


def submit(
    assignment: Assignment,
    payload: Payload,
    channel: Channel,
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
    ready = prepare(assignment, payload, channel, spec, asked_schema)
    with transaction.atomic():
        return store(ready, circumstances or Circumstances())


def submit_many(answers: Sequence[tuple[Ready, Circumstances]]) -> list[Stands | Wrong]:
    """The second half of `submit` for a group: prepared answers, each to another assignment.

    What `submit` would raise of an answer stands in its place, and hurts no other. An assignment
    that is gone counts as given to somebody else. Raises ValueError for two to one assignment.
    """
    if not answers:
        return []
    if len({ready.assignment.pk for ready, _ in answers}) < len(answers):
        raise ValueError("an assignment stands in a group twice; submit one answer after the other")
    with transaction.atomic(savepoint=False):
        return write_all(answers)


def prepare(
    assignment: Assignment,
    payload: Payload,
    channel: Channel,
    spec: ItemSpec,
    asked_schema: Schema,
    keep_refusal: bool = False,
    asked: Mapping[str, UnitSpec] | None = None,
    basis: str | None = None,
) -> Ready:
    """The first half of `submit`. Raises RefusedError, unless it is for later.

    That an answer is refused is said only to who has seen what stands. `asked`, the units by name,
    and the `basis` of what was shown spare working them out again.
    """
    asked = asked_units(assignment, spec) if asked is None else asked
    refused, checked = _tried(assignment, payload, channel, spec, asked_schema, asked)
    if refused and not keep_refusal:
        raise refused
    # A file tells what was answered, and nothing of what its rater saw.
    if channel != "import" and basis is None:
        beside = shown_beside(assignment)
        basis = str(basis_of(asked_schema, spec, asked.values(), beside))
    return Ready(assignment, payload, channel, asked_schema, refused, checked, basis)


def store(ready: Ready, circumstances: Circumstances, check_fresh: Check | None = None) -> Outcome:
    """The second half, in a transaction; `check_fresh` may look at what stands, and raise."""
    return write(ready, circumstances, check_fresh)


def _tried(
    assignment: Assignment,
    payload: Payload,
    channel: Channel,
    spec: ItemSpec,
    asked_schema: Schema,
    asked: Mapping[str, UnitSpec],
) -> tuple[RefusedError | None, Checked]:
    """What an answer holds, where its quotes stand, and warnings; or why it is refused."""
    try:
        entries, warnings = check(asked_schema, asked, payload["units"], channel)
        spans, doubts = locate(entries, spec, channel)
        check_action(assignment, entries, channel)
        check_grounds(asked_schema, spec, entries, channel)
        cited = check_citations(asked_schema, spec, entries, channel)
    except RefusedError as error:
        return error, ([], {}, ())
    return None, (entries, spans, (*warnings, *doubts, *cited))


def fail(assignment: Assignment, reason: str, lease: uuid.UUID | None = None) -> None:
    """Closes an assignment without an answer.

    Raises LostLeaseError where somebody else holds it, or an answer stands already.
    """
    if wrong := fail_many([(assignment, reason)], lease)[0]:
        raise wrong


def fail_many(
    rows: Sequence[tuple[Assignment, str]], lease: uuid.UUID | None = None
) -> list[LostLeaseError | None]:
    """The same for many; what `fail` would raise of one stands in its place, and hurts no other."""
    for _, reason in rows:
        if reason not in REASONS:
            raise ValueError(f"{reason!r} is no reason for a missing label")
    if not rows:
        return []
    with transaction.atomic(savepoint=False):
        return close_without(rows, lease)
