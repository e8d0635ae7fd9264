"""People are asked about the queries that a plan draws, and about no others while it runs.

An item of another query of the plan has no slot until the query is drawn.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery

from annotation.models import Campaign, Item, TrustDraw, TrustPlan
from audit.recording import record
from datasets.models import Query


def hold_back(plan: TrustPlan, queries: Collection[int]) -> None:
    """Take the slots of the items of all these queries, about which nobody has been asked yet."""
    items = plan.campaign.items.filter(use=Item.Use.STUDY, query__in=queries)
    items.update(quota=0)
    _set_plan(plan.campaign, True)


def release(plan: TrustPlan, queries: Sequence[Query], cut: int, people: int) -> list[TrustDraw]:
    """Ask so many people about each of these queries, in their order. Returns the new draws."""
    with transaction.atomic():
        last = plan.draws.order_by("-place").values_list("place", flat=True).first() or 0
        made = [
            TrustDraw(plan=plan, place=last + n, cut=cut, query=query)
            for n, query in enumerate(queries, 1)
        ]
        TrustDraw.objects.bulk_create(made)
        items = plan.campaign.items.filter(use=Item.Use.STUDY, query__in=queries)
        items.update(quota=people)
        record("trust.drawn", plan.campaign_id, plan, queries=len(made), cut=cut)
    return made


def free(plan: TrustPlan, quotas: dict[str, int]) -> None:
    """Give the items of queries that were not drawn the slots of the campaign's design back.

    `quotas` are the slots by key of an item.
    """
    drawn = plan.draws.values("query")
    changed = []
    for item in plan.campaign.items.filter(use=Item.Use.STUDY).exclude(query__in=drawn):
        if item.quota != quotas.get(item.key, item.quota):
            item.quota = quotas[item.key]
            changed.append(item)
    Item.objects.bulk_update(changed, ["quota"], batch_size=500)
    _set_plan(plan.campaign, False)


def slots_by_query(campaign: Campaign) -> dict[str, int]:
    """Return the slots of the items of each query that a plan draws or holds back, by its key."""
    found: dict[str, int] = {}
    for plan in TrustPlan.objects.filter(campaign=campaign).prefetch_related("draws__query"):
        if plan.is_running:
            found |= dict.fromkeys(plan.document["population"]["queries"], 0)
        people = plan.document["people"]
        found |= {draw.query.key: people for draw in plan.draws.all()}
    return found


def in_order_of_draws(items: QuerySet[Item], campaign: Campaign) -> QuerySet[Item]:
    """Order items by the place of their query in the draw."""
    draws = TrustDraw.objects.filter(
        plan__campaign=campaign, plan__end=None, query=OuterRef("query")
    )
    return items.order_by(Subquery(draws.values("place")[:1]), "position")


def _set_plan(campaign: Campaign, has_plan: bool) -> None:
    campaign.has_plan = has_plan
    campaign.save(update_fields=["has_plan"])
