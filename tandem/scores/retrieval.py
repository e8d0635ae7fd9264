"""Measures of rankings: average precision, recall and nDCG, as defined by trec_eval.

`relevance` (Q, P) is the gain of each passage, 0 = not relevant. `ranked` (Q, K) holds positions of
passages in rank order, -1 = none. `depth` (Q,) is the number of ranks that count. A query without a
relevant passage is undefined (NaN). trec_eval gives it 0, but that says nothing about the ranking.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..statistics import Bools, Floats, Ints
from ..statistics.estimate import ratio
from .base import Measure
from .options import Options

NO_RELEVANT = "no query has a relevant passage"
OPTIONS = ("relevance", "oracle", "cuts")


@dataclass(frozen=True)
class Ranked:
    """One system's rankings for Q queries; `present` (Q,) marks the queries that it ranked."""

    relevance: Floats
    ranked: Ints
    depth: Ints
    present: Bools


def cut_rankings(ranked: Ints, depth: Ints) -> Ints:
    """Cut the rankings at their depth."""
    return np.where(np.arange(ranked.shape[1]) < depth[:, None], ranked, -1)


def values_at_ranks(values: Floats, ranked: Ints) -> Floats:
    """Return the values (Q, P) at each rank, (Q, K); 0 for a rank without a passage."""
    if not values.shape[1]:
        return np.zeros(ranked.shape)
    return np.where(ranked >= 0, np.take_along_axis(values, np.maximum(ranked, 0), 1), 0.0)


def discounts(ranks: int) -> Floats:
    """Return 1 / log2(r + 1) for the ranks r = 1 ... (Järvelin and Kekäläinen 2002)."""
    by_rank: Floats = 1 / np.log2(np.arange(ranks) + 2.0)
    return by_rank


def average_precision(data: Ranked, options: Options | None = None) -> Floats:
    """Return AP = sum of precision at the ranks of relevant passages / relevant passages, (Q,)."""
    relevant = values_at_ranks(data.relevance, cut_rankings(data.ranked, data.depth)) > 0
    precision = np.cumsum(relevant, axis=1) / (np.arange(relevant.shape[1]) + 1.0)
    found = (relevant * precision).sum(axis=1)
    return _where(data, ratio(found, (data.relevance > 0).sum(axis=1)))


def recall(data: Ranked, options: Options | None = None) -> Floats:
    """Return relevant passages ranked / relevant passages, (Q,)."""
    relevant = values_at_ranks(data.relevance, cut_rankings(data.ranked, data.depth)) > 0
    return _where(data, ratio(relevant.sum(axis=1), (data.relevance > 0).sum(axis=1)))


def ndcg(data: Ranked, options: Options | None = None) -> Floats:
    """Return nDCG = DCG / DCG of the best order, DCG = sum of gain(r) / log2(r + 1), (Q,).

    The sum ends at the cut. The gain is the relevance itself, as in trec_eval (Järvelin and
    Kekäläinen 2002). An empty ranking has 0.
    """
    gains = values_at_ranks(data.relevance, cut_rankings(data.ranked, data.depth))
    best = -np.sort(-data.relevance, axis=1)
    # The best order has a first passage even if the ranking has none.
    within = np.arange(best.shape[1]) < np.maximum(data.depth, 1)[:, None]
    ideal = (best * within * discounts(best.shape[1])).sum(axis=1)
    return _where(data, ratio((gains * discounts(gains.shape[1])).sum(axis=1), ideal))


def _where(data: Ranked, values: Floats) -> Floats:
    return np.where(data.present, values, np.nan)


MEASURES = (
    Measure(
        "MAP",
        "rankings",
        "Mean over queries of the average precision of the ranked passages.",
        "Buckley and Voorhees, TREC, 2005; as trec_eval's map_cut",
        average_precision,
        NO_RELEVANT,
        OPTIONS,
        by_oracle=True,
        variables=("rating",),
    ),
    Measure(
        "Recall",
        "rankings",
        "Share of the relevant passages ranked within the cut.",
        "as trec_eval's recall",
        recall,
        NO_RELEVANT,
        OPTIONS,
        by_oracle=True,
        variables=("rating",),
    ),
    Measure(
        "nDCG",
        "rankings",
        "Discounted gain of the ranked passages over that of the best order.",
        "Järvelin and Kekäläinen, ACM TOIS 20, 2002; as trec_eval's ndcg_cut",
        ndcg,
        NO_RELEVANT,
        OPTIONS,
        by_oracle=True,
        variables=("rating",),
    ),
)
