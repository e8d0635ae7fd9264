"""Quality flags on raters whose labels or times differ from those of others on the same units.

An item's time depends on its texts, so that only times on the same items are compared: the ratio of
a person's seconds to the median of the others' seconds, and the median of these ratios over items.
Items of one query are alike, so that the interval of this median is clustered by query.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from types import MappingProxyType
from typing import Any

import numpy as np

from analysis.monitoring.agreement import (
    Newest,
    VariableLabels,
    WithOthers,
    newest_labels,
    with_others,
)
from annotation.exports.rows import chunks
from annotation.exposure.ledger import FEWEST_UNITS, saw_figures
from annotation.models import Campaign, Item
from annotation.presentation import schema
from annotation.progress.counts import DONE, STUDY, people_of
from annotation.progress.flags import Flag, find_flags
from annotation.progress.status import CampaignStatus, format_seconds, get_status
from datasets.work.guard import for_workers
from tandem.labels.categories import categories_of
from tandem.labels.facts import scale_of
from tandem.protocols.base import Variable, shown_codes
from tandem.statistics import Ints, confirm_far_off, median_interval

FEWEST_ITEMS = 20
"""With fewer items that others also answered, no flag is raised."""
FEWEST_OTHERS, FEWEST_EACH = 2, 5
"""This many others must each share enough items, since with two people either may be unusual."""
CHUNK = 5000
FACTOR = 2.0
SLOW, QUICK = "slow", "quick"
NEWEST = 50_000
Times = Mapping[int, Mapping[int, float]]
"""The seconds on task by item and rater."""
Queries = Mapping[int, int]
"""The query of each item. An item without one is on its own."""


@dataclass(frozen=True)
class Pace:
    """A person's times on the items that others answered, too.

    `ratio` is the median of the person's times over the median of the others' on the same item,
    from `low` to `high`. `own` and `others` are medians of the times themselves, in seconds. `slow`
    and `quick` count those of `people` others against whom the person is slower or faster by more
    than the factor.
    """

    items: int
    own: float
    others: float
    ratio: float
    low: float
    high: float
    people: int
    slower: int
    faster: int

    @property
    def code(self) -> str:
        """The flag that the times raise, empty for none."""
        if self.items < FEWEST_ITEMS or self.people < FEWEST_OTHERS:
            return ""
        if self.low > FACTOR and 2 * self.slower > self.people:
            return SLOW
        return QUICK if self.high < 1 / FACTOR and 2 * self.faster > self.people else ""


def flag_pace(
    campaign: Campaign,
    names: Mapping[int, str],
    out: Collection[int] = (),
    flagged: Collection[int] = (),
) -> Iterator[Flag]:
    """Flag people who are far slower or faster than most others on the same items.

    Raters in `out` are compared, but are not among the others. Raters in `flagged` already have a
    flag for reading too fast.
    """
    times = times_of(campaign, names)
    found = paces(times, out, queries_of(times))
    for rater, pace in unusual_paces(found, out).items():
        if pace.code == SLOW or rater not in flagged:
            yield Flag(pace.code, rater, names[rater], None, _text(pace))


def unusual_paces(found: Mapping[int, Pace], out: Collection[int] = ()) -> dict[int, Pace]:
    """Return the paces that raise a flag; none if half of the people or more would get one, since
    there is no usual pace then.
    """
    odd = {rater: pace for rater, pace in found.items() if pace.code}
    counted = [rater for rater, pace in found.items() if pace.people and rater not in out]
    return odd if 2 * sum(rater in odd for rater in counted) < len(counted) else {}


def _text(pace: Pace) -> str:
    times = f"{pace.ratio:.1f} [{pace.low:.1f}, {pace.high:.1f}]"
    if pace.code == QUICK:
        times = f"{pace.ratio:.2f} [{pace.low:.2f}, {pace.high:.2f}]"
    return (
        f"{times} times as long per item as the others, in the median of {pace.items:,} items that "
        f"others answered, too: {format_seconds(pace.own)} against {format_seconds(pace.others)}. "
        "Time on task leaves out breaks as far as the page notices them."
    )


def times_of(campaign: Campaign, raters: Collection[int]) -> Times:
    """Return the times of the newest answers to study items, by item and rater."""
    timed = people_of(campaign, list(raters)).filter(DONE & STUDY, seconds__gt=0, replicate=0)
    found: dict[int, dict[int, float]] = defaultdict(dict)
    rows = timed.order_by("-pk").values_list("item", "rater", "seconds")[:NEWEST]
    for item, rater, seconds in rows:
        found[item][rater] = seconds or 0.0
    return found


def queries_of(times: Times) -> Queries:
    """Return the query of each item that has times, in a few database queries."""
    found: dict[int, int] = {}
    for items in chunks(iter(times), CHUNK):
        rows = Item.objects.filter(pk__in=items).order_by()
        found.update(rows.values_list("pk", "query"))
    return found


def paces(
    times: Times, out: Collection[int] = (), queries: Queries = MappingProxyType({})
) -> dict[int, Pace]:
    """Compare each person with the others on items that both answered."""
    shared: dict[int, list[tuple[float, float]]] = defaultdict(list)
    where: dict[int, list[int]] = defaultdict(list)
    with_each: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for item, of in times.items():
        for rater, own in of.items():
            others = {other: of[other] for other in of if other != rater and other not in out}
            if others:
                shared[rater].append((own, median(others.values())))
                where[rater].append(queries.get(item, -item - 1))
            for other, theirs in others.items():
                with_each[rater][other].append(own / theirs)
    return {
        rater: _pace(rows, where[rater], with_each[rater].values())
        for rater, rows in shared.items()
    }


def _pace(
    rows: Sequence[tuple[float, float]], queries: Sequence[int], each: Iterable[Sequence[float]]
) -> Pace:
    ratios = np.array([own / theirs for own, theirs in rows])
    found = median_interval(ratios, clusters=np.array(queries, np.int64))
    low, high = found or (0.0, float("inf"))
    middles = [median(ratios) for ratios in each if len(ratios) >= FEWEST_EACH]
    return Pace(
        len(rows),
        median(own for own, _ in rows),
        median(theirs for _, theirs in rows),
        float(np.median(ratios)),
        low,
        high,
        len(middles),
        sum(middle > FACTOR for middle in middles),
        sum(middle < 1 / FACTOR for middle in middles),
    )


FEWEST = 20
"""With fewer units from a person, or fewer labels from others on them, no flag is raised."""
NEARLY_ALWAYS, LESS_OFTEN = 0.95, 0.15
LONGEST_RUN, RUN_SHARE = 15, 0.7
ESCAPES = 0.2
FAR_OFF = 0.2
CLOSE = 1e-9


def flag_low_kappa(
    table: VariableLabels,
    agreement: Sequence[WithOthers],
    names: Mapping[int, str],
    among: Callable[[Collection[int]], Sequence[WithOthers]],
) -> Iterator[Flag]:
    """Flag a kappa with the others far below theirs with each other, on enough units.

    `among(out)` returns the agreement where the raters in `out` are not among the others.
    """
    found = {each.rater: each for each in agreement if _is_far_off(each)}
    sure = confirm_far_off(found, lambda out: [of.rater for of in among(out) if _is_far_off(of)])
    for rater in (rater for rater in found if rater in sure):
        each = found[rater]
        text = (
            f"Cohen's kappa with the others is {each.kappa.value:.2f} on {each.units:,} "
            f"{table.noun}. The others have {each.others.value:.2f} with each other."
        )
        labels = {"of": "others", "variable": table.variable}
        yield _hint("apart", table, rater, names, text, labels)


def _is_far_off(each: WithOthers) -> bool:
    own, rest = each.kappa.value, each.others.value
    if own is None or rest is None or min(each.units, each.others.n) < FEWEST:
        return False
    return rest - own > FAR_OFF


def flag_one_sided(
    table: VariableLabels,
    escapes: Collection[str],
    names: Mapping[int, str],
    out: Collection[int] = (),
) -> Iterator[Flag]:
    """Flag one answer given nearly always or many times in a row, or too many escapes.

    Escapes are compared with those of the others on the same units.
    """
    counted = [n for n, rater in enumerate(table.raters) if rater not in out]
    for column, rater in enumerate(table.raters):
        if rater in names:
            others = table.codes[:, [n for n in counted if n != column]]
            yield from _of_one(table, column, others, escapes, names)


def _of_one(
    table: VariableLabels,
    column: int,
    others: Ints,
    escapes: Collection[str],
    names: Mapping[int, str],
) -> Iterator[Flag]:
    own = table.codes[:, column]
    labelled = np.flatnonzero(own >= 0)
    if len(labelled) < FEWEST:
        return
    always = _always(table, column, labelled, others, names)
    yield from always or _in_a_row(table, column, labelled, others, names)
    yield from _escapes(table, column, labelled, others, escapes, names)


def _always(
    table: VariableLabels, column: int, labelled: Ints, others: Ints, names: Mapping[int, str]
) -> list[Flag]:
    codes = table.codes[labelled, column]
    counts = np.bincount(codes, minlength=len(table.values))
    top = int(counts.argmax())
    same, labels = _count_labels(others[labelled], [top])
    share = counts[top] / len(labelled)
    if labels < FEWEST or share < NEARLY_ALWAYS:
        return []
    if not _most_less(others[labelled], [top], share - LESS_OFTEN):
        return []
    value = table.values[top]
    shown = shown_codes(value)
    text = (
        f"“{shown}” on {counts[top]:,} of {len(labelled):,} {table.noun}. On the same {table.noun} "
        f"the others gave it in {same:,} of {labels:,} labels."
    )
    query = {"variable": table.variable, "value": value}
    return [_hint("one_answer", table, table.raters[column], names, text, query)]


def _in_a_row(
    table: VariableLabels, column: int, labelled: Ints, others: Ints, names: Mapping[int, str]
) -> Iterator[Flag]:
    order = labelled[np.argsort(table.labels[labelled, column])]
    codes = table.codes[order, column]
    start, end = longest_run(codes)
    if end - start < LONGEST_RUN:
        return
    code, there = int(codes[start]), order[start:end]
    same, labels = _count_labels(others[there], [code])
    if labels < LONGEST_RUN or not _most_less(others[there], [code], RUN_SHARE):
        return
    shown = shown_codes(table.values[code])
    text = (
        f"“{shown}” {end - start:,} times in a row. On the same {table.noun} the others gave it in "
        f"{same:,} of {labels:,} labels."
    )
    first, last = table.labels[there[[0, -1]], column]
    query = {"variable": table.variable, "first": str(first), "last": str(last)}
    yield _hint("in_a_row", table, table.raters[column], names, text, query)


def _escapes(
    table: VariableLabels,
    column: int,
    labelled: Ints,
    others: Ints,
    escapes: Collection[str],
    names: Mapping[int, str],
) -> Iterator[Flag]:
    codes = [n for n, value in enumerate(table.values) if value in escapes]
    own = int(np.isin(table.codes[labelled, column], codes).sum())
    same, labels = _count_labels(others[labelled], codes)
    if labels < FEWEST or not _most_less(others[labelled], codes, own / len(labelled) - ESCAPES):
        return
    words = " or ".join(f"“{table.values[n]}”" for n in codes)
    text = (
        f"{words} on {own:,} of {len(labelled):,} {table.noun}. On the same {table.noun} the "
        f"others gave it in {same:,} of {labels:,} labels."
    )
    query = {"variable": table.variable}
    if len(codes) == 1:
        query["value"] = table.values[codes[0]]
    yield _hint("escapes", table, table.raters[column], names, text, query)


def longest_run(codes: Ints) -> tuple[int, int]:
    """Return start and end of the longest stretch of equal codes (n,), the first of several."""
    if not len(codes):
        return 0, 0
    starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    lengths = np.diff(np.concatenate((starts, [len(codes)])))
    longest = int(lengths.argmax())
    return int(starts[longest]), int(starts[longest] + lengths[longest])


def _count_labels(others: Ints, codes: Sequence[int]) -> tuple[int, int]:
    """Count the others' labels with these codes, and all their labels."""
    return int(np.isin(others, codes).sum()), int((others >= 0).sum())


