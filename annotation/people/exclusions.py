"""Leaving a rater out of a campaign's statistics, with a reason, and taking that back."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.models import Assignment, Campaign, Exclusion, Rater, User
from annotation.models.taking_part import LONGEST_REASON
from annotation.people.errors import PeopleError
from audit.recording import folded, record


def excluded(campaign: str) -> dict[str, str]:
    """The reasons why raters are left out of the campaign of this name, by the raters' names."""
    rows = Exclusion.objects.filter(campaign__name=campaign, undone_at=None)
    return dict(rows.order_by("rater__name").values_list("rater__name", "reason"))


def exclude(campaign: Campaign, rater: Rater, reason: str, by: User | None = None) -> Exclusion:
    """Leaves a rater out. Another reason takes the place of the one before. Raises PeopleError."""
    reason = " ".join(reason.split())
    if not 1 <= len(reason) <= LONGEST_REASON:
        raise PeopleError(f"give a reason of 1 to {LONGEST_REASON} characters")
    if rater.kind not in (Rater.Kind.HUMAN, Rater.Kind.JUDGE):
        raise PeopleError(f"{rater.name} is neither a person nor a judge of the study")
    if not Assignment.objects.filter(item__campaign=campaign, rater=rater).exists():
        raise PeopleError(f"{rater.name} was asked nothing in {campaign.name}")
    try:
        with transaction.atomic():
            standing = campaign.exclusions.filter(rater=rater, undone_at=None).first()
            if standing and standing.reason == reason:
                return standing
            with folded():
                include(campaign, rater, by)
            record("exclusion.made", campaign.pk, rater, standing and standing.reason, reason)
            return Exclusion.objects.create(campaign=campaign, rater=rater, reason=reason, by=by)
    except IntegrityError as error:
        raise PeopleError("somebody else excluded this rater just now; look again") from error


def include(campaign: Campaign, rater: Rater, by: User | None = None) -> bool:
    """Takes an exclusion back; False where there is none."""
    standing = campaign.exclusions.filter(rater=rater, undone_at=None)
    with transaction.atomic():
        undone = bool(standing.update(undone_at=timezone.now(), undone_by=by))
        if undone:
            record("exclusion.undone", campaign.pk, rater)
    return undone
