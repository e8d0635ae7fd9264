"""What goes into a measure: rows of systems and queries, and what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis.measures.base import Found, Measure
from analysis.measures.options import Options
from analysis.measures.slices import grounding_quality
from analysis.measuring.relevance import RatedRankings
from analysis.metas import MOST_VALUES, OF_META, length_strata, text_of
from analysis.statistics import Ints
from datasets.rows import Query, Report

PEOPLE, MEAN_OF_PEOPLE, TEXTS = "people", "mean_of_people", "texts"
TOGETHER = {PEOPLE: "people", MEAN_OF_PEOPLE: "mean of people", TEXTS: "texts"}
"""Who is no single rater, with its name in tables."""


@dataclass(frozen=True)
class Rows:
    """N rows of a table, each of a query and a system; a system that has no name is ``""``.

    `lengths` are those of the answers, in characters, where the rows are answers.
    """

    queries: tuple[Query, ...]
    systems: tuple[str, ...]
    lengths: tuple[int, ...] = ()

    def of_another(self, system: str) -> Rows:
        """The same rows of one other system; what hangs on queries alone is not made again."""
        other = Rows(self.queries, (system,) * len(self.queries), self.lengths)
        other.__dict__.update(ids=self.ids, numbers=self.numbers, strata=self.strata)
        other.__dict__.update(named=(system,), columns=np.zeros(len(self.queries), np.int64))
        return other

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of the queries, each once, in their order."""
        return tuple(sorted({query.id for query in self.queries}))

    @cached_property
    def numbers(self) -> Ints:
        """The number of each row's query, (N,), in the order of the queries' ids."""
        place = {each: n for n, each in enumerate(self.ids)}
        return np.array([place[query.id] for query in self.queries], dtype=np.int64)

    @cached_property
    def named(self) -> tuple[str, ...]:
        """The systems, each once, in their order."""
        return tuple(dict.fromkeys(self.systems))

    @cached_property
    def columns(self) -> Ints:
        """The number of each row's system, (N,), in the order of `named`."""
        place = {each: n for n, each in enumerate(self.named)}
        return np.array([place[each] for each in self.systems], dtype=np.int64)

    @cached_property
    def strata(self) -> dict[str, list[str | None]]:
        """What divides the rows: the queries' meta, grounding quality, lengths in thirds.

        A stratum of one value says nothing, and one of many is none.
        """
        found = {name: [text_of(q.meta, name) for q in self.queries] for name in OF_META}
        found["source"] = [text_of(q.meta, "source") or _sources(q) for q in self.queries]
        found["grounding"] = grounding_quality(np.array([*map(_relevant, self.queries)]))
        documents = {q.id: sum(len(p.text) for p in q.passages) for q in self.queries}
        thirds = length_strata(documents)
        found["document_length"] = [thirds[query.id] for query in self.queries]
        answers = length_strata({str(n): length for n, length in enumerate(self.lengths)})
        found["generation_length"] = [answers.get(str(n)) for n in range(len(self.queries))]
        return {
            name: values
            for name, values in found.items()
            if 1 < len(set(values) - {None}) <= MOST_VALUES
        }


def _sources(query: Query) -> str | None:
    """Where a query's passages come from, such as `private + web`; None where nothing is said."""
    return " + ".join(sorted({p.source for p in query.passages if p.source})) or None


def _relevant(query: Query) -> float:
    """The share of a query's passages that the batch calls relevant, NaN where it says nothing."""
    marks = [p.relevant for p in query.passages if p.relevant is not None]
    return sum(marks) / len(marks) if marks else float("nan")


@dataclass(frozen=True)
class Part:
    """The input of all measures of a family, by one rater.

    `kind` is human, judge or reference, `people` for what people say together, `mean_of_people` for
    the mean of what each of them says, and `texts` where nobody was asked. `suffix` tells cuts of a
    ranking apart, such as `@10`.
    """

    family: str
    rater: str
    kind: str
    given: object
    rows: Rows
    suffix: str = ""

    def found(self, measure: Measure, options: Options) -> Found:
        """What a measure of the family makes of it."""
        if isinstance(self.given, RatedRankings):
            return self.given.found(measure, options)
        return measure.of(self.given, options)


def system_of(report: Report) -> str:
    """The name under which a report is counted: its system, with the setting where they differ."""
    system, setting = report.system or "", report.setting or ""
    if not setting or setting == system:
        return system
    return f"{system} ({setting})" if system else setting


def all_reports(queries: Sequence[Query]) -> tuple[list[Report], Rows]:
    """Every report of a batch, and its row."""
    pairs = [(query, report) for query in queries for report in query.reports]
    systems = tuple(system_of(report) for _, report in pairs)
    lengths = tuple(len(report.text) for _, report in pairs)
    return [r for _, r in pairs], Rows(tuple(query for query, _ in pairs), systems, lengths)
