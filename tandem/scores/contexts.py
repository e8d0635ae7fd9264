"""Contexts of systems: ranked passages, the oracle's, and what they answer by ratings (CRUX).

A measure of contexts computes its values from a `Contexts` by `of_cells`, which applies the option
`unrated`. K is the largest number of ranks.

There are Q queries with at most P passages and M sub-questions each. Queries with fewer are padded,
and `passages` and `questions` mask the padding. The passages of a query are in the order of their
identifiers, not of the batch, so that ties are broken as in the TREC tools. A cell is a passage and
a sub-question of its query.

How a cell without a rating counts depends on why it has none. Outside the query's scope, it is a
no. If its judgement failed, the option `missing` decides. If no rater was asked, `unrated` decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..statistics import Bools, Floats, Ints
from .base import Cells, JudgedValues
from .options import BOUNDS, CONDENSED, LISTED, ZERO, Options
from .retrieval import values_at_ranks


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


CHOSEN, PARTLY, REDUNDANT = 3, 2, 1


@dataclass(frozen=True)
class Contexts:
    """One system's contexts of Q queries.

    `ranked` (Q, K) holds the positions of passages in rank order, -1 = none, and `oracle` (Q, O)
    those of the oracle context. `counted` (Q, M) are the sub-questions of the denominator, `tokens`
    (Q, P) the length of each passage, NaN = unknown, and `depth` (Q,) the number of ranks that
    count. `present` (Q,) are the queries that the system answered; their context may be empty.
    `full_ranking` (Q, W) is the ranking before a cut, None without one.
    """

    answers: Answers
    ranked: Ints
    oracle: Ints
    counted: Bools
    tokens: Floats
    depth: Ints
    present: Bools
    full_ranking: Ints | None = None

    def cut(self, depth: int | None) -> Contexts:
        """Return the first `depth` passages; None: as many as the query's oracle context has."""
        sizes = sizes_of(self.oracle) if depth is None else np.full(len(self.ranked), depth)
        full = self.ranked if self.full_ranking is None else self.full_ranking
        return replace(self, ranked=_cut_rankings(full, sizes), depth=sizes, full_ranking=full)

    def as_oracle(self) -> Contexts:
        """Return the oracle context in place of the system's."""
        every = np.ones(len(self.ranked), bool)
        sizes = sizes_of(self.oracle)
        return replace(self, ranked=self.oracle, depth=sizes, present=every, full_ranking=None)

    def with_answers(self, found: Answers, options: Options) -> Contexts:
        """Return the same contexts with other answers, which may change which questions count."""
        inside = members(self.oracle, found.passages.shape[1])
        return replace(self, answers=found, counted=answerable(found, inside, options))

    def condensed(self, options: Options) -> Contexts:
        """Return the contexts without passages that have an open cell; the next passages move up.

        These passages are removed from the oracle context, and from the ranking before it is cut
        (Sakai 2007). A query without any remaining passage has no context.
        """
        found = self.answers.condensed
        full = self.ranked if self.full_ranking is None else self.full_ranking
        ranked, oracle = (_without(data, found.passages) for data in (full, self.oracle))
        depth = sizes_of(ranked) if self.full_ranking is None else self.depth
        left = (sizes_of(ranked) > 0) | (sizes_of(full) == 0)
        condensed = replace(
            self,
            ranked=_cut_rankings(ranked, depth),
            oracle=oracle,
            depth=depth,
            present=self.present & left,
            full_ranking=None,
        )
        return condensed.with_answers(found, options)

    @cached_property
    def unsettled(self) -> Bools:
        """The questions (Q, M) that may or may not count, because of open oracle cells."""
        return self.hidden(self.answers.open)

    def hidden(self, cells: Bools) -> Bools:
        """Return the uncounted questions (Q, M) that might count by these oracle cells."""
        inside = members(self.oracle, self.answers.passages.shape[1])
        hidden: Bools = (cells & inside[:, :, None]).any(axis=1) & self.answers.questions
        return hidden & ~self.counted

    @cached_property
    def candidates(self) -> Bools:
        """The questions that count or may count, (Q, M), independent of the option `unrated`."""
        if not self.answers.lacks:
            return self.counted
        return self.counted | self.hidden(self.answers.never)

    @cached_property
    def cells(self) -> Cells:
        """The cells of the candidate questions and of the contexts, in the sampled queries."""
        found = self.answers
        key = "cells", self.candidates.tobytes()
        if key not in found.bests:
            counted = (found.scope, found.rated, found.never)
            data = self.candidates[:, None, :]
            found.bests[key] = np.stack(
                [(each & data).sum(axis=2, dtype=float) for each in counted]
            )
        there, rated, never = found.bests[key]
        within = self.present & found.sampled
        every = np.where(within, values_at_ranks(there, self.ranked).sum(axis=1), 0.0)
        if found.complete:
            return Cells(every, every, np.zeros(len(every)))
        counts = (values_at_ranks(each, self.ranked).sum(axis=1) for each in (rated, never))
        return Cells(every, *(np.where(within, each, 0.0) for each in counts))

    @cached_property
    def answered(self) -> Bools:
        """The questions answered at each rank, (Q, K, M), from which several measures start."""
        return self.at_its_ranks(self.answers.yes)

    def at_its_ranks(self, which: Bools) -> Bools:
        """Return the values for each passage and question (Q, P, M) at each rank: (Q, K, M)."""
        return at_ranks(which, self.ranked)


