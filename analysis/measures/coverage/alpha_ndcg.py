"""α-nDCG: coverage that counts early passages more, and repeated answers less."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from analysis.measures.base import Judged, Measure
from analysis.measures.coverage.by_ir_measures import alpha_ndcg_by_ir_measures, held
from analysis.measures.coverage.contexts import Contexts
from analysis.measures.coverage.unrated import in_pools, of_cells, without_failed
from analysis.measures.options import IR_MEASURES, Options
from analysis.measures.retrieval import discounts
from analysis.statistics import Bools, Floats, Ints
from analysis.statistics.arrays import ratio


def ranked_coverage(contexts: Contexts, options: Options) -> Judged:
    """α-DCG of the context / α-DCG of the best order of all rated passages, down to the depth.

    α-DCG = sum over ranks r of [sum over questions q of a(r, q) (1 - α)^(times q was answered
    above r)] / log2(r + 1) (Clarke and others 2008). The best order is found passage by passage,
    as ndeval does, since the true one is out of reach; of passages with an equal gain the one with
    the last identifier goes first, as there: the choice shows in later gains. A question with a
    judgement that failed, of any passage, is left out of both. An empty context has 0. NaN where no
    passage answers a counted question. By the best order it hangs on the cells of all passages.
    Where ir_measures is chosen its figures are taken, and ours are their check.
    """
    return of_cells(contexts, options, lambda of: alpha_ndcg(of, options), in_pools)


def alpha_ndcg(contexts: Contexts, options: Options) -> Floats:
    """The α-nDCG of contexts of which no cell is open, (Q,)."""
    contexts = replace(contexts, counted=without_failed(contexts))
    ours = _by_us(contexts, options)
    if options.alpha_ndcg != IR_MEASURES:
        return ours
    theirs = alpha_ndcg_by_ir_measures(contexts, options.alpha)
    return held(ours, np.where(contexts.there, theirs, np.nan))


def _by_us(contexts: Contexts, options: Options) -> Floats:
    counted = contexts.counted[:, None, :]
    gains = _gains(contexts.answered & counted, options.alpha)
    # The best order has a first passage even where the context has none.
    depth = np.maximum(contexts.depth, 1)
    values = ratio(_sum(gains, depth), _sum(_ideal(contexts, options.alpha), depth))
    return np.where(contexts.there, values, np.nan)


def _ideal(contexts: Contexts, alpha: float) -> Floats:
    """The gains of the best orders of all passages; the same for all systems and cuts."""
    found, counted = contexts.answers, contexts.counted
    key = "gains", alpha, counted.tobytes()
    if key not in found.bests:
        whole = found.yes & counted[:, None, :]
        found.bests[key] = ideal_gains(whole, alpha, whole.shape[1])
    return found.bests[key]


def _gains(yes: Bools, alpha: float) -> Floats:
    """The gain at each rank, (Q, K), of what is answered there, (Q, K, M)."""
    above: Ints = np.cumsum(yes, axis=1) - yes
    # A power for each count, since a power for every place takes four times as long.
    worth = (1 - alpha) ** np.arange(yes.shape[1] + 1)
    gains: Floats = (yes * worth[above]).sum(axis=2)
    return gains


def _sum(gains: Floats, depth: Ints) -> Floats:
    within = np.arange(gains.shape[1]) < depth[:, None]
    total: Floats = (gains * within * discounts(gains.shape[1])).sum(axis=1)
    return total


def ideal_gains(yes: Bools, alpha: float, depth: int) -> Floats:
    """The gains of the greedily best order of all passages (Q, P, M), (Q, min(depth, P))."""
    queries, passages, _ = yes.shape
    # The first of several maxima is found, and the last identifier is wanted.
    yes = yes[:, ::-1]
    weights = yes.astype(float)
    left = np.ones((queries, passages), bool)
    worth = np.ones((queries, yes.shape[2]))
    gains = np.zeros((queries, min(depth, passages)))
    every = np.arange(queries)
    for rank in range(gains.shape[1]):
        gain = np.where(left, np.einsum("qpm,qm->qp", weights, worth), -1.0)
        best = gain.argmax(axis=1)
        gains[:, rank] = gain[every, best]
        left[every, best] = False
        worth = np.where(yes[every, best], worth * (1 - alpha), worth)
    return gains


ALPHA_NDCG = Measure(
    "alpha_nDCG",
    "contexts",
    "Gain of newly answered sub-questions by rank, over that of the best order.",
    "Clarke and others, SIGIR, 2008; Ju and others, CRUX, 2025",
    ranked_coverage,
    "no passage answers a sub-question that counts",
    ("eta", "missing", "unrated", "scope", "filtered", "oracle", "alpha", "alpha_ndcg", "cuts"),
    by_oracle=True,
)
