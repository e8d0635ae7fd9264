"""Den: how much of its length a context needs for what it covers, beside the oracle's."""

from __future__ import annotations

import numpy as np

from analysis.measures.base import AMOUNT, Judged, Measure
from analysis.measures.coverage.contexts import Contexts
from analysis.measures.coverage.cov import cov
from analysis.measures.coverage.unrated import in_contexts, of_cells
from analysis.measures.options import Options
from analysis.measures.retrieval import gathered
from analysis.statistics import Bools, Floats
from analysis.statistics.arrays import ratio


def density(contexts: Contexts, options: Options) -> Judged:
    """Den(Z) = ((Cov(Z) / tokens(Z)) / (Cov(Z*) / tokens(Z*)))^w, Z* the oracle context, (Q,).

    After Ju and others 2025; w = 0.5. It can exceed 1, and the paper prints it times 100. 0 where
    Cov(Z) is 0, an empty context too; NaN where Cov(Z*) is 0 or unknown, and where either context
    holds a passage whose length is unknown. It hangs on the cells of both contexts.
    """

    def needs(of: Contexts) -> Bools:
        return in_contexts(of) | in_contexts(of.as_oracle())

    return of_cells(contexts, options, lambda of: den(of, options), needs)


def den(contexts: Contexts, options: Options) -> Floats:
    """The density of contexts of which no cell is open, (Q,)."""
    oracle = contexts.as_oracle()
    own, best = cov(contexts), _best(oracle)
    relative = ratio(own * _tokens(oracle), best * _tokens(contexts))
    values = np.where(own == 0, 0.0, relative) ** options.weight
    return np.where(np.isnan(own) | ~(best > 0), np.nan, values)


def _best(oracle: Contexts) -> Floats:
    """The coverage of the oracle context, (Q,); the same for all systems and cuts."""
    known = oracle.answers.bests
    key = "Cov", oracle.counted.tobytes(), oracle.ranked.tobytes()
    if key not in known:
        known[key] = cov(oracle)
    return known[key]


def _tokens(contexts: Contexts) -> Floats:
    total: Floats = gathered(contexts.tokens, contexts.ranked).sum(axis=1)
    return total


def tokens(contexts: Contexts, options: Options) -> Floats:
    """The length of each context in tokens, (Q,): what density divides by.

    NaN where the length of one of its passages is unknown.
    """
    return np.where(contexts.there, _tokens(contexts), np.nan)


DENSITIES = (
    Measure(
        "Den",
        "contexts",
        "Coverage for its length, relative to the oracle context's.",
        "Ju and others, CRUX, 2025",
        density,
        "the oracle context answers no sub-question, or a passage's text is not in the batch",
        ("eta", "missing", "unrated", "scope", "filtered", "oracle", "weight", "tokenizer"),
        AMOUNT,
        by_oracle=True,
    ),
    Measure(
        "Tokens",
        "contexts",
        "Length of the context, which density divides by.",
        "Ju and others, CRUX, 2025",
        tokens,
        "the system has no context, or a passage's text is not in the batch",
        ("tokenizer",),
        AMOUNT,
    ),
)
