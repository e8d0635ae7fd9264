"""Human agreement in pairs, and a judge's gap to it.

A majority is less noisy than a single person. A judge that is worse than every person may therefore
have a higher kappa with the majority than people have with each other. The gap compares like with
like: the judge's kappa with each person, and people's kappa with each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from .agreement import counts_of, paired_counts
from .cluster_means import informative_among, informative_of_each
from .coefficients import EQUAL, KAPPA, OF_TWO
from .estimate import Estimate, Floats, Ints, defined, undefined, unique_integers
from .pairwise import (
    LEAST_SHARED,
    MEANS,
    METHODS,
    PairMean,
    kept_pairs,
    shared_units,
    with_enough_units,
)
from .resampling import LEVEL, Bootstrap, Draws, Interval
from .tally import Tally, kinds_of

#: The level of the interval that contains two one-sided tests at .05.
NARROW = 0.9
NO_PAIR = "no two people share labels that vary"
NAMES = {each.key: each.method for each in (KAPPA, EQUAL)}
GAP = "of the judge with each person less that of people with each other"
WITH = "of the judge with each person"
LESS = "of the judge with each person less that of {other}"
OTHER = "the other judge"
NO_UNIT = "no unit has a label of the judge and of two people"
NO_SHARED = "no unit has a label of both judges and of a person"
NO_LARGE_PAIR = f"no two people share {LEAST_SHARED} units that the judge labelled"
NO_PERSON = f"no person shares {LEAST_SHARED} units with the judges"
ALIKE = "all labels are the same category"


@dataclass(frozen=True)
class Pairs:
    """The pairs of columns (P, 2) in use, and the number of other pairs that share a unit."""

    columns: Ints
    left_out: int

    def method(self, name: str) -> str:
        """Describe the method of a mean over the pairs, including the pairs left out."""
        if not self.left_out:
            return METHODS[name]
        pairs = "1 pair" if self.left_out == 1 else f"{self.left_out} pairs"
        return f"{METHODS[name]}, {pairs} below {LEAST_SHARED} shared units left out"


def ceiling_pairs(codes: Ints) -> Pairs:
    """Return the pairs of raters of codes (U, R), -1 = missing, that share at least 30 units.

    If there are at most 30 people and no pair shares that many, returns all pairs that share a
    unit.
    """
    return Pairs(*kept_pairs(shared_units(codes), codes.shape[1]))


def ceiling_estimates(
    codes: Ints,
    clusters: Ints,
    k: int,
    *,
    names: Sequence[str] = tuple(NAMES),
    values: Floats | None = None,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """Return the share of equal labels and Cohen's kappa, each a mean over pairs of R raters.

    The mean is sum_p n_p kappa_p / sum_p n_p, where n_p is the number of units that pair p shares.
    `ceiling_pairs` selects the pairs. A pair whose kappa is undefined is left out. `codes` (U, R)
    are of k categories, -1 = missing. Whole `clusters` (U,) are resampled. `names` selects the
    coefficients; `cohen_kappa_quadratic` is kappa with quadratic weights, for which `values` (K,)
    are the categories' numbers.
    """
    pairs = ceiling_pairs(codes)
    who = np.unique(pairs.columns)
    people = codes[:, who]
    enter = (people >= 0).sum(axis=1) >= 2
    n, queries = int(enter.sum()), len(unique_integers(clusters[enter])[0])
    methods = {name: pairs.method(name) for name in names}
    if not n:
        return {name: undefined(NO_PAIR, n, method) for name, method in methods.items()}
    rows, kinds = kinds_of(people)
    mean = PairMean(rows, np.searchsorted(who, pairs.columns).astype(np.int64), k, values)
    tally = Tally.of(kinds, len(rows), clusters)
    informative = informative_among(tally, paired_counts(counts_of(rows, k)))
    bootstrap = Bootstrap(tally, draws, seed, interval, informative)
    return {
        name: bootstrap.estimate(partial(MEANS[name], mean), n, method, NO_PAIR, queries)
        for name, method in methods.items()
    }


def gap_estimates(
    judge: Ints,
    people: Ints,
    clusters: Ints,
    k: int,
    *,
    names: Sequence[str] = tuple(NAMES),
    values: Floats | None = None,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """Return `gap_and_equivalence` without the intervals for the tests of equivalence."""
    both = gap_and_equivalence(
        judge, people, clusters, k,
        names=names, values=values, draws=draws, seed=seed, interval=interval,
    )  # fmt: skip
    return {name: gap for name, (gap, _) in both.items()}


def gap_and_equivalence(
    judge: Ints,
    people: Ints,
    clusters: Ints,
    k: int,
    *,
    names: Sequence[str] = tuple(NAMES),
    values: Floats | None = None,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, tuple[Estimate, Estimate]]:
    """Return a judge's (U,) gap to people (U, R) in Cohen's kappa and the share of equal labels.

    The gap is the mean over people of the judge's kappa with each, less the mean over pairs of
    people:

        sum_p n_jp kappa_jp / sum_p n_jp - sum_pq n_pq kappa_pq / sum_pq n_pq,

    where n is the number of units that two raters share. Both means are over the same people and
    over units labelled by the judge and at least two people, and are resampled together. An
    undefined kappa is left out of its mean. Pairs of people that share fewer than 30 such units are
    left out, unless there are at most 30 people and no pair shares that many. Codes are of k
    categories, -1 = missing. Whole `clusters` (U,) are resampled.

    Each gap is returned with a 95 % and with a 90 % interval. Judge and people are equivalent at a
    margin if the 90 % interval lies within it: then two one-sided tests at .05 reject that the gap
    is below -margin, and that it is above margin (Schuirmann 1987). Both ends of this interval are
    as far from the gap as the farther end of the BCa interval: without that, judges exactly at
    -margin were called equivalent in 5.7 of 100 simulated studies.
    """

    def methods(left_out: int) -> dict[str, str]:
        return {name: method_of(name, GAP, left_out, "pair", "pairs") for name in names}

    beside = _beside(judge, people, clusters, k, values)
    if isinstance(beside, _Undefined):
        none = {n: undefined(beside.reason, beside.n, m) for n, m in methods(0).items()}
        return {name: (each, each) for name, each in none.items()}
    bootstrap = Bootstrap(beside.tally, draws, seed, interval, beside.informative)
    means = beside.judge, beside.people
    return _differences(bootstrap, means, methods(beside.left_out), beside.n, beside.clusters)


def with_people_estimates(
    judge: Ints,
    people: Ints,
    clusters: Ints,
    k: int,
    *,
    names: Sequence[str] = tuple(NAMES),
    values: Floats | None = None,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """Return the means over people (U, R) of a judge's (U,) kappa and share of equal labels.

    This is the first mean of `gap_estimates`, sum_p n_jp kappa_jp / sum_p n_jp, over the same
    people and units. The arguments are the same. A person whose kappa with the judge is undefined
    is left out.
    """

    def methods(left_out: int) -> dict[str, str]:
        return {name: method_of(name, WITH, left_out, "pair", "pairs") for name in names}

    beside = _beside(judge, people, clusters, k, values)
    if isinstance(beside, _Undefined):
        return {n: undefined(beside.reason, beside.n, m) for n, m in methods(0).items()}
    bootstrap = Bootstrap(beside.tally, draws, seed, interval, beside.informative)
    queries = len(unique_integers(beside.clusters)[0])

    def mean(name: str, method: str) -> Estimate:
        function = partial(MEANS[name], beside.judge)
        return bootstrap.estimate(function, beside.n, method, ALIKE, queries)

    return {name: mean(name, method) for name, method in methods(beside.left_out).items()}


@dataclass(frozen=True)
class _Undefined:
    reason: str
    n: int


@dataclass(frozen=True)
class _JudgeWithPeople:
    """A judge and people, on units labelled by the judge and by at least two people.

    `people` are the pairs of people, or of another judge with people.
    """

    tally: Tally
    judge: PairMean
    people: PairMean
    informative: int
    left_out: int
    n: int
    clusters: Ints


def _beside(
    judge: Ints, people: Ints, clusters: Ints, k: int, values: Floats | None = None
) -> _JudgeWithPeople | _Undefined:
    n = int(((judge >= 0) & ((people >= 0).sum(axis=1) >= 2)).sum())
    if not n:
        return _Undefined(NO_UNIT, n)
    shared = shared_units(people[judge >= 0])
    pairs, left_out = kept_pairs(shared, people.shape[1])
    if not len(pairs):
        return _Undefined(NO_LARGE_PAIR, n)
    who = np.unique(pairs)
    enter = (judge >= 0) & ((people[:, who] >= 0).sum(axis=1) >= 2)
    # The judge is the first column, people are the others.
    columns = np.where(enter[:, None], np.column_stack([judge, people[:, who]]), -1)
    rows, kinds = kinds_of(columns)
    tally = Tally.of(kinds, len(rows), clusters)
    return _JudgeWithPeople(
        tally,
        PairMean(rows, _pairs_with(0, range(1, len(who) + 1)), k, values),
        PairMean(rows, np.searchsorted(who, pairs).astype(np.int64) + 1, k, values),
        _informative(tally, rows[:, :1], rows[:, 1:], k),
        left_out,
        int(enter.sum()),
        clusters[enter],
    )


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
    """Return the difference of two judges' (U,) mean kappas with people (U, R).

    Both means are over units labelled by both judges and a person. They weight people by the number
    of such units, and are resampled together. People with fewer than 30 such units are left out,
    unless there are at most 30 people and none has that many. `named` is the other judge's name in
    the method. The other arguments are those of `gap_estimates`.
    """
    less = LESS.format(other=named)
    beside = _two_judges_with_people(judge, other, people, clusters, k)
    if isinstance(beside, _Undefined):
        return {name: undefined(beside.reason, beside.n, method_of(name, less)) for name in names}
    bootstrap = Bootstrap(beside.tally, draws, seed, interval, beside.informative)
    left_out = beside.left_out
    methods = {name: method_of(name, less, left_out, "person", "people") for name in names}
    means = beside.judge, beside.people
    both = _differences(bootstrap, means, methods, beside.n, beside.clusters)
    return {name: difference for name, (difference, _) in both.items()}


@dataclass(frozen=True)
class ComparedJudges:
    """Two judges compared with people on the same units: both means and their difference."""

    one: Estimate
    other: Estimate
    difference: Estimate


def compared_judges(
    judge: Ints,
    other: Ints,
    people: Ints,
    clusters: Ints,
    k: int,
    *,
    named: str = OTHER,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, ComparedJudges]:
    """Return `judge_difference` and its two means, all resampled together."""
    differences = judge_difference(
        judge, other, people, clusters, k,
        named=named, draws=draws, seed=seed, interval=interval,
    )  # fmt: skip
    beside = _two_judges_with_people(judge, other, people, clusters, k)
    if isinstance(beside, _Undefined):
        none = {n: undefined(beside.reason, beside.n, method_of(n, WITH)) for n in differences}
        return {n: ComparedJudges(none[n], none[n], differences[n]) for n in differences}
    bootstrap = Bootstrap(beside.tally, draws, seed, interval, beside.informative)
    queries = len(unique_integers(beside.clusters)[0])

    def mean(name: str, of: PairMean) -> Estimate:
        method = method_of(name, WITH, beside.left_out, "person", "people")
        function = partial(MEANS[name], of)
        return bootstrap.estimate(function, beside.n, method, ALIKE, queries)

    return {
        name: ComparedJudges(mean(name, beside.judge), mean(name, beside.people), difference)
        for name, difference in differences.items()
    }


def _two_judges_with_people(
    judge: Ints, other: Ints, people: Ints, clusters: Ints, k: int
) -> _JudgeWithPeople | _Undefined:
    """Compare two judges with people. The second judge's pairs replace the pairs of people."""
    both = (judge >= 0) & (other >= 0)
    n = int((both & (people >= 0).any(axis=1)).sum())
    if not n:
        return _Undefined(NO_SHARED, n)
    units = (people[both] >= 0).sum(axis=0)
    who, left_out = with_enough_units(units, people.shape[1])
    if not len(who):
        return _Undefined(NO_PERSON, n)
    enter = both & (people[:, who] >= 0).any(axis=1)
    columns = np.where(enter[:, None], np.column_stack([judge, other, people[:, who]]), -1)
    rows, kinds = kinds_of(columns)
    places = range(2, len(who) + 2)
    tally = Tally.of(kinds, len(rows), clusters)
    return _JudgeWithPeople(
        tally,
        PairMean(rows, _pairs_with(0, places), k),
        PairMean(rows, _pairs_with(1, places), k),
        _informative(tally, rows[:, :2], rows[:, 2:], k),
        left_out,
        int(enter.sum()),
        clusters[enter],
    )


