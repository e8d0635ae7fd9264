"""CRUX's contexts: who rated passages for sub-questions, and what each system retrieved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.frames import VariableFrame
from analysis.measures.coverage.contexts import Contexts, members
from analysis.measures.coverage.ratings import Answers, Ratings, answerable, answers
from analysis.measures.coverage.required import required_grades, required_subset
from analysis.measures.options import Options
from analysis.measures.retrieval import Ranked
from analysis.measures.tokens import Tokenizer
from analysis.measuring.parts import TEXTS, Part, Rows, system_of
from analysis.measuring.voices import Voice, voices
from analysis.statistics import Bools, Floats, Ints
from datasets.rows import Query

ORACLE = "oracle"
RANKING = " (ranking)"


@dataclass(frozen=True)
class Layout:
    """The places of queries, passages and sub-questions; a system's contexts by query.

    Passages that only a context names have a place too: nobody rated them.
    """

    queries: tuple[Query, ...]
    passages: tuple[tuple[str, ...], ...]
    systems: dict[str, dict[str, tuple[str, ...]]]

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
        return cls(tuple(queries), passages, systems)

    def places(self, contexts: Sequence[Sequence[str]]) -> Ints:
        """Passage ids of each query as places, (Q, K), -1 = none; a repeated one counts once."""
        once = [list(dict.fromkeys(context)) for context in contexts]
        made = np.full((len(once), max(map(len, once), default=0)), -1, np.int64)
        for row, (context, known) in enumerate(zip(once, self.passages, strict=True)):
            place = {each: n for n, each in enumerate(known)}
            made[row, : len(context)] = [place[each] for each in context]
        return made

    def oracle(self, options: Options) -> Ints:
        """The oracle passages of each query, (Q, O), as the options choose them."""
        return self.places([self._oracle(query, options.oracle) for query in self.queries])

    def _oracle(self, query: Query, wanted: str) -> Sequence[str]:
        context = self.systems.get(ORACLE, {}).get(query.id)
        if wanted == "context" and context is not None:
            return context
        marked = [p.id for p in query.passages if p.relevant]
        if wanted != "passages" and marked:
            return marked
        return [p.id for p in query.passages]

    def there(self) -> tuple[Bools, Bools]:
        """Which passages (Q, P) and sub-questions (Q, M) a query has."""
        counts = ([len(p) for p in self.passages], [len(q.questions) for q in self.queries])
        passages, questions = (
            np.arange(max(of, default=0)) < np.array(of, int)[:, None] for of in counts
        )
        return passages, questions

    def ratings(self, frame: VariableFrame, voice: Voice) -> Ratings:
        """One rater's ratings in their places."""
        items = {
            f"{query.id}/{passage}": (row, place)
            for row, (query, known) in enumerate(zip(self.queries, self.passages, strict=True))
            for place, passage in enumerate(known)
        }
        question = {q.id: n for query in self.queries for n, q in enumerate(query.questions)}
        rated = np.flatnonzero(np.isfinite(voice.values))
        names = [frame.units.names[n] for n in rated]
        places = [(*items[item], question[unit]) for item, _, unit in names]
        found = np.array(places, dtype=np.int64).reshape(-1, 3)
        return Ratings.of(found, voice.values[rated], *self.there())

    def tokens(self, tokenizer: Tokenizer) -> Floats:
        """The length of each passage, (Q, P); 0 where its text is not in the batch."""
        made = np.zeros(self.there()[0].shape)
        for row, (query, known) in enumerate(zip(self.queries, self.passages, strict=True)):
            lengths = {p.id: tokenizer.count(p.text) for p in query.passages}
            made[row, : len(known)] = [lengths.get(each, 0) for each in known]
        return made


def context_parts(
    queries: Sequence[Query], frame: VariableFrame, options: Options, tokenizer: Tokenizer
) -> Iterator[Part]:
    """The contexts of each system under each rater, whole and at every cut."""
    layout = Layout.of(queries)
    tokens = layout.tokens(tokenizer)
    for voice in voices(frame):
        ratings = layout.ratings(frame, voice)
        found = answers(ratings, options)
        for system in layout.systems:
            contexts = contexts_of(layout, system, found, tokens, options)
            relevance = relevance_of(ratings, contexts, options)
            rows = Rows(layout.queries, (system,) * len(layout.queries))
            for suffix, cut in _cuts(contexts, options):
                yield Part("contexts", voice.rater, voice.kind, cut, rows, suffix)
                if options.relevance != ORACLE:
                    ranked = Ranked(relevance, cut.ranked, cut.depth, cut.there)
                    yield Part("rankings", voice.rater, voice.kind, ranked, rows, suffix)


def required_passages(
    queries: Sequence[Query], frame: VariableFrame, options: Options
) -> dict[str, dict[str, list[str]]]:
    """The required subset P** of each query's oracle passages by each rater's ratings."""
    layout = Layout.of(queries)
    made: dict[str, dict[str, list[str]]] = {}
    for voice in voices(frame):
        found = answers(layout.ratings(frame, voice), options)
        oracle = members(layout.oracle(options), found.passages.shape[1])
        kept = required_subset(found, oracle)
        made[voice.rater] = {
            query.id: [known[place] for place in np.flatnonzero(row)]
            for query, known, row in zip(layout.queries, layout.passages, kept, strict=True)
        }
    return made


def ranking_parts(queries: Sequence[Query], options: Options) -> Iterator[Part]:
    """The rankings of each system against the oracle passages: no rater is asked."""
    layout = Layout.of(queries)
    if options.relevance != ORACLE or not layout.systems:
        return
    passages, questions = layout.there()
    nothing = np.zeros((*passages.shape, questions.shape[1]), bool)
    found = Answers(nothing, nothing, passages, questions)
    for system in layout.systems:
        contexts = contexts_of(layout, system, found, np.zeros(passages.shape), options)
        relevance = members(contexts.oracle, passages.shape[1]).astype(float)
        rows = Rows(layout.queries, (system,) * len(layout.queries))
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
    of = layout.systems[system]
    ranked = layout.places([of.get(query.id, ()) for query in layout.queries])
    oracle = layout.oracle(options)
    counted = answerable(found, members(oracle, found.passages.shape[1]), options)
    there = np.array([query.id in of for query in layout.queries], bool)
    return Contexts(found, ranked, oracle, counted, tokens, (ranked >= 0).sum(axis=1), there)


def relevance_of(ratings: Ratings, contexts: Contexts, options: Options) -> Floats:
    """What the options call relevant, as gains of the passages, (Q, P)."""
    oracle = members(contexts.oracle, ratings.passages.shape[1])
    if options.relevance == ORACLE:
        return oracle.astype(float)
    if options.relevance == "required":
        return required_grades(ratings, contexts.answers, oracle).astype(float)
    answering = (contexts.answers.yes & contexts.counted[:, None, :]).any(axis=2)
    return answering.astype(float)
