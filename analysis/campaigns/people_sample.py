"""Which queries of a campaign were sampled for people, and which of them people have finished."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from django.db.models import Count, Q

from annotation.models import (
    Assignment,
    Campaign,
    Item,
    QuerySampling,
    Rater,
    TrustDraw,
    TrustPlan,
)
from annotation.people.membership import exclusion_reasons
from annotation.registry import get_protocol
from tandem.labels.people_sample import PeopleSample


def people_sample(campaign: Campaign, with_assisted: bool = False) -> PeopleSample | None:
    """Return the sample of a campaign that asks people a random share of its queries, else None.

    Answers that a judge's label assisted count as votes only `with_assisted`. Queries that only a
    plan drew are left out, since it draws large ones more often. Where all queries are asked, and a
    plan drew some, the others are unfinished.
    """
    draws = TrustDraw.objects.filter(plan__campaign=campaign, plan__kind=TrustPlan.Kind.CERTIFY)
    drawn = set(draws.values_list("query__key", flat=True))
    if campaign.human_share >= 1:
        return asked_sample(campaign, with_assisted) if drawn else None
    sampled = QuerySampling.objects.filter(campaign=campaign, drawn=True, query__key__in=drawn)
    others = drawn - set(sampled.values_list("query__key", flat=True)) if drawn else drawn
    asked = asked_sample(campaign, with_assisted)
    return PeopleSample(asked.drawn - others, asked.unfinished - others)


def asked_sample(campaign: Campaign, with_assisted: bool = False) -> PeopleSample:
    """Return the queries that people are asked, whether these are a sample or all of them."""
    lacking: dict[str, bool] = {}
    for query, lacks in _asked_items(campaign, with_assisted):
        lacking[query] = lacking.get(query, False) or lacks
    return PeopleSample(frozenset(lacking), frozenset(q for q, lacks in lacking.items() if lacks))


def unfinished_queries(campaign: Campaign, with_assisted: bool = False) -> set[str]:
    """Return the queries with an item that lacks a vote which the design asks.

    An item has `quota` votes. A vote is in if a person who is not excluded has answered about all
    units of the item, or has declined the item with a reason. Where each rater is asked a sample of
    the units, an answer about any of them is a vote.
    """
    return {query for query, lacks in _asked_items(campaign, with_assisted) if lacks}


def _asked_items(campaign: Campaign, with_assisted: bool) -> Iterator[tuple[str, bool]]:
    """Yield the query of each item that people are asked, and whether the item lacks a vote."""
    votes = _votes(campaign, with_assisted)
    items = Item.objects.filter(campaign=campaign, use=Item.Use.STUDY, quota__gt=0)
    sampled = get_protocol(campaign).sampled
    rows = items.annotate(size=Count("units")).order_by()
    for item, query, quota, size in rows.values_list("pk", "query__key", "quota", "size"):
        given = sum(asked >= (1 if sampled else size) for asked in votes[item].values())
        yield query, given < quota


def _votes(campaign: Campaign, with_assisted: bool) -> dict[int, dict[int, float]]:
    """Return by item and person the number of units with an answer, infinite if declined."""
    rows = Assignment.objects.filter(
        Q(responses__current=True) | (Q(status=Assignment.Status.DECLINED) & ~Q(reason="")),
        item__campaign=campaign,
        item__use=Item.Use.STUDY,
        rater__kind=Rater.Kind.HUMAN,
    ).exclude(rater__name__in=list(exclusion_reasons(campaign.name)))
    if not with_assisted:
        rows = rows.filter(assisted_by="")
    found: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for item, rater, status, asked in rows.order_by().values_list(
        "item", "rater", "status", "asked"
    ):
        declined = status == Assignment.Status.DECLINED
        found[item][rater] += float("inf") if declined else len(asked)
    return found
