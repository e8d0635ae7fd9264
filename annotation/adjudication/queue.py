"""The order in which disputes are decided: the most useful first, each item read once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Literal

from annotation.adjudication.disputes import Dispute, Of, counted, disputes
from annotation.adjudication.members import own_units
from annotation.models import Campaign, Decision, Unit, User

State = Literal["open", "decided"]
OF: dict[Of, str] = {
    "all": "All disputes",
    "people": "People disagree",
    "judges": "A judge disagrees with most people",
}
STATES: dict[State, str] = {"open": "To decide", "decided": "Decided"}


@dataclass(frozen=True)
class Wanted:
    """A part of the queue: disputes of one kind, of one variable (none: of any), open or decided.

    `item` looks at one item alone.
    """

    of: Of = "all"
    variable: str = ""
    state: State = "open"
    item: int | None = None


def queue(campaign: Campaign, user: User, wanted: Wanted = Wanted()) -> list[Dispute]:
    """What an adjudicator is to decide, or decided has been, in order; the own units stay out."""
    return _ordered(_found(campaign, wanted, user))


def sizes(campaign: Campaign, wanted: Wanted = Wanted()) -> dict[State, int]:
    """How many units are in dispute and not decided yet, and how many are decided."""
    return {state: len(_found(campaign, replace(wanted, state=state))) for state in STATES}


def following(campaign: Campaign, user: User, unit: Unit, wanted: Wanted) -> int | None:
    """The unit to go on with after one, by its primary key; none where nothing is left.

    What else is in dispute on the same item comes first: its texts were read just now.
    """
    for part in (replace(wanted, item=unit.item_id), wanted):
        others = [each.unit for each in queue(campaign, user, part) if each.unit != unit.pk]
        if others:
            return others[0]
    return None


def decided_units(campaign: Campaign) -> set[int]:
    rows = Decision.objects.filter(unit__item__campaign=campaign, response__current=True)
    return set(rows.order_by().values_list("unit", flat=True))


def _found(campaign: Campaign, wanted: Wanted, user: User | None = None) -> list[Dispute]:
    labels = counted(campaign)
    if wanted.item is not None:
        labels = labels.filter(unit__item=wanted.item)
    if user is not None:
        labels = labels.exclude(unit__in=own_units(user, campaign))
    done, found = decided_units(campaign), disputes(labels, wanted.of, wanted.variable)
    return [each for each in found if (each.unit in done) == (wanted.state == "decided")]


def _ordered(found: list[Dispute]) -> list[Dispute]:
    """Items by their most useful dispute, and within an item the most useful first."""
    items: dict[int, list[Dispute]] = defaultdict(list)
    for each in sorted(found, key=lambda d: (d.rank, d.position)):
        items[each.item].append(each)
    blocks = sorted(items.values(), key=lambda block: (block[0].rank, block[0].item_position))
    return [each for block in blocks for each in block]
