"""A judge held against a reference: tables have people in the rows and the judge in the columns."""

import numpy as np

from analysis.statistics.arrays import Bools, Floats, Ints, Value, ratio, unbatch
from analysis.statistics.counts import confusion, counts_of

__all__ = ["accuracy", "confusion", "f1", "majority", "precision", "recall"]


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


def _diagonal(table: Floats) -> Floats:
    return np.diagonal(table, axis1=-2, axis2=-1)
