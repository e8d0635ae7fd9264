"""Labels of several campaigns over the same units, read as those of one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

from .facts import LabelFact

UnitKey = tuple[str, str, str]
"""The key of an item, and the kind and the key of a unit."""


def not_replaced(facts: Iterable[LabelFact], replaced: Collection[UnitKey]) -> Iterator[LabelFact]:
    """Yield the labels of units that are not `replaced` by another campaign's."""
    return (fact for fact in facts if (fact.item, fact.kind, fact.unit) not in replaced)


def first_labels(campaigns: Sequence[Iterable[LabelFact]]) -> Iterator[LabelFact]:
    """Yield the labels of several campaigns; a rater's label of a unit that two have, once."""
    if len(campaigns) == 1:
        yield from campaigns[0]
        return
    seen = set()
    for fact in chain.from_iterable(campaigns):
        key = fact.item, fact.kind, fact.unit, fact.variable, fact.rater, fact.replicate
        if key not in seen:
            seen.add(key)
            yield fact
