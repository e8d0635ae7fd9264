"""The types of prerequisite rules, and the conditions that they share.

Items do not wait for a closed prerequisite, since it will get no further answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.campaigns.changes import open_now
from annotation.models import Assignment, Campaign, Item, Rater
from tandem.messages import Message

Ready = Callable[[Campaign, Rater], Q]
ReadyForJudges = Callable[[Campaign], Q]
Asks = Callable[[Item, Rater, list[str]], list[str]]
AsksJudges = Callable[[Item, list[str]], list[str]]
Describe = Callable[[Campaign], Message]


def every_unit(item: Item, rater: Rater, names: list[str]) -> list[str]:
    return names


def every_unit_of_judges(item: Item, names: list[str]) -> list[str]:
    return names


@dataclass(frozen=True)
class PrerequisiteRule:
    """The rule by which campaigns of a protocol depend on another campaign, their prerequisite.

    `after` are the protocols that the prerequisite may have. `ready(campaign, rater)` selects the
    items that this person may get now, and `judges(campaign)` those that judges may get. For a
    ready item, `asks(item, rater, names)` returns the units that the person is asked, among `names`
    and in their order, and `asks_judges(item, names)` those for judges. It may store a sample in
    `Item.drawn`, which later callers then find. `samples(campaign)` says whether items may be asked
    with fewer units than they have. `describe(campaign)` ends the sentence "waits for …".
    """

    after: tuple[str, ...]
    ready: Ready
    judges: ReadyForJudges
    describe: Describe
    asks: Asks = every_unit
    asks_judges: AsksJudges = every_unit_of_judges
    samples: Callable[[Campaign], bool] = lambda campaign: False


@dataclass(frozen=True)
class WaitRule:
    """One reason for items to wait: the condition for it, and the end of "waits for …"."""

    selects: Ready
    describe: Describe


def prerequisite_of(campaign: Campaign) -> str:
    """Return the name of the campaign's prerequisite, or an empty string."""
    return str(campaign.options.get("prerequisite") or "")


CLOSED = ("done", "failed", "declined")


def people_are_done(prerequisite: str) -> Q:
    """Return whether people have filled all slots of the query's items in the prerequisite.

    Imported answers count too. A query that people are not asked about has no slots.
    """
    answers = Assignment.objects.filter(
        item=OuterRef("pk"), rater__kind="human", replicate=0, scope="", status="done"
    )
    number = answers.order_by().values("item").annotate(n=Count("pk")).values("n")
    lacking = _of_query(prerequisite).filter(quota__gt=Coalesce(Subquery(number), 0))
    return ~Q(Exists(lacking))


def has_answered(prerequisite: str, rater: Rater) -> Q:
    """Return whether this person has answered items of the query there, and can get no others."""
    mine = Assignment.objects.filter(
        item__campaign__name=prerequisite,
        item__query=OuterRef("query"),
        rater=rater,
        replicate=0,
        scope="",
    )
    begun = mine.filter(status="open").filter(open_now("item__campaign"))
    had = Assignment.objects.filter(item=OuterRef("pk"), rater=rater)
    left = _of_query(prerequisite).filter(~Exists(had), taken__lt=F("quota"))
    return Q(Exists(mine.filter(status="done"))) & ~Q(Exists(begun)) & ~Q(Exists(left))


def judge_is_done(prerequisite: str, judge: str) -> Q:
    """Return whether this judge has answered, or failed on, all of the query's items there."""
    rows = Assignment.objects.filter(item=OuterRef("pk"), rater__name=judge)
    waiting = Q(Exists(rows.exclude(status__in=CLOSED)))
    return ~Q(Exists(_of_query(prerequisite).filter(~Q(Exists(rows)) | waiting)))


def _of_query(prerequisite: str) -> QuerySet[Item]:
    """Return the prerequisite's items of the same query as the outer item; none if it is closed."""
    return Item.objects.filter(
        open_now("campaign"),
        campaign__name=prerequisite,
        query=OuterRef("query"),
        use=Item.Use.STUDY,
    )
