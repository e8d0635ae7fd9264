"""What the pages of preparation are asked for; what an account may not read is not there."""

from __future__ import annotations

import uuid

from django.http import Http404
from django.shortcuts import get_object_or_404

from annotation.models import Campaign, Response, User
from annotation.people.members import readable
from annotation.preparation.base import Step
from annotation.preparation.steps import STEPS
from judging.preparation.running import name_of
from judging.preparation.written import Written, with_all


def step_called(name: str) -> Step:
    if name not in STEPS:
        raise Http404
    return STEPS[name]


def step_of(campaign: Campaign) -> Step:
    """The step that a campaign is of; any other campaign is none of preparation."""
    for step in STEPS.values():
        asked = step.protocol == campaign.protocol
        if asked and name_of(campaign.batch, step) == campaign.name:
            return step
    raise Http404


def written_by(user: User, uid: uuid.UUID) -> Written:
    """A standing answer by its assignment, of a campaign that the account may read."""
    there = Response.objects.filter(
        current=True,
        assignment__uid=uid,
        assignment__replicate=0,
        assignment__item__campaign__in=readable(user),
    )
    response = get_object_or_404(with_all(there))
    return Written(step_of(response.assignment.item.campaign), response)
