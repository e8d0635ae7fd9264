"""Handing out the next item: exactly as many people as the design asks for, never one twice.

An answer that arrives after its lease expired counts if a slot is still free.
"""

from __future__ import annotations

from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotation import prerequisites
from annotation.campaigns.sampling import shuffle_fields, shuffle_units
from annotation.gold.scoring import is_plain, next_of
from annotation.models import Assignment, Campaign, Item, Rater
from annotation.people.leases import EXPIRED, return_expired, until
from annotation.people.membership import may_take
from annotation.presentation import design, present, stored_units
from annotation.protocols.base import name_units
from annotation.registry import declared
from datasets.db.prepared import (
    Given,
    Prepared,
    PreparedInsert,
    PreparedModels,
    PreparedUpdate,
    columns_of,
)


def next_assignment(campaign: Campaign, rater: Rater) -> Assignment | None:
    """The person's open assignment, or a new one on the next item with a place; None at the end."""
    return_expired(campaign)
    with transaction.atomic():
        return next_in_transaction(campaign, rater)


def next_in_transaction(campaign: Campaign, rater: Rater) -> Assignment | None:
    """The same, in a transaction that is there. Nothing is written before an error of ours."""
    # One person's second click waits here, and then finds what the first one took. SQLite has one
    # writer at a time, who is in.
    if connection.features.has_select_for_update:
        _lock.rows(rater=rater.pk)
    waiting = _waiting.first(campaign=campaign.pk, rater=rater.pk)
    if waiting:
        return waiting[0]
    return None if has_all(campaign, rater) else _take_next(campaign, rater)


def _take_next(campaign: Campaign, rater: Rater) -> Assignment | None:
    """A place on the first item, in the campaign's order, that has one and is new to this person.

    Whoever loses a race for the last place of an item goes on to the next item.
    """
    while found := _next_free(campaign, rater):
        item, had_before = found
        item.campaign = campaign
        if had_before:
            if again := _take_again(item, rater):
                return again
            continue
        asked, shown = order_for(item, rater)
        asked = prerequisites.asked_of(item, rater, asked)
        slot = claim_place(item)
        if slot is not None:
            seen = prerequisites.verdicts_seen(campaign)
            taken = Assignment(
                item=item,
                rater=rater,
                slot=slot,
                asked=asked,
                shown=shown,
                assisted_by=seen,
                held_until=until(campaign),
            )
            _assign.run(taken)
            return taken
    return None


def _take_again(item: Item, rater: Rater) -> Assignment | None:
    """An item whose place this person had until its time ran out, with what it asked then."""
    slot = claim_place(item)
    if slot is None:
        return None
    mine = Assignment.objects.get(item=item, rater=rater, replicate=0, scope="")
    mine.item = item
    return reopen(mine, slot)


def reopen(assignment: Assignment, slot: int) -> Assignment:
    """An expired assignment in a place that was just claimed."""
    assignment.status, assignment.reason, assignment.slot = Assignment.Status.OPEN, "", slot
    assignment.held_until = until(assignment.item.campaign)
    assignment.save(update_fields=["status", "reason", "slot", "held_until"])
    return assignment


def _next_free(campaign: Campaign, rater: Rater) -> tuple[Item, bool] | None:
    waits = bool(prerequisites.reasons(campaign))
    if waits or not is_plain(campaign):
        ready = free_items(campaign, rater)
        if waits:
            ready = ready.filter(~prerequisites.waits_for(campaign, rater))
        again = ready.annotate(again=_had(rater.pk, Q(**EXPIRED)))
        item: Any = next_of(campaign, rater, again)
        return (item, item.again) if item else None
    found = _free.first(campaign=campaign.pk, rater=rater.pk)
    return (found[0], found[1][0]) if found else None


def free_items(campaign: Campaign, rater: Rater) -> QuerySet[Item]:
    """The items that this person may take now, waiting ones too, in their order.

    They have a place, and are new to this person or went back when the time had run out.
    """
    free = campaign.items.filter(~_had(rater.pk, ~Q(**EXPIRED)), taken__lt=F("quota"))
    return free.filter(may_take(campaign.pk, rater.pk)).order_by("position")


def has_all(campaign: Campaign, rater: Rater) -> bool:
    """Whether somebody has as many items as the campaign gives to one person."""
    if not campaign.items_per_person:
        return False
    mine = Assignment.objects.filter(
        rater=rater, item__campaign=campaign, slot__isnull=False, status__in=("open", "done")
    )
    return mine.count() >= campaign.items_per_person


