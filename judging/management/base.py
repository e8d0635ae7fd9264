"""Look up what preparation commands name: batches, authors, reviewers."""

from __future__ import annotations

from django.core.management.base import CommandError

from annotation.management.base import account_called
from annotation.models import Campaign, Rater, rater_of
from annotation.preparation.base import Step
from datasets.console import batch_called, refusing
from datasets.models import Batch
from judging.preparation.review import AuthorError, find_author
from judging.preparation.status import campaign_name
from tandem.verbs import verb_of

__all__ = ["account_called", "batch_called", "reviewer_called", "work_called"]


def work_called(step: Step, batch: Batch, judge: str) -> tuple[Campaign, Rater]:
    """Return a step's campaign over a batch, and its author."""
    campaign = Campaign.objects.filter(name=campaign_name(batch, step)).first()
    if campaign is None:
        raise CommandError(
            f"{step.name} of {batch} has not started; run {verb_of('prepare_batch')} first."
        )
    with refusing(AuthorError):
        return campaign, find_author(campaign, judge)


def reviewer_called(name: str) -> Rater:
    return rater_of(account_called(name))