def _cut_rankings(ranked: Ints, sizes: Ints) -> Ints:
    return np.where(np.arange(ranked.shape[1]) < sizes[:, None], ranked, -1)


def _without(ranked: Ints, kept: Bools) -> Ints:
    """Return the rankings of the kept passages (Q, P), closing the gaps."""
    if not kept.shape[1]:
        return ranked
    stays = (ranked >= 0) & np.take_along_axis(kept, np.maximum(ranked, 0), 1)
    order = np.argsort(~stays, axis=1, kind="stable")
    closed = np.take_along_axis(ranked, order, 1)
    return _cut_rankings(closed, stays.sum(axis=1))


def at_ranks(which: Bools, ranked: Ints) -> Bools:
    """Take (Q, P, M) at the ranked passages, (Q, K, M); False at a rank without a passage."""
    if not which.shape[1]:
        return np.zeros((*ranked.shape, which.shape[2]), bool)
    rows = np.arange(len(ranked))[:, None]
    taken: Bools = which[rows, np.maximum(ranked, 0)] & (ranked >= 0)[:, :, None]
    return taken


def sizes_of(ranked: Ints) -> Ints:
    """Return the number of passages of each context, (Q,)."""
    sizes: Ints = (ranked >= 0).sum(axis=1)
    return sizes


def members(ranked: Ints, passages: int) -> Bools:
    """Return the passages in each context, (Q, P)."""
    inside = np.zeros((len(ranked), passages), bool)
    query, rank = np.nonzero(ranked >= 0)
    inside[query, ranked[query, rank]] = True
    return inside


