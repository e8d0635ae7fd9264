"""Drafts: a person's unfinished work, saved as it arrives, one version after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotation.models import Assignment, Draft, Response, Span
from annotation.people.leases import extend
from annotation.protocols.base import Payload
from annotation.protocols.schema import EVIDENCE_KEY
from annotation.protocols.validation import (
    MAX_OFFSET,
    MAX_QUOTE,
    MAX_QUOTES,
    MAX_TEXT,
    Problem,
    RefusedError,
    describe_too_long,
    describe_too_many,
    draft_list_problem,
    is_storable,
)
from datasets.db.prepared import Given, PreparedModels, columns_of

LONGEST_FIELD = Span._meta.get_field("field").max_length or 0


@dataclass(frozen=True)
class Standing:
    """What is stored for an assignment: the newest payload, its draft version, its revision.

    `version` is 0 where there is no draft, `revision` where there is no response.
    """

    payload: Payload | None
    version: int
    revision: int
    saved_at: datetime | None


class StaleDraftError(Exception):
    """Somebody saved in between, in another tab perhaps: `standing` is what is there now."""

    def __init__(self, standing: Standing) -> None:
        self.standing = standing
        super().__init__(f"version {standing.version} of revision {standing.revision} is there")


def standing(assignment: Assignment) -> Standing:
    draft, responses = stored(assignment)
    return standing_of(draft, responses[0] if responses else None)


def stored(assignment: Assignment, key: str | None = None) -> tuple[Draft | None, list[Response]]:
    """An assignment's draft, and its responses that are the current one or bear this key."""
    draft = _draft.first(assignment=assignment.pk)
    responses = _responses.all(assignment=assignment.pk, key=key)
    return draft[0] if draft else None, [response for response, _ in responses]


def standing_of(draft: Draft | None, response: Response | None) -> Standing:
    """What a draft and a current response come to."""
    newest = draft or response
    return Standing(
        payload=newest.payload if newest else None,
        version=draft.version if draft else 0,
        revision=response.revision if response else 0,
        saved_at=draft.saved_at if draft else response.created_at if response else None,
    )


def save_draft(assignment: Assignment, payload: Payload, version: int, seen: int) -> Standing:
    """Keeps a draft over the version and the revision that its writer had seen.

    The same payload again changes nothing. Raises StaleDraftError.
    """
    with transaction.atomic():
        Assignment.objects.select_for_update().get(pk=assignment.pk)
        there = check_fresh(assignment, version, seen, payload)
        if there.payload == payload:
            return there
        Draft.objects.update_or_create(
            assignment=assignment,
            defaults={
                "payload": payload,
                "version": there.version + 1,
                "saved_at": timezone.now(),
            },
        )
        extend(assignment)
        return standing(assignment)


def check_fresh(assignment: Assignment, version: int, seen: int, payload: Payload) -> Standing:
    """What is stored, if it is what was seen or says the same. Raises StaleDraftError."""
    return checked_fresh(standing(assignment), version, seen, payload)


def checked_fresh(there: Standing, version: int, seen: int, payload: Payload) -> Standing:
    """The same, of what is known to stand."""
    if (there.version, there.revision) != (version, seen) and there.payload != payload:
        raise StaleDraftError(there)
    return there


def check_shape(payload: Payload) -> None:
    """Refuses what no page of ours sends and some database could not keep. Raises RefusedError."""
    if problems := [p for name, answer in payload["units"].items() for p in _odd(name, answer)]:
        raise RefusedError(problems)


def _odd(name: str, answer: dict[str, Any]) -> Iterator[Problem]:
    if not answer:
        yield Problem(name, "", "was not asked")
    for key, value in answer.items():
        if key == EVIDENCE_KEY:
            if not (isinstance(value, list) and all(map(_is_quote, value))):
                yield Problem(name, key, "is not a list of {quote, start}")
            elif len(value) > MAX_QUOTES:
                yield Problem(name, key, describe_too_many(MAX_QUOTES, "quotes"))
        elif isinstance(value, list):
            if odd := draft_list_problem(value):
                yield Problem(name, key, odd)
        elif not all(is_storable(text) for text in _texts(value)):
            yield Problem(name, key, "contains a character that cannot be stored; remove it")
        elif any(len(text) > MAX_TEXT for text in _texts(value)):
            yield Problem(name, key, describe_too_long(MAX_TEXT))


def _is_quote(given: object) -> bool:
    if not isinstance(given, dict) or given.keys() - {"field"} != {"quote", "start"}:
        return False
    quote, start, field = given["quote"], given["start"], given.get("field")
    if field is not None and not (_is_name(field) and is_storable(field)):
        return False
    if not isinstance(quote, str) or len(quote) > MAX_QUOTE or not is_storable(quote):
        return False
    return start is None or (type(start) is int and 0 <= start <= MAX_OFFSET)


def _is_name(field: object) -> bool:
    return isinstance(field, str) and len(field) <= LONGEST_FIELD


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [value["text"], *value["citations"]]
    return [value] if isinstance(value, str) else []


def _current_or_sent() -> QuerySet[Response]:
    sent = Q(key=Given("key", Response._meta.get_field("key")))
    return Response.objects.filter(Q(current=True) | sent, assignment=Given("assignment"))


_draft = PreparedModels(
    lambda: Draft.objects.filter(assignment=Given("assignment")), {"": columns_of(Draft)}
)
_responses = PreparedModels(_current_or_sent, {"": columns_of(Response)})
