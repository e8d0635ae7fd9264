"""What is left to ask about an item whose answers were partly carried over.

The carried part of a person's answer is an assignment of its own, with the scope `carried`. The
item has as many slots as its most incomplete unit lacks answers. Slot N asks only the units that
lack at least N answers, so no unit gets more answers than the design asks for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from django.db.models import Exists, OuterRef

from annotation.models import CARRIED, Assignment, CarriedAnswer, Item, Rater
from annotation.prerequisites import units_for_people
from annotation.presentation import stored_units


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
