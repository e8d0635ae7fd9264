"""Expired leases, and checks of a campaign's slots."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from annotation.assignments.queue import next_assignment
from annotation.models import Assignment, Campaign, User, rater_of
from tests.page_cast import Study

OVER = timedelta(hours=2)


def run_out(assignment: Assignment) -> None:
    """Let an assignment's lease expire."""
    past = timezone.now() - timedelta(seconds=1)
    Assignment.objects.filter(pk=assignment.pk).update(held_until=past)


def take(study: Study, user: User) -> Assignment | None:
    return next_assignment(study.campaign, rater_of(user))


def assert_whole(campaign: Campaign) -> None:
    """Check that each item counts its assignments correctly, and that no slot has two."""
    for item in campaign.items.all():
        slots = list(item.assignments.filter(slot__isnull=False).values_list("slot", flat=True))
        assert item.taken == len(slots) <= item.quota
        assert len(slots) == len(set(slots))
