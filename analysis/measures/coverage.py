"""CRUX's measures: which sub-questions contexts and reports answer (Ju and others 2025).

Q queries, P passages and M sub-questions are the largest number of each. A query with fewer is
padded, and `passages` and `questions` mask the padding. The passages of a query are in the order of
their identifiers, which breaks ties as the TREC tools do, and not in the order of the batch. A cell
is a passage and a sub-question of its query.

A cell without a rating is one of three things. Outside the query's scope it is a no. If its
judgement failed it follows the option `missing`. If no rater was asked it follows `unrated`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..statistics import (
    SHARE,
    Bools,
    Draws,
    Estimate,
    Floats,
    Ints,
    correlation_estimates,
    undefined,
)
from ..statistics.arrays import ratio
from ..statistics.resampling import mean_by_cluster
from .base import (
    AMOUNT,
    BOUNDS,
    CONDENSED,
    IR_MEASURES,
    LISTED,
    MISSING,
    NO,
    YES,
    ZERO,
    Cells,
    Found,
    Judged,
    Measure,
    Options,
    share,
)
from .retrieval import discounts, gathered

UNKNOWN = (
    "cells of oracle passages that nobody rated hide which sub-questions count; choose "
    "unrated=condensed or unrated=zero"
)
CHOSEN, PARTLY, REDUNDANT = 3, 2, 1
WITHIN = 1e-5
"""ndeval's figures have six decimals."""
ABSENT = "α-nDCG by ir-measures needs the package ir-measures with pyndeval; install both"
NOTHING = "no sub-question counts, or none of them was rated"


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
        """Build the tables from ratings (N,), their places (N, 3), and failed places (F, 3).

        A place is a query, a passage and a sub-question, counted from 0. Failed places lack a
        judgement.
        """
        whole = np.full((*passages.shape, questions.shape[1]), np.nan)
        lost = np.zeros(whole.shape, bool)
        whole[tuple(places.T)] = values
        lost[tuple(failed.T)] = True
        return cls(whole, passages, questions, lost)