def _most_less(others: Ints, codes: Sequence[int], bound: float) -> bool:
    """Return whether most others gave these codes in at most this share of their labels.

    A single unusual person among the others therefore raises no flag.
    """
    counted = (others >= 0).sum(axis=0)
    there = counted > 0
    shares = np.isin(others, codes).sum(axis=0)[there] / counted[there]
    return bool(2 * (shares <= bound + CLOSE).sum() > len(shares))


def _hint(
    code: str,
    table: VariableLabels,
    rater: int,
    names: Mapping[int, str],
    text: str,
    labels: dict[str, str],
) -> Flag:
    return Flag(code, rater, names[rater], table.variable, text, labels)


@dataclass(frozen=True)
class Quality:
    """Each person's agreement with the others by variable, and the flags.

    They are computed from `labels` of people, only the newest ones if `is_part`, without the
    `exposed` ones. `units` is the number of units in each person's agreement, and `few` has the
    primary keys of units in figures that cover few.
    """

    labels: int
    is_part: bool
    names: Mapping[int, str]
    excluded: Mapping[int, str]
    agreement: Mapping[str, tuple[WithOthers, ...]]
    hints: tuple[Flag, ...]
    exposed: int = 0
    units: int = 0
    few: frozenset[int] = frozenset()

    def agreement_of(self, rater: int) -> dict[str, WithOthers]:
        """Return one person's agreement, by variable."""
        return {
            variable: each
            for variable, rows in self.agreement.items()
            for each in rows
            if each.rater == rater
        }

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "few": sorted(self.few)}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Quality:
        agreement = {
            variable: tuple(map(WithOthers.from_json, rows))
            for variable, rows in found["agreement"].items()
        }
        # The keys of JSON are texts.
        keyed = {
            name: {int(rater): text for rater, text in found[name].items()}
            for name in ("names", "excluded")
        }
        hints = tuple(Flag(**each) for each in found["hints"])
        made = {"agreement": agreement, "hints": hints, "few": frozenset(found["few"])}
        return cls(**{**found, **keyed, **made})


