"""How many queries an interval rests on: those that hold more than the commonest label.

Where one label is rare, most queries hold nothing but the other one. What a coefficient is then
comes from the few that do, and so does what it varies by: resamples of ten queries of which four
are informative show what four queries show. So an interval of resampled queries is at the level for
the informative ones, and with fewer than five of them there is none. Where every query holds a rare
label, as nearly always with balanced ones, nothing changes.

A query is informative

- for coefficients of several raters together: with two labels or more other than the commonest, or
  half of its labels if that is less;
- for a table of two raters and for curves: with one or more, in each of the columns compared;
- for correlations: with two units or more whose score is not the commonest, or half of its units if
  that is less, in each of the two;
- for one category: with a label in it, or outside it if that is rarer, in each column;
- for a share: where it is not 0, or not 1 if that is rarer.

One with a single unit, which cannot hold both, counts twice where it holds no other label: so
balanced labels on queries of one unit lose nothing either.

`python -m benchmarks --only intervals` shows how often intervals hold the truth by this rule.
"""

from __future__ import annotations

import numpy as np

from .arrays import Floats, Ints
from .resampling import Tally

#: So many labels other than the commonest an informative query holds, of several raters together,
#: and so many units in correlations: a single one is often a slip.
SEVERAL = 2


def informative(tally: Tally, others: Floats, labels: Floats, least: int = 1) -> int:
    """How many clusters are, where the units of each kind hold `labels` (P,), and `others` (P,) of
    these are not the commonest: those with `least` of them, or with half of their labels."""
    held, of = tally.table @ others, tally.table @ labels
    only = (held > 0) & (held == of) & (tally.sizes == 1)
    some = int(tally.times[held >= np.clip(of / 2, 0.5, least)].sum())
    return min(some + int(tally.times[only].sum()), tally.clusters)


def informative_among(tally: Tally, counts: Ints | Floats) -> int:
    """Of several raters together: (P, K) says how many gave each category to a kind's units."""
    labels = np.asarray(counts.sum(axis=1), float)
    others = labels - counts[:, int(np.argmax(tally.total @ counts))]
    return informative(tally, others, labels, SEVERAL)


def informative_of_each(tally: Tally, *columns: Ints | Floats, least: int = 1) -> int:
    """The fewest of several columns (P,), each holding the label of a kind's units, -1 = none."""
    return min(_of_column(tally, column, least) for column in columns)


def informative_by_category(tally: Tally, k: int, *columns: Ints) -> list[int]:
    """For each of k categories, whether a label is in it or not: the fewest of several columns."""
    return [
        informative_of_each(tally, *((column == category).astype(np.int64) for column in columns))
        for category in range(k)
    ]


def informative_shares(parts: Floats, wholes: Floats) -> int:
    """Of queries with `parts` (n,) of `wholes` (n,)."""
    there, single = wholes > 0, wholes == 1
    found = [
        int(np.count_nonzero(there & (held > 0)) + np.count_nonzero(single & (held == wholes)))
        for held in (parts, wholes - parts)
    ]
    return min(int(np.count_nonzero(there)), *found)


def _of_column(tally: Tally, column: Ints | Floats, least: int) -> int:
    there = column >= 0 if column.dtype.kind == "i" else np.isfinite(column)
    values, place = np.unique(column[there], return_inverse=True)
    if len(values) < 2:
        return 0
    others = np.zeros(len(column))
    others[there] = place != np.bincount(place, tally.total[there]).argmax()
    return informative(tally, others, there.astype(float), least)