@dataclass(frozen=True)
class Answers:
    """The answers of passages to sub-questions, cell by cell, (Q, P, M) each.

    `yes` marks an answer, and `known` a settled cell (a yes is one). An unsettled cell's judgement
    failed, or the cell is `open`: no rater was asked, and the option `unrated` is yet to be
    applied. `rated` are the cells with a rating, `scope` those that the batch alone does not
    settle, and `never` those that no rater was asked about, settled or not, in the `drawn` queries
    (Q,), which are those with any question asked. `bests` caches the best contexts and orders that
    measures find, by everything they depend on.
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
        """The cells whose judgement failed, (Q, P, M)."""
        there = self.passages[:, :, None] & self.questions[:, None, :]
        return there & ~self.known & ~self.open

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
        """Return the same with a no in every open cell."""
        return self._settled(self.yes)

    @cached_property
    def all_yes(self) -> Answers:
        """Return the same with a yes in every open cell."""
        return self._settled(self.yes | self.open)

    @cached_property
    def condensed(self) -> Answers:
        """Return the same without the passages that have an open cell (Sakai 2007)."""
        kept = self.passages & ~self.open.any(axis=2)
        left = kept[:, :, None]
        return replace(
            self,
            yes=self.yes & left,
            known=self.known & left,
            passages=kept,
            open=np.zeros(self.open.shape, bool),
            bests={},
        )

    def _settled(self, yes: Bools) -> Answers:
        nothing = np.zeros(self.open.shape, bool)
        return replace(self, yes=yes, known=self.known | self.open, open=nothing, bests={})


def answers(ratings: Ratings, options: Options) -> Answers:
    """Apply a(p, q) = 1 if the rating G(p, q) >= eta (CRUX).

    A passage outside the query's scope answers nothing, unless a rater says that it does. Of the
    other cells without a rating, a failed one is unknown, or under `missing` zero a rating of 0.
    One that no rater was asked about is open, or under `unrated` zero a rating of 0.
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

    All of them count if `filtered` is off. A question whose oracle ratings are partly missing and
    hold no yes is not known to be answerable, and is dropped.
    """
    if not options.filtered:
        return found.questions
    kept: Bools = (found.yes & oracle[:, :, None]).any(axis=1) & found.questions
    return kept


@dataclass(frozen=True)
class ReportQuestions:
    """The sub-questions of N reports (U,): `answered` is 1, 0, or -1 = missing.

    `row` (U,) is the report of each. `counted` (U,) marks the sub-questions in Q_a, and `unsure`
    (N,) the reports for which Q_a is unknown, since not all oracle passages were rated.
    """

    answered: Ints
    row: Ints
    rows: int
    counted: Bools
    unsure: Bools | None = None


def coverage_of_reports(data: ReportQuestions, options: Options) -> Found:
    """Return Cov(y) = sub-questions that the report answers / sub-questions that count, (N,).

    After Ju and others 2025, section 3. Null questions do not count. Escapes are left out like
    missing labels and like questions that no rater was asked about. NaN without a question. Unknown
    if unrated cells of oracle passages hide which sub-questions count.
    """
    values = report_coverage(data, options)
    if data.unsure is None or not data.unsure.any():
        return values
    unsure = data.unsure & (np.bincount(data.row, minlength=data.rows) > 0)
    return Judged(np.where(unsure, np.nan, values), refused=unsure, why=UNKNOWN)


def report_coverage(data: ReportQuestions, options: Options) -> Floats:
    """Return the coverage of reports whose counted sub-questions are known, (N,)."""
    counted = data.counted
    return share(data.answered[counted], data.row[counted], data.rows, options.missing)


def cut_ratings(ratings: Floats, eta: float) -> Ints:
    """Cut ratings (U,) of reports to answers: 1 from eta on, else 0, -1 without a rating (NaN)."""
    with np.errstate(invalid="ignore"):
        answered = np.where(ratings >= eta, YES, NO)
    return np.where(np.isnan(ratings), MISSING, answered).astype(np.int64)


REPORT_COVERAGE = Measure(
    "Cov(y)",
    "reports",
    "Share of the sub-questions that the report answers.",
    "Ju and others, CRUX, 2025",
    coverage_of_reports,
    "no sub-question of the reports was labelled",
    ("eta", "missing", "unrated", "scope", "filtered", "oracle"),
)


@dataclass(frozen=True)
class Contexts:
    """One system's contexts of Q queries.

    `ranked` (Q, K) holds the positions of passages in rank order, -1 = none, and `oracle` (Q, O)
    those of the oracle context. `counted` (Q, M) are the sub-questions of the denominator, `tokens`
    (Q, P) the length of each passage, NaN = unknown, and `depth` (Q,) the number of ranks that
    count. `there` (Q,) are the queries that the system answered, whose context may still be empty.
    `whole` (Q, W) is the ranking before a cut, None without one.
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
        """Return the first `depth` passages; None: as many as the query's oracle context has."""
        sizes = sizes_of(self.oracle) if depth is None else np.full(len(self.ranked), depth)
        whole = self.ranked if self.whole is None else self.whole
        return replace(self, ranked=_down_to(whole, sizes), depth=sizes, whole=whole)

    def as_oracle(self) -> Contexts:
        """Return the oracle context in place of the system's."""
        every = np.ones(len(self.ranked), bool)
        sizes = sizes_of(self.oracle)
        return replace(self, ranked=self.oracle, depth=sizes, there=every, whole=None)

    def read(self, found: Answers, options: Options) -> Contexts:
        """Return the same contexts with other answers, by which other questions may count."""
        inside = members(self.oracle, found.passages.shape[1])
        return replace(self, answers=found, counted=answerable(found, inside, options))

    def condensed(self, options: Options) -> Contexts:
        """Return the contexts without passages that have an open cell; the next passages move up.

        Such passages leave the ranking before it is cut, and the oracle context (Sakai 2007). A
        query without any remaining passage has no context.
        """
        found = self.answers.condensed
        whole = self.ranked if self.whole is None else self.whole
        ranked, oracle = (_without(data, found.passages) for data in (whole, self.oracle))
        depth = sizes_of(ranked) if self.whole is None else self.depth
        left = (sizes_of(ranked) > 0) | (sizes_of(whole) == 0)
        made = replace(
            self,
            ranked=_down_to(ranked, depth),
            oracle=oracle,
            depth=depth,
            there=self.there & left,
            whole=None,
        )
        return made.read(found, options)

    @cached_property
    def unsettled(self) -> Bools:
        """The questions, (Q, M), that may or may not count because of open oracle cells."""
        return self.hidden(self.answers.open)

    def hidden(self, cells: Bools) -> Bools:
        """Return the uncounted questions (Q, M) that might count by these oracle cells."""
        inside = members(self.oracle, self.answers.passages.shape[1])
        hidden: Bools = (cells & inside[:, :, None]).any(axis=1) & self.answers.questions
        return hidden & ~self.counted

    @cached_property
    def asked(self) -> Bools:
        """The questions that count or may count, (Q, M), whatever `unrated` makes of them."""
        if not self.answers.lacks:
            return self.counted
        return self.counted | self.hidden(self.answers.never)

    @cached_property
    def cells(self) -> Cells:
        """The cells of these questions and of the contexts, in the sampled queries."""
        found = self.answers
        key = "cells", self.asked.tobytes()
        if key not in found.bests:
            counted = (found.scope, found.rated, found.never)
            data = self.asked[:, None, :]
            found.bests[key] = np.stack(
                [(each & data).sum(axis=2, dtype=float) for each in counted]
            )
        there, rated, never = found.bests[key]
        within = self.there & found.drawn
        every = np.where(within, gathered(there, self.ranked).sum(axis=1), 0.0)
        if found.complete:
            return Cells(every, every, np.zeros(len(every)))
        counts = (gathered(each, self.ranked).sum(axis=1) for each in (rated, never))
        return Cells(every, *(np.where(within, each, 0.0) for each in counts))

    @cached_property
    def answered(self) -> Bools:
        """The questions answered at each rank, (Q, K, M), from which several measures start."""
        return self.at_its_ranks(self.answers.yes)

    def at_its_ranks(self, which: Bools) -> Bools:
        """Return what holds for each passage and question (Q, P, M) at each rank: (Q, K, M)."""
        return at_ranks(which, self.ranked)


