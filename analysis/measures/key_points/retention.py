"""Retention: how many key points people let stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.measures.base import Measure
from analysis.measures.options import Options
from analysis.measures.shares import MISSING, NO, YES, share
from analysis.statistics import Floats, Ints

AGREE, NEUTRAL, DISAGREE = 0, 1, 2


@dataclass(frozen=True)
class Verified:
    """The key points (U,) of N queries as people verified them.

    `grounded` is 1, 0 or -1 = missing; `key` is agree, neutral or disagree (0, 1, 2), -1 where it
    was not asked or is missing; `row` is the query.
    """

    grounded: Ints
    key: Ints
    row: Ints
    rows: int


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
    return share(kept(of, options), of.row, of.rows, options.missing)


MEASURE = Measure(
    "Retention",
    "verified",
    "Share of the proposed key points that are in the text and key.",
    "Qi and others, Long2RAG, 2024",
    retention,
    "no key point was verified",
    ("keep_neutral", "missing"),
)
