"""Give out the next item, to exactly as many people as the design asks for, each at most once.

An answer that arrives after its lease expired counts if a slot is still free.

The carried part of a person's answer is an assignment of its own, with the scope `carried`. The
item has as many slots as its most incomplete unit lacks answers. Slot N asks only the units that
lack at least N answers, so no unit gets more answers than the design asks for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotation import prerequisites
from annotation.campaigns.sampling import shuffle_fields, shuffle_units
from annotation.gold.scoring import is_plain, next_item
from annotation.models import CARRIED, Assignment, Campaign, CarriedAnswer, Item, Rater
from annotation.people.consent import check_intake, owed_step
from annotation.people.leases import EXPIRED, lease_end, release_expired
from annotation.people.membership import may_take
from annotation.people.shares import keeps_shares, within_share
from annotation.prerequisites import units_for_people
from annotation.presentation import design, present, stored_units
from annotation.registry import get_protocol
from datasets.db.prepared import (
    Parameter,
    Prepared,
    PreparedInsert,
    PreparedModels,
    PreparedUpdate,
    Row,
    columns_of,
    run_together,
)
from tandem.protocols.base import ItemSpec, name_units


def units_left(item: Item, rater: Rater, names: Sequence[str], slot: int) -> list[str]:
    """Return the units that this person is asked in this slot, in the order of `names`."""
    if item.campaign.continues_id is None:
        return list(names)
    carried = Assignment.objects.filter(item=item, scope=CARRIED)
    parts = list(carried.filter(rater__kind=Rater.Kind.HUMAN).values_list("rater_id", "asked"))
    if not parts:
        return list(names)
    given = Counter(name for _, asked in parts for name in asked)
    mine = {name for who, asked in parts if who == rater.pk for name in asked}
    fewest = min(given[name] for name in units_for_people(item, list(stored_units(item))))
    whole = _whole(item)
    most, place = item.quota - whole, slot - whole
    left = [n for n in names if most + fewest - given[n] >= place and n not in mine]
    return left or [name for name in names if name not in mine] or list(names)


def _whole(item: Item) -> int:
    """Count the slots of answers that were carried over whole."""
    answered = CarriedAnswer.objects.filter(response__assignment=OuterRef("pk"))
    slots = Assignment.objects.filter(item=item, slot__isnull=False)
    return slots.filter(Exists(answered)).count()


def next_assignment(campaign: Campaign, rater: Rater) -> Assignment | None:
    """Return the person's open assignment, or a new one on the next item with a free slot.

    Returns None if there is no such item. Raises IntakeOwedError if the person has to consent or to
    answer background questions first.
    """
    release_expired(campaign)
    with transaction.atomic():
        return next_in_transaction(campaign, rater)


def next_in_transaction(campaign: Campaign, rater: Rater) -> Assignment | None:
    """Like `next_assignment`, but inside the caller's transaction. Raises before writing."""
    waiting, free = _locked_looks(campaign, rater)
    check_intake(campaign, rater)
    if waiting:
        return waiting[0][0]
    return None if has_reached_limit(campaign, rater) else _claim_next(campaign, rater, free)


def _locked_looks(
    campaign: Campaign, rater: Rater
) -> tuple[list[tuple[Assignment, Row]], list[tuple[Item, Row]] | None]:
    """Lock the rater; return their open assignment and the first free item.

    None in place of the list of items means that they have not been looked up yet.
    """
    of = {"campaign": campaign.pk, "rater": rater.pk}
    # A person's second click waits here and then finds the first one's assignment. SQLite needs no
    # lock, since it has one writer at a time, and it gains nothing from the early look-up.
    if not connection.features.has_select_for_update:
        return _waiting.all(**of), None
    lock = _lock.call(rater=rater.pk)
    if not _takes_first_free(campaign):
        return run_together(lock, _waiting.call(**of))[1], None
    return run_together(lock, _waiting.call(**of), _free.call(**of))[1:]


def _claim_next(
    campaign: Campaign, rater: Rater, free: list[tuple[Item, Row]] | None
) -> Assignment | None:
    """Claim a slot on the first item, in the campaign's order, that is new to this person.

    If another person takes the last slot of an item first, the next item is tried.
    """
    for item, is_expired in _free_ones(campaign, rater, free):
        item.campaign = campaign
        if is_expired:
            if again := _reclaim_item(item, rater):
                return again
            continue
        asked, shown = order_for(item, rater)
        asked = prerequisites.units_asked(item, rater, asked)
        slot = _claim_within_share(item, rater)
        if slot is not None:
            asked = units_left(item, rater, asked, slot)
            judge = prerequisites.judge_shown(campaign)
            assignment = Assignment(
                item=item,
                rater=rater,
                slot=slot,
                asked=asked,
                shown=shown,
                assisted_by=judge,
                held_until=lease_end(campaign),
            )
            _assign.run(assignment)
            return assignment
    return None


