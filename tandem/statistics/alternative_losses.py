"""What raters lose to people in the alternative annotator test, for many sets of labels at once.

A loss is the annotator's win less the rater's, from -1 (the rater is closer) to 1. It depends only
on the label that the rater gives. A table of losses by unit and label therefore tests hundreds of
raters, such as permutations of a judge's labels, in the time of a few tests.

`PlainForm` is the test as published. `BalancedForm` gives each category the same weight: where most
labels are a no, a rater that always says no is rarely wrong, but it misses every yes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from .alternative import FEW, TOLERANCE, Q, closeness
from .estimate import Bools, Floats, Ints, Level, pack, t_below, unique_integers

#: The largest table of losses, and the most losses that are computed at once.
MOST_CELLS, AT_ONCE = 5_000_000, 4_000_000
#: Categories with fewer pairs of a unit and another person are pooled in the balanced form.
FEWEST_PAIRS = 10


@dataclass(frozen=True)
class Losses:
    """The losses of T raters against each of m annotators: `mean` and `sd` (T, m) over `n` (m,).

    n counts independent units: queries, or items if each query holds a single one. `bounding` (m,)
    is the n of Markov's bound, 0 where the t test decides alone. `queries` and `profiles` hold the
    queries of each annotator (n,) and their losses (n,), averaged over the raters.
    """

    mean: Floats
    sd: Floats
    n: Floats
    bounding: Floats
    queries: tuple[Ints, ...]
    profiles: tuple[Floats, ...]

    @property
    def overall(self) -> float:
        """The mean over annotators and raters."""
        return float(self.mean.mean())

    def grown(self, factor: float) -> Losses:
        """Return the same losses over this many times the units."""
        return replace(self, n=self.n * factor, bounding=self.bounding * factor)

    def moved(self, by: Floats) -> Losses:
        """Return losses with means (T, m) that differ by so much."""
        return replace(self, mean=np.clip(self.mean + by, -1.0, 1.0))


class Form(Protocol):
    """A form of the test, in which each label has a loss. `names` are the annotators tested."""

    names: tuple[str, ...]
    by_query: bool

    def losses(self, labels: Ints) -> Losses:
        """Return the losses of T raters with these codes (T, U), -1 = none."""


def p_behind(losses: Losses, epsilon: float) -> Floats:
    """Return the p-values (T, m) of H0: the rater's mean loss is at least epsilon.

    By query, p is the larger of the one-sided t test's and of Markov's bound,
    ((1 - epsilon) / (1 - mean))^n (see `markov`).
    """
    return _p(losses, losses.mean, epsilon)


def p_worse(losses: Losses, epsilon: float) -> Floats:
    """Return the p-values (T, m) of H0: the rater's mean loss is at most epsilon.

    This is `p_behind` with the signs reversed: by query, p is the larger of the one-sided t test's
    and of ((1 + epsilon) / (1 + mean))^n.
    """
    return _p(losses, -losses.mean, -epsilon)


def _p(losses: Losses, mean: Floats, threshold: float) -> Floats:
    gap = mean - threshold
    below, flat = gap < 0, losses.sd < TOLERANCE
    error = losses.sd / np.sqrt(losses.n)
    t = np.divide(gap, error, out=np.where(below, -np.inf, np.inf), where=~flat)
    freedom = np.maximum(losses.n - 1, 1).astype(np.int64)
    p = np.where(losses.n < 2, 1.0, t_below(t, freedom))
    share = np.divide(1 - threshold, 1 - mean, out=np.ones_like(mean), where=below)
    return np.maximum(p, np.where(losses.bounding > 0, share**losses.bounding, 0.0))


def count_rejected(p_values: Floats, q: float = Q) -> Ints:
    """Return how many of m hypotheses are rejected at false discovery rate q, for (T, m).

    These are k = max{i: p_(i) <= i q / (m H_m)}, with H_m = 1 + 1/2 + ... + 1/m (Benjamini and
    Yekutieli 2001).
    """
    m = p_values.shape[-1]
    ranks = np.arange(1, m + 1)
    below = np.sort(p_values, axis=-1) <= ranks * q / (m * (1 / ranks).sum())
    counts: Ints = np.where(below, ranks, 0).max(axis=-1)
    return counts


def passing(losses: Losses, epsilon: float, q: float = Q) -> Bools:
    """Return which raters (T,) lose significantly less than epsilon to half of the annotators."""
    counts = count_rejected(p_behind(losses, epsilon), q)
    return np.asarray(2 * counts >= losses.mean.shape[1])


@dataclass(frozen=True)
class Units:
    """An annotator's units `items` (n,) in order of query, and each query's first and size."""

    column: int
    items: Ints
    queries: Ints
    starts: Ints
    sizes: Floats

    @classmethod
    def of(cls, column: int, items: Ints, clusters: Ints) -> Units:
        ordered = items[np.argsort(clusters[items], kind="stable")]
        queries, starts, _ = unique_integers(clusters[ordered])
        sizes = np.diff(np.append(starts, len(ordered))).astype(float)
        return cls(column, ordered, queries, starts, sizes)

    def of_units(self, labels: Ints) -> Ints:
        """Return the annotator's part (T, n) of labels of all units (T, U)."""
        if len(self.items) == labels.shape[1] and (np.diff(self.items) == 1).all():
            return labels
        return labels.take(self.items, axis=1)

    def sums(self, values: Floats) -> Floats:
        """Return the sum over each query of values (..., n)."""
        total: Floats = np.add.reduceat(values, self.starts, axis=-1)
        return total


