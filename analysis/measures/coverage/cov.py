"""Cov: the share of the sub-questions that a context answers."""

from __future__ import annotations

import numpy as np

from analysis.measures.base import Judged, Measure
from analysis.measures.coverage.contexts import Contexts
from analysis.measures.coverage.unrated import in_contexts, of_cells
from analysis.measures.options import Options
from analysis.statistics import Floats
from analysis.statistics.arrays import ratio


def coverage(contexts: Contexts, options: Options) -> Judged:
    """Cov(Z) = questions of Q_a with a passage p in Z of rating G(p, q) >= eta / questions of Q_a.

    (Q,), after Ju and others 2025, section 3. An empty context covers nothing: 0. A question that
    lacks a rating of a passage of Z that was asked for is left out, whatever its other ratings are:
    counting those that happen to be settled by another passage would raise the share. NaN where no
    question is left, and where the system has no context. It hangs on the cells of Z, and on those
    that say which questions are in Q_a.
    """
    return of_cells(contexts, options, cov, in_contexts)


def cov(contexts: Contexts) -> Floats:
    """The coverage of contexts of which no cell is open, (Q,)."""
    settled = contexts.counted
    if contexts.answers.gaps:
        settled = settled & ~contexts.of(contexts.answers.failed).any(axis=1)
    covered = contexts.answered.any(axis=1) & settled
    values = ratio(covered.sum(axis=1), settled.sum(axis=1))
    return np.where(contexts.there, values, np.nan)


COV = Measure(
    "Cov",
    "contexts",
    "Share of the answerable sub-questions that the context answers.",
    "Ju and others, CRUX, 2025",
    coverage,
    "no context has a sub-question that an oracle passage answers and that is rated throughout",
    ("eta", "missing", "unrated", "scope", "filtered", "oracle"),
)
