"""What a system retrieved, in the frame of what the oracle has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from analysis.measures.coverage.ratings import Answers
from analysis.statistics import Bools, Floats, Ints


@dataclass(frozen=True)
class Contexts:
    """One system's contexts of Q queries.

    `ranked` (Q, K) holds the places of passages in rank order, -1 = none; `oracle` (Q, O) those of
    the oracle context; `counted` (Q, M) the sub-questions of the denominator; `tokens` (Q, P) the
    length of each passage, NaN = unknown; `depth` (Q,) the positions that count; `there` (Q,) the
    queries that the system answered, for which a context may be empty all the same.
    """

    answers: Answers
    ranked: Ints
    oracle: Ints
    counted: Bools
    tokens: Floats
    depth: Ints
    there: Bools

    def cut(self, depth: int | None) -> Contexts:
        """The first `depth` passages; None: as many as the oracle context of the query has."""
        sizes = sizes_of(self.oracle) if depth is None else np.full(len(self.ranked), depth)
        within = np.arange(self.ranked.shape[1]) < sizes[:, None]
        return replace(self, ranked=np.where(within, self.ranked, -1), depth=sizes)

    def as_oracle(self) -> Contexts:
        """The oracle context in the place of the system's."""
        every = np.ones(len(self.ranked), bool)
        return replace(self, ranked=self.oracle, depth=sizes_of(self.oracle), there=every)

    @cached_property
    def answered(self) -> Bools:
        """Which questions are answered at each rank, (Q, K, M): several measures begin there."""
        return self.of(self.answers.yes)

    def of(self, which: Bools) -> Bools:
        """What holds of each passage and question (Q, P, M), at each rank: (Q, K, M)."""
        return at_ranks(which, self.ranked)


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
