"""Turn decided units into gold answers of a campaign whose people have not seen these units."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from annotation.adjudication.disputes import Selection, counted_labels
from annotation.imports.gold import store_gold_answers
from annotation.models import Assignment, Campaign, GoldAnswer, Item, Label, Rater, Unit, User
from annotation.people.membership import manageable
from annotation.trust import roles
from tandem.files.rows import Place
from tandem.grouping import grouped
from tandem.labels.file.rows import LabelRow

FEWEST_PEOPLE = 2
UNDECIDED = "they are undecided: people need two equal labels and no other, or a decision"
NO_SUCH_ITEM = "the other campaign has no such item"
ALREADY_ASSIGNED = "people have already been given their items in the other campaign"
PRACTICE = "their items are practice in the other campaign"
_KEY = ("item__key", "kind", "key")
UnitKey = tuple[str, str, str]
"""The keys of an item and of its unit, with the unit's kind between them."""


@dataclass(frozen=True)
class DecidedValue:
    """The value that people decided on, and how they decided."""

    value: str
    how: str


def decided_values(
    campaign: Campaign, units: Collection[int], variable: str
) -> Mapping[int, DecidedValue]:
    """Return the values on which people agree without exception, or that were adjudicated."""
    people = counted_labels(campaign).filter(
        unit__in=list(units),
        variable=variable,
        response__assignment__rater__kind=Rater.Kind.HUMAN,
    )
    votes = grouped(people.values_list("unit", "value"))
    found = {
        unit: DecidedValue(given[0], f"{len(given)} people agreed")
        for unit, given in votes.items()
        if len(given) >= FEWEST_PEOPLE and len(set(given)) == 1
    }
    decisions = Label.objects.filter(
        unit__in=list(units),
        variable=variable,
        response__current=True,
        response__decision__isnull=False,
    )
    decisions = roles.without_certify(decisions, campaign)
    for unit, value in decisions.values_list("unit", "value"):
        found[unit] = DecidedValue(value, "adjudicated")
    return found


def gold_targets(campaign: Campaign, user: User | None) -> list[Campaign]:
    """Return the campaigns that can get gold answers from this one, by name.

    They have the same protocol, and an item with the same key that nobody has been given. `user`
    must be allowed to change them; None stands for a command.
    """
    rows = Campaign.objects.all() if user is None else manageable(user)
    keys = campaign.items.order_by().values("key")
    given = Assignment.objects.filter(rater__kind=Rater.Kind.HUMAN).values("item")
    fresh = Item.objects.filter(key__in=keys).exclude(pk__in=given)
    others = rows.filter(campaign.of_same_protocol, pk__in=fresh.values("campaign"))
    return list(others.exclude(pk=campaign.pk).order_by("name"))


def goldable(
    campaign: Campaign, units: Collection[int], variable: str, target: Campaign
) -> Selection:
    """Return which units of a campaign can become gold answers of another one."""
    decided = decided_values(campaign, units, variable)
    certify, there = roles.certify_units(campaign, units), _places(target, campaign, units)
    given = set(
        Assignment.objects.filter(item__campaign=target, rater__kind=Rater.Kind.HUMAN)
        .order_by()
        .values_list("item", flat=True)
    )
    reasons = {}
    for unit in units:
        place = there.get(unit)
        if unit in certify:
            reasons[unit] = roles.REASON
        elif unit not in decided:
            reasons[unit] = UNDECIDED
        elif place is None:
            reasons[unit] = NO_SUCH_ITEM
        elif place.item_id in given:
            reasons[unit] = ALREADY_ASSIGNED
        elif place.item.use == Item.Use.PRACTICE:
            reasons[unit] = PRACTICE
    return Selection.of(units, reasons)


def make_gold(campaign: Campaign, units: Collection[int], variable: str, target: Campaign) -> int:
    """Store decided units as gold answers of another campaign, and return how many.

    Gold answers that the same items have already are kept. Units that are not `goldable` are left
    out. Raises InputError if people got an item meanwhile.
    """
    found = goldable(campaign, units, variable, target).units
    if not found:
        return 0
    decided, there = decided_values(campaign, found, variable), _places(target, campaign, found)
    rows = [
        _row(there[unit], variable, decided[unit].value, f"{decided[unit].how} in {campaign.name}")
        for unit in found
    ]
    new = {(row.item, row.kind, row.unit, row.variable) for row in rows}
    items = {there[unit].item_id for unit in found}
    kept = [row for row in _stored(items)
            if (row.item, row.kind, row.unit, row.variable) not in new]  # fmt: skip
    store_gold_answers([*kept, *rows], target, Item.Use.GOLD)
    return len(found)


def _places(target: Campaign, campaign: Campaign, units: Collection[int]) -> dict[int, Unit]:
    """Map each unit here to the target's unit with the same keys."""
    rows = Unit.objects.filter(pk__in=list(units), item__campaign=campaign).order_by()
    keys: dict[UnitKey, int] = {(item, kind, key): pk for pk, item, kind, key in
                                rows.values_list("pk", *_KEY)}  # fmt: skip
    items = {item for item, _, _ in keys}
    others = Unit.objects.filter(item__campaign=target, item__key__in=list(items))
    found = {}
    for other in others.select_related("item").order_by():
        if (unit := keys.get((other.item.key, other.kind, other.key))) is not None:
            found[unit] = other
    return found


def _row(unit: Unit, variable: str, value: str, reason: str) -> LabelRow:
    return LabelRow(
        item=unit.item.key,
        unit=unit.key,
        kind=unit.kind,
        variable=variable,
        rater="people",
        value=value,
        meta={"reason": reason} if reason else None,
        place=Place("the list of disagreements"),
    )


def _stored(items: Collection[int]) -> Iterator[LabelRow]:
    rows = GoldAnswer.objects.filter(unit__item__in=items).select_related("unit__item")
    for row in rows:
        yield _row(row.unit, row.variable, row.value, row.reason)
