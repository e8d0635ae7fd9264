"""Decline an item: a reason is stored instead of labels, and somebody else gets the slot."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from annotation.assignments.queue import claim_slot, has_reached_limit, may_take_items, reopen
from annotation.models import Assignment, Item, Rater

Status = Assignment.Status

REASONS = ("unreadable", "ambiguous", "declined")
"""The missing reasons that a person may give; in files they are those of `label_rows.REASONS`."""


def decline(assignment: Assignment, reason: str) -> bool:
    """Close an open assignment of a person with a reason, and release its slot.

    The item is given to another person, and not to this one again. Labels are missing with the
    reason. Returns False if the assignment is answered or released already, is practice, or the
    campaign takes no answers. Raises ValueError for an unknown reason.
    """
    if reason not in REASONS:
        raise ValueError(reason)
    if assignment.item.use == Item.Use.PRACTICE or not assignment.item.campaign.takes_answers:
        return False
    rows = Assignment.objects.filter(pk=assignment.pk, status=Status.OPEN, slot__isnull=False)
    with transaction.atomic():
        closed = rows.update(status=Status.DECLINED, reason=reason, slot=None, held_until=None)
        if closed:
            Item.objects.filter(pk=assignment.item_id).update(taken=F("taken") - 1)
    return bool(closed)


def take_up_again(assignment: Assignment) -> bool:
    """Open a declined assignment again. Returns False if no slot of its item is free any more."""
    campaign, rater = assignment.item.campaign, assignment.rater
    if not campaign.takes_answers or not may_take_items(campaign, rater):
        return False
    with transaction.atomic():
        list(Rater.objects.select_for_update().filter(pk=rater.pk))
        row = Assignment.objects.select_for_update().filter(pk=assignment.pk)
        if not row.filter(status=Status.DECLINED).exists() or has_reached_limit(campaign, rater):
            return False
        slot = claim_slot(assignment.item)
        if slot is None:
            return False
        reopen(assignment, slot)
    return True
