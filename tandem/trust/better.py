"""Which of two systems is better: people's paired differences by query, at any look.

Queries are drawn evenly without replacement, in a committed order (`draws.even_order`), and people
score both systems on each. Two processes of evidence grow, one for each direction, each at half of
a pair's level, and the comparison ends when one of them reaches its line. The chance that a pair is
ever decided for a system that is not better over all queries is at most that level.

Several pairs share one level by Holm (1979): the greatest evidence so far gives a p-value that
holds at any look, p = 2 / max W, and these only fall, so that what Holm rejects at one look it
rejects at all later ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf, isinf, log
from typing import Literal

import numpy as np

from ..statistics import MINIMUM_CLUSTERS, Bools, Floats, Ints
from .evidence import evidence_of_difference, log_mean, steps_of_difference

Side = Literal["a", "b"]
By = Literal["evidence", "counted"]
SIDES: tuple[Side, ...] = ("a", "b")
PATHS, HORIZONS = 200, (60, 180, 540)
"""How many futures are simulated, and how many queries each may take: more if it is undecided."""
AT_ONCE = 10
ROUNDING = 1e-9
SPREAD = (0.05, 0.5, 0.95)
ALL_LABELLED = "every query is labelled"
NO_DIFFERENCE = "the systems do not differ on the queries labelled so far"


@dataclass(frozen=True)
class Difference:
    """The scores of `b` minus those of `a` by people, (t,), in the order of the draw.

    The values are in [-1, 1]. NaN is a drawn query that people did not answer: it counts as the
    worst case of either direction. A query whose score is undefined for a system counts as 0: the
    sum over all queries, of which the hypotheses speak, stays the same. `queries` is the number of
    all queries with both systems, infinite for a stream, and `places` (t,) are those of the draws,
    from 1, if some drawn queries lack one of the systems. Raises ValueError for values outside.
    """

    a: str
    b: str
    values: Floats
    queries: float
    places: Ints | None = None

    def __post_init__(self) -> None:
        if np.nanmax(np.abs(self.values), initial=0) > 1 + ROUNDING:
            raise ValueError("a difference of scores is outside -1 to 1: scores are not in 0 to 1")
        if len(self.values) > self.queries:
            raise ValueError("more queries are labelled than there are")

    @property
    def labelled(self) -> int:
        return len(self.values)

    @property
    def turns(self) -> Ints:
        """The place of each query in the draw, from 1, (t,)."""
        return np.arange(1, self.labelled + 1) if self.places is None else self.places

    def evidence(self, better: Side, margin: float = 0) -> Floats:
        """Return the log evidence that a side is better after each query, (t,).

        With a margin, that it is not worse than the other by the margin or more.
        """
        return evidence_of_difference(self.towards(better), self.queries, margin)

    def counted(self, better: Side, margin: float = 0) -> Bools:
        """Return where arithmetic alone proves it, (t,): each other query at worst, still above."""
        if isinf(self.queries):
            return np.zeros(self.labelled, bool)
        ahead = np.cumsum(self.towards(better)) + margin * self.queries
        return np.asarray(ahead > self.queries - np.arange(1, self.labelled + 1) + ROUNDING)

    def towards(self, better: Side) -> Floats:
        """Return the differences in favour of a side, -1 where people did not answer, (t,)."""
        return np.nan_to_num(self.values if better == "b" else -self.values, nan=-1)

    @cached_property
    def strongest(self) -> dict[Side, Floats]:
        """The greatest evidence of each direction up to each query, infinite once it is counted."""
        return {
            side: np.maximum.accumulate(np.where(self.counted(side), inf, self.evidence(side)))
            for side in SIDES
        }


@dataclass(frozen=True)
class More:
    """How many more queries a decision will likely take: the median, and 5 and 95 % of futures.

    A number is None if that many futures did not end within the last of `HORIZONS`; all are None
    for the `reason`.
    """

    median: int | None = None
    low: int | None = None
    high: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class Standing:
    """A pair at a look: which side is better, if it is decided, after how many draws, and by what.

    `needed` is the log evidence that either direction needs, by Holm at this look.
    """

    difference: Difference
    needed: float
    better: Side | None = None
    after: int | None = None
    by: By | None = None

    @property
    def name(self) -> str | None:
        """The name of the better system."""
        return getattr(self.difference, self.better) if self.better else None

    def more(self, seed: int = 0, paths: int = PATHS) -> More:
        """Return how many more queries it will likely take."""
        if self.better:
            return More(0, 0, 0)
        return queries_to_decision(self.difference, self.needed, seed, paths)


def standings(differences: Sequence[Difference], delta: float) -> list[Standing]:
    """Return where each pair stands, at the level `delta` over all of them (Holm).

    The k-th strongest pair of m (from 1) is decided if all stronger ones are, and if its evidence
    reaches 2 (m - k + 1) / δ. The same labels give the same standing after one look or many.
    """
    pairs = len(differences)
    if not pairs:
        return []
    lines = np.log(2 * (pairs - np.arange(pairs)) / delta)
    turns = np.unique(np.concatenate([each.turns for each in differences]))
    reached = np.stack([_at(each, turns) for each in differences], axis=1)
    order = np.argsort(-reached, axis=1, kind="stable")
    passed = np.take_along_axis(reached, order, axis=1) >= lines
    decided = np.zeros(reached.shape, bool)
    np.put_along_axis(decided, order, np.logical_and.accumulate(passed, axis=1), axis=1)
    undecided = pairs - int(decided[-1].sum()) if len(turns) else pairs
    line = float(log(2 * max(undecided, 1) / delta))
    return [
        _decision(each, int(turns[rows.argmax()]), line) if rows.any() else Standing(each, line)
        for each, rows in zip(differences, decided.T, strict=True)
    ]


def _at(of: Difference, turns: Ints) -> Floats:
    """Return the greatest evidence of either direction at each place of the draw."""
    before = np.searchsorted(of.turns, turns, side="right")
    greatest = np.maximum(of.strongest["a"], of.strongest["b"])
    return np.concatenate([[-inf], greatest])[before]


def _decision(of: Difference, after: int, line: float) -> Standing:
    last = int(np.searchsorted(of.turns, after, side="right")) - 1
    better = max(SIDES, key=lambda side: of.strongest[side][last])
    by: By = "counted" if of.strongest[better][last] == inf else "evidence"
    return Standing(of, line, better, after, by)


def not_worse_after(of: Difference, side: Side, margin: float, delta: float) -> int | None:
    """Return after how many queries a side is proven not to be worse by the margin, None if not.

    That its mean score over all queries is above the other's minus the margin, at any look, with a
    chance of at most `delta` to be wrong. Raises ValueError for a margin outside 0 to 1.
    """
    if not 0 <= margin < 1:
        raise ValueError(f"a margin of {margin:g} is not between 0 and 1")
    reached = (of.evidence(side, margin) >= log(1 / delta)) | of.counted(side, margin)
    return int(reached.argmax()) + 1 if reached.any() else None


def queries_to_decision(of: Difference, needed: float, seed: int = 0, paths: int = PATHS) -> More:
    """Simulate how many more queries it takes until either direction reaches `needed`.

    Each future resamples the differences seen, once for what the other queries may be like and once
    for their order: so the range also tells how little the queries seen say of the others.
    """
    known = of.values[np.isfinite(of.values)]
    if len(known) < MINIMUM_CLUSTERS:
        return More(reason=f"fewer than {MINIMUM_CLUSTERS} queries are labelled")
    if of.labelled == of.queries:
        return More(reason=ALL_LABELLED)
    if not known.any():
        return More(reason=NO_DIFFERENCE)
    generator = np.random.Generator(np.random.PCG64(seed))
    longest = int(min(HORIZONS[-1], of.queries - of.labelled))
    alike = generator.choice(known, (paths, len(known)))
    drawn = generator.integers(len(known), size=(paths, longest))
    futures = np.take_along_axis(alike, drawn, axis=1)
    # Few at once, so that their arrays stay in the processor's cache.
    parts = np.array_split(futures, -(-paths // AT_ONCE))
    ends = np.concatenate([_ends(of, part, needed) for part in parts])
    found = [None if each == inf else round(each) for each in _quantiles(ends)]
    if found[1] is None:
        return More(None, found[0], None, f"likely more than {longest}")
    return More(found[1], found[0], found[2])


def _quantiles(ends: Floats) -> list[float]:
    ranked = np.sort(ends)
    return [float(ranked[min(int(share * len(ranked)), len(ranked) - 1)]) for share in SPREAD]


def _ends(of: Difference, futures: Floats, needed: float) -> Floats:
    """Return after how many of the future differences (P, h) each is decided, or infinity."""
    return np.minimum(*(_ends_towards(of, side, futures, needed) for side in SIDES))


def _ends_towards(of: Difference, side: Side, futures: Floats, needed: float) -> Floats:
    """Return after how many of the future differences (P, h) a side is better, or infinity."""
    known, sign = of.towards(side), 1 if side == "b" else -1
    start = steps_of_difference(known, of.queries).sum(axis=0)
    ends, open_ = np.full(len(futures), inf), np.arange(len(futures))
    logs, seen = np.tile(start, (len(futures), 1)), np.full(len(futures), known.sum())
    for first, last in pairwise((0, *HORIZONS)):
        future = sign * futures[open_, first:last]
        if not future.size:
            break
        drawn = of.labelled + first
        steps = steps_of_difference(future, of.queries, 0, seen[:, None], drawn)
        running = logs[:, None] + np.cumsum(steps, axis=1)
        ahead = seen[:, None] + np.cumsum(future, axis=1)
        left = of.queries - drawn - np.arange(1, future.shape[1] + 1)
        reached = (log_mean(running) >= needed) | (ahead > left + ROUNDING)
        done = reached.any(axis=1)
        ends[open_[done]] = first + 1 + reached[done].argmax(axis=1)
        open_, logs, seen = open_[~done], running[~done, -1], ahead[~done, -1]
    return ends