def _tested(people: Ints, clusters: Ints, minimum: int) -> list[Units]:
    """Return the units of each annotator that has enough units labelled by another one, too."""
    several = (people >= 0).sum(axis=1) > 1
    every = [np.flatnonzero(of & several) for of in (people >= 0).T]
    return [Units.of(n, items, clusters) for n, items in enumerate(every) if len(items) >= minimum]


class _Tables:
    """What both forms share: losses by annotator, unit and label."""

    def __init__(
        self, people: Ints, clusters: Ints, names: Sequence[str] | None, minimum: int
    ) -> None:
        self._units = _tested(people, clusters, minimum)
        shown = [str(n) for n in range(people.shape[1])] if names is None else names
        self.names = tuple(shown[each.column] for each in self._units)
        self.by_query = any(each.sizes.max() > 1 for each in self._units)

    def losses(self, labels: Ints) -> Losses:
        """Return the losses of T raters with these codes (T, U), -1 = none."""
        raters, m = len(labels), len(self._units)
        mean, sd, profiles = np.empty((raters, m)), np.empty((raters, m)), []
        for n, units in enumerate(self._units):
            profile = np.zeros(len(units.starts))
            for rows in _blocks(raters, len(units.items)):
                each = self._of_queries(n, units.of_units(labels[rows]))
                mean[rows, n] = each.mean(axis=1)
                sd[rows, n] = each.std(axis=1, ddof=1) if each.shape[1] > 1 else 0.0
                profile += each.sum(axis=0) / raters
            profiles.append(profile)
        size = np.array([len(units.starts) for units in self._units], float)
        bounding = np.array([self._bounding(n) for n in range(m)], float) * self.by_query
        queries = tuple(units.queries for units in self._units)
        return Losses(mean, sd, size, bounding, queries, tuple(profiles))

    def _of_queries(self, n: int, codes: Ints) -> Floats:
        """Return the losses (T, Q) of each query, for the codes (T, n) of the annotator's units."""
        raise NotImplementedError

    def _bounding(self, n: int) -> int:
        return len(self._units[n].starts)


