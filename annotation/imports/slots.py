"""The slots of a campaign whose answers were all imported.

An imported answer takes no slot, so that people here are still asked. Once the files have every
answer that the campaign asks for, and nobody here has begun, there is nothing left to ask: the
imported answers then take the slots, and no item is given out again.
"""

from __future__ import annotations

from collections import Counter

from annotation.campaigns.answer_totals import answer_totals
from annotation.models import Assignment, Campaign, Item, Rater

CHUNK = 1000


def fill_slots(campaign: Campaign) -> int:
    """Give the slots to imported answers if these are all that is asked. Returns their number."""
    people = Assignment.objects.filter(item__campaign=campaign, rater__kind=Rater.Kind.HUMAN)
    if campaign.has_shares or people.filter(slot__isnull=False).exists():
        return 0
    totals = answer_totals(campaign)
    if not totals.asked or totals.open:
        return 0
    items = Item.objects.filter(campaign=campaign, use=Item.Use.STUDY, quota__gt=0)
    quotas = dict(items.values_list("pk", "quota"))
    taken: Counter[int] = Counter()
    filled: list[Assignment] = []
    whole = people.filter(status=Assignment.Status.DONE, replicate=0, scope="")
    for answer in whole.order_by("item", "pk").only("item", "slot").iterator(chunk_size=CHUNK):
        if taken[answer.item_id] < quotas.get(answer.item_id, 0):
            taken[answer.item_id] += 1
            answer.slot = taken[answer.item_id]
            filled.append(answer)
    full = [Item(pk=pk, taken=number) for pk, number in taken.items() if number]
    Item.objects.bulk_update(full, ["taken"], batch_size=CHUNK)
    Assignment.objects.bulk_update(filled, ["slot"], batch_size=CHUNK)
    return len(filled)