def _down_to(ranked: Ints, sizes: Ints) -> Ints:
    return np.where(np.arange(ranked.shape[1]) < sizes[:, None], ranked, -1)


def _without(ranked: Ints, kept: Bools) -> Ints:
    """Return the rankings of the kept passages (Q, P), closing the gaps."""
    if not kept.shape[1]:
        return ranked
    stays = (ranked >= 0) & np.take_along_axis(kept, np.maximum(ranked, 0), 1)
    order = np.argsort(~stays, axis=1, kind="stable")
    closed = np.take_along_axis(ranked, order, 1)
    return _down_to(closed, stays.sum(axis=1))


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

    The passages are ranked by the number of sub-questions that they answer, ties in the order of
    their identifiers. From the top down, a passage is kept if it answers a question that none above
    it did (Ju and others 2025, section 3).
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

    At each step the passage that answers most new sub-questions is chosen, ties in the order of
    their identifiers, until none answers a new one: grade 3. An oracle passage not chosen has grade
    1 if none of its ratings exceeds the highest among the chosen, else 2. (The released code adds
    0.1 for any positive rating, which ranks only passages that answer nothing new.) A yes without a
    rating counts as a rating of `eta`.
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


def library() -> Any:
    """Import the package. Raises ValueError if it, or what it computes with, is not installed."""
    try:
        import ir_measures
        import pyndeval  # noqa: F401
    except ImportError as error:
        raise ValueError(ABSENT) from error
    return ir_measures


