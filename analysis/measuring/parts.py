"""What goes into a measure: rows of systems and queries, and what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.metas import OF_META, text_of
from analysis.statistics import Bools, Ints
from datasets.rows import Query, Report

PEOPLE, TEXTS = "people", "texts"


@dataclass(frozen=True)
class Rows:
    """N rows of a table, each of a query and a system; a system that has no name is ``""``."""

    queries: tuple[Query, ...]
    systems: tuple[str, ...]

    @property
    def numbers(self) -> Ints:
        """The number of each row's query, (N,), in the order of the queries' ids."""
        ids = [query.id for query in self.queries]
        place = {each: n for n, each in enumerate(sorted(set(ids)))}
        return np.array([place[each] for each in ids], dtype=np.int64)

    def of_system(self, system: str) -> Bools:
        return np.array([each == system for each in self.systems], dtype=bool)

    def stratum(self, name: str) -> list[str | None]:
        """What the meta of each row's query says under a name."""
        return [text_of(query.meta, name) for query in self.queries]


STRATA = OF_META


@dataclass(frozen=True)
class Part:
    """The input of all measures of a family, by one rater.

    `kind` is human, judge or reference, `people` for what people say together, and `texts` where
    nobody was asked. `suffix` tells cuts of a ranking apart, such as `@10`.
    """

    family: str
    rater: str
    kind: str
    given: object
    rows: Rows
    suffix: str = ""


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
    return [report for _, report in pairs], Rows(tuple(query for query, _ in pairs), systems)
