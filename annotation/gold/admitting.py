"""Letting people in who did not pass a practice."""

from __future__ import annotations

from django.db import transaction

from annotation.models import Admission, Campaign, Rater, User
from audit.recording import record

LONGEST = 500


def admit(campaign: Campaign, rater: Rater, reason: str, by: User | None = None) -> bool:
    """False where somebody did so before; the first reason stands."""
    facts = {"reason": reason, "by": by}
    with transaction.atomic():
        made = Admission.objects.get_or_create(campaign=campaign, rater=rater, defaults=facts)[1]
        if made:
            record("admission.made", campaign.pk, rater, after=reason)
    return made
