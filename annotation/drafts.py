"""Unfinished work of people: kept as it comes, one version after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.doors import Payload
from annotation.models import Assignment, Draft, Response
from annotation.protocols.checking import Problem, RefusedError, storable
from annotation.protocols.schema import EVIDENCE_KEY


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
    draft = Draft.objects.filter(assignment=assignment).first()
    response = Response.objects.filter(assignment=assignment, current=True).first()
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
        return standing(assignment)


def check_fresh(assignment: Assignment, version: int, seen: int, payload: Payload) -> Standing:
    """What is stored, if it is what was seen or says the same. Raises StaleDraftError."""
    there = standing(assignment)
    if (there.version, there.revision) != (version, seen) and there.payload != payload:
        raise StaleDraftError(there)
    return there


def check_shape(payload: Payload) -> None:
    """Refuses what no page of ours sends and some database could not keep. Raises RefusedError."""
    if problems := [p for name, answer in payload["units"].items() for p in _odd(name, answer)]:
        raise RefusedError(problems)


def _odd(name: str, answer: dict[str, Any]) -> Iterator[Problem]:
    for key, value in answer.items():
        if key == EVIDENCE_KEY:
            if not (isinstance(value, list) and all(map(_is_quote, value))):
                yield Problem(name, key, "is not a list of {quote, start}")
        elif not all(storable(text) for text in _texts(value)):
            yield Problem(name, key, "holds a character that no text may hold; take it out")


def _is_quote(given: object) -> bool:
    if not isinstance(given, dict) or given.keys() != {"quote", "start"}:
        return False
    quote, start = given["quote"], given["start"]
    return isinstance(quote, str) and storable(quote) and (start is None or type(start) is int)


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [value["text"], *value["citations"]]
    return [value] if isinstance(value, str) else []
