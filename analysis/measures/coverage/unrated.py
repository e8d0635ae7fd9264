"""Cells that nobody rated: what a measure makes of them, and how many of its cells were rated.

A cell without a rating is one of three things. Outside the query's scope it is a no; asked about in
vain it is governed by the option `missing`; never asked about it is open, and `unrated` governs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from analysis.measures.base import Cells, Judged
from analysis.measures.coverage.contexts import Contexts, members
from analysis.measures.options import BOUNDS, CONDENSED, Options
from analysis.statistics import Bools, Floats

Value = Callable[[Contexts], Floats]
Needs = Callable[[Contexts], Bools]


def of_cells(contexts: Contexts, options: Options, value: Value, needs: Needs) -> Judged:
    """A measure's values of each query by the option `unrated`, (Q,).

    `value` gives them where no cell is open, `needs` the cells (Q, P, M) that they hang on. A query
    about which nothing was asked was not drawn, and has none.
    """
    found = contexts.answers
    within = contexts.cells
    if not found.is_open:
        values = _drawn(contexts, value(contexts))
        both = values if options.unrated == BOUNDS else None
        return Judged(values, within, no=both, yes=both)
    if options.unrated == CONDENSED:
        left = contexts.condensed(options)
        return Judged(_drawn(left, value(left)), within)
    open_cells = needs(contexts) & found.open
    refused = contexts.there & (open_cells.any(axis=(1, 2)) | contexts.unsettled.any(axis=1))
    no = _drawn(contexts, value(contexts.read(found.all_no, options)))
    of = Judged(np.where(refused, np.nan, no), within, refused, _needed(contexts, needs))
    if options.unrated != BOUNDS:
        return of
    yes = _drawn(contexts, value(contexts.read(found.all_yes, options)))
    return replace(of, no=no, yes=yes)


def in_contexts(contexts: Contexts) -> Bools:
    """The cells (Q, P, M) of the questions that may count and the passages of the contexts."""
    inside = members(contexts.ranked, contexts.answers.passages.shape[1])
    return inside[:, :, None] & contexts.asked[:, None, :]


def in_pools(contexts: Contexts) -> Bools:
    """The cells (Q, P, M) of the questions that may count, in all passages: of the best order."""
    cells: Bools = contexts.answers.passages[:, :, None] & contexts.asked[:, None, :]
    return cells


def in_oracles(contexts: Contexts) -> Bools:
    """The cells (Q, P, M) of the oracle passages: of what is required."""
    inside = members(contexts.oracle, contexts.answers.passages.shape[1])
    return inside[:, :, None] & contexts.answers.questions[:, None, :]


def without_failed(contexts: Contexts) -> Bools:
    """The counted questions (Q, M) of which no judgement of any passage failed."""
    if not contexts.answers.gaps:
        return contexts.counted
    settled: Bools = contexts.counted & ~contexts.answers.failed.any(axis=1)
    return settled


def _drawn(contexts: Contexts, values: Floats) -> Floats:
    return np.where(contexts.answers.drawn, values, np.nan)


def _needed(contexts: Contexts, needs: Needs) -> Cells:
    """The cells that the measure hangs on, those that say which questions count among them."""
    found = contexts.answers
    which = needs(contexts) | (in_oracles(contexts) & contexts.unsettled[:, None, :])
    counts = [
        (which & each).sum(axis=(1, 2)).astype(float)
        for each in (found.scope, found.rated, found.never)
    ]
    return Cells(*(np.where(contexts.there & found.drawn, each, 0.0) for each in counts))
