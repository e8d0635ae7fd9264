"""The correlation of judges' errors, and the number of independent judges that they are worth.

A jury of judges that err on the same units cannot outvote an error. What matters is the correlation
of errors *given people's label*: if all judges find a yes harder than a no, their errors correlate
over all units even if they are independent among the units of each label.

The correlation of the errors of judges a and b is the pooled correlation within the labels,

    r_ab = sum_l n_l c_ab,l / root(sum_l n_l v_a,l * sum_l n_l v_b,l),

where c is the covariance and v the variance of the error indicators (1 = a label other than
people's) among the n_l units of label l. This is also the partial correlation of the two indicators
given the label. It is the mean of the phi coefficients within the labels, each weighted by n_l
times the two standard deviations. A label on which a judge never errs adds nothing, although its
own phi is undefined. Only units labelled by people and by every judge count. All correlations of
the matrix are then over the same units, and the matrix never has a negative eigenvalue.

m judges with the mean correlation r are worth

    m / (1 + (m - 1) r)

judges with independent errors: the mean of that many independent error indicators has the same
variance (Kish's design effect, with judges as the members of a cluster). A negative r gives more
than m, since the errors cancel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .cluster_means import informative_of_each
from .estimate import (
    COEFFICIENT,
    Bools,
    Estimate,
    Floats,
    Ints,
    defined,
    ratio,
    undefined,
    unique_integers,
)
from .resampling import Bootstrap, Draws, Interval
from .tally import Tally, kinds_of

OF_PAIR = "correlation of errors within people's labels"
OF_MEAN = "mean correlation of errors over pairs of judges"
OF_EFFECTIVE = "m / (1 + (m - 1) r), r the mean correlation of errors"
SELF = "a judge with itself"
ONE = "there is one judge; errors are compared between two"
NO_UNITS = "no unit has a label of people and of every judge"
NO_VARIATION = "a judge errs on none or on all of the units of each label"
CANCELLED = "the errors cancel out entirely"
#: A sum of variances below this is a rounding error.
NOTHING = 1e-12


@dataclass(frozen=True)
class ErrorCorrelations:
    """The correlations of m judges' errors, on `units` units.

    `rates` (m,) are the shares of units on which each errs. `matrix` (m, m) is symmetric, and 1 on
    its diagonal. `mean` is over the pairs of judges, and `effective` the number of independent
    judges.
    """

    units: int
    rates: tuple[Estimate, ...]
    matrix: tuple[tuple[Estimate, ...], ...]
    mean: Estimate
    effective: Estimate


def error_correlations(
    judges: Ints,
    people: Ints,
    clusters: Ints,
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> ErrorCorrelations:
    """Return the correlations of the errors of judges (U, m), given people's joint label (U,).

    -1 = no label. Whole `clusters` (U,) are resampled; people's labels stay fixed. A correlation is
    undefined if, on the units of each label, one of its judges errs always or never. The mean and
    the effective number are then undefined, too.
    """
    m = judges.shape[1]
    enter = (people >= 0) & (judges >= 0).all(axis=1)
    n, queries = int(enter.sum()), len(unique_integers(clusters[enter])[0])
    if not n or m < 2:
        return _undefined(m, n, ONE if n else NO_UNITS)
    wrong = np.where(enter[:, None], judges != people[:, None], -1).astype(np.int64)
    rows, kinds = kinds_of(np.column_stack([np.where(enter, people, -1), wrong]))
    tally = Tally.of(np.where(enter, kinds, -1), len(rows), clusters)
    errors = _Errors(rows[:, 0], rows[:, 1:] > 0)
    bootstrap = Bootstrap(tally, draws, seed, interval)
    # Kinds of units outside the comparison have -1 in every column.
    held = [informative_of_each(tally, column) for column in rows[:, 1:].T]
    one, other = np.triu_indices(m, 1)
    least = [min(held[a], held[b]) for a, b in zip(one, other, strict=True)]
    pairs = bootstrap.estimates(errors.pairs, n, OF_PAIR, NO_VARIATION, queries, least)
    rates = bootstrap.estimates(errors.rates, n, "share of errors", NO_UNITS, queries, held)
    mean = bootstrap.estimate(errors.mean, n, OF_MEAN, NO_VARIATION, queries, min(held))
    why = NO_VARIATION if mean.value is None else CANCELLED
    effective = bootstrap.estimate(
        errors.effective, n, OF_EFFECTIVE, why, queries, min(held)
    )  # fmt: skip
    return ErrorCorrelations(
        n,
        tuple(each.within(0, 1) for each in rates),
        _matrix(m, n, [each.within(*COEFFICIENT) for each in pairs]),
        mean.within(*COEFFICIENT),
        effective,
    )


def _undefined(m: int, n: int, why: str) -> ErrorCorrelations:
    pairs = [undefined(why, n, OF_PAIR)] * (m * (m - 1) // 2)
    return ErrorCorrelations(
        n,
        tuple(undefined(why, n, "share of errors") for _ in range(m)),
        _matrix(m, n, pairs),
        undefined(why, n, OF_MEAN),
        undefined(why, n, OF_EFFECTIVE),
    )


def _matrix(m: int, n: int, pairs: list[Estimate]) -> tuple[tuple[Estimate, ...], ...]:
    """Arrange the estimates of the pairs, which are in the order of `np.triu_indices`."""
    itself = defined(1.0, None, n, SELF)
    rows = [[itself] * m for _ in range(m)]
    for a, b, pair in zip(*np.triu_indices(m, 1), pairs, strict=True):
        rows[a][b] = rows[b][a] = pair
    return tuple(tuple(row) for row in rows)


class _Errors:
    """Functions of the weights (..., P). `label` (P,) is people's, and `wrong` (P, m) marks errors.

    Kinds of the label -1 are outside of the comparison.
    """

    def __init__(self, label: Ints, wrong: Bools) -> None:
        of = np.unique(label[label >= 0])
        self.member = (label[:, None] == of).astype(float)
        self.inside = self.member.any(axis=1).astype(float)
        self.wrong = wrong.astype(float)
        self.m = wrong.shape[1]
        self.one, self.other = np.triu_indices(self.m, 1)

    def rates(self, weights: Floats) -> Floats:
        """Return the share of units on which each judge errs, (..., m)."""
        inside = weights * self.inside
        return ratio(inside @ self.wrong, inside.sum(axis=-1)[..., None])

    def pairs(self, weights: Floats) -> Floats:
        """Return the correlation of each pair of judges, (..., m (m - 1) / 2)."""
        units = weights @ self.member
        each = _by_label(weights, self.member, self.wrong)
        both = _by_label(weights, self.member, self.wrong[:, self.one] * self.wrong[:, self.other])
        product = each[..., self.one] * each[..., self.other]
        covariance = _within(both, product, units)
        variance = _within(each, each**2, units)
        scale = variance[..., self.one] * variance[..., self.other]
        return ratio(covariance, np.sqrt(np.where(scale > NOTHING, scale, 0.0)))

    def mean(self, weights: Floats) -> Floats:
        """Return the mean correlation over the pairs, undefined if one of them is."""
        mean: Floats = self.pairs(weights).mean(axis=-1)
        return mean

    def effective(self, weights: Floats) -> Floats:
        inflation = 1 + (self.m - 1) * self.mean(weights)
        return ratio(self.m, np.where(inflation > NOTHING, inflation, 0.0))


def _by_label(weights: Floats, member: Floats, numbers: Floats) -> Floats:
    """Sum the numbers (P, S) within each label, (..., L, S)."""
    kinds, labels = member.shape
    split = (member[:, :, None] * numbers[:, None, :]).reshape(kinds, -1)
    return (weights @ split).reshape(*weights.shape[:-1], labels, -1)


def _within(sums: Floats, products: Floats, units: Floats) -> Floats:
    """Return sum_l (S_l - P_l / n_l) of sums and products (..., L, S), with units (..., L)."""
    whole = units[..., None]
    expected = np.divide(products, whole, out=np.zeros_like(products), where=whole > 0)
    within: Floats = (sums - expected).sum(axis=-2)
    return within
