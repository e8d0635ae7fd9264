"""The campaign in which the authors of one step work on one batch; a run of it is a judge's run."""

from __future__ import annotations

from django.db import transaction

from annotation.campaigns import create_campaign
from annotation.design import DesignError, design_of
from annotation.models import Campaign, Membership, User
from annotation.people.members import add_member
from annotation.preparation.base import Step
from datasets.models import Batch


def name_of(batch: Batch, step: Step) -> str:
    return f"{batch.name}: {step.name}"


def campaign_for(batch: Batch, step: Step, by: User | None = None) -> Campaign:
    """The campaign of a step over a batch, made at first need. Raises DesignError.

    It has no pool of people and takes no answers of theirs, unless somebody opens it on its page.
    It is read and reviewed by whoever made it, `by`, and by those whom its page on people names.
    """
    if not step.protocol:
        raise DesignError(f"step {step.name} asks nobody; build the batch with build_batch")
    with transaction.atomic():
        design = design_of(1, 1.0, 1.0, step.options)
        made = create_campaign(name_of(batch, step), step.protocol, batch, design)
        if not made.unchanged:
            _only_for_judges(made.campaign)
            if by is not None and by.role == User.Role.RESEARCHER:
                add_member(made.campaign, by, Membership.Role.RESEARCHER, by)
    return made.campaign


def _only_for_judges(campaign: Campaign) -> None:
    """Closed to people, whose own work it would stand among; judges ask nobody's leave."""
    campaign.pool, campaign.is_open = Campaign.Pool.NAMED, False
    campaign.save(update_fields=["pool", "is_open"])
