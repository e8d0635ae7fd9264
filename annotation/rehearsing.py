"""A dry run: who would get what by a design, and what it could estimate. Nothing is written."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from annotation.campaigns import check_references, checked_campaign, roles_before
from annotation.declared import declared
from annotation.design import Design, DesignError
from annotation.drawing import DrawnQuery, draw_queries, draw_several, kind_of_draw
from annotation.expecting import (
    Assumptions,
    Expected,
    expected_kappa,
    expected_powered,
    expected_share,
)
from annotation.itemmaking import drafted_items
from annotation.models import Campaign, User
from annotation.references import check_practice
from annotation.roles import EVALUATION
from annotation.terms import Terms, check_terms
from datasets.models import Batch

MOST_PEOPLE, MOST_PAIRED = 1000, 60


class Share(NamedTuple):
    """What one person would get."""

    items: int
    units: int


@dataclass(frozen=True)
class Rehearsal:
    """What a campaign would come to.

    `places` are answers of people that the design asks for; `unfilled` of them find nobody among so
    many `people`, who are taken to work at the same pace. `common` are the fewest and the most
    units that two of them share; None where there are too many pairs to count. `judge_only` queries
    have no people. `kappa` and `share` rest on people, `powered` on people and a judge together,
    evaluation queries alone.
    """

    queries: int
    asked_queries: int
    judge_only: int
    roles: dict[str, int]
    items: int
    units: int
    places: int
    several: int
    people: int
    unfilled: int
    shares: tuple[Share, ...]
    common: tuple[int, int] | None
    kappa: Expected
    share: Expected
    powered: Expected | None
    assumptions: Assumptions


class _Item(NamedTuple):
    key: str
    query: str
    units: int
    quota: int


def rehearse(
    name: str,
    protocol: str,
    batch: Batch,
    design: Design,
    terms: Terms | None = None,
    people: int | None = None,
    assumptions: Assumptions | None = None,
    progress: Callable[[int], None] = lambda done: None,
    most: int | None = None,
    by: User | None = None,
) -> Rehearsal:
    """The same checks as for the campaign itself. Raises DesignError.

    `people` is how many are expected, as many as an item asks for unless told. With more than
    `most` items it gives up.
    """
    people = design.raters_per_item if people is None else people
    if not 1 <= people <= MOST_PEOPLE:
        raise DesignError(f"people are not from 1 to {MOST_PEOPLE}; give another number")
    campaign = checked_campaign(name, protocol, batch, design)
    if Campaign.objects.filter(name=name).exists():
        raise DesignError(f"a campaign called {name!r} is there already; choose a new name")
    check_references(campaign, design, by)
    check_terms(campaign, terms or Terms())
    check_practice(campaign, terms or Terms(), by)
    keys = list(batch.queries.values_list("key", flat=True))
    drawn = draw_queries(keys, design, roles_before(campaign))
    items = _items(campaign, design, drawn, progress, most)
    if not items:
        raise DesignError(f"batch {batch.name!r} has nothing for {protocol}; choose another")
    return _told(items, drawn, design, people, assumptions or Assumptions())


def _items(
    campaign: Campaign,
    design: Design,
    drawn: dict[str, DrawnQuery],
    progress: Callable[[int], None],
    most: int | None,
) -> list[_Item]:
    protocol = declared(campaign)
    fewer = kind_of_draw(design, protocol) != "all"
    found: list[tuple[str, str, int]] = []
    for number, each in enumerate(drafted_items(campaign, protocol), start=1):
        units = len(each.spec.units)
        asked = min(units, design.per_passage) if fewer else units
        found.append((each.spec.key, each.query_key, asked))
        progress(number)
        if most is not None and number > most:
            raise DesignError(f"it has more than {most} items; try it by create_campaign --dry-run")
    several = draw_several([key for key, query, _ in found if drawn[query].drawn], design)
    return [
        _Item(key, query, units, _quota(key, drawn[query], several, design))
        for key, query, units in found
    ]


def _quota(key: str, query: DrawnQuery, several: set[str], design: Design) -> int:
    if not query.drawn:
        return 0
    return design.raters_per_item if key in several else 1


def _told(
    items: list[_Item],
    drawn: dict[str, DrawnQuery],
    design: Design,
    people: int,
    given: Assumptions,
) -> Rehearsal:
    holders = _share_out(items, people)
    asked = [item for item in items if item.quota]
    shared = [item for item in asked if item.quota > 1]
    evaluation = {key for key, query in drawn.items() if query.role.name == EVALUATION}
    compared = [item for item in asked if item.query in evaluation]
    # Queries without items count for nobody.
    used = {item.query for item in items}
    others = len({item.query for item in items if not item.quota} & evaluation)
    return Rehearsal(
        queries=len(used),
        asked_queries=len({item.query for item in asked}),
        judge_only=len({item.query for item in items if not item.quota}),
        roles=dict(Counter(drawn[query].role.name for query in used)),
        items=len(items),
        units=sum(item.units for item in items),
        places=sum(item.quota for item in items),
        several=len(shared),
        people=people,
        unfilled=sum(item.quota - len(held) for item, held in zip(items, holders, strict=True)),
        shares=_shares(items, holders, people),
        common=_common(items, holders, people),
        kappa=expected_kappa(_sizes(shared), min(design.raters_per_item, people), given),
        share=expected_share(_sizes(asked), given),
        powered=expected_powered(_sizes(compared), others, given) if others else None,
        assumptions=given,
    )


def _sizes(items: Iterable[_Item]) -> list[int]:
    """The units of each query."""
    found: Counter[str] = Counter()
    for item in items:
        found[item.query] += item.units
    return list(found.values())


def _share_out(items: list[_Item], people: int) -> list[tuple[int, ...]]:
    """The people of each item: those who have had the fewest items so far."""
    waiting = [(0, person) for person in range(people)]
    found = []
    for item in items:
        taken = [heapq.heappop(waiting) for _ in range(min(item.quota, people))]
        found.append(tuple(person for _, person in taken))
        for had, person in taken:
            heapq.heappush(waiting, (had + 1, person))
    return found


def _shares(items: list[_Item], holders: list[tuple[int, ...]], people: int) -> tuple[Share, ...]:
    number, units = Counter[int](), Counter[int]()
    for item, held in zip(items, holders, strict=True):
        for person in held:
            number[person] += 1
            units[person] += item.units
    return tuple(Share(number[person], units[person]) for person in range(people))


def _common(
    items: list[_Item], holders: list[tuple[int, ...]], people: int
) -> tuple[int, int] | None:
    if not 2 <= people <= MOST_PAIRED:
        return None
    pairs = dict.fromkeys(combinations(range(people), 2), 0)
    for item, held in zip(items, holders, strict=True):
        for pair in combinations(sorted(held), 2):
            pairs[pair] += item.units
    return min(pairs.values()), max(pairs.values())