def sampled_contexts(passages: Bools, sizes: Ints, contexts: int, seed: int) -> list[Ints]:
    """Draw random contexts of each query: `sizes` (Q,) of its passages (Q, P), in random order.

    Each of the `contexts` arrays is (Q, K) like that of one system, and equal seeds give equal
    contexts. A query with fewer passages gives all of them.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    taken = np.minimum(sizes, passages.sum(axis=1))
    ranks = np.arange(int(taken.max(initial=0)))
    made = []
    for _ in range(contexts):
        keys = np.where(passages, generator.random(passages.shape), np.inf)
        order = np.argsort(keys, axis=1)[:, : len(ranks)]
        made.append(np.where(ranks < taken[:, None], order, -1))
    return made


def required_subset(found: Answers, oracle: Bools) -> Bools:
    """Return the required subset P** of the oracle passages (Q, P), as the paper describes it.

    The passages are ranked by the number of sub-questions that they answer, with ties in the order
    of their identifiers. From the top down, a passage is kept if it answers a question that no
    passage above it answers (Ju and others 2025, section 3).
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
    """Return the grade of each passage (Q, P) as in the released code: 3, 2, 1 or 0.

    Each step chooses the passage that answers the most new sub-questions (ties in the order of
    identifiers), until no passage answers a new one. Chosen passages have grade 3. Any other oracle
    passage has grade 1 if none of its ratings exceeds the highest rating of a chosen passage, else
    2. A yes without a rating counts as a rating of `eta`. (The released code also adds 0.1 for any
    positive rating, but that only orders passages that answer nothing new.)
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
    """Return passages (Q, P) as a context (Q, K), in the order of identifiers, -1 = none."""
    size = int(kept.sum(axis=1).max(initial=0))
    order = np.argsort(~kept, axis=1, kind="stable")[:, :size]
    return np.where(np.arange(size) < kept.sum(axis=1)[:, None], order, -1)


Value = Callable[[Contexts], Floats]
Needs = Callable[[Contexts], Bools]


def of_cells(contexts: Contexts, options: Options, value: Value, needs: Needs) -> JudgedValues:
    """Compute a measure's values for each query by the option `unrated`, (Q,).

    `value` computes the values if no cell is open. `needs` returns the cells (Q, P, M) that the
    values depend on. A query without any asked question was not sampled and has no value.
    """
    found = contexts.answers
    within = contexts.cells
    if not found.is_open:
        values = _in_sample(contexts, value(contexts))
        both = values if options.unrated == BOUNDS else None
        return JudgedValues(values, within, no=both, yes=both)
    if options.unrated == CONDENSED:
        left = contexts.condensed(options)
        return JudgedValues(_in_sample(left, value(left)), within)
    open_cells = needs(contexts) & found.open
    refused = contexts.present & (open_cells.any(axis=(1, 2)) | contexts.unsettled.any(axis=1))
    no = _in_sample(contexts, value(contexts.with_answers(found.all_no, options)))
    data = JudgedValues(
        np.where(refused, np.nan, no), within, refused, _needed_cells(contexts, needs)
    )
    if options.unrated != BOUNDS:
        return data
    yes = _in_sample(contexts, value(contexts.with_answers(found.all_yes, options)))
    return replace(data, no=no, yes=yes)


def in_contexts(contexts: Contexts) -> Bools:
    """Return the cells (Q, P, M) of questions that may count and passages of the contexts."""
    inside = members(contexts.ranked, contexts.answers.passages.shape[1])
    return inside[:, :, None] & contexts.candidates[:, None, :]


def in_pools(contexts: Contexts) -> Bools:
    """Return the cells (Q, P, M) of questions that may count, in all passages."""
    cells: Bools = contexts.answers.passages[:, :, None] & contexts.candidates[:, None, :]
    return cells


def in_oracles(contexts: Contexts) -> Bools:
    """Return the cells (Q, P, M) of the oracle passages, for the required subset."""
    inside = members(contexts.oracle, contexts.answers.passages.shape[1])
    return inside[:, :, None] & contexts.answers.questions[:, None, :]


def questions_without_failures(contexts: Contexts) -> Bools:
    """Return the counted questions (Q, M) without a failed judgement of any passage."""
    if not contexts.answers.gaps:
        return contexts.counted
    settled: Bools = contexts.counted & ~contexts.answers.failed.any(axis=1)
    return settled


def _in_sample(contexts: Contexts, values: Floats) -> Floats:
    return np.where(contexts.answers.sampled, values, np.nan)


def _needed_cells(contexts: Contexts, needs: Needs) -> Cells:
    """Return the cells that the measure depends on, including those that decide what counts."""
    found = contexts.answers
    which = needs(contexts) | (in_oracles(contexts) & contexts.unsettled[:, None, :])
    counts = [
        (which & each).sum(axis=(1, 2)).astype(float)
        for each in (found.scope, found.rated, found.never)
    ]
    return Cells(*(np.where(contexts.present & found.sampled, each, 0.0) for each in counts))
