"""The types of prerequisite rules, and the conditions that they share.

A closed prerequisite makes nobody wait: no further answers will come to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.campaigns.settings import open_now
from annotation.models import Assignment, Campaign, Item, Rater

Ready = Callable[[Campaign, Rater], Q]
ReadyForJudges = Callable[[Campaign], Q]
Asks = Callable[[Item, Rater, list[str]], list[str]]
AsksJudges = Callable[[Item, list[str]], list[str]]
Words = Callable[[Campaign], str]


def anything(campaign: Campaign) -> Q:
    return Q()


def every_unit(item: Item, rater: Rater, names: list[str]) -> list[str]:
    return names


def every_unit_of_judges(item: Item, names: list[str]) -> list[str]:
    return names


def until_done(campaign: Campaign) -> str:
    return f"{prerequisite_of(campaign)} to be done"


@dataclass(frozen=True)
class Follows:
    """How campaigns of a protocol follow another campaign, their prerequisite.

    `after` are the protocols that the prerequisite may have. `ready(campaign, rater)` selects the
    items that this person may be given now, `judges(campaign)` those that judges may. Once an item
    is ready, `asks(item, rater, names)` are the units that the person is asked, of the item's
    `names` and in their order, and `asks_judges(item, names)` those of judges. It may store a draw
    in `Item.drawn`, if whoever comes second finds what the first one stored. `draws(campaign)` says
    whether fewer units than an item has may be asked. `words(campaign)` end the sentence
    "waits for …".
    """

    after: tuple[str, ...]
    ready: Ready
    asks: Asks = every_unit
    judges: ReadyForJudges = anything
    asks_judges: AsksJudges = every_unit_of_judges
    words: Words = until_done
    draws: Callable[[Campaign], bool] = lambda campaign: False


@dataclass(frozen=True)
class Wait:
    """One reason for items to wait: which of them do, and the words behind "waits for …"."""

    holds: Ready
    words: Words


def prerequisite_of(campaign: Campaign) -> str:
    """The name of the campaign that this one follows, or nothing."""
    return str(campaign.options.get("prerequisite") or "")


CLOSED = ("done", "failed", "declined")


def people_are_done(prerequisite: str) -> Q:
    """Each item of the query has as many answers of people there as it has places.

    Imported answers count as well. A query that people are not asked has no places to wait for.
    """
    answers = Assignment.objects.filter(
        item=OuterRef("pk"), rater__kind="human", replicate=0, scope="", status="done"
    )
    number = answers.order_by().values("item").annotate(n=Count("pk")).values("n")
    lacking = _of_query(prerequisite).filter(quota__gt=Coalesce(Subquery(number), 0))
    return ~Q(Exists(lacking))


def has_answered(prerequisite: str, rater: Rater) -> Q:
    """This person has answered items of the query there, has none begun, and can get no more."""
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
    """This judge was asked each item of the query there, and has given each an answer or failed."""
    rows = Assignment.objects.filter(item=OuterRef("pk"), rater__name=judge)
    waiting = Q(Exists(rows.exclude(status__in=CLOSED)))
    return ~Q(Exists(_of_query(prerequisite).filter(~Q(Exists(rows)) | waiting)))


def _of_query(prerequisite: str) -> QuerySet[Item]:
    """The items of the outer item's query in the prerequisite, unless that is closed."""
    return Item.objects.filter(
        open_now("campaign"),
        campaign__name=prerequisite,
        query=OuterRef("query"),
        use=Item.Use.STUDY,
    )
