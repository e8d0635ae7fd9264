"""Dry run of a design: items and effort of each person, and how wide intervals would be.

Nothing is stored. The widths are those of `expected_widths`.

The pace is that of people in earlier campaigns with the same task. Without any, it is unknown; it
is never guessed. The costs of judges are computed by `judging`, which adds to `JUDGE_COSTS`.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations
from statistics import median
from typing import Annotated, NamedTuple

from annotation.campaign_setup.carry_over import CarriedSlots, carried_slots
from annotation.campaign_setup.creation import (
    check_references,
    checked_campaign,
    continue_campaign,
    splits_before,
)
from annotation.campaign_setup.expected_widths import (
    Assumptions,
    Expected,
    expected_kappa,
    expected_powered,
    expected_share,
)
from annotation.campaign_setup.items import DraftItem, asked_items
from annotation.campaigns.changes import check_practice, check_settings
from annotation.campaigns.design import Design, DesignError
from annotation.campaigns.sampling import (
    EVALUATION,
    SampledQuery,
    sample_queries,
    sample_shared_items,
    sample_units,
    sampling_kind,
)
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Assignment, Campaign, Item, Rater, User
from annotation.people.membership import readable
from annotation.presentation import schema
from annotation.protocols.base import Protocol
from annotation.registry import get_protocol
from datasets.models import Batch, Team
from datasets.work.guard import for_workers
from tandem.protocols.base import kinds_of
from tandem.verbs import verb_of

CHOSEN_ALONE = (
    "The items were chosen, not sampled: figures will describe them alone, not the batch."
)
JUDGES_ALONE = "Only judges are asked: there is no annotator slot, and nothing waits for people."
MOST_PEOPLE, MOST_PAIRED = 1000, 60


class Share(NamedTuple):
    """The numbers of items and units that one person would get."""

    items: int
    units: int


@dataclass(frozen=True)
class DryRun:
    """The predicted numbers of a campaign, as the API describes them.

    `common` is None if there are too many pairs. `characters` is the length of all items' texts.
    `is_chosen` says that the items were chosen, not sampled. `noun` is the protocol's noun for its
    units, in singular and plural.
    """

    queries: int
    asked_queries: Annotated[int, "queries that people are asked"]
    judge_only: Annotated[int, "queries for judges alone"]
    roles: Annotated[dict[str, int], "queries by role"]
    items: int
    units: int
    places: Annotated[int, "people's answers that the design asks for"]
    carried: Annotated[int, "of these, answers carried over from the continued campaign"]
    several: Annotated[int, "items with several people"]
    people: int
    unfilled: Annotated[int, "slots that remain free with this number of people"]
    shares: Annotated[tuple[Share, ...], "what each person gets if all work at the same pace"]
    common: Annotated[
        tuple[int, int] | None, "smallest and largest number of units that two people share"
    ]
    kappa: Expected
    share: Annotated[Expected, "a share such as coverage, estimated from people alone"]
    powered: Annotated[Expected | None, "the same share, with a judge on all queries"]
    assumptions: Assumptions
    characters: int
    is_chosen: bool
    noun: tuple[str, str] = ("unit", "units")


class _Item(NamedTuple):
    """An item, with `quota` slots by the design.

    Of these, answers that are carried over take `taken`, and `spared` are not needed, since each
    unit has been answered in parts.
    """

    key: str
    query: str
    units: int
    quota: int
    characters: int
    taken: int = 0
    spared: int = 0

    @property
    def places(self) -> int:
        return self.quota - self.spared

    @property
    def free(self) -> int:
        return self.places - self.taken


@for_workers
def simulate(
    name: str,
    protocol: str,
    batch: Batch,
    design: Design,
    settings: CampaignSettings | None = None,
    people: int | None = None,
    assumptions: Assumptions | None = None,
    progress: Callable[[int], None] = lambda done: None,
    most: int | None = None,
    by: User | None = None,
    team: Team | None = None,
    continues: str = "",
) -> DryRun:
    """Simulate a campaign after the same checks as for creating it. Raises DesignError.

    `people` is the expected number of people, by default the raters per item. With more than `most`
    items, DesignError is raised. The last four arguments are those of `create_campaign`.
    """
    people = max(1, design.raters_per_item) if people is None else people
    if not 1 <= people <= MOST_PEOPLE:
        raise DesignError(f"the number of people must be 1 to {MOST_PEOPLE}", "people")
    campaign = checked_campaign(name, protocol, batch, design, team)
    if Campaign.objects.filter(name=name).exists():
        raise DesignError(f"a campaign called {name!r} exists already; choose a new name", "name")
    campaign.team = team or batch.team
    old = continue_campaign(campaign, continues, design, by)
    check_references(campaign, design, by)
    check_practice(campaign, settings or CampaignSettings(), by)
    check_settings(campaign, settings or CampaignSettings())
    keys = list(batch.queries.values_list("key", flat=True))
    found = _items(campaign, design, progress, most)
    if not found:
        raise DesignError(
            f"batch {batch.name!r} has nothing for {protocol}; choose another", "batch"
        )
    drawn = sample_queries(keys, design, splits_before(campaign), {each.query for each in found})
    asked = {each.key for each in found if each.units and drawn[each.query].drawn}
    several = sample_shared_items([each.key for each in found if each.key in asked], design)
    items = [
        each._replace(quota=_quota(each.key, each.key in asked, several, design)) for each in found
    ]
    if old:
        items = _fill(items, campaign, old, design)
    summary = _summarize(items, drawn, design, people, assumptions or Assumptions())
    return replace(summary, noun=schema(campaign).noun)


def _fill(items: list[_Item], campaign: Campaign, old: Campaign, design: Design) -> list[_Item]:
    """Return the items with the slots that answers of the continued campaign take."""
    protocol, names = get_protocol(campaign), dict[str, list[str]]()
    kinds = kinds_of(schema(campaign, "people").variables)

    def with_names() -> Iterator[tuple[DraftItem, list[str]]]:
        for each in asked_items(campaign, protocol, design):
            units = sample_units(each.spec.key, each.spec.units, design, protocol)
            names[each.spec.key] = [
                unit.name for unit in units if unit.drawn is not False and unit.spec.kind in kinds
            ]
            yield each, names[each.spec.key]

    carried = carried_slots(campaign, old, with_names())
    filled = []
    for item in items:
        slots = carried.get(item.key, CarriedSlots())
        taken, places = slots.taken_of(item.quota, names[item.key])
        filled.append(item._replace(taken=taken, spared=item.quota - places))
    return filled


def _items(
    campaign: Campaign,
    design: Design,
    progress: Callable[[int], None],
    most: int | None,
) -> list[_Item]:
    """Return the items without their slots."""
    protocol = get_protocol(campaign)
    fewer = sampling_kind(design, protocol) != "all"
    kinds = kinds_of(schema(campaign, "people").variables)
    found: list[_Item] = []
    for number, each in enumerate(asked_items(campaign, protocol, design), start=1):
        units = sum(unit.kind in kinds and not unit.same_as for unit in each.spec.units)
        asked = min(units, design.per_passage) if fewer else units
        characters = sum(len(text.text) for text in each.spec.texts)
        found.append(_Item(each.spec.key, each.query_key, asked, 0, characters))
        progress(number)
        if most is not None and number > most:
            raise DesignError(
                f"it has more than {most} items; use {verb_of('create_campaign')} --dry-run"
            )
    return found


def _quota(key: str, is_asked: bool, several: set[str], design: Design) -> int:
    if not is_asked:
        return 0
    return design.raters_per_item if key in several else 1


def _summarize(
    items: list[_Item],
    drawn: dict[str, SampledQuery],
    design: Design,
    people: int,
    assumptions: Assumptions,
) -> DryRun:
    holders = _assign_people(items, people)
    asked = [item for item in items if item.quota]
    shared = [item for item in asked if item.quota > 1]
    evaluation = {key for key, query in drawn.items() if query.role.name == EVALUATION}
    compared = [item for item in asked if item.query in evaluation]
    # Queries without items are not counted.
    used = {item.query for item in items}
    others = len({item.query for item in items if not item.quota} & evaluation)
    return DryRun(
        queries=len(used),
        asked_queries=len({item.query for item in asked}),
        judge_only=len({item.query for item in items if not item.quota}),
        roles=dict(Counter(drawn[query].role.name for query in used)),
        items=len(items),
        units=sum(item.units for item in items),
        places=sum(item.places for item in items),
        carried=sum(item.taken for item in items),
        several=len(shared),
        people=people,
        unfilled=sum(item.free - len(held) for item, held in zip(items, holders, strict=True)),
        shares=_shares(items, holders, people),
        common=_common(items, holders, people),
        kappa=expected_kappa(_sizes(shared), min(design.raters_per_item, people), assumptions),
        share=expected_share(_sizes(asked), assumptions),
        powered=expected_powered(_sizes(compared), others, assumptions)
        if others and compared
        else None,
        assumptions=assumptions,
        characters=sum(item.characters for item in items),
        is_chosen=bool(design.chosen),
    )


def _sizes(items: Iterable[_Item]) -> list[int]:
    """Return the number of units of each query."""
    found: Counter[str] = Counter()
    for item in items:
        found[item.query] += item.units
    return list(found.values())


def _assign_people(items: list[_Item], people: int) -> list[tuple[int, ...]]:
    """Assign each item to the people with the fewest items so far."""
    waiting = [(0, person) for person in range(people)]
    found = []
    for item in items:
        taken = [heapq.heappop(waiting) for _ in range(min(item.free, people))]
        found.append(tuple(person for _, person in taken))
        for number, person in taken:
            heapq.heappush(waiting, (number + 1, person))
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


def sentences(found: DryRun) -> Iterator[str]:
    """Yield sentences about a dry run, from the campaign's size to its intervals."""
    yield (
        f"{_count(found.items, 'item')} with {_count(found.units, *found.noun)} from "
        f"{_count(found.queries, 'query', 'queries')}."
    )
    if found.is_chosen:
        yield CHOSEN_ALONE
    yield _describe_slots(found) if found.places else JUDGES_ALONE
    if len(found.roles) > 1:
        names = [f"{number} for {role}" for role, number in sorted(found.roles.items())]
        yield f"Queries by split: {', '.join(names)}."
    if not found.places:
        return
    yield from _describe_people(found)
    noun = found.noun
    yield f"Kappa between people: {describe_interval(found.kappa, noun)}."
    yield f"A share such as coverage, by people alone: {describe_interval(found.share, noun)}."
    if found.powered:
        yield f"The same with a judge on all queries: {describe_interval(found.powered, noun)}."
    yield describe_assumptions(found.assumptions)


