"""Passages of queries in a fixed order, with contexts, oracles, ratings and lengths as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from analysis.evaluation.inputs import EvaluatorLabels, Rows, system_of
from tandem.files.rows import Query
from tandem.labels.frame import VariableFrame
from tandem.scores.contexts import Ratings
from tandem.scores.options import Options, Tokenizer
from tandem.statistics import Bools, Floats, Ints

ORACLE = "oracle"
RANKING = " (ranking)"


@dataclass(frozen=True)
class Layout:
    """The positions of queries, passages and sub-questions, and systems' contexts by query.

    `named_oracle` holds the oracle context of the queries that have one. Passages that are named
    only in a context have a position, too, but no rating. Results are cached.
    """

    queries: tuple[Query, ...]
    passages: tuple[tuple[str, ...], ...]
    systems: dict[str, dict[str, tuple[str, ...]]]
    named_oracle: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _oracles: dict[str, Ints] = field(default_factory=dict)
    _ratings: dict[str, Ratings] = field(default_factory=dict)
    _tokens: dict[str, Floats] = field(default_factory=dict)
    _ranked: dict[str, Ints] = field(default_factory=dict)

    @classmethod
    def from_queries(cls, queries: Sequence[Query]) -> Layout:
        systems: dict[str, dict[str, tuple[str, ...]]] = {}
        for query in queries:
            for report in query.reports:
                if report.context is not None:
                    systems.setdefault(system_of(report), {}).setdefault(query.id, report.context)
        named = set(systems)
        for query in queries:
            for ranking in query.rankings:
                name = ranking.system + (RANKING if ranking.system in named else "")
                systems.setdefault(name, {})[query.id] = ranking.passages
        passages = tuple(
            tuple(
                sorted(
                    {p.id for p in query.passages}.union(
                        *(of.get(query.id, ()) for of in systems.values())
                    )
                )
            )
            for query in queries
        )
        return cls(tuple(queries), passages, systems, _named_oracle(queries, systems))

    def positions(self, contexts: Sequence[Sequence[str]]) -> Ints:
        """Return queries' passage ids as positions, (Q, K), -1 = none; repeated ids count once."""
        once = [list(dict.fromkeys(context)) for context in contexts]
        made = np.full((len(once), max(map(len, once), default=0)), -1, np.int64)
        for row, (context, place) in enumerate(zip(once, self._positions, strict=True)):
            made[row, : len(context)] = [place[each] for each in context]
        return made

    def ranked(self, system: str) -> Ints:
        """Return a system's context of each query, (Q, K), as positions in rank order."""
        if system not in self._ranked:
            of = self.systems[system]
            self._ranked[system] = self.positions([of.get(query.id, ()) for query in self.queries])
        return self._ranked[system]

    @cached_property
    def _positions(self) -> list[dict[str, int]]:
        """The position of each passage, by query."""
        return [{each: n for n, each in enumerate(known)} for known in self.passages]

    @cached_property
    def rows(self) -> Rows:
        """Return one row per query, without a system."""
        return Rows(self.queries, ("",) * len(self.queries))

    def oracle(self, options: Options) -> Ints:
        """Return the oracle passages of each query, (Q, O), as selected by the options."""
        kind = options.oracle
        if kind not in self._oracles:
            chosen = [self._oracle(query, kind) for query in self.queries]
            self._oracles[kind] = self.positions(chosen)
        return self._oracles[kind]

    def _oracle(self, query: Query, kind: str) -> Sequence[str]:
        context = self.named_oracle.get(query.id)
        if kind == "context" and context is not None:
            return context
        if kind != "passages" and any(p.relevant is not None for p in query.passages):
            return [p.id for p in query.passages if p.relevant]
        return [p.id for p in query.passages]

    def masks(self) -> tuple[Bools, Bools]:
        """The passages (Q, P) and sub-questions (Q, M) that each query has."""
        counts = ([len(p) for p in self.passages], [len(q.questions) for q in self.queries])
        passages, questions = (
            np.arange(max(of, default=0)) < np.array(of, int)[:, None] for of in counts
        )
        return passages, questions

    @cached_property
    def oracles(self) -> frozenset[str]:
        """The oracle systems, recognised by name or by the setting of their reports."""
        found = {
            system_of(report)
            for query in self.queries
            for report in query.reports
            if ORACLE in (report.system, report.setting)
        }
        return frozenset({*found, ORACLE, f"{ORACLE}{RANKING}"})

    @cached_property
    def outside(self) -> tuple[Bools, Bools]:
        """The passages (Q, P) that the batch calls not relevant, and those that only contexts name.

        The latter do not belong to the query, so no rater could be asked about them.
        """
        marked = np.zeros(self.masks()[0].shape, bool)
        unlisted = marked.copy()
        for row, (query, known) in enumerate(zip(self.queries, self.passages, strict=True)):
            marks = {p.id: p.relevant is False for p in query.passages}
            marked[row, : len(known)] = [marks.get(each, False) for each in known]
            unlisted[row, : len(known)] = [each not in marks for each in known]
        return marked, unlisted

    def ratings(self, frame: VariableFrame, evaluator: EvaluatorLabels) -> Ratings:
        """Return one rater's ratings as tables."""
        if evaluator.rater not in self._ratings:
            marked, unlisted = self.outside
            found = self._rated(frame, evaluator)
            self._ratings[evaluator.rater] = replace(found, outside=marked, unlisted=unlisted)
        return self._ratings[evaluator.rater]

    def _rated(self, frame: VariableFrame, evaluator: EvaluatorLabels) -> Ratings:
        items = {
            f"{query.id}/{passage}": (row, place)
            for row, (query, known) in enumerate(zip(self.queries, self.passages, strict=True))
            for place, passage in enumerate(known)
        }
        question = {q.id: n for query in self.queries for n, q in enumerate(query.questions)}

        def positions(units: Ints) -> Ints:
            names = [frame.units.names[n] for n in units]
            found = [(*items[item], question[unit]) for item, _, unit in names]
            return np.array(found, dtype=np.int64).reshape(-1, 3)

        # A batch derived from the rated one may lack a query or a question.
        there = np.array(
            [item in items and unit in question for item, _, unit in frame.units.names], bool
        )
        rated = np.flatnonzero(np.isfinite(evaluator.values) & there)
        failed = np.flatnonzero(evaluator.failed & there)
        lost = positions(failed)
        return Ratings.from_places(positions(rated), evaluator.values[rated], lost, *self.masks())

    def tokens(self, tokenizer: Tokenizer) -> Floats:
        """Return the length of each passage, (Q, P); NaN if its text is not in the batch."""
        if tokenizer.name not in self._tokens:
            self._tokens[tokenizer.name] = self._counted(tokenizer)
        return self._tokens[tokenizer.name]

    def _counted(self, tokenizer: Tokenizer) -> Floats:
        made = np.zeros(self.masks()[0].shape)
        lengths = {p.id: tokenizer.count(p.text) for q in self.queries for p in q.passages}
        for row, known in enumerate(self.passages):
            made[row, : len(known)] = [lengths.get(each, np.nan) for each in known]
        return made


def _named_oracle(
    queries: Sequence[Query], systems: Mapping[str, Mapping[str, tuple[str, ...]]]
) -> dict[str, tuple[str, ...]]:
    """Return the context of the system `oracle`, or of the first report with that setting."""
    found = {
        query.id: report.context
        for query in queries
        for report in reversed(query.reports)
        if report.context is not None and ORACLE in (report.system, report.setting)
    }
    return {**found, **systems.get(ORACLE, {})}
