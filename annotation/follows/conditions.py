"""When what comes first is done: conditions on an item, by the query that it shares with others.

A closed prerequisite holds nobody up: whatever is in it then is all that will come.
"""

from __future__ import annotations

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.models import Assignment, Item, Rater
from annotation.opening import open_now

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