def describe_interval(expected: Expected, noun: tuple[str, str]) -> str:
    """Describe the width of an interval, or the reason why there is none."""
    if expected.width is None:
        return f"no interval, since {expected.reason}"
    return (
        f"an interval about {expected.width:.2f} wide (± {expected.width / 2:.2f}), from "
        f"{_count(expected.units, *noun)} of {expected.queries} queries, worth "
        f"{expected.effective:.0f} independent ones"
    )


def describe_assumptions(assumptions: Assumptions) -> str:
    return (
        f"Assumed: true kappa {assumptions.kappa:g}; two categories, a share of "
        f"{assumptions.prevalence:g} yes; an intraclass correlation of {assumptions.icc:g} within "
        f"a query; a correlation of {assumptions.correlation:g} between the scores of queries by "
        "the judge and by people."
    )


def _describe_slots(found: DryRun) -> str:
    words = f"{_count(found.places, 'annotator slot')} on {found.asked_queries} queries"
    words += f", {_count(found.several, 'item')} with several people" if found.several else ""
    words += f"; {found.judge_only} queries for judges alone" if found.judge_only else ""
    if found.carried:
        words += f"; {found.carried} of the slots have answers that are carried over"
    return f"{words}."


def _describe_people(found: DryRun) -> Iterator[str]:
    items = sorted(share.items for share in found.shares)
    units = sorted(share.units for share in found.shares)
    yield (
        f"{_count(found.people, 'person', 'people')} at the same pace would get "
        f"{_range(items[0], items[-1])} items and {_range(units[0], units[-1])} "
        f"{found.noun[1]} each."
    )
    if found.common:
        yield f"Two of them would have {_range(*found.common)} {found.noun[1]} in common."
    if found.unfilled:
        yield f"{_count(found.unfilled, 'slot')} would stay empty: more people are needed."


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


