"""What the batch alone says of answers: their words, their citations, whether they decline."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from analysis.measures.answers.refusal_lists import refusal_list
from analysis.measures.answers.texts import Texts
from analysis.measures.grounding.attribution import Citations
from analysis.measures.grounding.deflection import Deflections
from analysis.measures.options import Options
from analysis.measuring.parts import TEXTS, Part, Rows, system_of
from analysis.statistics import Ints
from datasets.rows import Query, Report


def written_parts(
    queries: Sequence[Query], options: Options, deflected: Mapping[str, bool]
) -> Iterator[Part]:
    """Answers beside references, for the queries that have some.

    Whether people deflect a query is said by the labels of the campaign, `deflected` by query, and
    for the others by their references.
    """
    judged, of = _beside(queries, deflected.keys())
    if judged:
        yield Part("deflections", TEXTS, TEXTS, _deflections(judged, options, deflected), of)
    pairs, rows = beside_references(queries)
    if not pairs:
        return
    yield Part("texts", TEXTS, TEXTS, _texts(pairs), rows)
    if any(report.citations is not None for _, report in pairs):
        yield Part("citations", TEXTS, TEXTS, _citations(pairs), rows)


Pairs = Sequence[tuple[Query, Report]]


def beside_references(queries: Sequence[Query]) -> tuple[Pairs, Rows]:
    """The reports of queries with references, and their rows."""
    return _beside(queries, ())


def _beside(queries: Sequence[Query], others: Collection[str]) -> tuple[Pairs, Rows]:
    """The same with the reports of other queries, by id."""
    kept = [query for query in queries if query.references or query.id in others]
    pairs = [(query, report) for query in kept for report in query.reports]
    systems = tuple(system_of(report) for _, report in pairs)
    lengths = tuple(len(report.text) for _, report in pairs)
    return pairs, Rows(tuple(query for query, _ in pairs), systems, lengths)


def deflected_by_people(pairs: Pairs, deflected: Mapping[str, bool] | None = None) -> Ints:
    """1 where no reference of a report's query answers it, else 0, (N,); `deflected` goes first."""
    said = deflected or {}
    return np.array([int(said.get(q.id, not _answers(q))) for q, _ in pairs], np.int64)


def _answers(query: Query) -> list[str]:
    """The references that answer: a deflected or empty one does not."""
    return [r.text for r in query.references if not r.deflected and r.text.strip()]


def _texts(pairs: Pairs) -> Texts:
    return Texts(
        [report.text for _, report in pairs],
        [_answers(query) for query, _ in pairs],
        [" ".join(p.text for p in query.passages) or None for query, _ in pairs],
        np.array([bool(_answers(query)) for query, _ in pairs], dtype=bool),
        [system_of(report) for _, report in pairs],
    )


def _deflections(pairs: Pairs, options: Options, deflected: Mapping[str, bool]) -> Deflections:
    """A report's own mark, or where it has none, whether its text refuses."""
    refuses = refusal_list(options.refusals).refuses
    own = [
        int(refuses(r.text, system_of(r)) if r.deflected is None else r.deflected) for _, r in pairs
    ]
    every = np.ones(len(own), bool)
    return Deflections(np.array(own, np.int64), deflected_by_people(pairs, deflected), every)


def _citations(pairs: Pairs) -> Citations:
    """Who deflects has nothing to cite: beside that no citation is right or wrong."""
    return Citations(
        [None if r.citations is None else frozenset(r.citations) for _, r in pairs],
        [
            [
                frozenset(r.citations)
                for r in query.references
                if r.citations is not None and not r.deflected
            ]
            for query, _ in pairs
        ],
    )
