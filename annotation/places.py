"""Giving people the next item: exactly as many as the design allows, never one twice."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from annotation.assigning import shuffle_units
from annotation.models import Assignment, Campaign, Item, Rater
from annotation.presenting import design, present
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import name_units

TRIES = 20


def next_assignment(campaign: Campaign, rater: Rater) -> Assignment | None:
    """The person's open assignment, or a new one on the next item with a place; None at the end."""
    mine = Assignment.objects.filter(item__campaign=campaign, rater=rater, slot__isnull=False)
    if waiting := mine.filter(status="open").order_by("item__position").first():
        return waiting
    for _ in range(TRIES):
        item = _next_item(campaign, rater)
        if item is None:
            return None
        if assignment := _take(item, rater):
            return assignment
    return None


def _next_item(campaign: Campaign, rater: Rater) -> Item | None:
    """The first item, in the campaign's order, with a place and not yet asked of this person."""
    free = campaign.items.filter(taken__lt=F("quota")).exclude(assignments__rater=rater)
    return free.order_by("position").first()


def _take(item: Item, rater: Rater) -> Assignment | None:
    with transaction.atomic():
        slot = claim_place(item)
        if slot is None:
            return None
        return Assignment.objects.create(
            item=item, rater=rater, slot=slot, asked=asked_order(item, rater)
        )


def claim_place(item: Item) -> int | None:
    """Takes one of an item's places, in a transaction; the lowest free slot, or None if all are.

    The update holds the item's row to the transaction's end, so two cannot see the same slot.
    """
    free = Item.objects.filter(pk=item.pk, taken__lt=F("quota"))
    if not free.update(taken=F("taken") + 1):
        return None
    used = set(item.assignments.filter(slot__isnull=False).values_list("slot", flat=True))
    return next(slot for slot in range(1, len(used) + 2) if slot not in used)


def asked_order(item: Item, rater: Rater) -> list[str]:
    """The names of an item's units in the order in which this rater is shown them."""
    stored = list(item.units.values_list("name", flat=True))
    chosen = design(item.campaign)
    default = "random" if PROTOCOLS[item.campaign.protocol].shuffled else "fixed"
    if (chosen.order or default) == "fixed":
        return stored
    named = name_units(present(item).units)
    names = {unit: name for name, unit in named.items()}
    units = [named[name] for name in stored]
    order = shuffle_units(units, chosen.seed, f"order of {item.key} for {rater.name}")
    return [names[unit] for unit in order]
