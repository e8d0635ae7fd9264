"""Table 5 of CRUX: one query with its sub-questions, passages and reports, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.papers.base import Cell, Column, Grid, empty, missing, percent, plain
from analysis.papers.coverage import DataSet, data_sets
from analysis.papers.material import Material
from tandem.scores.base import values_of
from tandem.scores.contexts import Contexts, members, required_subset
from tandem.scores.coverage import REPORT_COVERAGE
from tandem.statistics import Bools, Floats

NO_RATED = "no evaluator rated the passages of this query"
QUESTIONS = (
    Column("Highest rating", digits=0),
    Column("Passages that answer", digits=0),
    Column("Counts"),
)
REQUIRED, REDUNDANT, UNUSED = "required", "redundant", "answers nothing"


def table_5(material: Material) -> list[Grid]:
    """Return one query's sub-questions, passages and reports, by each evaluator."""
    asked = material.tables.query
    found: list[Grid] = []
    for data in data_sets(material):
        known = [query.id for query in data.queries]
        if asked and asked not in known:
            continue
        for by in data.evaluators:
            if (case := _case(data, by, asked)) is not None:
                found += case.grids()
        if found:
            return found
    reason = f"no data set has the query {asked!r}" if asked else NO_RATED
    return [empty("One query", QUESTIONS, reason, "Sub-question")]


def _case(data: DataSet, by: str, asked: str) -> _Case | None:
    oracle, rated = data.oracle(by, data.options), data.passage_ratings(by)
    if oracle is None or rated is None:
        return None
    dropped = (oracle.answers.questions & ~oracle.counted).any(axis=1) & oracle.answers.rated.any(
        axis=(1, 2)
    )
    row = int(np.argmax(dropped))
    if asked:
        row = [query.id for query in data.queries].index(asked)
    return _Case(data, by, row, oracle, rated.ratings.values[row])


@dataclass(frozen=True)
class _Case:
    """One query, the `row`-th, by one evaluator, with its `ratings` (P, M), NaN = none."""

    data: DataSet
    by: str
    row: int
    oracle: Contexts
    ratings: Floats

    @property
    def answered(self) -> Bools:
        """The questions that each passage answers, (P, M)."""
        yes: Bools = self.oracle.answers.yes[self.row]
        return yes

    def grids(self) -> Iterator[Grid]:
        yield self.questions()
        yield self.passages()
        if self.data.reports is not None:
            yield self.reports()

    def _grid(
        self, what: str, columns: tuple[Column, ...], rows: list[tuple[str, tuple[Cell, ...]]]
    ) -> Grid:
        query = self.data.queries[self.row]
        caption = f"{self.data.name}, query {query.id}, by {self.by}: {what.lower()}s"
        name = self.data.name
        return Grid(caption, columns, tuple(rows), stub=what, by=self.by, data=name)

    def questions(self) -> Grid:
        """Return the sub-questions, and whether an oracle passage answers them."""
        rows: list[tuple[str, tuple[Cell, ...]]] = []
        for n, question in enumerate(self.data.queries[self.row].questions):
            own, yes = self.ratings[:, n], self.answered[:, n]
            best: Cell = int(np.nanmax(own)) if np.isfinite(own).any() else "–"
            counts = "yes" if self.oracle.counted[self.row, n] else "dropped"
            rows.append((f"Q{n + 1}: {question.text}", (best, int(yes.sum()), counts)))
        return self._grid("Sub-question", QUESTIONS, rows)

    def passages(self) -> Grid:
        """Return the passages by the number of questions they answer, with what each adds."""
        names = self.data.layout.passages[self.row]
        number = len(self.data.queries[self.row].questions)
        required = self._required()
        seen = np.zeros(self.answered.shape[1], bool)
        rows: list[tuple[str, tuple[Cell, ...]]] = []
        for n in np.argsort(-self.answered.sum(axis=1), kind="stable").tolist():
            own = self.ratings[n, :number]
            if n < len(names) and np.isfinite(own).any():
                new, yes = self.answered[n] & ~seen, self.answered[n]
                seen |= yes
                use = REQUIRED if required[n] else REDUNDANT if yes.any() else UNUSED
                cells = [int(each) if np.isfinite(each) else "–" for each in own.tolist()]
                rows.append((names[n], (*cells, int(yes.sum()), int(new.sum()), use)))
        heads = (*(f"Q{n + 1}" for n in range(number)), "Answers", "New", "Is")
        if not rows:
            rows.append(("none", tuple(missing(NO_RATED) for _ in heads)))
        return self._grid("Passage", tuple(Column(head, digits=0) for head in heads), rows)

    def _required(self) -> Bools:
        found = self.oracle.answers
        every = found.passages | members(self.oracle.oracle, found.passages.shape[1])
        required: Bools = required_subset(found, every)[self.row]
        return required

    def reports(self) -> Grid:
        """Return the coverage of each report of the query."""
        covered = self.data.of_reports(self.by, self.data.options)[REPORT_COVERAGE.name]
        counted = int(self.oracle.counted[self.row].sum())
        rows: list[tuple[str, tuple[Cell, ...]]] = []
        for system, values in covered.by_system.items():
            value = values_of(values)[self.row]
            if np.isfinite(value):
                share = plain(float(value), counted, "sub-questions answered / counted")
                rows.append((system, (round(float(value) * counted), counted, share)))
        heads = (Column("Answers", digits=0), Column("Of", digits=0), percent("Cov(y)"))
        if not rows:
            reason = covered.reason or f"{self.by} labelled no report of this query"
            rows.append(("none", tuple(missing(reason) for _ in heads)))
        return self._grid("Report", heads, rows)