def alpha_ndcg_by_ir_measures(contexts: Contexts, alpha: float) -> Floats:
    """Return α-nDCG of each context to its depth, (Q,); NaN if no passage answers a question."""
    found = library()
    answered = contexts.answers.yes & contexts.counted[:, None, :]
    depths = np.maximum(contexts.depth, 1)
    made = np.full(len(answered), np.nan)
    # ir_measures treats an empty context like a missing run, which gains nothing.
    made[answered.any(axis=(1, 2))] = 0.0
    measures = {found.alpha_nDCG(alpha=alpha) @ int(k): int(k) for k in np.unique(depths)}
    for each in found.iter_calc(list(measures), _qrels(found, answered), _run(found, contexts)):
        query = int(each.query_id)
        if depths[query] == measures[each.measure]:
            made[query] = each.value
    return made


def checked(ours: Floats, theirs: Floats) -> Floats:
    """Return their figures (Q,). Raises ValueError if ours, which check them, differ."""
    apart = ~np.isclose(ours, theirs, rtol=0, atol=WITHIN, equal_nan=True)
    if apart.any():
        query = int(np.flatnonzero(apart)[0])
        raise ValueError(
            f"α-nDCG by ir-measures is {theirs[query]:.6f} where ours is {ours[query]:.6f}; "
            "one of the two is wrong, so neither is shown"
        )
    return np.where(np.isnan(ours), np.nan, theirs)


def _qrels(found: Any, answered: Any) -> list[Any]:
    return [
        found.Qrel(str(query), _name(passage), 1, iteration=str(question + 1))
        for query, passage, question in np.argwhere(answered).tolist()
    ]


def _run(found: Any, contexts: Contexts) -> list[Any]:
    return [
        found.ScoredDoc(str(query), _name(contexts.ranked[query, rank]), float(-rank))
        for query, rank in np.argwhere(contexts.ranked >= 0).tolist()
    ]


def _name(place: int) -> str:
    """Name a passage so that names sort in the order of the passages' identifiers."""
    return f"{place:09}"


Value = Callable[[Contexts], Floats]
Needs = Callable[[Contexts], Bools]


def of_cells(contexts: Contexts, options: Options, value: Value, needs: Needs) -> Judged:
    """Compute a measure's values for each query by the option `unrated`, (Q,).

    `value` computes them if no cell is open, and `needs` gives the cells (Q, P, M) that they depend
    on. A query without any question asked was not sampled, and has no value.
    """
    found = contexts.answers
    within = contexts.cells
    if not found.is_open:
        values = _in_sample(contexts, value(contexts))
        both = values if options.unrated == BOUNDS else None
        return Judged(values, within, no=both, yes=both)
    if options.unrated == CONDENSED:
        left = contexts.condensed(options)
        return Judged(_in_sample(left, value(left)), within)
    open_cells = needs(contexts) & found.open
    refused = contexts.there & (open_cells.any(axis=(1, 2)) | contexts.unsettled.any(axis=1))
    no = _in_sample(contexts, value(contexts.read(found.all_no, options)))
    data = Judged(np.where(refused, np.nan, no), within, refused, _needed(contexts, needs))
    if options.unrated != BOUNDS:
        return data
    yes = _in_sample(contexts, value(contexts.read(found.all_yes, options)))
    return replace(data, no=no, yes=yes)


def in_contexts(contexts: Contexts) -> Bools:
    """Return the cells (Q, P, M) of questions that may count and passages of the contexts."""
    inside = members(contexts.ranked, contexts.answers.passages.shape[1])
    return inside[:, :, None] & contexts.asked[:, None, :]


def in_pools(contexts: Contexts) -> Bools:
    """Return the cells (Q, P, M) of questions that may count, in all passages."""
    cells: Bools = contexts.answers.passages[:, :, None] & contexts.asked[:, None, :]
    return cells


