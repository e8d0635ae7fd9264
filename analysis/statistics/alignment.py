"""A judge against a reference: tables have people in the rows and the judge in the columns."""

import numpy as np

from .agreement import confusion, counts_of
from .arrays import Bools, Floats, Ints, Value, ratio, unbatch, unit_weights

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
    """The most frequent label of each unit of codes (U, R), and whether several tie for it.

    The reference (U,) is -1 where there is a tie or no label.
    """
    counts = counts_of(codes, max(int(codes.max(initial=-1)) + 1, 1))
    most = counts.max(axis=1)
    ties = ((counts == most[:, None]).sum(axis=1) > 1) & (most > 0)
    reference = np.where(ties | (most == 0), -1, counts.argmax(axis=1))
    return reference.astype(np.int64), ties


def precision(table: Floats) -> Floats:
    """Of what the judge calls a category, the share that people call so: (K,) or (B, K).

    NaN where the judge never uses the category."""
    return ratio(_diagonal(table), table.sum(axis=-2))


def recall(table: Floats) -> Floats:
    """Of what people call a category, the share that the judge calls so: (K,) or (B, K).

    NaN where people never use the category."""
    return ratio(_diagonal(table), table.sum(axis=-1))


def f1(table: Floats) -> Floats:
    """2 hits / (people's + judge's uses of a category): (K,) or (B, K).

    This is the harmonic mean of precision and recall, and 0 where only one of the two uses the
    category; NaN where neither does."""
    return ratio(2 * _diagonal(table), table.sum(axis=-1) + table.sum(axis=-2))


def accuracy(table: Floats) -> Value:
    """The share of units on which judge and reference agree; NaN without units."""
    return unbatch(ratio(_diagonal(table).sum(axis=-1), table.sum(axis=(-2, -1))))


def specificity(table: Floats) -> Floats:
    """Of what people call otherwise, the share that the judge calls otherwise too: (K,) or (B, K).

    NaN where people call everything this category."""
    people, judge = table.sum(axis=-1), table.sum(axis=-2)
    total = people.sum(axis=-1, keepdims=True)
    return ratio(total - people - judge + _diagonal(table), total - people)


def macro(per_class: Floats) -> Value:
    """The plain mean over the categories (..., K) where the measure is defined; NaN if nowhere.

    A category that the judge never uses has no precision and leaves the mean of precisions;
    implementations that put 0 there give a lower number."""
    there = np.isfinite(per_class)
    return unbatch(ratio(np.where(there, per_class, 0.0).sum(axis=-1), there.sum(axis=-1)))


def balanced_accuracy(table: Floats) -> Value:
    """The mean recall of the categories that people use; NaN without units."""
    return macro(recall(table))


def mean_absolute_error(x: Floats, y: Floats, weights: Floats | None = None) -> Value:
    """The mean of |x - y| over units (n,) with both scores; NaN without any."""
    gaps = np.abs(x - y)
    there = np.isfinite(gaps)
    weight = unit_weights(weights, len(x))
    return unbatch(ratio(weight @ np.where(there, gaps, 0.0), weight @ there.astype(float)))


def _diagonal(table: Floats) -> Floats:
    return np.diagonal(table, axis1=-2, axis2=-1)