@for_workers
def quality(campaign: Campaign) -> Quality:
    """Compute the current quality."""
    found = _quality(campaign, get_status(campaign))
    saw_figures("quality", campaign, found.units, units=found.few)
    return found


def _quality(campaign: Campaign, people: CampaignStatus) -> Quality:
    names = {each.rater: each.name for each in people.people}
    excluded = {each.rater: each.excluded for each in people.people if each.excluded}
    read = newest_labels(campaign)
    agreement: dict[str, tuple[WithOthers, ...]] = {}
    found: list[Flag] = find_flags(campaign, people.people)
    fast = {each.rater for each in found if each.code == "fast"}
    found += flag_pace(campaign, names, excluded, fast)
    nouns = schema(campaign).nouns()
    for variable in _labelled_variables(campaign, read):
        table = replace(read.variables[variable.name], noun=nouns[variable.name][1])
        rows = _agreement(table, variable, excluded)
        agreement[variable.name] = tuple(rows)
        found += flag_one_sided(table, variable.escapes, names, excluded)
        found += flag_low_kappa(table, rows, names, _Among(table, variable, excluded))
    return Quality(
        read.labels,
        read.is_part,
        names,
        excluded,
        agreement,
        _ordered(found),
        read.exposed,
        max((len(table.units) for table in read.variables.values()), default=0),
        frozenset(
            unit for table in read.variables.values() for unit in _units_of_rare_raters(table)
        ),
    )