def in_oracles(contexts: Contexts) -> Bools:
    """Return the cells (Q, P, M) of the oracle passages, for the required subset."""
    inside = members(contexts.oracle, contexts.answers.passages.shape[1])
    return inside[:, :, None] & contexts.answers.questions[:, None, :]


def without_failed(contexts: Contexts) -> Bools:
    """Return the counted questions (Q, M) without a failed judgement of any passage."""
    if not contexts.answers.gaps:
        return contexts.counted
    settled: Bools = contexts.counted & ~contexts.answers.failed.any(axis=1)
    return settled


def _in_sample(contexts: Contexts, values: Floats) -> Floats:
    return np.where(contexts.answers.drawn, values, np.nan)


def _needed(contexts: Contexts, needs: Needs) -> Cells:
    """Return the cells that the measure depends on, including those that decide what counts."""
    found = contexts.answers
    which = needs(contexts) | (in_oracles(contexts) & contexts.unsettled[:, None, :])
    counts = [
        (which & each).sum(axis=(1, 2)).astype(float)
        for each in (found.scope, found.rated, found.never)
    ]
    return Cells(*(np.where(contexts.there & found.drawn, each, 0.0) for each in counts))


def ranked_coverage(contexts: Contexts, options: Options) -> Judged:
    """Return α-DCG of the context / α-DCG of the best order of all rated passages, to the depth.

    α-DCG = sum over ranks r of [sum over questions q of a(r, q) (1 - α)^(times q was answered above
    r)] / log2(r + 1) (Clarke and others 2008). The best order is found passage by passage, as
    ndeval does, since the true one is too costly. Of passages with an equal gain the one with the
    last identifier goes first, as in ndeval; the choice affects later gains. A question with a
    failed judgement of any passage is left out of both. An empty context has 0. NaN if no passage
    answers a counted question. Because of the best order the measure depends on the cells of all
    passages. If ir_measures is chosen its figures are used, and ours check them.
    """
    return of_cells(contexts, options, lambda data: alpha_ndcg(data, options), in_pools)


def alpha_ndcg(contexts: Contexts, options: Options) -> Floats:
    """Return the α-nDCG of contexts without open cells, (Q,)."""
    contexts = replace(contexts, counted=without_failed(contexts))
    ours = _by_us(contexts, options)
    if options.alpha_ndcg != IR_MEASURES:
        return ours
    theirs = alpha_ndcg_by_ir_measures(contexts, options.alpha)
    return checked(ours, np.where(contexts.there, theirs, np.nan))


def _by_us(contexts: Contexts, options: Options) -> Floats:
    counted = contexts.counted[:, None, :]
    gains = _gains(contexts.answered & counted, options.alpha)
    # The best order has a first passage even if the context has none.
    depth = np.maximum(contexts.depth, 1)
    values = ratio(_sum(gains, depth), _sum(_ideal(contexts, options.alpha), depth))
    return np.where(contexts.there, values, np.nan)


def _ideal(contexts: Contexts, alpha: float) -> Floats:
    """Return the gains of the best orders of all passages, equal for all systems and cuts."""
    found, counted = contexts.answers, contexts.counted
    key = "gains", alpha, counted.tobytes()
    if key not in found.bests:
        whole = found.yes & counted[:, None, :]
        found.bests[key] = ideal_gains(whole, alpha, whole.shape[1])
    return found.bests[key]


def _gains(yes: Bools, alpha: float) -> Floats:
    """Return the gain at each rank, (Q, K), of the answers there, (Q, K, M)."""
    above: Ints = np.cumsum(yes, axis=1) - yes
    # Powers are computed once per count: one for every cell takes four times as long.
    worth = (1 - alpha) ** np.arange(yes.shape[1] + 1)
    gains: Floats = (yes * worth[above]).sum(axis=2)
    return gains


def _sum(gains: Floats, depth: Ints) -> Floats:
    within = np.arange(gains.shape[1]) < depth[:, None]
    total: Floats = (gains * within * discounts(gains.shape[1])).sum(axis=1)
    return total


