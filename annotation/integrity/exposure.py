"""Check that answers' exposure marks follow from the ledger of looks, by deriving them again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from annotation.exposure.detection import evidence_against
from annotation.models import Assignment, Campaign, Look, Response
from annotation.prerequisites.base import prerequisite_of
from audit.violations import Check, Place, Violation

CHECK = Check(
    "exposure",
    "an answer is marked as exposed if and only if its person had looked at others' answers to "
    "its units before, as the ledger says",
    "Nothing is repaired, since a mark is a fact of the moment when the answer was stored. Compare "
    "the answer with a backup: either its mark or a row of the ledger was changed. `report "
    "--exposed` shows what the figures are with all answers.",
)
MOMENT = timedelta(seconds=10)
"""A look and an answer at the same time may be stored in either order, by several clocks."""


def find_violations(campaign: Campaign) -> Iterator[Violation]:
    """Yield a violation for each answer of a campaign whose mark differs from the ledger."""
    looks = Look.objects.filter(user__rater=OuterRef("assignment__rater"), exposing=True)
    answers = Response.objects.filter(
        Q(exposed=True) | Exists(looks),
        assignment__item__campaign=campaign,
        door__in=("page", "api"),
        exposed__isnull=False,
    )
    related = ("assignment__rater", "assignment__item__campaign", "assignment__item__query")
    rows = answers.select_related(*related).prefetch_related("exposures").order_by("pk")
    for response in rows.iterator(chunk_size=500):
        if what := _difference(response):
            yield _violation(response, what)


def _difference(response: Response) -> str:
    """Return what is wrong with an answer's mark as exposed, or an empty text."""
    evidence = list(response.exposures.all())
    if bool(evidence) is not response.exposed:
        return (
            "is marked as exposed without a look"
            if response.exposed
            else "is exposed, but not marked"
        )
    # If the account or the campaign was deleted, its looks cannot be followed.
    if response.assignment.rater.user_id is None or any(e.look_id is None for e in evidence):
        return ""
    stored = {name for each in evidence for name in each.units}
    found = [_compared(response, stored, first) for first in _first_writers(response.assignment)]
    return found[0] if all(found) else ""


def _compared(response: Response, stored: set[str], presented: int | None) -> str:
    at, row = response.created_at, response.assignment
    if missing := _derived(row, response, at - MOMENT, presented) - stored:
        units = _describe_units(missing)
        return f"is not marked on {units}, although its author had looked at others' answers"
    if extra := stored - _derived(row, response, at + MOMENT, presented):
        return f"is marked on {_describe_units(extra)}, although no look showed others' answers"
    return ""


def _first_writers(row: Assignment) -> list[int | None]:
    """Return the raters whose first answer a second round may have shown, or None without any.

    It is not stored which one was shown, and another one may have been shown since.
    """
    item = row.item
    before = Response.objects.filter(
        assignment__item__campaign__name=prerequisite_of(item.campaign),
        assignment__item__query=item.query,
    )
    others = before.exclude(assignment__rater=row.rater).order_by("assignment__rater")
    return list(others.values_list("assignment__rater", flat=True).distinct()) or [None]


def _derived(
    row: Assignment, response: Response, before: datetime, presented: int | None
) -> set[str]:
    names = [name for name in response.payload["units"] if name in row.asked]
    found = evidence_against(row, names, before, presented)
    return {name for each in found for name in each.units}


def _describe_units(units: set[str]) -> str:
    first, *more = sorted(units)
    return f"unit {first}" + (f" and {len(more)} more" if more else "")


def _violation(response: Response, what: str) -> Violation:
    row = response.assignment
    place: Place = {
        "campaign": row.item.campaign.name,
        "rater": row.rater.name,
        "item": row.item.key,
        "revision": response.revision,
        "table": Response._meta.db_table,
        "id": response.pk,
    }
    words = f"campaign {place['campaign']}, {place['rater']}, item {place['item']}"
    return Violation(CHECK.name, f"{words}, revision {response.revision}: {what}", place)
