"""Flags on people whose time on task differs much from that of others on the same items.

An item's time depends on its texts, so that only times on the same items are compared: the ratio of
a person's seconds to the median of the others' seconds, and the median of these ratios over items.
Items of one query are alike, so that the interval of this median is clustered by query.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from types import MappingProxyType

import numpy as np

from annotation.exports.rows import chunks
from annotation.models import Campaign, Item
from annotation.progress.counts import DONE, STUDY, people_of
from annotation.progress.flags import Flag
from annotation.progress.status import format_seconds
from tandem.statistics import median_interval

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