def _units_of_rare_raters(table: VariableLabels) -> Iterator[int]:
    """Yield the units of raters whose agreement covers few units."""
    for column in range(len(table.raters)):
        own = table.units[table.codes[:, column] >= 0]
        if len(own) < FEWEST_UNITS:
            yield from own.tolist()


def _labelled_variables(campaign: Campaign, read: Newest) -> Iterable[Variable]:
    """Return the distinct variables with labels, in the protocol's order."""
    asked = {variable.name: variable for variable in schema(campaign).variables}
    return [variable for name, variable in asked.items() if name in read.variables]


def _agreement(table: VariableLabels, variable: Variable, out: Collection[int]) -> list[WithOthers]:
    categories = categories_of(variable, table.values)
    codes, k = table.recoded(categories), max(1, len(categories))
    is_ordered = variable.level != "nominal" and not variable.several and variable.codes
    values = scale_of(variable).values() if is_ordered else None
    return with_others(table.raters, codes, table.queries, k, values, out)


@dataclass(frozen=True)
class _Among:
    """Computes each person's agreement with the others, optionally leaving some of them out."""

    table: VariableLabels
    variable: Variable
    excluded: Collection[int]

    def __call__(self, out: Collection[int]) -> list[WithOthers]:
        return _agreement(self.table, self.variable, {*self.excluded, *out})


def _ordered(found: Iterable[Flag]) -> tuple[Flag, ...]:
    return tuple(sorted(found, key=lambda each: (each.name, each.code, each.variable or "")))
