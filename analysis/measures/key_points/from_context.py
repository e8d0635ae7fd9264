"""Of the query's key points that an answer makes, those that come from its context.

Not the paper's precision, which asks of the answer's own points (`precision`): points that were
drawn from the documents that an answer was given are in them whatever it says.
"""

from __future__ import annotations

import numpy as np

from analysis.measures.base import Measure
from analysis.measures.key_points.points import Points
from analysis.measures.options import ZERO, Options
from analysis.measures.shares import MISSING, YES, count
from analysis.statistics import Bools, Floats
from analysis.statistics.arrays import ratio


def points_from_context(points: Points, options: Options) -> Floats:
    """Expressed key points of the query that come from the context / expressed ones, (N,).

    Our own. A point comes from the context where a passage that it was taken from is in it (one of
    several, where points were merged): the batch says so, nobody is asked. NaN where the context
    is unknown, and, unless `unexpressed` is zero, where the answer expresses no point. Without a
    label nobody knows whether it does; under `missing = zero` it then expresses none.
    """
    expressed = points.expressed == YES
    known = expressed & (points.retrieved != MISSING)
    held = known & (points.retrieved == YES)
    values = ratio(count(held, points.row, points.rows), count(known, points.row, points.rows))
    if options.unexpressed == ZERO:
        silent = _known(points, options) & (count(expressed, points.row, points.rows) == 0)
        values = np.where(silent, 0.0, values)
    return values


def _known(points: Points, options: Options) -> Bools:
    """Which answers are known to express their points or not, (N,)."""
    told = np.full(len(points.row), options.missing == ZERO) | (points.expressed != MISSING)
    return count(told, points.row, points.rows) > 0


POINTS_FROM_CONTEXT = Measure(
    "Points-from-context",
    "points",
    "Of the query's key points that the answer makes, the share drawn from its context.",
    "Tandem's own",
    points_from_context,
    "no answer expresses a key point with a known context",
    ("unexpressed", "missing"),
)
