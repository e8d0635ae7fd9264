"""The ratings matrix: how well each passage answers each sub-question, and what that settles.

Throughout: Q queries, P passages, M sub-questions, the largest number of each; what a query lacks
is padding, which `passages` and `questions` leave out. The passages of a query stand in the order
of their identifiers, which settles ties as the TREC tools settle them, and not as the batch is laid
out. A cell is a passage and a sub-question of its query.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from analysis.measures.options import LISTED, ZERO, Options
from analysis.statistics import Bools, Floats, Ints


@dataclass(frozen=True)
class Ratings:
    """`values` (Q, P, M), NaN = not rated; `passages` (Q, P) and `questions` (Q, M) are there.

    A cell without a rating was asked about in vain where `failed` (Q, P, M) says so, else never.
    `outside` (Q, P) are the passages that the batch calls not relevant, `unlisted` (Q, P) those
    that are none of the query's own. The three are empty unless they are given.
    """

    values: Floats
    passages: Bools
    questions: Bools
    failed: Bools = field(default_factory=lambda: np.zeros((1, 1, 1), bool))
    outside: Bools = field(default_factory=lambda: np.zeros((1, 1), bool))
    unlisted: Bools = field(default_factory=lambda: np.zeros((1, 1), bool))

    @classmethod
    def of(
        cls, places: Ints, values: Floats, failed: Ints, passages: Bools, questions: Bools
    ) -> Ratings:
        """From ratings (N,), their places (N, 3) and those of failed judgements (F, 3).

        A place is a query, a passage and a sub-question, from 0.
        """
        whole = np.full((*passages.shape, questions.shape[1]), np.nan)
        lost = np.zeros(whole.shape, bool)
        whole[tuple(places.T)] = values
        lost[tuple(failed.T)] = True
        return cls(whole, passages, questions, lost)


@dataclass(frozen=True)
class Answers:
    """Which passage answers which sub-question, cell by cell, (Q, P, M) each.

    `yes` says that it does, `known` that this is settled (a yes is). What is not was asked about in
    vain, or is `open`: nobody was asked, and the option `unrated` has yet to be heard. `rated` are
    the cells with a rating, `scope` those that the batch alone does not settle, and `never` those
    that nobody was asked about, settled or not, in the queries that were `drawn` (Q,): about which
    anything was asked. `bests` keeps what measures find of the best contexts and orders, by all
    that it hangs on.
    """

    yes: Bools
    known: Bools
    passages: Bools
    questions: Bools
    open: Bools
    rated: Bools
    scope: Bools
    never: Bools
    drawn: Bools
    bests: dict[tuple[object, ...], Floats] = field(default_factory=dict, repr=False)

    @cached_property
    def failed(self) -> Bools:
        """(Q, P, M): the cells that were asked about in vain."""
        there = self.passages[:, :, None] & self.questions[:, None, :]
        return there & ~self.known & ~self.open

    @cached_property
    def gaps(self) -> bool:
        """Whether a judgement failed anywhere."""
        return bool(self.failed.any())

    @cached_property
    def is_open(self) -> bool:
        """Whether a cell is open anywhere."""
        return bool(self.open.any())

    @cached_property
    def lacks(self) -> bool:
        """Whether nobody was asked about a cell anywhere."""
        return bool(self.never.any())

    @cached_property
    def complete(self) -> bool:
        """Whether every cell of the scope has a rating."""
        return bool(self.rated.sum() == self.scope.sum())

    @cached_property
    def all_no(self) -> Answers:
        """With a no in every open cell."""
        return self._settled(self.yes)

    @cached_property
    def all_yes(self) -> Answers:
        """With a yes in every open cell."""
        return self._settled(self.yes | self.open)

    @cached_property
    def condensed(self) -> Answers:
        """Without the passages that have an open cell (Sakai 2007)."""
        kept = self.passages & ~self.open.any(axis=2)
        left = kept[:, :, None]
        return replace(
            self, yes=self.yes & left, known=self.known & left, passages=kept,
            open=np.zeros(self.open.shape, bool), bests={},
        )  # fmt: skip

    def _settled(self, yes: Bools) -> Answers:
        nothing = np.zeros(self.open.shape, bool)
        return replace(self, yes=yes, known=self.known | self.open, open=nothing, bests={})


def answers(ratings: Ratings, options: Options) -> Answers:
    """a(p, q) = 1 where the rating G(p, q) >= eta (CRUX).

    A passage outside the query's scope answers nothing, unless somebody rated that it does. Of the
    other cells without a rating a failed one is unknown, or under `missing` zero a rating of 0, and
    one that nobody was asked about is open, or under `unrated` zero a rating of 0.
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
    )  # fmt: skip


def answerable(found: Answers, oracle: Bools, options: Options) -> Bools:
    """The sub-questions that count, Q_a (Q, M): those that an oracle passage (Q, P) answers.

    All of them where `filtered` is off. A question whose oracle ratings are partly missing and
    hold no yes is not known to be answerable, and dropped.
    """
    if not options.filtered:
        return found.questions
    kept: Bools = (found.yes & oracle[:, :, None]).any(axis=1) & found.questions
    return kept
