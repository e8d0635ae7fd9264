"""`submit`: the one function that accepts answers, from people, judges and files.

An answer comes through one of five channels: page, API, judge, parser or import. `submit_many`
accepts many answers at once. `annotation.answers.storage` writes them. `fail` closes an assignment
without an answer, with a missing reason instead of labels, and `fail_many` closes many.

Pages compare it with the state at the last computation, so it has to be cheap. Counting one
campaign's responses joins all responses of the site with their items. So a process caches a
campaign's numbers while those of the whole site, which need no join, stay the same.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from cachetools import LRUCache
from django.db import transaction
from django.db.models import Count, Max, Sum

from annotation.answers.evidence import check_owed, locate, remarks
from annotation.answers.storage import (
    CheckConflict,
    CheckedAnswer,
    PreparedAnswer,
    SubmitError,
    close_without_answer,
    write,
    write_all,
)
from annotation.answers.types import (
    Circumstances,
    Detail,
    LockedAnswer,
    LostLeaseError,
    Outcome,
    StoredRevision,
)
from annotation.models import Assignment, Response
from annotation.prerequisites.grounded_answer import check_action, check_grounds, shown_beside
from annotation.presentation import asked_units, present, schema_for
from annotation.protocols.schema import CampaignSchema
from annotation.provenance import basis_of
from tandem.labels.file.rows import REASONS
from tandem.protocols.base import ItemSpec, Payload, UnitSpec
from tandem.protocols.consistency import check_citations, check_contradictions
from tandem.protocols.validation import (
    Channel,
    RefusedError,
    check,
    with_codes_in_order,
)

__all__ = [
    "REASONS",
    "Circumstances",
    "Detail",
    "LockedAnswer",
    "LostLeaseError",
    "Outcome",
    "PreparedAnswer",
    "StoredRevision",
    "SubmitError",
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
    asked_schema: CampaignSchema | None = None,
) -> Outcome:
    """Check an answer and store it as the current response of its assignment.

    An answer with a `key` that was stored before, or one equal to the current response, changes
    nothing. Raises RefusedError, ConflictError or LostLeaseError. Callers that have `spec` and
    `asked_schema` pass them to save the look-up.
    """
    spec = spec or present(assignment.item)
    asked_schema = asked_schema or schema_for(assignment.item.campaign, assignment.rater.kind)
    ready = prepare(assignment, payload, channel, spec, asked_schema)
    with transaction.atomic():
        return store(ready, circumstances or Circumstances())


def submit_many(
    answers: Sequence[tuple[PreparedAnswer, Circumstances]],
) -> list[StoredRevision | SubmitError]:
    """Store a group of prepared answers, each to another assignment.

    Returns, for each answer, its revision or the error that `submit` would raise. An error in one
    answer does not affect the others. A deleted assignment gives LostLeaseError. Raises ValueError
    if two answers are for the same assignment.
    """
    if not answers:
        return []
    if len({ready.assignment.pk for ready, _ in answers}) < len(answers):
        raise ValueError("a group has two answers to one assignment; submit one after the other")
    with transaction.atomic(savepoint=False):
        return write_all(answers)


def prepare(
    assignment: Assignment,
    payload: Payload,
    channel: Channel,
    spec: ItemSpec,
    asked_schema: CampaignSchema,
    keep_refusal: bool = False,
    asked: Mapping[str, UnitSpec] | None = None,
    basis: str | None = None,
) -> PreparedAnswer:
    """Check an answer without storing it: the first half of `submit`.

    Raises RefusedError, unless `keep_refusal` leaves that to `store`: a client whose page is out of
    date gets the conflict before the refusal. Callers that have `asked`, the units by name, and the
    `basis` of what was shown pass them to save computing them again.
    """
    asked = asked_units(assignment, spec) if asked is None else asked
    refused, checked = _check_answer(assignment, payload, channel, spec, asked_schema, asked)
    if refused and not keep_refusal:
        raise refused
    if refused is None:
        ordered = with_codes_in_order(asked_schema, checked[0], payload["units"])
        payload = {**payload, "units": ordered}
    # A file does not record what its rater was shown.
    if channel != "import" and basis is None:
        beside = shown_beside(assignment)
        basis = str(basis_of(asked_schema, spec, asked.values(), beside))
    return PreparedAnswer(assignment, payload, channel, asked_schema, refused, checked, basis)


def store(
    ready: PreparedAnswer, circumstances: Circumstances, check_conflict: CheckConflict | None = None
) -> Outcome:
    """Store a prepared answer, in the caller's transaction: the second half of `submit`.

    `check_conflict` gets the locked assignment and may raise ConflictError.
    """
    return write(ready, circumstances, check_conflict)


def _check_answer(
    assignment: Assignment,
    payload: Payload,
    channel: Channel,
    spec: ItemSpec,
    asked_schema: CampaignSchema,
    asked: Mapping[str, UnitSpec],
) -> tuple[RefusedError | None, CheckedAnswer]:
    """Return the entries, spans and warnings of an answer, or the refusal."""
    try:
        entries, warnings = check(asked_schema, asked, payload["units"], channel)
        check_contradictions(asked_schema, entries)
        spans, doubts = locate(entries, spec, channel)
        doubts = [*doubts, *check_owed(asked_schema, entries, spans, channel)]
        check_action(assignment, entries, channel)
        check_grounds(asked_schema, spec, entries, channel)
        cited = check_citations(asked_schema, spec, entries, channel)
    except RefusedError as error:
        return error, ([], {}, ())
    return None, (entries, spans, (*warnings, *doubts, *remarks(spans), *cited))


def fail(assignment: Assignment, reason: str, lease: uuid.UUID | None = None) -> None:
    """Close an assignment without an answer.

    Raises LostLeaseError if another worker has the lease, or the assignment has an answer.
    """
    if wrong := fail_many([(assignment, reason)], lease)[0]:
        raise wrong


def fail_many(
    rows: Sequence[tuple[Assignment, str]], lease: uuid.UUID | None = None
) -> list[LostLeaseError | None]:
    """Close many assignments. Returns, for each, None or the error that `fail` would raise."""
    for _, reason in rows:
        if reason not in REASONS:
            raise ValueError(f"{reason!r} is not a missing reason")
    if not rows:
        return []
    with transaction.atomic(savepoint=False):
        return close_without_answer(rows, lease)


State = dict[str, Any]
_CACHE: LRUCache[str, tuple[State, State]] = LRUCache(64)
_NEWEST = {"newest": Max("pk"), "at": Max("created_at")}


def answers_of(campaign: str) -> State:
    """Return the number of a campaign's current responses, the newest, its time, and a checksum.

    Responses never change, so their primary keys identify their content. The time is included
    because a key is used again after a rollback.
    """
    # These are read first, so that an answer that arrives meanwhile changes them for the next call.
    site = _site()
    known = _CACHE.get(campaign)
    if known is None or known[0] != site:
        current = Response.objects.filter(current=True, assignment__item__campaign__name=campaign)
        known = site, current.aggregate(number=Count("pk"), sum=Sum("pk"), **_NEWEST)
        _CACHE[campaign] = known
    return known[1]


def _site() -> State:
    """Return numbers that change when any response of the site is added, withdrawn or restored."""
    current = Response.objects.filter(current=True)
    return current.aggregate(number=Count("assignment_id"), slots=Sum("assignment_id"), **_NEWEST)