def ideal_gains(yes: Bools, alpha: float, depth: int) -> Floats:
    """Return the gains of the greedily best order of all passages (Q, P, M), (Q, min(depth, P))."""
    queries, passages, _ = yes.shape
    # argmax finds the first of several maxima, and the last identifier is needed.
    yes = yes[:, ::-1]
    weights = yes.astype(float)
    left = np.ones((queries, passages), bool)
    worth = np.ones((queries, yes.shape[2]))
    gains = np.zeros((queries, min(depth, passages)))
    every = np.arange(queries)
    for rank in range(gains.shape[1]):
        gain = np.where(left, np.einsum("qpm,qm->qp", weights, worth), -1.0)
        best = gain.argmax(axis=1)
        gains[:, rank] = gain[every, best]
        left[every, best] = False
        worth = np.where(yes[every, best], worth * (1 - alpha), worth)
    return gains


ALPHA_NDCG = Measure(
    "alpha_nDCG",
    "contexts",
    "Gain of newly answered sub-questions by rank, over that of the best order.",
    "Clarke and others, SIGIR, 2008; Ju and others, CRUX, 2025",
    ranked_coverage,
    "no passage answers a sub-question that counts",
    ("eta", "missing", "unrated", "scope", "filtered", "oracle", "alpha", "alpha_ndcg", "cuts"),
    by_oracle=True,
)


def coverage(contexts: Contexts, options: Options) -> Judged:
    """Return Cov(Z) = questions of Q_a with G(p, q) >= eta for a p in Z / questions of Q_a.

    (Q,), after Ju and others 2025, section 3. An empty context covers nothing: 0. A question is
    left out if a requested rating of a passage of Z is missing, whatever its other ratings are:
    counting those that another passage happens to settle would raise the share. NaN without a
    question, and if the system has no context. The measure depends on the cells of Z and on those
    that decide which questions are in Q_a.
    """
    return of_cells(contexts, options, cov, in_contexts)


def cov(contexts: Contexts) -> Floats:
    """Return the coverage of contexts without open cells, (Q,)."""
    settled = contexts.counted
    if contexts.answers.gaps:
        settled = settled & ~contexts.at_its_ranks(contexts.answers.failed).any(axis=1)
    covered = contexts.answered.any(axis=1) & settled
    values = ratio(covered.sum(axis=1), settled.sum(axis=1))
    return np.where(contexts.there, values, np.nan)


COV = Measure(
    "Cov",
    "contexts",
    "Share of the answerable sub-questions that the context answers.",
    "Ju and others, CRUX, 2025",
    coverage,
    "no context has a sub-question that an oracle passage answers and that is rated throughout",
    ("eta", "missing", "unrated", "scope", "filtered", "oracle"),
)


def density(contexts: Contexts, options: Options) -> Judged:
    """Return Den(Z) = ((Cov(Z) / tokens(Z)) / (Cov(Z*) / tokens(Z*)))^w, (Q,).

    Z* is the oracle context; after Ju and others 2025, with w = 0.5. It can exceed 1, and the paper
    prints it times 100. 0 if Cov(Z) is 0, as for an empty context. NaN if Cov(Z*) is 0 or unknown,
    or if either context holds a passage of unknown length. The measure depends on the cells of both
    contexts.
    """

    def needs(data: Contexts) -> Bools:
        return in_contexts(data) | in_contexts(data.as_oracle())

    return of_cells(contexts, options, lambda data: den(data, options), needs)


def den(contexts: Contexts, options: Options) -> Floats:
    """Return the density of contexts without open cells, (Q,)."""
    oracle = contexts.as_oracle()
    own, best = cov(contexts), _best(oracle)
    relative = ratio(own * _tokens(oracle), best * _tokens(contexts))
    values = np.where(own == 0, 0.0, relative) ** options.weight
    return np.where(np.isnan(own) | ~(best > 0), np.nan, values)


