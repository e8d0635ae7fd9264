"""Letting people in who did not pass a practice."""

from __future__ import annotations

from annotation.models import Admission, Campaign, Rater, User

LONGEST = 500


def admit(campaign: Campaign, rater: Rater, reason: str, by: User | None = None) -> bool:
    """False where somebody did so before; the first reason stands."""
    facts = {"reason": reason, "by": by}
    return Admission.objects.get_or_create(campaign=campaign, rater=rater, defaults=facts)[1]