def _reclaim_item(item: Item, rater: Rater) -> Assignment | None:
    """Claim a slot on an item again after this person's lease expired, with the same units."""
    slot = _claim_within_share(item, rater)
    if slot is None:
        return None
    mine = Assignment.objects.get(item=item, rater=rater, replicate=0, scope="")
    return reopen(mine, slot)


def reopen(assignment: Assignment, slot: int) -> Assignment:
    """Open an expired assignment again, in a slot that was just claimed."""
    assignment.status, assignment.reason, assignment.slot = Assignment.Status.OPEN, "", slot
    assignment.held_until = lease_end(assignment.item.campaign)
    assignment.save(update_fields=["status", "reason", "slot", "held_until"])
    return assignment


def _free_ones(
    campaign: Campaign, rater: Rater, known: list[tuple[Item, Row]] | None
) -> Iterator[tuple[Item, bool]]:
    """Yield free items, `known` ones first, each with whether the person's lease on it expired."""
    for item, (is_expired,) in known or ():
        yield item, is_expired
    while known != [] and (found := _next_free(campaign, rater)):
        yield found


def _takes_first_free(campaign: Campaign) -> bool:
    """Whether each person gets the first free item, without further rules."""
    if campaign.has_shares or campaign.has_plan:
        return False
    return not prerequisites.wait_rules(campaign) and is_plain(campaign)


def _next_free(campaign: Campaign, rater: Rater) -> tuple[Item, bool] | None:
    if not _takes_first_free(campaign):
        ready = free_items(campaign, rater)
        if prerequisites.wait_rules(campaign):
            ready = ready.filter(~prerequisites.waiting_items(campaign, rater))
        candidates = ready.annotate(is_expired=_has_assignment(rater.pk, Q(**EXPIRED)))
        item: Any = next_item(campaign, rater, candidates)
        return (item, item.is_expired) if item else None
    found = _free.first(campaign=campaign.pk, rater=rater.pk)
    return (found[0], found[1][0]) if found else None


def free_items(campaign: Campaign, rater: Rater) -> QuerySet[Item]:
    """Return the items that this person may take now, in order, including waiting ones.

    They have a free slot, and this person has had none of them, or the lease expired.
    """
    free = campaign.items.filter(~_has_assignment(rater.pk, ~Q(**EXPIRED)), taken__lt=F("quota"))
    if campaign.has_shares:
        free = free.filter(within_share(campaign, rater.user_id))
    return free.filter(may_take(campaign.pk, rater.pk)).order_by("position")


def has_reached_limit(campaign: Campaign, rater: Rater) -> bool:
    """Whether a rater has as many items as the campaign gives to one person."""
    if not campaign.items_per_person:
        return False
    mine = Assignment.objects.filter(
        rater=rater, item__campaign=campaign, slot__isnull=False, status__in=("open", "done")
    )
    return mine.count() >= campaign.items_per_person


def may_take_items(campaign: Campaign, rater: Rater) -> bool:
    """Whether a rater may take items of a campaign at all."""
    return Campaign.objects.filter(may_take(campaign.pk, rater.pk), pk=campaign.pk).exists()


def has_lost_access(assignment: Assignment) -> bool:
    """Return whether an answer is read-only because its rater no longer takes part.

    Open assignments are released when a rater stops taking part.
    """
    answered = assignment.status == Assignment.Status.DONE
    return answered and not may_take_items(assignment.item.campaign, assignment.rater)


def _has_assignment(rater: Any, which: Q) -> Exists:
    # A person whose answer was partly carried over may still get the rest of the item.
    rows = Assignment.objects.filter(which, ~Q(scope=CARRIED), item=OuterRef("pk"), rater=rater)
    return Exists(rows)


def _waiting_query() -> QuerySet[Assignment]:
    mine = Assignment.objects.filter(item__campaign=Parameter("campaign"), rater=Parameter("rater"))
    return mine.filter(slot__isnull=False, status="open").order_by("item__position")[:1]


def _free_query() -> QuerySet[Item]:
    had = _has_assignment(Parameter("rater"), ~Q(**EXPIRED))
    free = Item.objects.filter(~had, campaign=Parameter("campaign"), taken__lt=F("quota"))
    free = free.filter(use=Item.Use.STUDY.value)
    free = free.filter(may_take(Parameter("campaign"), Parameter("rater"))).order_by("position")
    return free.annotate(is_expired=_has_assignment(Parameter("rater"), Q(**EXPIRED)))[:1]


_lock = Prepared(
    lambda: Rater.objects.select_for_update().filter(pk=Parameter("rater")).values_list("pk")
)
_waiting = PreparedModels(_waiting_query, {"": columns_of(Assignment)})
_free = PreparedModels(_free_query, {"": columns_of(Item)}, ("is_expired",))
_claim = PreparedUpdate(
    lambda: Item.objects.filter(pk=Parameter("item"), taken__lt=F("quota")), taken=F("taken") + 1
)
_assign = PreparedInsert(Assignment)
_slots = Prepared(
    lambda: Assignment.objects.filter(item=Parameter("item"), slot__isnull=False).values_list(
        "slot"
    )
)


