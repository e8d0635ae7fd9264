"""Shares of units within rows: of the sentences, questions or key points of each report.

Throughout, labels (U,) are 1 = yes, 0 = no, -1 = missing, and `row` (U,) says to which of N rows a
unit belongs.
"""

from __future__ import annotations

import numpy as np

from analysis.measures.options import LEAVE_OUT, ZERO
from analysis.statistics import Bools, Floats, Ints
from analysis.statistics.arrays import ratio

YES, NO, MISSING = 1, 0, -1


def share(labels: Ints, row: Ints, rows: int, missing: str = LEAVE_OUT) -> Floats:
    """The share of yes among the units of each row, (N,).

    Missing labels stay out of the denominator, or are a no under `zero`. NaN where nothing is left.
    """
    counted = np.ones(len(labels), bool) if missing == ZERO else labels != MISSING
    return ratio(count(labels == YES, row, rows), count(counted, row, rows))


def every(labels: Ints, row: Ints, rows: int, missing: str = LEAVE_OUT) -> Floats:
    """1 where all units of a row are yes, else 0, (N,); NaN for a row without units.

    A row with a missing label is left out whole (NaN), whatever its other labels are: it is known
    to fail more often than to pass, so that counting the known ones only would lower the share.
    Under `zero` a missing label is a no.
    """
    units = count(np.ones(len(labels), bool), row, rows)
    undecided = units == 0
    if missing != ZERO:
        undecided |= count(labels == MISSING, row, rows) > 0
    return np.where(undecided, np.nan, (count(labels == YES, row, rows) == units).astype(float))


def both(one: Floats, other: Floats) -> Floats:
    """1 where both of two rows' values are 1, NaN where one is unknown."""
    return np.where(np.isnan(one) | np.isnan(other), np.nan, (one == 1) & (other == 1))


def count(which: Bools, row: Ints, rows: int) -> Floats:
    """How many units of each row are among `which`, (N,)."""
    return np.bincount(row[which], minlength=rows).astype(float)


def known(labels: Ints, asked: Bools, missing: str = LEAVE_OUT) -> Floats:
    """Labels of rows as numbers (N,), NaN where missing.

    Under `zero` a missing label is a no where it was `asked` for (N,): elsewhere nobody failed.
    """
    values = np.where(labels == MISSING, np.nan, labels.astype(float))
    return np.where(asked & np.isnan(values), 0.0, values) if missing == ZERO else values
