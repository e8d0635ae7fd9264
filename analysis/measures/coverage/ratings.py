"""The ratings matrix: how well each passage answers each sub-question, and what that settles.

Throughout: Q queries, P passages, M sub-questions, the largest number of each; what a query lacks
is padding, which `passages` and `questions` leave out. The passages of a query stand in the order
of their identifiers, which settles ties as the TREC tools settle them, and not as the batch is laid
out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from analysis.measures.options import ZERO, Options
from analysis.statistics import Bools, Floats, Ints


@dataclass(frozen=True)
class Ratings:
    """`values` (Q, P, M), NaN = not rated; `passages` (Q, P) and `questions` (Q, M) are there."""

    values: Floats
    passages: Bools
    questions: Bools

    @classmethod
    def of(cls, places: Ints, values: Floats, passages: Bools, questions: Bools) -> Ratings:
        """From ratings (N,) and their places (N, 3): query, passage, sub-question, from 0."""
        whole = np.full((*passages.shape, questions.shape[1]), np.nan)
        whole[tuple(places.T)] = values
        return cls(whole, passages, questions)


@dataclass(frozen=True)
class Answers:
    """Which passage answers which sub-question: `yes` and, where a rating is there, `known`.

    Both are (Q, P, M); a yes is known. `bests` keeps what measures find of the best contexts and
    orders, by all that it hangs on.
    """

    yes: Bools
    known: Bools
    passages: Bools
    questions: Bools
    bests: dict[tuple[object, ...], Floats] = field(default_factory=dict, repr=False)

    @cached_property
    def unknown(self) -> Bools:
        """(Q, P, M): the passage and the sub-question are there, a rating of them is not."""
        there = self.passages[:, :, None] & self.questions[:, None, :]
        return there & ~self.known

    @cached_property
    def gaps(self) -> bool:
        """Whether a rating is missing anywhere."""
        return bool(self.unknown.any())


def answers(ratings: Ratings, options: Options) -> Answers:
    """a(p, q) = 1 where the rating G(p, q) >= eta (CRUX).

    A missing rating is unknown, or, under `missing = zero`, a rating of 0.
    """
    values = ratings.values
    known = np.isfinite(values)
    if options.missing == ZERO:
        known = np.ones(values.shape, bool)
        values = np.where(np.isfinite(values), values, 0.0)
    there = ratings.passages[:, :, None] & ratings.questions[:, None, :]
    with np.errstate(invalid="ignore"):
        yes = values >= options.eta
    return Answers(yes & there, known & there, ratings.passages, ratings.questions)


def answerable(found: Answers, oracle: Bools, options: Options) -> Bools:
    """The sub-questions that count, Q_a (Q, M): those that an oracle passage (Q, P) answers.

    All of them where `filtered` is off. A question whose oracle ratings are partly missing and
    hold no yes is not known to be answerable, and dropped.
    """
    if not options.filtered:
        return found.questions
    kept: Bools = (found.yes & oracle[:, :, None]).any(axis=1) & found.questions
    return kept