def _best(oracle: Contexts) -> Floats:
    """Return the coverage of the oracle context, (Q,), equal for all systems and cuts."""
    known = oracle.answers.bests
    key = "Cov", oracle.counted.tobytes(), oracle.ranked.tobytes()
    if key not in known:
        known[key] = cov(oracle)
    return known[key]


def _tokens(contexts: Contexts) -> Floats:
    total: Floats = gathered(contexts.tokens, contexts.ranked).sum(axis=1)
    return total


def tokens(contexts: Contexts, options: Options) -> Floats:
    """Return the length of each context in tokens, (Q,), by which density divides.

    NaN if the length of one of its passages is unknown.
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


@dataclass(frozen=True)
class RatedReports:
    """One system's report ratings (Q, M), NaN = none; `asked` (Q, M) marks those asked for.

    A query without a report was not asked for, which is no missing judgement.
    """

    ratings: Floats
    asked: Bools


@dataclass(frozen=True)
class AtThreshold:
    """Results at one eta: the questions kept, mean Cov(Z) and Cov(y), and tau-b between the two.

    Means are over contexts and reports, with a t interval clustered by queries. tau is over the
    pairs of both, with whole queries resampled. The number of questions is None if unrated cells
    hide which of them count.
    """

    eta: float
    questions: int | None
    context: Estimate
    report: Estimate
    tau: Estimate


def threshold_table(
    ratings: Ratings,
    contexts: Sequence[Contexts],
    reports: Sequence[RatedReports],
    etas: Sequence[float],
    options: Options,
    draws: Draws = None,
    seed: int = 0,
) -> list[AtThreshold]:
    """Compute table 2 of Ju and others 2025 from S systems' contexts and their reports' ratings.

    The questions are filtered again at each threshold; the answers in `contexts` are not used.
    """
    return [_at(ratings, contexts, reports, replace(options, eta=eta), draws, seed) for eta in etas]


def _at(
    ratings: Ratings,
    contexts: Sequence[Contexts],
    reports: Sequence[RatedReports],
    options: Options,
    draws: Draws,
    seed: int,
) -> AtThreshold:
    found = answers(ratings, options)
    read = [each.read(found, options) for each in contexts]
    rated = [coverage(each, options) for each in read]
    kept, hidden = found.questions, False
    if read:
        whole = read[0].condensed(options) if options.unrated == CONDENSED else read[0]
        kept, hidden = whole.counted, bool(whole.unsettled.any())
    lost = next(filter(None, (each.reason for each in rated)), None)
    unknown = UNKNOWN if hidden else None
    x = np.concatenate([*(each.values for each in rated), np.zeros(0)])
    y = np.concatenate([*(_of_report(each, kept, options) for each in reports), np.zeros(0)])
    queries = np.tile(np.arange(len(kept)), len(contexts))
    about = " of Cov(Z) and Cov(y)"
    context, report = _mean(x, queries, "Cov(Z)", lost), _mean(y, queries, "Cov(y)", unknown)
    if reason := lost or unknown:
        tau = undefined(reason, 0, f"Kendall's tau-b{about}")
    else:
        tau = correlation_estimates(x, y, queries, ("kendall",), about, draws=draws, seed=seed)[
            "kendall"
        ]
    questions = None if unknown else int(kept.sum())
    return AtThreshold(options.eta, questions, context, report, tau)


def _mean(values: Floats, queries: Ints, name: str, unknown: str | None) -> Estimate:
    if unknown:
        return undefined(unknown, 0, f"mean of {name}")
    made = mean_by_cluster(values, queries, f"mean of {name}")
    if made.value is None:
        return undefined(NOTHING, 0, f"mean of {name}")
    return made.within(*SHARE)


def _of_report(data: RatedReports, kept: Bools, options: Options) -> Floats:
    answered = cut_ratings(data.ratings, options.eta)
    counted = kept & data.asked
    if options.missing != ZERO:
        counted &= answered != MISSING
    return ratio(((answered == 1) & counted).sum(axis=1), counted.sum(axis=1))
