"""P**: the oracle passages that it takes to answer what the oracle answers."""

from __future__ import annotations

import numpy as np

from analysis.measures.coverage.ratings import Answers, Ratings
from analysis.statistics import Bools, Ints

CHOSEN, PARTLY, REDUNDANT = 3, 2, 1


def required_subset(found: Answers, oracle: Bools) -> Bools:
    """The required subset P** of the oracle passages (Q, P), as the paper words it.

    The passages are ranked by how many sub-questions they answer, equal ones in the order of
    their identifiers; going down, one is kept where it answers a question that none above did (Ju
    and others 2025, section 3).
    """
    yes = found.yes & oracle[:, :, None]
    order = np.argsort(-yes.sum(axis=2), axis=1, kind="stable")
    every, seen = np.arange(len(yes)), np.zeros(yes.shape[::2], bool)
    kept = np.zeros(oracle.shape, bool)
    for passage in order.T:
        new = yes[every, passage] & ~seen
        kept[every, passage] = new.any(axis=1)
        seen |= new
    return kept


def required_grades(ratings: Ratings, found: Answers, oracle: Bools, eta: float = 0.0) -> Ints:
    """The grade of each passage (Q, P), as the released code grades: 3, 2, 1, and 0 for the others.

    At each step the passage that answers most new sub-questions is chosen, equal ones in the order
    of their identifiers, until none answers a new one: grade 3. An oracle passage not chosen has
    grade 1 where none of its ratings exceeds the highest among the chosen, else 2. (The released
    code adds 0.1 for any positive rating, which ranks only passages that answer nothing new.) A yes
    without a rating counts as one of `eta`.
    """
    yes = found.yes & oracle[:, :, None]
    every, seen = np.arange(len(yes)), np.zeros(yes.shape[::2], bool)
    chosen = np.zeros(oracle.shape, bool)
    for _ in range(oracle.shape[1]):
        new = (yes & ~seen[:, None, :]).sum(axis=2)
        best = new.argmax(axis=1)
        more = new[every, best] > 0
        if not more.any():
            break
        chosen[every[more], best[more]] = True
        seen |= yes[every, best] & more[:, None]
    values = np.where(np.isnan(ratings.values), np.where(found.yes, eta, 0.0), ratings.values)
    highest = np.where(chosen[:, :, None], values, 0.0).max(axis=1, initial=0.0)
    exceeds = (values > highest[:, None, :]).any(axis=2)
    grades = np.where(chosen, CHOSEN, np.where(exceeds, PARTLY, REDUNDANT))
    return np.where(oracle, grades, 0).astype(np.int64)


def as_context(kept: Bools) -> Ints:
    """Passages (Q, P) as a context (Q, K), in the order of identifiers, -1 = none."""
    size = int(kept.sum(axis=1).max(initial=0))
    order = np.argsort(~kept, axis=1, kind="stable")[:, :size]
    return np.where(np.arange(size) < kept.sum(axis=1)[:, None], order, -1)
