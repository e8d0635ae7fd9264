"""Drafts: a person's unfinished answers, saved as they arrive, with a version for each save."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.answers.types import SavedState, check_page_save, saved_state
from annotation.models import Assignment, Draft, Label, Response, Span
from annotation.people.leases import extend
from datasets.db.prepared import Parameter, PreparedModels, columns_of
from tandem.messages import Message
from tandem.protocols.base import Payload
from tandem.protocols.points import (
    MAX_OFFSET,
    MAX_QUOTE,
    MAX_QUOTES,
    NOT_STORABLE,
    TOO_MANY_QUOTES,
    describe_too_long,
    draft_list_problem,
    is_storable,
)
from tandem.protocols.schema import EVIDENCE_KEY
from tandem.protocols.validation import MAX_TEXT, NOT_AMONG, Problem, RefusedError

MAX_VALUE = Label._meta.get_field("value").max_length or 0
MAX_FIELD = Span._meta.get_field("field").max_length or 0


def read_saved_state(assignment: Assignment) -> SavedState:
    draft = _draft.first(assignment=assignment.pk)
    response = _current.first(assignment=assignment.pk)
    return saved_state(draft[0] if draft else None, response[0] if response else None)


def save_draft(assignment: Assignment, payload: Payload, version: int, seen: int) -> SavedState:
    """Store a draft that its writer based on this version and revision.

    Saving the same payload again changes nothing. Raises ConflictError.
    """
    with transaction.atomic():
        Assignment.objects.select_for_update().get(pk=assignment.pk)
        state = check_stored(assignment, version, seen, payload)
        if state.payload == payload:
            return state
        Draft.objects.update_or_create(
            assignment=assignment,
            defaults={
                "payload": payload,
                "version": state.version + 1,
                "saved_at": timezone.now(),
            },
        )
        extend(assignment)
        return read_saved_state(assignment)


def check_stored(assignment: Assignment, version: int, seen: int, payload: Payload) -> SavedState:
    """Return the stored state. Raises ConflictError if it is newer and differs."""
    return check_page_save(read_saved_state(assignment), version, seen, payload)


def check_draft(payload: Payload, sets: Collection[str] = ()) -> None:
    """Raise RefusedError for content that our pages never send or a database cannot store.

    `sets` are the names of the variables that take several codes.
    """
    if problems := [
        p for name, answer in payload["units"].items() for p in _draft_problems(name, answer, sets)
    ]:
        raise RefusedError(problems)


def _draft_problems(name: str, answer: dict[str, Any], sets: Collection[str]) -> Iterator[Problem]:
    if not answer:
        yield Problem(name, "", NOT_AMONG)
    for key, value in answer.items():
        if key == EVIDENCE_KEY:
            if not (isinstance(value, list) and all(map(_is_quote, value))):
                yield Problem(name, key, Message("is not a list of {quote, start}"))
            elif len(value) > MAX_QUOTES:
                yield Problem(name, key, TOO_MANY_QUOTES)
        elif isinstance(value, list) and key in sets:
            if not all(isinstance(code, str) and is_storable(code) for code in value):
                yield Problem(name, key, NOT_STORABLE)
            elif sum(map(len, value)) > MAX_VALUE:
                yield Problem(name, key, describe_too_long(MAX_VALUE))
        elif isinstance(value, list):
            if odd := draft_list_problem(value):
                yield Problem(name, key, odd)
        elif not all(is_storable(text) for text in _texts(value)):
            yield Problem(name, key, NOT_STORABLE)
        elif any(len(text) > MAX_TEXT for text in _texts(value)):
            yield Problem(name, key, describe_too_long(MAX_TEXT))


def _is_quote(given: object) -> bool:
    if not isinstance(given, dict) or given.keys() - {"field"} != {"quote", "start"}:
        return False
    quote, start, field = given["quote"], given["start"], given.get("field")
    if field is not None and not (_is_field_name(field) and is_storable(field)):
        return False
    if not isinstance(quote, str) or len(quote) > MAX_QUOTE or not is_storable(quote):
        return False
    return start is None or (type(start) is int and 0 <= start <= MAX_OFFSET)


def _is_field_name(field: object) -> bool:
    return isinstance(field, str) and len(field) <= MAX_FIELD


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [value["text"], *value["citations"]]
    return [value] if isinstance(value, str) else []


_draft = PreparedModels(
    lambda: Draft.objects.filter(assignment=Parameter("assignment")), {"": columns_of(Draft)}
)
_current = PreparedModels(
    lambda: Response.objects.filter(assignment=Parameter("assignment"), current=True),
    {"": columns_of(Response)},
)
