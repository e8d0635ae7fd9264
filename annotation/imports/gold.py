"""Import gold answers from a labels file: their items become gold or practice items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from django.db import transaction

from annotation.imports.index import KnownItems
from annotation.models import Assignment, Campaign, GoldAnswer, Item, Unit
from annotation.presentation import present
from audit.recording import record
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Place
from tandem.labels.file.reader import read_labels
from tandem.labels.file.rows import CheckedRow, LabelRow

MANY = 1000
"""The slots of a gold or practice item: more than any study has people."""
EVERY = 10
MOST_NAMED = 10_000
"""The most items that one query names. For more, all items of the campaign are read."""
LONGEST_REASON = 2000


@dataclass(frozen=True)
class GoldCounts:
    """The numbers of gold answers and items in a file. `unchanged` if all were stored before."""

    answers: int
    items: int
    unchanged: Annotated[bool, "whether all of it was stored before"] = False


def set_known(
    paths: Sequence[Path], campaign: Campaign, use: str, rater: str | None = None
) -> GoldCounts:
    """Import gold answers from labels files, in one transaction. Raises InputError.

    `rater` restricts the import to the lines of one rater, such as an adjudicator.
    """
    rows = [row for path in paths for row in read_labels(path) if rater in (None, row.rater)]
    if not rows:
        where = f" by {rater!r}" if rater else ""
        place = Place(str(paths[0]))
        raise InputError(place, f"there is no label{where}", "name a file with gold answers")
    return store_gold_answers(rows, campaign, use)


def store_gold_answers(rows: Sequence[LabelRow], campaign: Campaign, use: str) -> GoldCounts:
    """Store rows as gold answers, replacing those of the same items. Raises InputError."""
    keys = {row.item for row in rows}
    known = KnownItems(campaign, keys if len(keys) <= MOST_NAMED else None)
    checked = list(known.check_rows(rows))
    with transaction.atomic():
        # Reread the row, so that the save below does not restore old values.
        locked = Campaign.objects.select_for_update()
        campaign.refresh_from_db(fields=["gold_every", "practice_of"], from_queryset=locked)
        return _store(campaign, known, checked, use)


def _store(campaign: Campaign, known: KnownItems, rows: list[CheckedRow], use: str) -> GoldCounts:
    gold: dict[tuple[str, str, str], tuple[str, str]] = {}
    for each in rows:
        row = each.row
        if row.value is None:
            raise InputError(row.place, "a gold answer needs a value", "leave the line out")
        place, answer = (row.item, each.name, row.variable), (row.value, _reason(row))
        if gold.setdefault(place, answer)[0] != row.value:
            wrong = f"{excerpt(row.variable)} of unit {excerpt(row.unit)} is known in two ways"
            raise InputError(row.place, wrong, "keep one, or name a rater by --rater")
    items = {known.item(item).pk: known.item(item) for item, _, _ in gold}
    if _is_stored(items, gold, use):
        return GoldCounts(len(gold), len(items), unchanged=True)
    # Claiming a slot locks the item's row, so every earlier claim is visible after this lock.
    list(Item.objects.select_for_update().filter(pk__in=items).order_by("pk").values_list("pk"))
    places = {each.row.item: each.row.place for each in rows}
    _check_untouched(items, places)
    _check_not_taken(items, places)
    GoldAnswer.objects.filter(unit__item__in=items).delete()
    units = {(u.item_id, u.name): u for u in Unit.objects.filter(item__in=items)}
    GoldAnswer.objects.bulk_create(
        GoldAnswer(
            unit=units[known.item(item).pk, name], variable=variable, value=value, reason=reason
        )
        for (item, name, variable), (value, reason) in gold.items()
    )
    Item.objects.filter(pk__in=items).update(use=use, quota=MANY)
    _set_use(campaign, use)
    facts = sorted(map(str, gold.items()))
    record("known.set", campaign.pk, campaign, None, facts, answers=len(gold), use=str(use))
    return GoldCounts(len(gold), len(items))


def _reason(row: LabelRow) -> str:
    reason = (row.meta or {}).get("reason")
    return reason[:LONGEST_REASON] if isinstance(reason, str) else ""


def _is_stored(
    items: dict[int, Item], gold: dict[tuple[str, str, str], tuple[str, str]], use: str
) -> bool:
    if any(item.use != use for item in items.values()):
        return False
    rows = GoldAnswer.objects.filter(unit__item__in=items).select_related("unit__item")
    stored = {
        (row.unit.item.key, row.unit.name, row.variable): (row.value, row.reason) for row in rows
    }
    return stored == gold


def _check_untouched(items: dict[int, Item], places: dict[str, Place]) -> None:
    people = Assignment.objects.filter(item__in=items, rater__kind="human")
    assigned = people.order_by("item__position").values_list("item__key", flat=True).first()
    if assigned is not None:
        wrong = f"item {excerpt(assigned)} was given to people already"
        raise InputError(places[assigned], wrong, "set gold answers before the campaign begins")


def _check_not_taken(items: dict[int, Item], places: dict[str, Place]) -> None:
    """Refuse items whose labels equal citations of other items take: gold ones count nowhere."""
    for item in items.values():
        for unit in present(item).units if item.campaign.options.get("same") else ():
            if any(other != item.key for other, _ in unit.also):
                wrong = f"item {excerpt(item.key)} is asked for equal citations of other items"
                raise InputError(places[item.key], wrong, "give another item gold answers")


def _set_use(campaign: Campaign, use: str) -> None:
    if use == Item.Use.GOLD and not campaign.gold_every:
        campaign.gold_every = EVERY
    if use == Item.Use.PRACTICE and campaign.practice_of_id is None:
        campaign.practice_of = campaign
    campaign.save(update_fields=["gold_every", "practice_of"])
