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
from judging.preparation.review import unanswered


def name_of(batch: Batch, step: Step) -> str:
    return f"{batch.name}: {step.name}"


def campaign_for(batch: Batch, step: Step, by: User | None = None) -> Campaign:
    """Return the campaign of a step over a batch, and create it if needed. Raises DesignError.

    It is closed to annotators unless a researcher opens it on its page. Its creator `by` and its
    members may read and review it.
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
    """Close the campaign to annotators, since it would appear among their work."""
    campaign.pool, campaign.is_open = Campaign.Pool.NAMED, False
    campaign.save(update_fields=["pool", "is_open"])


WAITING = "waiting"


@dataclass(frozen=True)
class Author:
    """One author's work: answers by verdict, `waiting` without one, and missing answers."""

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
class Work:
    """One step over one batch. It has no campaign before it starts, or if that is `hidden`."""

    step: Step
    campaign: Campaign | None
    hidden: bool
    authors: list[Author]


def works_on(batch: Batch, user: User, steps: Iterable[Step] = STEPS.values()) -> list[Work]:
    """Return all steps over a batch, or the given ones, with campaigns that the user may read."""
    steps = list(steps)
    names = [name_of(batch, step) for step in steps if step.protocol]
    found = {c.name: c for c in Campaign.objects.filter(batch=batch, name__in=names)}
    mine = set(
        readable(user).filter(pk__in=[c.pk for c in found.values()]).values_list("pk", flat=True)
    )
    return [_work(batch, step, found.get(name_of(batch, step)), mine) for step in steps]


def _work(batch: Batch, step: Step, campaign: Campaign | None, mine: set[int]) -> Work:
    if campaign is None or campaign.pk not in mine:
        return Work(step, None, campaign is not None, [])
    return Work(step, campaign, False, authors_of(campaign))


def authors_of(campaign: Campaign) -> list[Author]:
    raters = Rater.objects.filter(assignments__item__campaign=campaign).distinct()
    return [_author(campaign, rater) for rater in raters.order_by("name")]


def _author(campaign: Campaign, rater: Rater) -> Author:
    counted = answers(campaign, rater).order_by().values("review__verdict").annotate(n=Count("pk"))
    by_verdict = dict(counted.values_list("review__verdict", "n"))
    found = Counter({verdict or WAITING: n for verdict, n in by_verdict.items()})
    verdicts = {name: found[name] for name in (*Review.Verdict.values, WAITING)}
    runs = JudgeRun.objects.filter(campaign=campaign, judge__rater=rater).order_by("-pk")
    return Author(rater, verdicts, unanswered(campaign, rater), list(runs))


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


def queue_of(campaign: Campaign, rater: Rater, uid: uuid.UUID | None = None) -> Queue:
    """Return the queue at an answer, or at the beginning without one."""
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
