"""CRUX's contexts: who rated passages for sub-questions, and what each system retrieved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from analysis.frames import VariableFrame
from analysis.measures.coverage.contexts import Contexts, members
from analysis.measures.coverage.ratings import Answers, Ratings, answerable, answers
from analysis.measures.options import Options
from analysis.measures.retrieval import Ranked
from analysis.measures.tokens import Tokenizer
from analysis.measuring.parts import TEXTS, Part, Rows, system_of
from analysis.measuring.relevance import BY_ORACLE, RatedRankings
from analysis.measuring.voices import Voice, voices
from analysis.statistics import Bools, Floats, Ints
from datasets.rows import Query

ORACLE = "oracle"
RANKING = " (ranking)"


@dataclass(frozen=True)
class Layout:
    """The places of queries, passages and sub-questions; a system's contexts by query.

    `named_oracle` holds the oracle context of the queries that have one. Passages that only a
    context names have a place too: nobody rated them. What is asked for again is kept.
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
    def of(cls, queries: Sequence[Query]) -> Layout:
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
            tuple(sorted({p.id for p in query.passages}.union(
                *(of.get(query.id, ()) for of in systems.values())
            )))
            for query in queries
        )  # fmt: skip
        return cls(tuple(queries), passages, systems, _named_oracle(queries, systems))

    def places(self, contexts: Sequence[Sequence[str]]) -> Ints:
        """Passage ids of each query as places, (Q, K), -1 = none; a repeated one counts once."""
        once = [list(dict.fromkeys(context)) for context in contexts]
        made = np.full((len(once), max(map(len, once), default=0)), -1, np.int64)
        for row, (context, place) in enumerate(zip(once, self._place, strict=True)):
            made[row, : len(context)] = [place[each] for each in context]
        return made

    def ranked(self, system: str) -> Ints:
        """What a system retrieved for each query, (Q, K), as places in rank order."""
        if system not in self._ranked:
            of = self.systems[system]
            self._ranked[system] = self.places([of.get(query.id, ()) for query in self.queries])
        return self._ranked[system]

    @cached_property
    def _place(self) -> list[dict[str, int]]:
        """The place of each passage, by query."""
        return [{each: n for n, each in enumerate(known)} for known in self.passages]

    @cached_property
    def rows(self) -> Rows:
        """A row a query, of no system."""
        return Rows(self.queries, ("",) * len(self.queries))

    def oracle(self, options: Options) -> Ints:
        """The oracle passages of each query, (Q, O), as the options choose them."""
        wanted = options.oracle
        if wanted not in self._oracles:
            chosen = [self._oracle(query, wanted) for query in self.queries]
            self._oracles[wanted] = self.places(chosen)
        return self._oracles[wanted]

    def _oracle(self, query: Query, wanted: str) -> Sequence[str]:
        context = self.named_oracle.get(query.id)
        if wanted == "context" and context is not None:
            return context
        if wanted != "passages" and any(p.relevant is not None for p in query.passages):
            return [p.id for p in query.passages if p.relevant]
        return [p.id for p in query.passages]

    def there(self) -> tuple[Bools, Bools]:
        """Which passages (Q, P) and sub-questions (Q, M) a query has."""
        counts = ([len(p) for p in self.passages], [len(q.questions) for q in self.queries])
        passages, questions = (
            np.arange(max(of, default=0)) < np.array(of, int)[:, None] for of in counts
        )
        return passages, questions

    @cached_property
    def oracles(self) -> frozenset[str]:
        """The systems that are the oracle, by their name or by the setting of their reports."""
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

        Such a passage is none of the query's own, so that nobody could be asked about it.
        """
        marked = np.zeros(self.there()[0].shape, bool)
        unlisted = marked.copy()
        for row, (query, known) in enumerate(zip(self.queries, self.passages, strict=True)):
            marks = {p.id: p.relevant is False for p in query.passages}
            marked[row, : len(known)] = [marks.get(each, False) for each in known]
            unlisted[row, : len(known)] = [each not in marks for each in known]
        return marked, unlisted

    def ratings(self, frame: VariableFrame, voice: Voice) -> Ratings:
        """One rater's ratings in their places."""
        if voice.rater not in self._ratings:
            marked, unlisted = self.outside
            found = self._rated(frame, voice)
            self._ratings[voice.rater] = replace(found, outside=marked, unlisted=unlisted)
        return self._ratings[voice.rater]

    def _rated(self, frame: VariableFrame, voice: Voice) -> Ratings:
        items = {
            f"{query.id}/{passage}": (row, place)
            for row, (query, known) in enumerate(zip(self.queries, self.passages, strict=True))
            for place, passage in enumerate(known)
        }
        question = {q.id: n for query in self.queries for n, q in enumerate(query.questions)}

        def places(units: Ints) -> Ints:
            names = [frame.units.names[n] for n in units]
            found = [(*items[item], question[unit]) for item, _, unit in names]
            return np.array(found, dtype=np.int64).reshape(-1, 3)

        rated, failed = np.flatnonzero(np.isfinite(voice.values)), np.flatnonzero(voice.failed)
        lost = places(failed)
        return Ratings.of(places(rated), voice.values[rated], lost, *self.there())

    def tokens(self, tokenizer: Tokenizer) -> Floats:
        """The length of each passage, (Q, P); NaN where its text is not in the batch."""
        if tokenizer.name not in self._tokens:
            self._tokens[tokenizer.name] = self._counted(tokenizer)
        return self._tokens[tokenizer.name]

    def _counted(self, tokenizer: Tokenizer) -> Floats:
        made = np.zeros(self.there()[0].shape)
        lengths = {p.id: tokenizer.count(p.text) for q in self.queries for p in q.passages}
        for row, known in enumerate(self.passages):
            made[row, : len(known)] = [lengths.get(each, np.nan) for each in known]
        return made


