"""What people reach with each other, in pairs, and a judge's gap to it.

A majority is less noisy than a person. So a judge's kappa with the majority cannot be compared
with what people reach with each other: it may be higher even for a judge that is worse than each
of them. The gap compares like with like: the judge with each person, and people with each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .agreement import counts_of, paired_counts
from .arrays import Floats, Ints, Value, distinct, unbatch
from .estimate import Estimate, undefined
from .informative import informative_among, informative_of_each
from .pairwise import LEAST_SHARED, PairMean, enough, kept_pairs, shared_units
from .resampling import Bootstrap, Draws, Interval, Tally, kinds_of

OF_PAIRS = "mean over pairs of people weighted by shared units"
METHODS = {
    "percent": f"share of equal labels, {OF_PAIRS}",
    "cohen_kappa": f"Cohen's kappa, {OF_PAIRS}",
}
NO_PAIR = "no two people share labels that vary"


@dataclass(frozen=True)
class Pairs:
    """The pairs of columns (P, 2) that stay, and how many others share a unit and do not."""

    kept: Ints
    left_out: int

    def method(self, name: str) -> str:
        """The method of a mean over them in words, with what was left out."""
        if not self.left_out:
            return METHODS[name]
        pairs = "1 pair" if self.left_out == 1 else f"{self.left_out} pairs"
        return f"{METHODS[name]}, {pairs} below {LEAST_SHARED} shared units left out"


def ceiling_pairs(codes: Ints) -> Pairs:
    """The pairs of raters of codes (U, R), -1 = missing, that share at least 30 units.

    Where at most 30 people are there and no pair shares so many, all that share a unit.
    """
    return Pairs(*kept_pairs(shared_units(codes), codes.shape[1]))


def ceiling_estimates(
    codes: Ints,
    clusters: Ints,
    k: int,
    *,
    names: Sequence[str] = tuple(METHODS),
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """The share of equal labels and Cohen's kappa, each its mean over pairs of R raters:
    sum_p n_p kappa_p / sum_p n_p, with n_p the units that a pair shares.

    codes (U, R) of k categories, -1 = missing; `clusters` (U,) are resampled whole. Which pairs
    enter says `ceiling_pairs`; one whose kappa is undefined leaves the mean. `names` are those that
    are wanted.
    """
    pairs = ceiling_pairs(codes)
    who = np.unique(pairs.kept)
    people = codes[:, who]
    enter = (people >= 0).sum(axis=1) >= 2
    n, queries = int(enter.sum()), len(distinct(clusters[enter])[0])
    methods = {name: pairs.method(name) for name in names}
    if not n:
        return {name: undefined(NO_PAIR, n, method) for name, method in methods.items()}
    rows, kinds = kinds_of(people)
    mean = PairMean(rows, np.searchsorted(who, pairs.kept).astype(np.int64), k)
    tally = Tally.of(kinds, len(rows), clusters)
    informative = informative_among(tally, paired_counts(counts_of(rows, k)))
    bootstrap = Bootstrap(tally, draws, seed, interval, informative)
    functions = {"percent": mean.percent, "cohen_kappa": mean.kappa}
    return {
        name: bootstrap.estimate(functions[name], n, method, NO_PAIR, queries)
        for name, method in methods.items()
    }


NAMES = {"cohen_kappa": "Cohen's kappa", "percent": "share of equal labels"}
GAP = "of the judge with each person less that of people with each other"
LESS = "of the judge with each person less that of {other}"
OTHER = "the other judge"
NO_UNIT = "no unit has a label of the judge and of two people"
NO_SHARED = "no unit has a label of both judges and of a person"
NO_LARGE_PAIR = f"no two people share {LEAST_SHARED} units that the judge labelled"
NO_PERSON = f"no person shares {LEAST_SHARED} units with the judges"
ALIKE = "all labels are the same category"


def gap_estimates(
    judge: Ints,
    people: Ints,
    clusters: Ints,
    k: int,
    *,
    names: Sequence[str] = tuple(NAMES),
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """The gap of a judge (U,) to people (U, R) in Cohen's kappa and in the share of equal labels.

    sum_p n_jp kappa_jp / sum_p n_jp - sum_pq n_pq kappa_pq / sum_pq n_pq, with n the units that two
    share: the mean over people of the judge's kappa with each, less the mean over pairs of people.
    Both are of the units with a label of the judge and of two people, and of the same people, and
    are resampled together. Codes of k categories, -1 = missing; `clusters` (U,) are resampled
    whole. A kappa that is undefined leaves its mean. Pairs of people that share fewer than 30 such
    units are left out, unless at most 30 people are there and no pair shares so many.
    """
    n = int(((judge >= 0) & ((people >= 0).sum(axis=1) >= 2)).sum())
    if not n:
        return {name: undefined(NO_UNIT, n, method_of(name, GAP)) for name in names}
    shared = shared_units(people[judge >= 0])
    pairs, left_out = kept_pairs(shared, people.shape[1])
    if not len(pairs):
        return {name: undefined(NO_LARGE_PAIR, n, method_of(name, GAP)) for name in names}
    who = np.unique(pairs)
    enter = (judge >= 0) & ((people[:, who] >= 0).sum(axis=1) >= 2)
    # The judge is the first column, and people the others.
    columns = np.where(enter[:, None], np.column_stack([judge, people[:, who]]), -1)
    rows, kinds = kinds_of(columns)
    means = (
        PairMean(rows, _with(0, range(1, len(who) + 1)), k),
        PairMean(rows, np.searchsorted(who, pairs).astype(np.int64) + 1, k),
    )
    tally = Tally.of(kinds, len(rows), clusters)
    informative = _informative(tally, rows[:, :1], rows[:, 1:], k)
    bootstrap = Bootstrap(tally, draws, seed, interval, informative)
    methods = {name: method_of(name, GAP, left_out, "pair", "pairs") for name in names}
    return _differences(bootstrap, means, methods, int(enter.sum()), clusters[enter])


def judge_difference(
    judge: Ints,
    other: Ints,
    people: Ints,
    clusters: Ints,
    k: int,
    *,
    named: str = OTHER,
    names: Sequence[str] = tuple(NAMES),
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """One judge (U,) less another (U,), each by its mean over people (U, R) of the kappa with them.

    Both means are of the units with a label of both judges and of a person, weigh people by such
    units, and are resampled together. People with fewer than 30 of them are left out, unless at
    most 30 people are there and none has so many. The method calls the other judge as `named`; the
    other arguments are those of `gap_estimates`.
    """
    less = LESS.format(other=named)
    both = (judge >= 0) & (other >= 0)
    n = int((both & (people >= 0).any(axis=1)).sum())
    if not n:
        return {name: undefined(NO_SHARED, n, method_of(name, less)) for name in names}
    units = (people[both] >= 0).sum(axis=0)
    who, left_out = enough(units, people.shape[1])
    if not len(who):
        return {name: undefined(NO_PERSON, n, method_of(name, less)) for name in names}
    enter = both & (people[:, who] >= 0).any(axis=1)
    columns = np.where(enter[:, None], np.column_stack([judge, other, people[:, who]]), -1)
    rows, kinds = kinds_of(columns)
    places = range(2, len(who) + 2)
    means = PairMean(rows, _with(0, places), k), PairMean(rows, _with(1, places), k)
    tally = Tally.of(kinds, len(rows), clusters)
    informative = _informative(tally, rows[:, :2], rows[:, 2:], k)
    bootstrap = Bootstrap(tally, draws, seed, interval, informative)
    methods = {name: method_of(name, less, left_out, "person", "people") for name in names}
    return _differences(bootstrap, means, methods, int(enter.sum()), clusters[enter])


def _informative(tally: Tally, judges: Ints, people: Ints, k: int) -> int:
    together = informative_among(tally, counts_of(people, k))
    return min(together, informative_of_each(tally, *judges.T))


def _with(column: int, others: Iterable[int]) -> Ints:
    """The pairs (P, 2) of one column with each of others."""
    return np.array([(column, other) for other in others], dtype=np.int64)


def _differences(
    bootstrap: Bootstrap,
    means: tuple[PairMean, PairMean],
    methods: Mapping[str, str],
    n: int,
    clusters: Ints,
) -> dict[str, Estimate]:
    """One mean over pairs less another, by name, on n units of these clusters."""
    functions = {"cohen_kappa": PairMean.kappa, "percent": PairMean.percent}
    queries = len(distinct(clusters)[0])

    def made(name: str) -> Estimate:
        def difference(weights: Floats) -> Value:
            one, other = (np.asarray(functions[name](each, weights)) for each in means)
            return unbatch(one - other)

        return bootstrap.estimate(difference, n, methods[name], ALIKE, queries)

    return {name: made(name) for name in methods}


def method_of(name: str, of: str, left_out: int = 0, one: str = "", several: str = "") -> str:
    """The method of a difference in words; `of` is `GAP` or `LESS`, filled in."""
    said = f"{NAMES[name]} {of}, means weighted by shared units"
    noun = one if left_out == 1 else several
    fewer = f", {left_out} {noun} below {LEAST_SHARED} shared units left out"
    return said + (fewer if left_out else "")
