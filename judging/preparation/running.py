"""The campaign in which the authors of one step work on one batch; a run of it is a judge's run."""

from __future__ import annotations

from django.db import transaction

from annotation.campaigns import create_campaign
from annotation.design import DesignError, design_of
from annotation.models import Campaign
from annotation.preparation.base import Step
from datasets.models import Batch


def name_of(batch: Batch, step: Step) -> str:
    return f"{batch.name}: {step.name}"


def campaign_for(batch: Batch, step: Step) -> Campaign:
    """The campaign of a step over a batch, made at first need. Raises DesignError.

    It has no pool of people: who is to work on it is named.
    """
    if not step.protocol:
        raise DesignError(f"step {step.name} asks nobody; build the batch with build_batch")
    with transaction.atomic():
        design = design_of(1, 1.0, 1.0, step.options)
        made = create_campaign(name_of(batch, step), step.protocol, batch, design)
        if not made.unchanged:
            campaigns = Campaign.objects.filter(pk=made.campaign.pk)
            campaigns.update(pool=Campaign.Pool.NAMED)
    return made.campaign
