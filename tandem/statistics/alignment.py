"""A judge compared with a reference.

Tables have people in the rows and the judge in the columns.
"""

import numpy as np

from .agreement import confusion, counts_of
from .estimate import Bools, Floats, Ints, Value, ratio, unbatch, unit_weights

__all__ = [
    "accuracy",
    "balanced_accuracy",
    "confusion",
    "f1",
    "macro",
    "majority",
    "mean_absolute_error",
    "precision",
    "recall",
    "specificity",
]


def majority(codes: Ints) -> tuple[Ints, Bools]:
    """Return the most frequent label of each unit of codes (U, R), and whether several tie for it.

    The majority (U,) is -1 on a tie and without labels.
    """
    counts = counts_of(codes, max(int(codes.max(initial=-1)) + 1, 1))
    most = counts.max(axis=1)
    ties = ((counts == most[:, None]).sum(axis=1) > 1) & (most > 0)
    reference = np.where(ties | (most == 0), -1, counts.argmax(axis=1))
    return reference.astype(np.int64), ties


def precision(table: Floats) -> Floats:
    """Return the precision of each category, hits / the judge's uses of it: (K,) or (B, K).

    NaN if the judge never uses the category.
    """
    return ratio(_diagonal(table), table.sum(axis=-2))


def recall(table: Floats) -> Floats:
    """Return the recall of each category, hits / people's uses of it: (K,) or (B, K).

    NaN if people never use the category.
    """
    return ratio(_diagonal(table), table.sum(axis=-1))


def f1(table: Floats) -> Floats:
    """Return 2 hits / (people's + judge's uses of a category): (K,) or (B, K).

    This is the harmonic mean of precision and recall. It is 0 if only one of the two uses the
    category, and NaN if neither does.
    """
    return ratio(2 * _diagonal(table), table.sum(axis=-1) + table.sum(axis=-2))


def accuracy(table: Floats) -> Value:
    """Return the share of units on which judge and reference agree; NaN without units."""
    return unbatch(ratio(_diagonal(table).sum(axis=-1), table.sum(axis=(-2, -1))))


def specificity(table: Floats) -> Floats:
    """Return the share of the units outside a category that the judge also puts outside.

    The shape is (K,) or (B, K). NaN if people put everything in this category.
    """
    people, judge = table.sum(axis=-1), table.sum(axis=-2)
    total = people.sum(axis=-1, keepdims=True)
    return ratio(total - people - judge + _diagonal(table), total - people)


def macro(per_class: Floats) -> Value:
    """Return the plain mean over the categories (..., K) with a defined measure; NaN without any.

    A category that the judge never uses has no precision and is left out of the mean of precisions.
    Implementations that count it as 0 give a lower number.
    """
    there = np.isfinite(per_class)
    return unbatch(ratio(np.where(there, per_class, 0.0).sum(axis=-1), there.sum(axis=-1)))


def balanced_accuracy(table: Floats) -> Value:
    """Return the mean recall of the categories that people use; NaN without units."""
    return macro(recall(table))


def mean_absolute_error(x: Floats, y: Floats, weights: Floats | None = None) -> Value:
    """Return the mean of |x - y| over units (n,) with both scores; NaN without any."""
    gaps = np.abs(x - y)
    there = np.isfinite(gaps)
    weight = unit_weights(weights, len(x))
    return unbatch(ratio(weight @ np.where(there, gaps, 0.0), weight @ there.astype(float)))


def _diagonal(table: Floats) -> Floats:
    return np.diagonal(table, axis1=-2, axis2=-1)
