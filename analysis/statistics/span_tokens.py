"""Agreement on spans corrected for chance: is a token in somebody's span or not?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.statistics.agreement import krippendorff_alpha
from analysis.statistics.arrays import Floats, Ints, Value
from analysis.statistics.estimate import COEFFICIENT, Estimate
from analysis.statistics.intervals import Bootstrap, Draws, Interval
from analysis.statistics.spans import Document, Marked
from analysis.statistics.tally import Tally

INSIDE, OUTSIDE = 1, 0


def token_alpha(
    documents: Sequence[Document],
    tokens: Sequence[Ints],
    clusters: Ints,
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> Estimate:
    """Krippendorff's alpha, nominal, of tokens in or out of spans, whatever these are labelled.

    `tokens` holds (T, 2) for each document: where each token starts and ends. A span that touches a
    token takes it in. Queries, `clusters` (D,), are resampled whole; n counts tokens that two or
    more raters judged.
    """
    raters = max(map(len, documents), default=0)
    queries, index = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.zeros((len(queries), (raters + 1) ** 2))
    for row, document, of in zip(index, documents, tokens, strict=True):
        _count(sums[row], document, of, raters + 1)
    judged, inside = np.divmod(np.arange(sums.shape[1]), raters + 1)
    kinds = np.stack([judged - inside, inside], axis=1).clip(0)
    sums[:, (judged < 2) | (inside > judged)] = 0

    def alpha(weights: Floats) -> Value:
        return krippendorff_alpha(kinds, "nominal", None, weights)

    bootstrap = Bootstrap(Tally.of_sums(sums, queries), draws, seed, interval)
    reason = "all tokens are in spans, or none is" if sums.any() else "nobody worked on a text"
    method = "Krippendorff's alpha, nominal, of tokens in or out of spans"
    return bootstrap.estimate(alpha, int(sums.sum()), method, reason).within(*COEFFICIENT)


def _count(row: Floats, document: Document, tokens: Ints, base: int) -> None:
    """Adds how many tokens so many raters judged, of whom so many had it in a span."""
    worked = [marked for marked in document if marked is not None]
    if any(worked):
        inside = np.sum([_inside(marked, tokens) for marked in worked], axis=0)
        row += np.bincount(len(worked) * base + inside, minlength=len(row))
    else:
        row[len(worked) * base] += len(tokens)


def _inside(marked: Marked, tokens: Ints) -> Ints:
    found = np.full(len(tokens), OUTSIDE, np.int64)
    for span in marked:
        for start, end in span.fragments:
            first = np.searchsorted(tokens[:, 1], start, side="right")
            found[first : np.searchsorted(tokens[:, 0], end, side="left")] = INSIDE
    return found
