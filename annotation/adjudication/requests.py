"""Requests to adjudicate: units that a researcher sends from a list to adjudicators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from django.db import transaction

from annotation.adjudication.disputes import counted_labels, decided_units, disputes, sent_units
from annotation.models import AdjudicationRequest, Campaign, User
from annotation.trust import roles
from audit.recording import record

NOT_DISPUTED = "no rater disagrees with people about them"
ALREADY_DECIDED = "an adjudicator has decided them"
ALREADY_SENT = "they were sent before"


@dataclass(frozen=True)
class Selection:
    """The units (primary keys) that an action accepts, and the number of the others by reason."""

    units: tuple[int, ...]
    refused: Mapping[str, int]

    @classmethod
    def of(cls, units: Iterable[int], reasons: Mapping[int, str]) -> Selection:
        """Return a selection of units, without those that have a reason."""
        every = list(units)
        taken = tuple(unit for unit in every if unit not in reasons)
        return cls(taken, Counter(reasons[unit] for unit in every if unit in reasons))


def select_sendable(campaign: Campaign, units: Collection[int]) -> Selection:
    """Return which units can be sent to adjudication: those in dispute that nobody has decided."""
    disputed = {
        each.unit for each in disputes(counted_labels(campaign).filter(unit__in=list(units)))
    }
    decided, sent = decided_units(campaign), sent_units(campaign)
    certify = roles.certify_units(campaign, units)
    reasons = {}
    for unit in units:
        if unit in certify:
            reasons[unit] = roles.REASON
        elif unit in decided:
            reasons[unit] = ALREADY_DECIDED
        elif unit in sent:
            reasons[unit] = ALREADY_SENT
        elif unit not in disputed:
            reasons[unit] = NOT_DISPUTED
    return Selection.of(units, reasons)


def send(campaign: Campaign, units: Collection[int], by: User | None) -> int:
    """Send the units that `select_sendable` returns to adjudication, and return how many."""
    with transaction.atomic():
        # A simultaneous request for the same units waits here.
        Campaign.objects.select_for_update().get(pk=campaign.pk)
        found = select_sendable(campaign, units).units
        AdjudicationRequest.objects.bulk_create(
            AdjudicationRequest(unit_id=unit, by=by) for unit in found
        )
        if found:
            record("adjudication.sent", campaign.pk, campaign, units=len(found))
    return len(found)