def _informative(tally: Tally, judges: Ints, people: Ints, k: int) -> int:
    together = informative_among(tally, counts_of(people, k))
    return min(together, informative_of_each(tally, *judges.T))


def _pairs_with(column: int, others: Iterable[int]) -> Ints:
    """Return the pairs (P, 2) of one column with each of the others."""
    return np.array([(column, other) for other in others], dtype=np.int64)


def _differences(
    bootstrap: Bootstrap,
    means: tuple[PairMean, PairMean],
    methods: Mapping[str, str],
    n: int,
    clusters: Ints,
) -> dict[str, tuple[Estimate, Estimate]]:
    """Return the difference of two means over pairs, by coefficient, on n units.

    Each has a 95 % and a 90 % interval from the same resamples.
    """
    queries = len(unique_integers(clusters)[0])

    def difference_of(name: str) -> tuple[Estimate, Estimate]:
        def difference(weights: Floats) -> Floats:
            one, other = (np.asarray(MEANS[name](each, weights)) for each in means)
            return np.stack([one - other] * 2, axis=-1)

        wide, narrow = bootstrap.estimates(
            difference, n, methods[name], ALIKE, queries, levels=(LEVEL, NARROW)
        )
        return wide, _symmetric(narrow)

    return {name: difference_of(name) for name in methods}


def _symmetric(narrow: Estimate) -> Estimate:
    """Return the estimate with both ends of its interval as far away as the farther one."""
    if narrow.value is None or narrow.low is None or narrow.high is None:
        return narrow
    reach = max(narrow.value - narrow.low, narrow.high - narrow.value)
    method = f"{narrow.method}, ends equally far"
    ends = narrow.value - reach, narrow.value + reach
    return defined(narrow.value, ends, narrow.n, method)


def method_of(name: str, of: str, left_out: int = 0, one: str = "", several: str = "") -> str:
    """Describe how a mean or a difference was computed; `of` is `GAP`, `WITH` or `LESS`."""
    mean = "mean" if of == WITH else "means"
    named = OF_TWO[name].method.replace(", ", " with ")
    text = f"{named} {of}, {mean} weighted by shared units"
    noun = one if left_out == 1 else several
    fewer = f", {left_out} {noun} below {LEAST_SHARED} shared units left out"
    return text + (fewer if left_out else "")
