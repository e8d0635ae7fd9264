"""The status of a step over a batch: its authors, their reviewed answers, and what is missing."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, QuerySet

from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import DesignError, design_of
from annotation.models import Campaign, Membership, Rater, Response, User
from annotation.people.membership import add_member, readable
from annotation.preparation.base import Step
from annotation.registry import STEPS
from datasets.models import Batch
from judging.models import JudgeRun, Review
from judging.preparation.review import count_unanswered
from tandem.verbs import verb_of


def campaign_name(batch: Batch, step: Step) -> str:
    return f"{batch.name}: {step.name}"


def campaign_for(batch: Batch, step: Step, by: User | None = None) -> Campaign:
    """Return the campaign of a step over a batch, and create it if needed. Raises DesignError.

    It is closed to annotators unless a researcher opens it on its page. Its creator `by` and its
    members may read and review it.
    """
    if not step.protocol:
        raise DesignError(
            f"step {step.name} asks nobody; build the batch with {verb_of('build_batch')}"
        )
    with transaction.atomic():
        design = design_of(1, 1.0, 1.0, step.options)
        created = create_campaign(campaign_name(batch, step), step.protocol, batch, design)
        if not created.unchanged:
            Campaign.objects.filter(pk=created.campaign.pk).update(made_by=by)
            _close_to_annotators(created.campaign)
            if by is not None and by.role == User.Role.RESEARCHER:
                add_member(created.campaign, by, Membership.Role.RESEARCHER, by)
    return created.campaign


def _close_to_annotators(campaign: Campaign) -> None:
    """Remove the campaign from the annotators' list of work."""
    campaign.pool, campaign.is_open = Campaign.Pool.NAMED, False
    campaign.save(update_fields=["pool", "is_open"])


WAITING = "waiting"


@dataclass(frozen=True)
class AuthorStatus:
    """One author's progress: answers by verdict (`waiting` without one), and missing ones."""

    rater: Rater
    verdicts: dict[str, int]
    missing: dict[str, int]
    runs: list[JudgeRun]

    @property
    def written(self) -> int:
        return sum(self.verdicts.values())

    @property
    def reviewed(self) -> int:
        return self.written - self.verdicts[WAITING]

    @property
    def is_ready(self) -> bool:
        """Whether a batch can be built with nothing open."""
        return self.written > 0 and not self.verdicts[WAITING] and not self.missing


@dataclass(frozen=True)
class StepStatus:
    """The progress of a step of a batch. `campaign` is None before it exists, or if `hidden`."""

    step: Step
    campaign: Campaign | None
    hidden: bool
    authors: list[AuthorStatus]


def step_statuses(
    batch: Batch, user: User, steps: Iterable[Step] = STEPS.values()
) -> list[StepStatus]:
    """Return the status of these steps over a batch, limited to what the user may read."""
    steps = list(steps)
    names = [campaign_name(batch, step) for step in steps if step.protocol]
    found = {c.name: c for c in Campaign.objects.filter(batch=batch, name__in=names)}
    may_read = set(
        readable(user).filter(pk__in=[c.pk for c in found.values()]).values_list("pk", flat=True)
    )
    return [
        _step_status(batch, step, found.get(campaign_name(batch, step)), may_read) for step in steps
    ]


def _step_status(
    batch: Batch, step: Step, campaign: Campaign | None, may_read: set[int]
) -> StepStatus:
    if campaign is None or campaign.pk not in may_read:
        return StepStatus(step, None, campaign is not None, [])
    return StepStatus(step, campaign, False, author_statuses(campaign))


def author_statuses(campaign: Campaign) -> list[AuthorStatus]:
    raters = Rater.objects.filter(assignments__item__campaign=campaign).distinct()
    return [author_status(campaign, rater) for rater in raters.order_by("name")]


def author_status(campaign: Campaign, rater: Rater) -> AuthorStatus:
    counted = answers(campaign, rater).order_by().values("review__verdict").annotate(n=Count("pk"))
    by_verdict = dict(counted.values_list("review__verdict", "n"))
    found = Counter({verdict or WAITING: n for verdict, n in by_verdict.items()})
    verdicts = {name: found[name] for name in (*Review.Verdict.values, WAITING)}
    runs = JudgeRun.objects.filter(campaign=campaign, judge__rater=rater).order_by("-pk")
    return AuthorStatus(rater, verdicts, count_unanswered(campaign, rater), list(runs))


def answers(campaign: Campaign, rater: Rater) -> QuerySet[Response]:
    """Return the current answers of an author, in the order of review."""
    return Response.objects.filter(
        current=True,
        assignment__item__campaign=campaign,
        assignment__rater=rater,
        assignment__replicate=0,
    ).order_by("assignment__item__position", "assignment__scope", "pk")


@dataclass(frozen=True)
class Queue:
    """The position of an answer among its author's, from 1, and the answers next to it."""

    number: int
    total: int
    waiting: int
    previous: uuid.UUID | None
    following: uuid.UUID | None
    next_waiting: uuid.UUID | None


def get_queue(campaign: Campaign, rater: Rater, uid: uuid.UUID | None = None) -> Queue:
    """Return the queue positioned at an answer, or at the beginning if none is given."""
    rows = list(answers(campaign, rater).values_list("assignment__uid", "review__verdict"))
    uids = [each for each, _ in rows]
    at = uids.index(uid) if uid in uids else -1
    waiting = [each for each, verdict in rows if verdict is None]
    later = [each for each, verdict in rows[at + 1 :] if verdict is None]
    others = [each for each in (*later, *waiting) if each != uid]
    return Queue(
        at + 1,
        len(rows),
        len(waiting),
        uids[at - 1] if at > 0 else None,
        uids[at + 1] if at + 1 < len(uids) else None,
        others[0] if others else None,
    )
