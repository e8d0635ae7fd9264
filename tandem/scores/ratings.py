"""Ratings of passages, and which sub-questions the passages answer by them (CRUX).

There are Q queries with at most P passages and M sub-questions each. Queries with fewer are padded,
and `passages` and `questions` mask the padding. The passages of a query are in the order of their
identifiers, not of the batch, so that ties are broken as in the TREC tools. A cell is a passage and
a sub-question of its query.

How a cell without a rating counts depends on why it has none. Outside the query's scope, it is a
no. If its judgement failed, the option `missing` decides. If no rater was asked, `unrated` decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..statistics import Bools, Floats, Ints
from .options import LISTED, ZERO, Options


@dataclass(frozen=True)
class Ratings:
    """Ratings `values` (Q, P, M), NaN = not rated; masks `passages` (Q, P), `questions` (Q, M).

    `failed` (Q, P, M) marks cells without a rating whose judgement failed; no rater was asked about
    the others. `outside` (Q, P) are the passages that the batch calls not relevant, and `unlisted`
    (Q, P) those that are not the query's own. The three default to no cells.
    """

    values: Floats
    passages: Bools
    questions: Bools
    failed: Bools = field(default_factory=lambda: np.zeros((1, 1, 1), bool))
    outside: Bools = field(default_factory=lambda: np.zeros((1, 1), bool))
    unlisted: Bools = field(default_factory=lambda: np.zeros((1, 1), bool))

    @classmethod
    def from_places(
        cls, places: Ints, values: Floats, failed: Ints, passages: Bools, questions: Bools
    ) -> Ratings:
        """Build the tables from ratings (N,) at `places` (N, 3), and `failed` places (F, 3).

        A place gives the numbers of a query, a passage and a sub-question, from 0. At a failed
        place, the judgement failed.
        """
        whole = np.full((*passages.shape, questions.shape[1]), np.nan)
        lost = np.zeros(whole.shape, bool)
        whole[tuple(places.T)] = values
        lost[tuple(failed.T)] = True
        return cls(whole, passages, questions, lost)


@dataclass(frozen=True)
class Answers:
    """The answers of passages to sub-questions, cell by cell, (Q, P, M) each.

    `yes` marks an answer, and `settled` a cell with a yes or a no. In an unsettled cell either the
    judgement failed, or the cell is `open`: no rater was asked, and the option `unrated` is yet to
    be applied. `rated` are the cells with a rating, and `scope` those that the batch alone does not
    settle. `sampled` (Q,) are the queries with any asked question. `never` are the cells of these
    queries that no rater was asked about, settled or not. `bests` caches the best contexts and
    orders that measures find; its keys contain everything that these depend on.
    """

    yes: Bools
    settled: Bools
    passages: Bools
    questions: Bools
    open: Bools
    rated: Bools
    scope: Bools
    never: Bools
    sampled: Bools
    bests: dict[tuple[object, ...], Floats] = field(default_factory=dict, repr=False)

    @cached_property
    def failed(self) -> Bools:
        """The cells whose judgement failed, (Q, P, M)."""
        there = self.passages[:, :, None] & self.questions[:, None, :]
        return there & ~self.settled & ~self.open

    @cached_property
    def gaps(self) -> bool:
        """Whether any judgement failed."""
        return bool(self.failed.any())

    @cached_property
    def is_open(self) -> bool:
        """Whether any cell is open."""
        return bool(self.open.any())

    @cached_property
    def lacks(self) -> bool:
        """Whether there is a cell that no rater was asked about."""
        return bool(self.never.any())

    @cached_property
    def complete(self) -> bool:
        """Whether every cell of the scope has a rating."""
        return bool(self.rated.sum() == self.scope.sum())

    @cached_property
    def all_no(self) -> Answers:
        """Return these ratings with a no in every open cell."""
        return self._settled(self.yes)

    @cached_property
    def all_yes(self) -> Answers:
        """Return these ratings with a yes in every open cell."""
        return self._settled(self.yes | self.open)

    @cached_property
    def condensed(self) -> Answers:
        """Return these ratings without the passages that have an open cell (Sakai 2007)."""
        kept = self.passages & ~self.open.any(axis=2)
        left = kept[:, :, None]
        return replace(
            self,
            yes=self.yes & left,
            settled=self.settled & left,
            passages=kept,
            open=np.zeros(self.open.shape, bool),
            bests={},
        )

    def _settled(self, yes: Bools) -> Answers:
        nothing = np.zeros(self.open.shape, bool)
        return replace(self, yes=yes, settled=self.settled | self.open, open=nothing, bests={})


def answers(ratings: Ratings, options: Options) -> Answers:
    """Apply a(p, q) = 1 if the rating G(p, q) >= eta (CRUX).

    A passage outside the query's scope answers nothing, unless a rater says that it does. In the
    other cells without a rating, a failed judgement is unknown, or a rating of 0 with `missing`
    zero. A cell that no rater was asked about is open, or a rating of 0 with `unrated` zero.
    """
    there = ratings.passages[:, :, None] & ratings.questions[:, None, :]
    rated = np.isfinite(ratings.values) & there
    outside = ratings.outside | (ratings.unlisted if options.scope == LISTED else False)
    blank = there & ~rated
    scope = there & ~(blank & outside[:, :, None])
    blank &= scope
    failed = blank & ratings.failed
    never = blank & ~failed
    drawn = np.asarray((rated | failed).any(axis=(1, 2)) | ~never.any(axis=(1, 2)))
    noughts = np.zeros(there.shape, bool)
    if options.missing == ZERO:
        noughts |= failed
    if options.unrated == ZERO:
        noughts |= never
    with np.errstate(invalid="ignore"):
        yes = rated & (ratings.values >= options.eta)
    if options.eta <= 0:
        yes |= noughts
    known = rated | noughts | (there & ~scope)
    never &= drawn[:, None, None]
    left = never & ~noughts
    return Answers(
        yes, known, ratings.passages, ratings.questions, left, rated, scope, never, drawn
    )


def answerable(found: Answers, oracle: Bools, options: Options) -> Bools:
    """Return the sub-questions that count, Q_a (Q, M): those that an oracle passage (Q, P) answers.

    All sub-questions count if `filtered` is off. A question whose oracle ratings are incomplete and
    contain no yes is dropped, since it is not known to be answerable.
    """
    if not options.filtered:
        return found.questions
    kept: Bools = (found.yes & oracle[:, :, None]).any(axis=1) & found.questions
    return kept
