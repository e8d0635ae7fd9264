"""Check that the batch still yields every stored item with all of its stored units.

Units such as the sentences of a report follow from the texts. If a text is changed afterwards, some
stored units can no longer be shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from annotation.exports.rows import chunks
from annotation.integrity.rows import CHUNK, ItemRow, Study
from annotation.models import Campaign, Item, Unit
from audit.violations import Check, Violation
from tandem.protocols.base import name_units

CHECK = Check(
    "items",
    "the batch still gives each item of a campaign, with all of its units",
    "Restore the texts of the query from a backup, or from the file that the batch was loaded "
    "from; `texts` names those that changed. Until then the item cannot be shown or judged. If a "
    "text was changed on purpose, load the new one as another batch, and continue the campaign "
    "over that.",
)
_COLUMNS = ("pk", "key", "query_id", "shown_passages", "passage_uses")


def find_violations(study: Study) -> Iterator[Violation]:
    if study.schema is None:
        return
    items = study.campaign.items.order_by("query", "pk").values_list(*_COLUMNS)
    for chunk in chunks(map(ItemRow._make, items.iterator(chunk_size=CHUNK)), CHUNK):
        study.ahead = list(dict.fromkeys(item.query for item in chunk))
        stored = _names([item.pk for item in chunk])
        for item in chunk:
            spec = study.shown(item)
            if spec is None:
                yield _violation(study.campaign, item, "its batch no longer gives it")
            elif lost := [name for name in stored[item.pk] if name not in name_units(spec.units)]:
                more = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
                what = f"asks unit {lost[0]!r}{more}, which its texts no longer have"
                yield _violation(study.campaign, item, what)


def _names(items: Sequence[int]) -> Mapping[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    rows = Unit.objects.filter(item__in=items).order_by("item", "position")
    for item, name in rows.values_list("item_id", "name"):
        found[item].append(name)
    return found


def _violation(campaign: Campaign, item: ItemRow, what: str) -> Violation:
    where = {"campaign": campaign.name, "item": item.key, "table": Item._meta.db_table}
    return Violation(
        CHECK.name, f"campaign {campaign.name}, item {item.key}: {what}", {**where, "id": item.pk}
    )
