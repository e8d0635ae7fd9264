"""Giving people the next item: exactly as many as the design allows, never one twice."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from annotation.assigning import shuffle_fields, shuffle_units
from annotation.models import Assignment, Campaign, Item, Rater
from annotation.presenting import design, present
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import name_units


def next_assignment(campaign: Campaign, rater: Rater) -> Assignment | None:
    """The person's open assignment, or a new one on the next item with a place; None at the end."""
    if waiting := _waiting(campaign, rater):
        return waiting
    with transaction.atomic():
        # One person's second click waits here, and then finds what the first one took.
        Rater.objects.select_for_update().get(pk=rater.pk)
        return _waiting(campaign, rater) or _take_next(campaign, rater)


def _waiting(campaign: Campaign, rater: Rater) -> Assignment | None:
    mine = Assignment.objects.filter(item__campaign=campaign, rater=rater, slot__isnull=False)
    return mine.filter(status="open").order_by("item__position").first()


def _take_next(campaign: Campaign, rater: Rater) -> Assignment | None:
    """A place on the first item, in the campaign's order, that has one and is new to this person.

    Whoever loses a race for the last place of an item goes on to the next item.
    """
    free = campaign.items.filter(taken__lt=F("quota")).exclude(assignments__rater=rater)
    while item := free.order_by("position").first():
        slot = claim_place(item)
        if slot is not None:
            asked, shown = order_for(item, rater)
            return Assignment.objects.create(
                item=item, rater=rater, slot=slot, asked=asked, shown=shown
            )
    return None


def claim_place(item: Item) -> int | None:
    """Takes one of an item's places, in a transaction; the lowest free slot, or None if all are.

    The update holds the item's row to the transaction's end, so two cannot see the same slot.
    """
    free = Item.objects.filter(pk=item.pk, taken__lt=F("quota"))
    if not free.update(taken=F("taken") + 1):
        return None
    used = set(item.assignments.filter(slot__isnull=False).values_list("slot", flat=True))
    return next(slot for slot in range(1, len(used) + 2) if slot not in used)


def order_for(item: Item, rater: Rater) -> tuple[list[str], list[str]]:
    """The names of an item's units and the fields of its texts as this rater is shown them."""
    stored = list(item.units.values_list("name", flat=True))
    chosen = design(item.campaign)
    default = "random" if PROTOCOLS[item.campaign.protocol].shuffled else "fixed"
    if (chosen.order or default) == "fixed":
        return stored, []
    spec = present(item)
    named = name_units(spec.units)
    names = {unit: name for name, unit in named.items()}
    purpose = f"order of {item.key} for {rater.name}"
    units = shuffle_units([named[name] for name in stored], chosen.seed, purpose)
    fields = shuffle_fields([text.field for text in spec.texts], chosen.seed, purpose)
    return [names[unit] for unit in units], fields
