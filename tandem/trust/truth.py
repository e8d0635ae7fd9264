"""What is true of a cell, by people's votes, and which of a judge's verdicts are wrong."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from ..statistics import Bools, Ints

Truth = Literal["majority", "one person", "adjudicated"]
TRUTHS = get_args(Truth)
NO_VOTE = -1
FEWEST = {"majority": 3, "one person": 1, "adjudicated": 1}
"""The fewest people that each kind of truth needs."""
IN_WORDS = {
    "majority": "the majority of at least three people who saw no one else's answer",
    "one person": "one person, whose own errors are included",
    "adjudicated": "an adjudicator where people differ, and otherwise all of them",
}


def true_codes(votes: Ints, needed: int, decided: Ints | None = None) -> Ints:
    """Return the code that most people chose for each cell, (N,), or -1 where there is no truth.

    `votes` (N, P) are codes from 0, of which escapes come after the categories, and -1 for no vote.
    A tie and fewer votes than `needed` leave no truth, unless an adjudicator `decided` (N,) it.
    """
    codes = int(max(votes.max(initial=-1), 0)) + 1
    counts = np.stack([(votes == code).sum(axis=1) for code in range(codes)], axis=1)
    best = counts.max(axis=1)
    clear = ((counts == best[:, None]).sum(axis=1) == 1) & (counts.sum(axis=1) >= needed)
    found = np.where(clear & (best > 0), counts.argmax(axis=1), NO_VOTE)
    if decided is None:
        return found
    return np.where(decided >= 0, decided, found)


def wrong_verdicts(verdicts: Ints, truth: Ints, categories: int) -> Bools:
    """Return which verdicts (N,) are wrong; no truth and an escape count as wrong, too."""
    right: Bools = (verdicts == truth) & (truth >= 0) & (truth < categories)
    return ~right
