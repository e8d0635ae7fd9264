"""What a system retrieved, in the frame of what the oracle has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from analysis.measures.base import Cells
from analysis.measures.coverage.ratings import Answers, answerable
from analysis.measures.options import Options
from analysis.measures.retrieval import gathered
from analysis.statistics import Bools, Floats, Ints


@dataclass(frozen=True)
class Contexts:
    """One system's contexts of Q queries.

    `ranked` (Q, K) holds the places of passages in rank order, -1 = none; `oracle` (Q, O) those of
    the oracle context; `counted` (Q, M) the sub-questions of the denominator; `tokens` (Q, P) the
    length of each passage, NaN = unknown; `depth` (Q,) the positions that count; `there` (Q,) the
    queries that the system answered, for which a context may be empty all the same. `whole` (Q, W)
    is what a cut was made of, None where there was none.
    """

    answers: Answers
    ranked: Ints
    oracle: Ints
    counted: Bools
    tokens: Floats
    depth: Ints
    there: Bools
    whole: Ints | None = None

    def cut(self, depth: int | None) -> Contexts:
        """The first `depth` passages; None: as many as the oracle context of the query has."""
        sizes = sizes_of(self.oracle) if depth is None else np.full(len(self.ranked), depth)
        whole = self.ranked if self.whole is None else self.whole
        return replace(self, ranked=_down_to(whole, sizes), depth=sizes, whole=whole)

    def as_oracle(self) -> Contexts:
        """The oracle context in the place of the system's."""
        every = np.ones(len(self.ranked), bool)
        sizes = sizes_of(self.oracle)
        return replace(self, ranked=self.oracle, depth=sizes, there=every, whole=None)

    def read(self, found: Answers, options: Options) -> Contexts:
        """The same contexts by other answers, which may say that other questions count."""
        inside = members(self.oracle, found.passages.shape[1])
        return replace(self, answers=found, counted=answerable(found, inside, options))

    def condensed(self, options: Options) -> Contexts:
        """Without the passages that have an open cell, in whose places the next ones move up.

        From the ranking before it is cut, as from the oracle context (Sakai 2007). A query that has
        no passage left has no context.
        """
        found = self.answers.condensed
        whole = self.ranked if self.whole is None else self.whole
        ranked, oracle = (_without(of, found.passages) for of in (whole, self.oracle))
        depth = sizes_of(ranked) if self.whole is None else self.depth
        left = (sizes_of(ranked) > 0) | (sizes_of(whole) == 0)
        made = replace(
            self, ranked=_down_to(ranked, depth), oracle=oracle, depth=depth,
            there=self.there & left, whole=None,
        )  # fmt: skip
        return made.read(found, options)

    @cached_property
    def unsettled(self) -> Bools:
        """(Q, M): the questions of which open cells of oracle passages hide whether they count."""
        return self.hidden(self.answers.open)

    def hidden(self, cells: Bools) -> Bools:
        """(Q, M): the questions that do not count, but might by these cells of oracle passages."""
        inside = members(self.oracle, self.answers.passages.shape[1])
        hidden: Bools = (cells & inside[:, :, None]).any(axis=1) & self.answers.questions
        return hidden & ~self.counted

    @cached_property
    def asked(self) -> Bools:
        """The questions that count or may do so, (Q, M), whatever `unrated` makes of them."""
        if not self.answers.lacks:
            return self.counted
        return self.counted | self.hidden(self.answers.never)

    @cached_property
    def cells(self) -> Cells:
        """The cells of these questions and of the contexts, in the queries that were drawn."""
        found = self.answers
        key = "cells", self.asked.tobytes()
        if key not in found.bests:
            counted = (found.scope, found.rated, found.never)
            of = self.asked[:, None, :]
            found.bests[key] = np.stack([(each & of).sum(axis=2, dtype=float) for each in counted])
        there, rated, never = found.bests[key]
        within = self.there & found.drawn
        every = np.where(within, gathered(there, self.ranked).sum(axis=1), 0.0)
        if found.complete:
            return Cells(every, every, np.zeros(len(every)))
        counts = (gathered(each, self.ranked).sum(axis=1) for each in (rated, never))
        return Cells(every, *(np.where(within, each, 0.0) for each in counts))

    @cached_property
    def answered(self) -> Bools:
        """Which questions are answered at each rank, (Q, K, M): several measures begin there."""
        return self.of(self.answers.yes)

    def of(self, which: Bools) -> Bools:
        """What holds of each passage and question (Q, P, M), at each rank: (Q, K, M)."""
        return at_ranks(which, self.ranked)


def _down_to(ranked: Ints, sizes: Ints) -> Ints:
    return np.where(np.arange(ranked.shape[1]) < sizes[:, None], ranked, -1)


def _without(ranked: Ints, kept: Bools) -> Ints:
    """The rankings of the passages that are kept (Q, P), without holes."""
    if not kept.shape[1]:
        return ranked
    stays = (ranked >= 0) & np.take_along_axis(kept, np.maximum(ranked, 0), 1)
    order = np.argsort(~stays, axis=1, kind="stable")
    closed = np.take_along_axis(ranked, order, 1)
    return _down_to(closed, stays.sum(axis=1))


def at_ranks(which: Bools, ranked: Ints) -> Bools:
    """(Q, P, M) taken at the ranked passages, (Q, K, M); False where none stands."""
    if not which.shape[1]:
        return np.zeros((*ranked.shape, which.shape[2]), bool)
    rows = np.arange(len(ranked))[:, None]
    taken: Bools = which[rows, np.maximum(ranked, 0)] & (ranked >= 0)[:, :, None]
    return taken


def sizes_of(ranked: Ints) -> Ints:
    """How many passages each context has, (Q,)."""
    sizes: Ints = (ranked >= 0).sum(axis=1)
    return sizes


def members(ranked: Ints, passages: int) -> Bools:
    """Which passages stand in each context, (Q, P)."""
    inside = np.zeros((len(ranked), passages), bool)
    query, rank = np.nonzero(ranked >= 0)
    inside[query, ranked[query, rank]] = True
    return inside


def sampled_contexts(passages: Bools, sizes: Ints, contexts: int, seed: int) -> list[Ints]:
    """Random contexts of each query: `sizes` (Q,) of its passages (Q, P), in random order.

    Each of the `contexts` arrays is (Q, K) as one system's; equal seeds give equal contexts. A
    query with fewer passages gives all of them.
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
