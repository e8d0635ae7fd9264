"""Look up what preparation commands name: batches, authors, reviewers."""

from __future__ import annotations

from django.core.management.base import CommandError

from annotation.models import Campaign, Rater, User, rater_of
from annotation.preparation.base import Step
from datasets.access import READERS
from datasets.console import no_such
from datasets.models import Batch
from judging.preparation.review import AuthorError, find_author
from judging.preparation.status import campaign_name


def batch_called(name: str) -> Batch:
    batch = Batch.objects.filter(name=name).first()
    if batch is None:
        known = Batch.objects.values_list("name", flat=True)
        raise no_such("batch", name, known, "load it with load_batch")
    return batch


def work_called(step: Step, batch: Batch, judge: str) -> tuple[Campaign, Rater]:
    """Return the campaign of a step over a batch, and its author."""
    campaign = Campaign.objects.filter(name=campaign_name(batch, step)).first()
    if campaign is None:
        raise CommandError(f"{step.name} of {batch} has not started; run prepare_batch first.")
    try:
        return campaign, find_author(campaign, judge)
    except AuthorError as error:
        raise CommandError(f"{str(error)[0].upper()}{str(error)[1:]}.") from error


def account_called(name: str) -> User:
    """Return a researcher's or administrator's account."""
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None or user.role not in READERS:
        raise CommandError(
            f"{name!r} is not a researcher's account; create one with create_account."
        )
    return user


def reviewer_called(name: str) -> Rater:
    return rater_of(account_called(name))
