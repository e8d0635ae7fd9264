"""People are asked about the queries that a plan draws, and about no others while it runs.

An item of another query of the plan has no slot until the query, or a unit of the item, is drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery

from annotation.models import Campaign, Item, TrustDraw, TrustPlan, Unit
from audit.recording import record
from datasets.models import Query


def hold_back(plan: TrustPlan, queries: Collection[int]) -> None:
    """Take the slots of the items of all these queries, about which nobody has been asked yet."""
    items = plan.campaign.items.filter(use=Item.Use.STUDY, query__in=queries)
    items.update(quota=0)
    _set_plan(plan.campaign, True)


@dataclass(frozen=True)
class Drawn:
    """A query that is drawn, and the primary keys of the units that count; None: all of them."""

    query: Query
    units: tuple[int, ...] | None = None


def release(plan: TrustPlan, drawn: Sequence[Drawn], cut: int, people: int) -> list[TrustDraw]:
    """Ask so many people about each of these queries, in their order. Returns the new draws.

    Where some units of a query are drawn, people are asked about the whole of their items, and
    nothing new about items that were asked before.
    """
    with transaction.atomic():
        last = plan.draws.order_by("-place").values_list("place", flat=True).first() or 0
        turns = Counter(plan.draws.order_by().values_list("query", flat=True))
        made = []
        for n, each in enumerate(drawn, 1):
            turns[each.query.pk] += 1
            units = None if each.units is None else list(each.units)
            draw = TrustDraw(plan=plan, place=last + n, cut=cut, query=each.query, units=units)
            draw.turn = turns[each.query.pk]
            made.append(draw)
        TrustDraw.objects.bulk_create(made)
        _items_of(plan, made).update(quota=people)
        record("trust.drawn", plan.campaign_id, plan, queries=len(made), cut=cut)
    return made


def _items_of(plan: TrustPlan, drawn: Iterable[TrustDraw]) -> QuerySet[Item]:
    """Return the items about which people are asked for these draws."""
    whole = [draw.query_id for draw in drawn if draw.units is None]
    units = {unit for draw in drawn for unit in draw.units or ()}
    of_units = Unit.objects.filter(pk__in=units).order_by().values("item")
    items = plan.campaign.items.filter(use=Item.Use.STUDY)
    return items.filter(Q(query__in=whole) | Q(pk__in=of_units))


def free(plan: TrustPlan, quotas: dict[str, int]) -> None:
    """Give the items that were not drawn the slots of the campaign's design back.

    `quotas` are the slots by key of an item.
    """
    drawn = _items_of(plan, list(plan.draws.all())).order_by().values("pk")
    changed = []
    for item in plan.campaign.items.filter(use=Item.Use.STUDY).exclude(pk__in=drawn):
        if item.quota != quotas.get(item.key, item.quota):
            item.quota = quotas[item.key]
            changed.append(item)
    Item.objects.bulk_update(changed, ["quota"], batch_size=500)
    _set_plan(plan.campaign, False)


def slots_by_plans(campaign: Campaign) -> dict[str, int]:
    """Return the slots of the items that a plan draws or holds back, by their keys."""
    found: dict[str, int] = {}
    study = campaign.items.filter(use=Item.Use.STUDY).order_by()
    for plan in TrustPlan.objects.filter(campaign=campaign).prefetch_related("draws"):
        if plan.is_running:
            held = study.filter(query__key__in=plan.document["population"]["queries"])
            found |= dict.fromkeys(held.values_list("key", flat=True), 0)
        drawn = _items_of(plan, plan.draws.all()).order_by().values_list("key", flat=True)
        found |= dict.fromkeys(drawn, plan.document["people"])
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