def _named_oracle(
    queries: Sequence[Query], systems: Mapping[str, Mapping[str, tuple[str, ...]]]
) -> dict[str, tuple[str, ...]]:
    """The context of the system `oracle`, or else of the first report whose setting is that."""
    found = {
        query.id: report.context
        for query in queries
        for report in reversed(query.reports)
        if report.context is not None and ORACLE in (report.system, report.setting)
    }
    return {**found, **systems.get(ORACLE, {})}


def context_parts(
    layout: Layout, frame: VariableFrame, options: Options, tokenizer: Tokenizer
) -> Iterator[Part]:
    """The contexts of each system under each rater, whole and at every cut."""
    tokens = layout.tokens(tokenizer)
    for voice in voices(frame):
        ratings = layout.ratings(frame, voice)
        found = answers(ratings, options)
        for system in layout.systems:
            contexts = contexts_of(layout, system, found, tokens, options)
            rows = layout.rows.of_another(system)
            for suffix, cut in _cuts(contexts, options):
                yield Part("contexts", voice.rater, voice.kind, cut, rows, suffix)
                if options.relevance != BY_ORACLE:
                    ranked = RatedRankings(ratings, cut)
                    yield Part("rankings", voice.rater, voice.kind, ranked, rows, suffix)


def ranking_parts(layout: Layout, options: Options) -> Iterator[Part]:
    """The rankings of each system against the oracle passages: no rater is asked."""
    if options.relevance != BY_ORACLE or not layout.systems:
        return
    passages, questions = layout.there()
    nothing = np.full((*passages.shape, questions.shape[1]), np.nan)
    found = answers(Ratings(nothing, passages, questions), options)
    for system in layout.systems:
        contexts = contexts_of(layout, system, found, np.zeros(passages.shape), options)
        relevance = members(contexts.oracle, passages.shape[1]).astype(float)
        rows = layout.rows.of_another(system)
        for suffix, cut in _cuts(contexts, options):
            ranked = Ranked(relevance, cut.ranked, cut.depth, cut.there)
            yield Part("rankings", TEXTS, TEXTS, ranked, rows, suffix)


def _cuts(contexts: Contexts, options: Options) -> Iterator[tuple[str, Contexts]]:
    yield "", contexts
    yield "@oracle", contexts.cut(None)
    for cut in options.cuts:
        yield f"@{cut}", contexts.cut(cut)


def contexts_of(
    layout: Layout, system: str, found: Answers, tokens: Floats, options: Options
) -> Contexts:
    """A system's contexts of all queries."""
    of, ranked = layout.systems[system], layout.ranked(system)
    oracle = layout.oracle(options)
    counted = answerable(found, members(oracle, found.passages.shape[1]), options)
    there = np.array([query.id in of for query in layout.queries], bool)
    return Contexts(found, ranked, oracle, counted, tokens, (ranked >= 0).sum(axis=1), there)
