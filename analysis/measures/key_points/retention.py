"""Retention: how many key points people let stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.measures.base import Measure, Pooled
from analysis.measures.options import ZERO, Options
from analysis.measures.shares import MISSING, NO, YES, count, share
from analysis.statistics import Bools, Floats, Ints, Value
from analysis.statistics.arrays import ratio, unbatch

AGREE, NEUTRAL, DISAGREE = 0, 1, 2


@dataclass(frozen=True)
class Verified:
    """The key points (U,) of N queries as people verified them.

    `grounded` is 1, 0 or -1 = missing; `key` is agree, neutral or disagree (0, 1, 2), -1 where it
    was not asked or is missing; `row` is the query. `asked` (U,) says of which points it was asked
    whether they are key; None for all that are grounded.
    """

    grounded: Ints
    key: Ints
    row: Ints
    rows: int
    asked: Bools | None = None

    @property
    def counted(self) -> Bools:
        """The points (U,) that count: not those that are grounded where nothing more was asked."""
        if self.asked is None:
            return np.ones(len(self.grounded), bool)
        counted: Bools = self.asked | (self.grounded != YES)
        return counted


def kept(of: Verified, options: Options) -> Ints:
    """Which points are kept (U,): grounded, and judged key. 1, 0, or -1 where that is unknown.

    Whether a neutral point is kept, Qi and others 2024 leave open: `keep_neutral`.
    """
    wanted = of.key <= NEUTRAL if options.keep_neutral else of.key == AGREE
    judged = np.where(of.key == MISSING, MISSING, np.where(wanted, YES, NO))
    known = np.where(of.grounded == YES, judged, of.grounded)
    return known.astype(np.int64)


def retention(of: Verified, options: Options) -> Floats:
    """Key points kept / key points of each query, (N,)."""
    counted = of.counted
    return share(kept(of, options)[counted], of.row[counted], of.rows, options.missing)


def retention_of_all(of: Verified, options: Options) -> Pooled:
    """Key points kept / key points, of all queries together.

    The 56.3 % of Qi and others 2024 are 2,055 of 3,651 points, whatever their questions.
    """
    verdicts = kept(of, options)
    counted = of.counted & ((options.missing == ZERO) | (verdicts != MISSING))
    sums = [count(which, of.row, of.rows) for which in (verdicts == YES, counted)]
    return Pooled(np.column_stack(sums), _retained_share)


def _retained_share(sums: Floats) -> Value:
    return unbatch(ratio(sums[..., 0], sums[..., 1]))


RETENTION = tuple(
    Measure(
        name,
        "verified",
        f"Share of the proposed key points that are in the text and key, {how}.",
        "Qi and others, Long2RAG, 2024",
        function,
        "no key point was verified",
        ("keep_neutral", "missing"),
    )
    for name, function, how in (
        ("Retention", retention, "averaged over queries"),
        ("Retention-micro", retention_of_all, "of all points together"),
    )
)
