"""Letting people in who did not pass a practice."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q, QuerySet

from annotation.models import Admission, Campaign, Rater, User
from audit.recording import record

LONGEST = 500


def admissible(campaign: Campaign) -> QuerySet[Rater]:
    """The people of a campaign: who began here or in its practice, or was let in before."""
    here = Q(assignments__item__campaign=campaign) | Q(admissions__campaign=campaign)
    if campaign.practice_of_id is not None:
        here |= Q(assignments__item__campaign=campaign.practice_of_id)
    return Rater.objects.filter(pk__in=Rater.objects.filter(here, kind=Rater.Kind.HUMAN))


def admit(campaign: Campaign, rater: Rater, reason: str, by: User | None = None) -> bool:
    """False where somebody did so before; the first reason stands."""
    facts = {"reason": reason, "by": by}
    with transaction.atomic():
        made = Admission.objects.get_or_create(campaign=campaign, rater=rater, defaults=facts)[1]
        if made:
            record("admission.made", campaign.pk, rater, after=reason)
    return made