def is_let_in(campaign: Campaign, rater: Rater) -> bool:
    """Whether somebody may take items of a campaign at all."""
    return Campaign.objects.filter(may_take(campaign.pk, rater.pk), pk=campaign.pk).exists()


def is_put_out(assignment: Assignment) -> bool:
    """Whether somebody answered this and takes part no more: it stays as it is, to be reread.

    Whoever has not answered yet loses the place with the part.
    """
    answered = assignment.status == Assignment.Status.DONE
    return answered and not is_let_in(assignment.item.campaign, assignment.rater)


def _had(rater: Any, which: Q) -> Exists:
    return Exists(Assignment.objects.filter(which, item=OuterRef("pk"), rater=rater))


def _waiting_query() -> QuerySet[Assignment]:
    mine = Assignment.objects.filter(item__campaign=Given("campaign"), rater=Given("rater"))
    return mine.filter(slot__isnull=False, status="open").order_by("item__position")[:1]


def _free_query() -> QuerySet[Item]:
    had = _had(Given("rater"), ~Q(**EXPIRED))
    free = Item.objects.filter(~had, campaign=Given("campaign"), taken__lt=F("quota"))
    free = free.filter(use=Item.Use.STUDY.value)
    free = free.filter(may_take(Given("campaign"), Given("rater"))).order_by("position")
    return free.annotate(again=_had(Given("rater"), Q(**EXPIRED)))[:1]


_lock = Prepared(
    lambda: Rater.objects.select_for_update().filter(pk=Given("rater")).values_list("pk")
)
_waiting = PreparedModels(_waiting_query, {"": columns_of(Assignment)})
_free = PreparedModels(_free_query, {"": columns_of(Item)}, ("again",))
_claim = PreparedUpdate(
    lambda: Item.objects.filter(pk=Given("item"), taken__lt=F("quota")), taken=F("taken") + 1
)
_assign = PreparedInsert(Assignment)
_slots = Prepared(
    lambda: Assignment.objects.filter(item=Given("item"), slot__isnull=False).values_list("slot")
)


def claim_place(item: Item) -> int | None:
    """Takes one of an item's places, in a transaction; the lowest free slot, or None if all are.

    The update holds the item's row to the transaction's end, so two cannot see the same slot.
    """
    if not _claim.run(item=item.pk):
        return None
    used = {slot for (slot,) in _slots.rows(item=item.pk)}
    return next(slot for slot in range(1, len(used) + 2) if slot not in used)


def order_for(item: Item, rater: Rater) -> tuple[list[str], list[str]]:
    """The names of an item's units and the fields of its texts as this rater is shown them."""
    stored = list(stored_units(item))
    chosen = design(item.campaign)
    default = "random" if declared(item.campaign).shuffled else "fixed"
    if (chosen.order or default) == "fixed":
        return stored, []
    spec = present(item)
    named = name_units(spec.units)
    names = {unit: name for name, unit in named.items()}
    purpose = f"order of {item.key} for {rater.name}"
    units = shuffle_units([named[name] for name in stored], chosen.seed, purpose, spec.key)
    fields = shuffle_fields([t.field for t in spec.texts], chosen.seed, purpose, spec.key)
    return [names[unit] for unit in units], fields


def take_again(assignment: Assignment) -> bool:
    """Gives a person an expired place again, if it, or another one of its item, is free.

    The assignment is changed to what it is then. False where nothing changed: it had not expired,
    the campaign is closed or no longer theirs, or others have all places of the item.
    """
    campaign = assignment.item.campaign
    if assignment.status != EXPIRED["status"] or assignment.reason != EXPIRED["reason"]:
        return False
    if not campaign.takes_answers or not is_let_in(campaign, assignment.rater):
        return False
    with transaction.atomic():
        list(Rater.objects.select_for_update().filter(pk=assignment.rater_id))
        # Whoever holds the row is another message of the same person: it decides, none waits.
        row = Assignment.objects.select_for_update(skip_locked=True).filter(pk=assignment.pk)
        if not row.filter(**EXPIRED).first() or has_all(campaign, assignment.rater):
            return False
        slot = claim_place(assignment.item)
        if slot is None:
            return False
        reopen(assignment, slot)
    return True