NEWEST, FEWEST = 500, 10
"""The pace is the median of the newest answers, if there are at least this many."""


@dataclass(frozen=True)
class JudgeCost:
    """What one judge would cost in US dollars; None if that is unknown, and `note` says why."""

    judge: str
    cost: Decimal | None
    note: str = ""


@dataclass(frozen=True)
class Effort:
    """The number of `labels`, and the `hours` of the people with the least and the most work.

    `hours` is None where the pace is unknown. It is the median of `answers` answers.
    """

    labels: int
    hours: tuple[float, float] | None
    answers: int
    costs: tuple[JudgeCost, ...]


JUDGE_COSTS: list[Callable[[User, Protocol, Batch, DryRun], list[JudgeCost]]] = []


def effort_of(user: User, protocol: Protocol, batch: Batch, found: DryRun) -> Effort:
    """Return the effort of a dry run's design."""
    units = [share.units for share in found.shares]
    seconds, answers = median_pace(user, protocol)
    hours = None
    if seconds is not None and units:
        hours = (min(units) * seconds / 3600, max(units) * seconds / 3600)
    costs = tuple(cost for of in JUDGE_COSTS for cost in of(user, protocol, batch, found))
    return Effort(sum(units), hours, answers, costs)


def median_pace(user: User, protocol: Protocol) -> tuple[float | None, int]:
    """Return people's median seconds per unit in earlier campaigns, and the number of answers.

    None if there are fewer than `FEWEST` answers that the account may read.
    """
    rows = Assignment.objects.filter(
        item__campaign__in=readable(user).filter(protocol=protocol.name).order_by().values("pk"),
        item__use=Item.Use.STUDY,
        rater__kind=Rater.Kind.HUMAN,
        status=Assignment.Status.DONE,
        seconds__gt=0,
        scope="",
    ).order_by("-pk")
    known = rows.values_list("seconds", "asked")[:NEWEST]
    paces = [seconds / len(asked) for seconds, asked in known if asked and seconds]
    return (median(paces), len(paces)) if len(paces) >= FEWEST else (None, len(paces))
