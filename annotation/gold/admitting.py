"""Letting people in who did not pass a practice."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q, QuerySet

from annotation.models import Admission, Campaign, Rater, User
from annotation.tallies.reading import raters_in
from audit.recording import record

LONGEST = 500


def admissible(campaign: Campaign) -> QuerySet[Rater]:
    """The people of a campaign: who began here or in its practice, or was let in before."""
    first = campaign.practice_of_id
    begun = raters_in(campaign.pk, *([first] if first else []))
    wanted = Q(pk__in=begun, kind=Rater.Kind.HUMAN) | Q(admissions__campaign=campaign)
    return Rater.objects.filter(wanted).distinct()


def admit(campaign: Campaign, rater: Rater, reason: str, by: User | None = None) -> bool:
    """False where somebody did so before; the first reason stands."""
    facts = {"reason": reason, "by": by}
    with transaction.atomic():
        made = Admission.objects.get_or_create(campaign=campaign, rater=rater, defaults=facts)[1]
        if made:
            record("admission.made", campaign.pk, rater, after=reason)
    return made
