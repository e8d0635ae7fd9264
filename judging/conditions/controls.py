"""Null controls: items whose texts are taken away, or exchanged for those of another query.

A judge that still finds in them what is asked reads something else than the texts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle, product

from annotation.models import Item
from annotation.presenting import present
from annotation.protocols.base import ItemSpec, Text, UnitSpec
from annotation.protocols.parts import beside, opening

MATERIAL = ("report", "passage", "sentence", "passage-sentence", "report-passage")
"""Kinds of units whose words are words of a text."""


def emptied(spec: ItemSpec) -> ItemSpec:
    """The item with nothing in its texts, and no word of them elsewhere."""
    texts = tuple(_bare(text, "") for text in spec.texts)
    return replace(spec, texts=texts, units=_worded(spec.units, {k: [""] for k in MATERIAL}))


def exchanged(spec: ItemSpec, item: Item, seed: int) -> ItemSpec:
    """The item with the texts of a randomly drawn item of another query of its campaign.

    The item as it is, where there is no other query.
    """
    if (other := _other(item, seed)) is None:
        return spec
    foreign = present(other)
    texts = tuple(_from_others(spec.texts, foreign.texts))
    words = {
        kind: [opening(text.text) for text in texts if text.field.startswith(kind)]
        if kind in ("report", "passage")
        else [unit.text for unit in foreign.units if unit.kind == kind]
        for kind in MATERIAL
    }
    pairs = product(words["report"], words["passage"])
    words["report-passage"] = [beside(passage, answer) for answer, passage in pairs]
    return replace(spec, texts=texts, units=_worded(spec.units, words))


def _other(item: Item, seed: int) -> Item | None:
    others = Item.objects.filter(campaign=item.campaign_id).exclude(query=item.query_id)
    keys = list(others.order_by("position").values_list("pk", flat=True))
    if not keys:
        return None
    drawn = random.Random(f"{seed}/{item.key}").choice(keys)
    return Item.objects.select_related("campaign", "query").get(pk=drawn)


def _from_others(texts: Sequence[Text], others: Sequence[Text]) -> Iterator[Text]:
    """Each text with the words of one of its own kind, in turn; of any kind where there is none."""
    for kind in dict.fromkeys(map(_kind, texts)):
        alike = [o for o in others if _kind(o) == kind] or list(others)
        words = cycle([o.text for o in alike] or [""])
        yield from (_bare(text, next(words)) for text in texts if _kind(text) == kind)


def _kind(text: Text) -> str:
    return text.field.partition(":")[0]


def _bare(text: Text, words: str) -> Text:
    """The text with other words, and without what would tell of its own."""
    heading = {"report": "Report", "passage": "Passage"}.get(_kind(text), "Text")
    return replace(text, text=words, heading=heading, facts=(), suggested=())


def _worded(units: Sequence[UnitSpec], words: dict[str, list[str]]) -> tuple[UnitSpec, ...]:
    """The units with other words where these are words of a text, each kind's in turn."""
    turns = {kind: cycle(found or [""]) for kind, found in words.items()}
    return tuple(
        replace(unit, text=next(turns[unit.kind])) if unit.kind in turns else unit for unit in units
    )
