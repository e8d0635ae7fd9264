"""How many queries are informative, which decides the level of an interval.

If one label is rare, most queries contain only the other one. A coefficient and its variation then
come from the few queries with the rare label: ten queries of which four are informative say no more
than four queries. An interval is therefore computed at the level for the number of informative
queries, and there is none with fewer than five. If every query contains the rarer label, as with
balanced labels, nothing changes.

A query is informative

- for coefficients of several raters together, if at least two of its labels (or half of them, if
  that is fewer) are not the commonest label;
- for a table of two raters and for curves, if each compared column has at least one such label;
- for correlations, if in each score at least two units (or half of the units, if that is fewer) do
  not have the commonest value;
- for one category, if each column has a label in the category, or outside it if that is rarer;
- for a share, if the query's share is not 0, or not 1 if that is rarer.

A query with a single unit cannot contain both labels, so it counts twice if its label is not the
commonest. Balanced labels on queries with one unit therefore lose nothing, either.

`python -m benchmarks --only intervals` shows how often intervals contain the truth under this rule.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .estimate import Floats, Ints
from .resampling import FEWEST_DIFFERING
from .tally import Tally

#: The number of labels (for correlations, of units) other than the commonest that make a query
#: informative for several raters together. It is not 1, since a single such label is often a slip.
SEVERAL = 2
#: Values nearer to each other are equal, since sums of decimal fractions are not exact.
ROUNDING = 1e-9


def count_informative(tally: Tally, others: Floats, labels: Floats, least: int = 1) -> int:
    """Count the informative clusters.

    `labels` (P,) is the number of labels of a unit of each kind, and `others` (P,) how many of them
    are not the commonest. A cluster is informative if at least `least` of its labels, or half of
    them if that is fewer, are not the commonest.
    """
    held, of = tally.cells @ others, tally.cells @ labels
    only = (held > 0) & (held == of) & (tally.sizes == 1)
    some = int(tally.times[held >= np.clip(of / 2, 0.5, least)].sum())
    return min(some + int(tally.times[only].sum()), tally.clusters)


def informative_among(tally: Tally, counts: Ints | Floats | sparse.csr_array) -> int:
    """Count the informative clusters for several raters together.

    `counts` (P, K) has each kind's number of labels by category.
    """
    labels = np.asarray(counts.sum(axis=1), float)
    commonest = np.arange(counts.shape[1]) == np.argmax(tally.total @ counts)
    others = labels - counts @ commonest.astype(float)
    return count_informative(tally, others, labels, SEVERAL)


def informative_of_each(tally: Tally, *columns: Ints | Floats, least: int = 1) -> int:
    """Return the smallest count over the raters' columns (P,) of labels by kind, -1 = none."""
    return min(_of_column(tally, column, least) for column in columns)


def informative_by_category(tally: Tally, k: int, *columns: Ints) -> list[int]:
    """Return the smallest count over the columns, for each of k categories against the others."""
    return [
        informative_of_each(tally, *((column == category).astype(np.int64) for column in columns))
        for category in range(k)
    ]


def informative_shares(parts: Floats, wholes: Floats) -> int:
    """Count the queries that are informative for the shares `parts` / `wholes`, (n,) each."""
    there, single = wholes > 0, wholes == 1
    found = [
        int(np.count_nonzero(there & (held > 0)) + np.count_nonzero(single & (held == wholes)))
        for held in (parts, wholes - parts)
    ]
    return min(int(np.count_nonzero(there)), *found)


def count_differing(values: Floats) -> int:
    """Count the values (n,) that differ from the commonest one."""
    times = np.unique(np.round(values / ROUNDING), return_counts=True)[1]
    return len(values) - int(times.max(initial=0))


def too_few_differ(differences: Floats, who: str) -> str:
    """Explain that there is no interval, since the two differ on too few queries; or empty.

    `differences` (n,) or (n, k) are those of each query, and `who` names the two that are compared.
    """
    apart = np.abs(differences) > ROUNDING
    differing = int(np.count_nonzero(apart if apart.ndim == 1 else apart.any(axis=1)))
    if differing >= FEWEST_DIFFERING:
        return ""
    return (
        f"no interval: {who} differ on {differing} of {len(differences)} queries, at least "
        f"{FEWEST_DIFFERING} must"
    )


def _of_column(tally: Tally, column: Ints | Floats, least: int) -> int:
    there = column >= 0 if column.dtype.kind == "i" else np.isfinite(column)
    values, place = np.unique(column[there], return_inverse=True)
    if len(values) < 2:
        return 0
    others = np.zeros(len(column))
    others[there] = place != np.bincount(place, tally.total[there]).argmax()
    return count_informative(tally, others, there.astype(float), least)