def _blocks(raters: int, units: int) -> Iterator[slice]:
    step = max(1, AT_ONCE // max(units, 1))
    return (slice(start, start + step) for start in range(0, raters, step))


def _looked_up(table: Floats, codes: Ints) -> Floats:
    """Return the entry of each unit's code, (T, n), of a table (n, 1 + K) that begins with -1's."""
    first = np.arange(len(table)) * table.shape[1] + 1
    found: Floats = table.ravel().take(first + codes)
    return found


class PlainForm(_Tables):
    """The test as published: on each unit, who is closer to the other annotators wins."""

    def __init__(
        self,
        people: Ints,
        clusters: Ints,
        *,
        level: Level,
        values: Floats,
        names: Sequence[str] | None = None,
        minimum: int = FEW,
        members: Floats | None = None,
    ) -> None:
        """Prepare codes (U, R), -1 = none, of K categories with these numbers (K,).

        At level set, `members` (K, M) say which codes are in each set, as in `alt_test`.
        """
        super().__init__(people, clusters, names, minimum)
        self._score = closeness(level, members)
        # The first value is that of a missing label.
        numbers = values if members is None else np.arange(len(members), dtype=float)
        self._values = np.append(np.nan, numbers)
        packed, place = pack(self._values[people + 1])
        self._others, self._own = [], []
        for units in self._units:
            others = packed[units.items]
            others[np.arange(len(others)), place[units.items, units.column]] = np.nan
            self._others.append(others)
            self._own.append(
                self._score(self._values[people[units.items, units.column] + 1], others)
            )
        self._tables = [self._table(n) for n in range(len(self._units))]

    def _table(self, n: int) -> Floats | None:
        """Return the losses by unit and label, (n, 1 + K), unless there are too many."""
        units = len(self._own[n])
        if units * len(self._values) > MOST_CELLS:
            return None
        return np.stack([self._loss(n, np.full(units, each)) for each in self._values], axis=1)

    def _loss(self, n: int, given: Floats) -> Floats:
        own, found = self._own[n], self._score(given, self._others[n])
        losses = (own >= found - TOLERANCE).astype(float) - (found >= own - TOLERANCE)
        return np.where(np.isfinite(given), losses, 1.0)

    def _of_queries(self, n: int, codes: Ints) -> Floats:
        table, units = self._tables[n], self._units[n]
        if table is None:
            losses = np.stack([self._loss(n, self._values[each + 1]) for each in codes])
        else:
            losses = _looked_up(table, codes)
        return units.sums(losses) / units.sizes


class BalancedForm(_Tables):
    """The class-balanced form: each category of the other annotators has the same weight.

    An annotator j's mean loss to a rater f is the mean over categories c of the mean over pairs of
    a unit and another annotator who gives it c:

        d_j = 1/C sum_c 1/N_c sum_(i,k: h_k(i) = c) ([h_j(i) = c] - [f(i) = c]).

    Categories with fewer than ten pairs are `pooled` as one, with more categories if they still
    have fewer. Its losses of queries are linearised: their mean is d_j, and their standard error is
    that of the mean of ratios (Cochran 1977, section 6). Markov's bound counts the queries that
    hold the rarest category.
    """

    def __init__(
        self,
        people: Ints,
        clusters: Ints,
        *,
        categories: int,
        names: Sequence[str] | None = None,
        minimum: int = FEW,
    ) -> None:
        """Prepare codes (U, R), -1 = none, of so many categories."""
        super().__init__(people, clusters, names, minimum)
        given = np.stack([(people == code).sum(axis=1) for code in range(categories)], axis=1)
        self._own, self._pairs, self._groups, self._shares = [], [], [], []
        pooled: set[int] = set()
        for units in self._units:
            own = people[units.items, units.column]
            pairs = given[units.items].astype(float)
            pairs[np.arange(len(own)), own] -= 1
            groups, size, rare = _pool(pairs.sum(axis=0))
            # Pairs by query and group (Q, G), without those in no group.
            held = units.sums(pairs.T).T @ np.eye(size + 1)[groups][:, :size]
            totals = held.sum(axis=0)
            weights = 1 / (size * np.append(totals, np.inf)[groups])
            pooled |= rare
            self._own.append(own)
            self._pairs.append(np.column_stack([np.zeros(len(own)), pairs * weights]))
            self._groups.append(np.append(size, groups))
            self._shares.append(held / totals)
        self.pooled = tuple(sorted(pooled))

    def _of_queries(self, n: int, codes: Ints) -> Floats:
        units, pairs, own = self._units[n], self._pairs[n], self._own[n]
        groups, shares = self._groups[n], self._shares[n]
        hits = pairs[np.arange(len(own)), own + 1]
        # Each group's mean loss, divided by the number of groups.
        means = _by_group(own[None], pairs, groups, shares.shape[1])
        means = means - _by_group(codes, pairs, groups, shares.shape[1])
        sums = units.sums(hits) - units.sums(_looked_up(pairs, codes))
        apart = len(units.starts) * (sums - means @ shares.T)
        return np.asarray(apart + means.sum(axis=1, keepdims=True), float)

    def _bounding(self, n: int) -> int:
        return int((self._shares[n] > 0).sum(axis=0).min())


def _by_group(codes: Ints, table: Floats, groups: Ints, size: int) -> Floats:
    """Return the sums of a table's (n, 1 + K) entries at the codes (T, n) by group, (T, size)."""
    found = np.zeros((len(codes), size + 1))
    for column in np.flatnonzero(table.any(axis=0)):
        found[:, groups[column]] += (codes == column - 1) @ table[:, column]
    return found[:, :-1]


def _pool(pairs: Floats) -> tuple[Ints, int, set[int]]:
    """Return the group of each category by its number of pairs, their number, and who is pooled.

    A category without pairs is in no group, which is the number after the last group's.
    """
    order = [int(code) for code in np.argsort(pairs, kind="stable") if pairs[code] > 0]
    together: list[int] = []
    while order and (pairs[order[0]] < FEWEST_PAIRS or 0 < pairs[together].sum() < FEWEST_PAIRS):
        together.append(order.pop(0))
    size = len(order) + bool(together)
    groups = np.full(len(pairs), size, np.int64)
    groups[sorted(order)] = np.arange(len(order))
    groups[together] = len(order)
    return groups, size, set(together) if len(together) > 1 else set()
