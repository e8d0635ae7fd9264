"""Work that comes after its place went back: it is taken if the place is still free."""

from __future__ import annotations

from django.db import transaction

from annotation.models import Assignment, Rater
from annotation.people.leases import EXPIRED
from annotation.places import claim_place, has_all, is_let_in, reopen


def take_again(assignment: Assignment) -> bool:
    """Gives a person an expired place again, if it, or another one of its item, is free.

    The assignment is changed to what it is then. False where nothing changed: it had not expired,
    the campaign is closed or no longer theirs, or others have all places of the item.
    """
    campaign = assignment.item.campaign
    if assignment.status != EXPIRED["status"] or assignment.reason != EXPIRED["reason"]:
        return False
    if not campaign.takes_answers or not is_let_in(campaign, assignment.rater):
        return False
    with transaction.atomic():
        list(Rater.objects.select_for_update().filter(pk=assignment.rater_id))
        # Whoever holds the row is another message of the same person: it decides, none waits.
        row = Assignment.objects.select_for_update(skip_locked=True).filter(pk=assignment.pk)
        if not row.filter(**EXPIRED).first() or has_all(campaign, assignment.rater):
            return False
        slot = claim_place(assignment.item)
        if slot is None:
            return False
        reopen(assignment, slot)
    return True
