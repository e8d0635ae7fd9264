"""The effort of a design: labels, hours of each person, and the cost of judges.

The pace is that of people in earlier campaigns with the same task. Without any, it is unknown; it
is never guessed. The costs of judges are computed by `judging`, which adds to `JUDGE_COSTS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from annotation.campaign_setup.dry_run import DryRun
from annotation.models import Assignment, Item, Rater, User
from annotation.people.membership import readable
from annotation.protocols.base import Protocol
from datasets.models import Batch

NEWEST, FEWEST = 500, 10
"""The pace is the median of the newest answers, if there are at least this many."""


@dataclass(frozen=True)
class JudgeCost:
    """What one judge would cost in US dollars; None if that is unknown, and `note` says why."""

    judge: str
    cost: Decimal | None
    note: str = ""


@dataclass(frozen=True)
class Effort:
    """The number of `labels`, and the `hours` of the people with the least and the most work.

    `hours` is None where the pace is unknown. It is the median of `answers` answers.
    """

    labels: int
    hours: tuple[float, float] | None
    answers: int
    costs: tuple[JudgeCost, ...]


JUDGE_COSTS: list[Callable[[User, Protocol, Batch, DryRun], list[JudgeCost]]] = []


def effort_of(user: User, protocol: Protocol, batch: Batch, found: DryRun) -> Effort:
    """Return the effort of a dry run's design."""
    units = [share.units for share in found.shares]
    seconds, answers = median_pace(user, protocol)
    hours = None
    if seconds is not None and units:
        hours = (min(units) * seconds / 3600, max(units) * seconds / 3600)
    costs = tuple(cost for of in JUDGE_COSTS for cost in of(user, protocol, batch, found))
    return Effort(sum(units), hours, answers, costs)


def median_pace(user: User, protocol: Protocol) -> tuple[float | None, int]:
    """Return people's median seconds per unit in earlier campaigns, and the number of answers.

    None if there are fewer than `FEWEST` answers that the account may read.
    """
    rows = Assignment.objects.filter(
        item__campaign__in=readable(user).filter(protocol=protocol.name).order_by().values("pk"),
        item__use=Item.Use.STUDY,
        rater__kind=Rater.Kind.HUMAN,
        status=Assignment.Status.DONE,
        seconds__gt=0,
        scope="",
    ).order_by("-pk")
    known = rows.values_list("seconds", "asked")[:NEWEST]
    paces = [seconds / len(asked) for seconds, asked in known if asked and seconds]
    return (median(paces), len(paces)) if len(paces) >= FEWEST else (None, len(paces))
