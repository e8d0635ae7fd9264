"""An item before its campaign exists, for its page and its prompt: rows that are never stored.

Only one query of the batch is read, however large the batch is. The rows have the primary key 0,
which no stored row has, so whatever looks for stored answers finds none.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from django.utils import timezone

from annotation.assignments.queue import is_shuffled, shuffle
from annotation.campaign_setup.creation import checked_campaign
from annotation.campaigns.design import Design
from annotation.models import Assignment, Campaign, Item, Rater
from annotation.presentation import items_of
from annotation.protocols.base import Protocol
from datasets.material import as_row
from datasets.models import Batch
from tandem.protocols.base import ItemSpec, name_units

MOST_ITEMS = 200
"""How many items of one query can be looked at."""


@dataclass(frozen=True)
class PreviewedItem:
    """Item `number`, from 1, of the `items` of a query, assigned to nobody."""

    assignment: Assignment
    number: int
    items: int


def preview_item(
    batch: Batch, protocol: Protocol, position: int = 0, number: int = 1
) -> PreviewedItem | None:
    """Return an item of the query at a position of a batch; None if the query has no items.

    A `number` beyond the last item is the last. Raises DesignError.
    """
    query = batch.queries.filter(position=position).first()
    if query is None:
        return None
    campaign = checked_campaign("preview", protocol, batch, Design())
    campaign.pk, campaign.created_at, campaign.is_open = 0, timezone.now(), True
    campaign.team = batch.team
    made = items_of(campaign, as_row(query, protocol.needs))
    specs = list(islice((spec for spec in made if spec.units), MOST_ITEMS))
    if not specs:
        return None
    number = min(max(1, number), len(specs))
    item = Item(pk=0, campaign=campaign, query=query, key=specs[number - 1].key, position=0)
    return PreviewedItem(_assign(campaign, item, specs[number - 1]), number, len(specs))


def _assign(campaign: Campaign, item: Item, spec: ItemSpec) -> Assignment:
    asked, shown = list(name_units(spec.units)), list[str]()
    if is_shuffled(campaign):
        asked, shown = shuffle(campaign, spec, asked, "preview")
    rater = Rater(pk=0, name="preview", kind=Rater.Kind.HUMAN)
    return Assignment(pk=0, item=item, rater=rater, asked=asked, shown=shown)
