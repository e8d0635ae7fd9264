"""Turn what `annotation.access` refuses into the API's errors."""

from __future__ import annotations

import uuid

from django.shortcuts import get_object_or_404
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from annotation.access import (
    get_account,
    is_blind,
    managed_campaign,
    my_assignments,
    my_expired_assignments,
    readable_campaign,
)
from annotation.assignments.queue import reclaim
from annotation.models import Assignment, Campaign, User
from annotation.people.consent import check_intake
from annotation.people.membership import find_readable
from datasets.access import visible_batches
from datasets.api.base import BlindError, RefusedBodyError, problem
from datasets.models import Batch
from tandem.similar import did_you_mean

GONE = "the time for this item ran out, and another person has it now; take the next one"
RELATED = ("item__campaign", "item__query", "rater")


def campaign_named(user: User, pk: int, refused: str) -> Campaign:
    """Return the campaign that a body names. Raises RefusedBodyError if the user may not read it.

    `refused` is the sentence of the error.
    """
    if (found := find_readable(user, pk)) is None:
        wrong = [
            problem("is not a campaign that you may read; see the list of campaigns", "campaign")
        ]
        raise RefusedBodyError(refused, wrong)
    return found


def check_blind(user: User, campaign: Campaign) -> None:
    """Raise BlindError if the user has an open item, and so may not see others' answers yet."""
    if is_blind(user, campaign):
        raise BlindError(
            "you have an open item in this campaign; answer it before you read others' answers"
        )


def readable_unless_blind(request: Request, pk: int) -> Campaign:
    """Return a campaign that the account may read. Raises Http404, and BlindError."""
    campaign = readable_campaign(request, pk)
    check_blind(get_account(request), campaign)
    return campaign


def managed_unless_blind(request: Request, pk: int) -> Campaign:
    """Return a campaign that the account may change. Raises Http404, and BlindError."""
    campaign = managed_campaign(request, pk)
    check_blind(get_account(request), campaign)
    return campaign


def my_assignment(request: Request, uid: uuid.UUID) -> Assignment:
    """Return a person's own assignment. Raises Http404 for any other, and IntakeOwedError."""
    rows = my_assignments(get_account(request)).select_related(*RELATED)
    return _after_intake(get_object_or_404(rows, uid=uid))


def _after_intake(assignment: Assignment) -> Assignment:
    """Return an assignment of a person who has agreed to the campaign's consent text.

    Raises IntakeOwedError for others, and for those who owe background answers.
    """
    if assignment.item.campaign.takes_answers:
        check_intake(assignment.item.campaign, assignment.rater)
    return assignment


def my_assignment_to_answer(request: Request, uid: uuid.UUID) -> Assignment:
    """Like `my_assignment`, but take an expired assignment again if its slot is still free."""
    user = get_account(request)
    found = my_assignments(user).select_related(*RELATED).filter(uid=uid).first()
    if found is not None:
        return _after_intake(found)
    late = get_object_or_404(my_expired_assignments(user).select_related(*RELATED), uid=uid)
    _after_intake(late)
    if not reclaim(late):
        raise RefusedBodyError(GONE)
    return late


def batch_named(user: User, name: str) -> Batch:
    batch = visible_batches(user).filter(name=name).first()
    if batch is None:
        known = visible_batches(user).values_list("name", flat=True)
        hint = did_you_mean(name, known, "see the list of batches")
        raise ValidationError({"batch": f"is not a loaded batch; {hint}"})
    return batch