def claim_slot(item: Item) -> int | None:
    """Claim the lowest free slot of an item, in a transaction. Returns None if there is none.

    The update locks the item's row until the transaction ends, so no two callers get one slot.
    """
    claimed, slots = run_together(_claim.call(item=item.pk), _slots.call(item=item.pk))
    if not claimed:
        return None
    used = {slot for (slot,) in slots}
    return next(slot for slot in count(1) if slot not in used)


def _claim_within_share(item: Item, rater: Rater) -> int | None:
    """Like `claim_slot`, but never a slot that is allotted to another person.

    The item is locked by the claim, so that two people without a share cannot both take the last
    slot that is left over.
    """
    slot = claim_slot(item)
    if slot is None or not item.campaign.has_shares or keeps_shares(item, rater.pk):
        return slot
    Item.objects.filter(pk=item.pk).update(taken=F("taken") - 1)
    return None


def order_for(item: Item, rater: Rater) -> tuple[list[str], list[str]]:
    """Return the names of an item's units and the fields of its texts, in this rater's order."""
    stored = list(stored_units(item))
    if not is_shuffled(item.campaign):
        return stored, []
    return shuffle(item.campaign, present(item), stored, rater.name)


def is_shuffled(campaign: Campaign) -> bool:
    """Whether each rater of a campaign sees units and texts in an order of their own."""
    default = "random" if get_protocol(campaign).shuffled else "fixed"
    return (design(campaign).order or default) == "random"


def shuffle(
    campaign: Campaign, spec: ItemSpec, names: Sequence[str], rater: str
) -> tuple[list[str], list[str]]:
    """Return the names of these units, and the fields of all texts, in a rater's random order."""
    seed, purpose = design(campaign).seed, f"order of {spec.key} for {rater}"
    named = name_units(spec.units)
    units = {unit: name for name, unit in named.items()}
    order = shuffle_units([named[name] for name in names], seed, purpose, spec.key)
    fields = shuffle_fields([text.field for text in spec.texts], seed, purpose, spec.key)
    return [units[unit] for unit in order], fields


def reclaim(assignment: Assignment) -> bool:
    """Open a person's expired assignment again, if a slot of its item is free.

    Returns False and changes nothing if the assignment is not expired, the campaign is closed or
    not open to this person, or all slots of the item are taken.
    """
    campaign = assignment.item.campaign
    if assignment.status != EXPIRED["status"] or assignment.reason != EXPIRED["reason"]:
        return False
    if not campaign.takes_answers or not may_take_items(campaign, assignment.rater):
        return False
    if owed_step(campaign, assignment.rater):
        return False
    with transaction.atomic():
        list(Rater.objects.select_for_update().filter(pk=assignment.rater_id))
        # If another request of the same person has locked the row, that request decides.
        row = Assignment.objects.select_for_update(skip_locked=True).filter(pk=assignment.pk)
        if not row.filter(**EXPIRED).first() or has_reached_limit(campaign, assignment.rater):
            return False
        slot = _claim_within_share(assignment.item, assignment.rater)
        if slot is None:
            return False
        reopen(assignment, slot)
    return True


Status = Assignment.Status

REASONS = ("unreadable", "ambiguous", "declined")
"""The missing reasons that a person may give; in files they are those of `label_rows.REASONS`."""


def decline(assignment: Assignment, reason: str) -> bool:
    """Close an open assignment of a person with a reason, and release its slot.

    The item is given to another person, and not to this one again. Labels are missing with the
    reason. Returns False if the assignment is answered or released already, is practice, or the
    campaign takes no answers. Raises ValueError for an unknown reason.
    """
    if reason not in REASONS:
        raise ValueError(reason)
    if assignment.item.use == Item.Use.PRACTICE or not assignment.item.campaign.takes_answers:
        return False
    rows = Assignment.objects.filter(pk=assignment.pk, status=Status.OPEN, slot__isnull=False)
    with transaction.atomic():
        closed = rows.update(status=Status.DECLINED, reason=reason, slot=None, held_until=None)
        if closed:
            Item.objects.filter(pk=assignment.item_id).update(taken=F("taken") - 1)
    return bool(closed)


def take_up_again(assignment: Assignment) -> bool:
    """Open a declined assignment again. Returns False if no slot of its item is free any more."""
    campaign, rater = assignment.item.campaign, assignment.rater
    if not campaign.takes_answers or not may_take_items(campaign, rater):
        return False
    with transaction.atomic():
        list(Rater.objects.select_for_update().filter(pk=rater.pk))
        row = Assignment.objects.select_for_update().filter(pk=assignment.pk)
        if not row.filter(status=Status.DECLINED).exists() or has_reached_limit(campaign, rater):
            return False
        slot = claim_slot(assignment.item)
        if slot is None:
            return False
        reopen(assignment, slot)
    return True
