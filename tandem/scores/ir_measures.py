"""α-nDCG by the package ir-measures, which checks the figures of `coverage`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..statistics import Floats
from .contexts import Contexts

WITHIN = 1e-5
"""ndeval's figures have six decimals."""
ABSENT = "α-nDCG by ir-measures needs the package ir-measures with pyndeval; install both"


def library() -> Any:
    """Import the package. Raises ValueError if it or its backend is not installed."""
    try:
        import ir_measures
        import pyndeval  # noqa: F401
    except ImportError as error:
        raise ValueError(ABSENT) from error
    return ir_measures


def alpha_ndcg_by_ir_measures(contexts: Contexts, alpha: float) -> Floats:
    """Return α-nDCG of each context to its depth, (Q,); NaN if no passage answers a question."""
    found = library()
    answered = contexts.answers.yes & contexts.counted[:, None, :]
    depths = np.maximum(contexts.depth, 1)
    made = np.full(len(answered), np.nan)
    # ir_measures returns nothing for an empty context, as if the run lacked it; its value is 0.
    made[answered.any(axis=(1, 2))] = 0.0
    measures = {found.alpha_nDCG(alpha=alpha) @ int(k): int(k) for k in np.unique(depths)}
    for each in found.iter_calc(list(measures), _qrels(found, answered), _run(found, contexts)):
        query = int(each.query_id)
        if depths[query] == measures[each.measure]:
            made[query] = each.value
    return made


def checked(ours: Floats, theirs: Floats) -> Floats:
    """Return the package's figures (Q,). Raises ValueError if they differ from Tandem's."""
    apart = ~np.isclose(ours, theirs, rtol=0, atol=WITHIN, equal_nan=True)
    if apart.any():
        query = int(np.flatnonzero(apart)[0])
        raise ValueError(
            f"α-nDCG by ir-measures is {theirs[query]:.6f} where ours is {ours[query]:.6f}; "
            "one of the two is wrong, so neither is shown"
        )
    return np.where(np.isnan(ours), np.nan, theirs)


def _qrels(found: Any, answered: Any) -> list[Any]:
    return [
        found.Qrel(str(query), _name(passage), 1, iteration=str(question + 1))
        for query, passage, question in np.argwhere(answered).tolist()
    ]


def _run(found: Any, contexts: Contexts) -> list[Any]:
    return [
        found.ScoredDoc(str(query), _name(contexts.ranked[query, rank]), float(-rank))
        for query, rank in np.argwhere(contexts.ranked >= 0).tolist()
    ]


def _name(place: int) -> str:
    """Name a passage so that names sort in the order of the passages' identifiers."""
    return f"{place:09}"
