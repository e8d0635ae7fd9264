"""CRUX's section 4.3 and Table 5: agreement of judges with people, thresholds, and one query.

People's labels are the truth: their ratings cut at the same η, or their yes and no, which hold at
the paper's own η alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from analysis.evaluation.inputs import PEOPLE, system_of
from analysis.evaluation.passages import report_parts
from analysis.papers.base import Cell, Column, Grid, as_cell, empty, missing, percent, plain
from analysis.papers.coverage import YES_NO_ETA, DataSet, column_means, data_sets, holds
from analysis.papers.material import Material, judges, labels_by, persons
from analysis.papers.sources import CampaignFacts
from tandem.labels.frame import Frame, VariableFrame
from tandem.scores.base import values_of
from tandem.scores.contexts import Contexts, members, required_subset
from tandem.scores.coverage import REPORT_COVERAGE
from tandem.statistics import (
    FLEISS,
    Bools,
    Bootstrap,
    Floats,
    Ints,
    Tally,
    Value,
    correlation_estimates,
)
from tandem.statistics.estimate import ratio, unbatch
from tandem.types import JSON

ETAS = (YES_NO_ETA, 5.0)
RATING, YES_NO, YES = "rating", "answerable", "yes"
HEADS = ("Precision", "Recall")
COLUMNS = tuple(Column(f"{side}: {head}") for side in ("answerable", "not") for head in HEADS)
# Hits over all the judge's labels, and over all people's labels, on either side.
OVER = ((0, (0, 2)), (0, (0, 1)), (3, (1, 3)), (3, (2, 3)))
Truth = tuple[Ints, Bools]
"""The units that a person labelled, as rows of the judge's variable, and the sides (N,) of them."""


def threshold_grids(material: Material) -> Iterator[Grid]:
    """Yield a grid for passages and one for reports, of each data set at each η."""
    for data in data_sets(material):
        for eta in ETAS:
            caption = f"{data.name}: passages cut at η = {eta:g}"
            if data.passages is None:
                yield empty(caption, COLUMNS, data.no_ratings("a judge"), "Judge")
            else:
                yield _grid(data, data.passages, caption, eta)
        for eta in ETAS if data.reports is not None else ():
            assert data.reports is not None
            yield _grid(data, data.reports, f"{data.name}: reports cut at η = {eta:g}", eta)


def _grid(data: DataSet, campaign: CampaignFacts, caption: str, eta: float) -> Grid:
    frame, where = data.material.frame(campaign), data.material.named(campaign)
    rating = frame.variables.get(RATING)
    found = [] if rating is None else [(by, labels_by(rating, by)) for by in judges(frame)]
    rows = tuple(
        (by, _cells(data, _Compared(frame, rating, by, labels.values, where), eta))
        for by, labels in found
        if labels is not None and rating is not None
    )
    if not rows:
        return empty(caption, COLUMNS, f"no judge rated in {where}", "Judge")
    return Grid(caption, COLUMNS, rows, stub="Judge")


@dataclass(frozen=True)
class _Compared:
    """A judge's ratings (U,) of the units of a variable, NaN = none, beside people's labels."""

    frame: Frame
    rating: VariableFrame
    judge: str
    values: Floats
    where: str

    def truths(self, eta: float) -> tuple[list[Truth], bool]:
        """Return people's labels, and whether yes and no were left out, which have another η."""
        found: list[Truth] = []
        ratings, answers = self.rating, self.frame.variables.get(YES_NO)
        place = {name: n for n, name in enumerate(ratings.units.names)}
        refused = False
        for column in ratings.columns("human"):
            if rated := _sides_of(ratings, column, place, ratings.scale.values() >= eta):
                found.append(rated)
                continue
            said = answers and _sides_of(answers, column, place, _is_yes(answers))
            if said and eta == YES_NO_ETA:
                found.append(said)
            refused |= bool(said) and eta != YES_NO_ETA
        return found, refused


def _is_yes(answers: VariableFrame) -> Bools:
    return np.array([code == YES for code in answers.scale.categories], bool)


def _sides_of(
    labels: VariableFrame, column: int, place: Mapping[tuple[str, str, str], int], upper: Bools
) -> Truth | None:
    """Return a person's labels of rated units, and which are on the upper side; None if none."""
    known = [
        (place[name], upper[code])
        for name, code in zip(labels.units.names, labels.codes[:, column].tolist(), strict=True)
        if code >= 0 and name in place
    ]
    if not known:
        return None
    units, sides = zip(*known, strict=True)
    return np.array(units, np.int64), np.array(sides, bool)


def _cells(data: DataSet, compared: _Compared, eta: float) -> tuple[Cell, ...]:
    """Return precision and recall against each person's labels, on both sides of η."""
    truths, refused = compared.truths(eta)
    counts, queries = [np.zeros((0, 4), bool)], [np.zeros(0, np.int64)]
    for units, human in truths:
        known = np.isfinite(compared.values[units])
        other: Bools = compared.values[units] >= eta
        sides = np.column_stack([h & o for h in (human, ~human) for o in (other, ~other)])
        counts.append(sides[known])
        queries.append(compared.rating.units.query[units][known])
    sums = np.concatenate(counts).astype(float)
    if not len(sums):
        why = f"no person and {compared.judge} labelled the same unit in {compared.where}"
        if refused:
            why = (
                f"people said yes or no in {compared.where}, which holds at η = {YES_NO_ETA:g} "
                f"and cannot be cut at {eta:g}; people who rate can"
            )
        return tuple(missing(why) for _ in OVER)
    options = data.material.options
    tally = Tally.of_sums(sums, np.concatenate(queries))
    bootstrap = Bootstrap(tally, options.resamples, options.seed)
    truth = f"people's labels in {compared.where} as truth"
    return tuple(
        as_cell(bootstrap.estimate(partial(_rate, *over), len(sums), truth, "no such label"))
        for over in OVER
    )


def _rate(hit: int, under: tuple[int, int], sums: Floats) -> Value:
    return unbatch(ratio(sums[..., hit], sums[..., under[0]] + sums[..., under[1]]))


NOBODY = ""
"""In place of a judge's name, where no judge says which questions count."""


def figure_4(material: Material) -> list[Grid]:
    """Coverage of each report by each judge and person, and how they agree."""
    found: list[Grid] = []
    for data in data_sets(material):
        if data.reports is not None:
            found += _coverage_grids(data)
    if not found:
        reason = "the study has no campaign of report-coverage"
        return [empty("Coverage per query and setting", [percent("Mean of people")], reason)]
    return [*found, *threshold_grids(material)]


def _coverage_grids(data: DataSet) -> Iterator[Grid]:
    """Yield each judge's and each person's coverage, over the questions that the judge counts.

    People's coverage has the judge's denominator (appendix A.2), so each judge has its own grid.
    """
    assert data.reports is not None
    frame = data.material.frame(data.reports)
    people, machines = persons(frame), _judges_of_reports(data)
    by_judge = {by: _coverage_of_reports(data, by) for by in machines}
    nobody = np.full(len(_reports(data)), np.nan)
    for by, coverage in (by_judge or {NOBODY: _coverage_of_reports(data, NOBODY)}).items():
        mean = _mean_of([coverage.get(name, nobody) for name in people], nobody)
        columns = [*filter(None, [by]), *people]
        rows = []
        for n, (query, system) in enumerate(_reports(data)):
            values = [*(coverage.get(name, nobody)[n] for name in columns), mean[n]]
            cells = tuple(_coverage_cell(float(value), data) for value in values)
            rows.append((f"{query} · {system}", cells))
        caption = f"{data.name}: coverage per query and setting, over {_denominator(data, by)}"
        heads = tuple(map(percent, [*columns, "Mean of people"]))
        yield Grid(caption, heads, tuple(rows), stub="Query · setting")
    yield _spearman_grid(data, by_judge, people)
    yield _kappa_grid(data)


def _judges_of_reports(data: DataSet) -> list[str]:
    found = (by for by in data.evaluators if by != PEOPLE)
    return [by for by in found if data.report_part(by, data.options) is not None]


def _denominator(data: DataSet, by: str) -> str:
    if data.counted(by, data.options) is None:
        return "all sub-questions"
    return f"the sub-questions that are answerable by {by}"


def _coverage_cell(value: float, data: DataSet) -> JSON:
    if np.isnan(value):
        assert data.reports is not None
        what = "label" if data.options.eta == YES_NO_ETA else "rating"
        return missing(f"no {what} in {data.material.named(data.reports)}")
    return plain(value, 1, "sub-questions answered / asked")


def _mean_of(tables: Sequence[Floats], nobody: Floats) -> Floats:
    """Return the mean over raters with a value, (N,), NaN without one."""
    return column_means(np.array([*tables, nobody]))


def _reports(data: DataSet) -> list[tuple[str, str]]:
    return [(query.id, system_of(r)) for query in data.queries for r in query.reports]


def _coverage_of_reports(data: DataSet, by: str) -> dict[str, Floats]:
    """Return the coverage of reports by a judge and by each person, (N,).

    Only questions that the judge counts are asked; without its ratings of passages, all are.
    """
    assert data.reports is not None
    frame = data.material.frame(data.reports)
    parts = report_parts(data.queries, frame, data.options, data.counted(by, data.options))
    found: dict[str, Floats] = {}
    for part in parts:
        # Yes and no come first where they hold, and ratings count where a person gave only these.
        is_person = part.kind == "human" and holds(part, data.options)
        if is_person and part.rater not in found:
            found[part.rater] = values_of(part.compute(REPORT_COVERAGE, data.options))
    judged = data.report_part(by, data.options)
    if judged is not None and holds(judged, data.options):
        found[by] = values_of(judged.compute(REPORT_COVERAGE, data.options))
    return found


def _spearman_grid(
    data: DataSet, by_judge: Mapping[str, Mapping[str, Floats]], people: list[str]
) -> Grid:
    """Return the rank correlation of each judge with each person, per setting and over all."""
    rows_of = _reports(data)
    settings = [*dict.fromkeys(system for _, system in rows_of)]
    queries = {query: n for n, query in enumerate(dict.fromkeys(q for q, _ in rows_of))}
    number = np.array([queries[query] for query, _ in rows_of], np.int64)
    options = data.material.options
    pairs = [(judge, person) for judge in by_judge for person in people]
    columns = tuple(Column(f"{judge} with {person}") for judge, person in pairs)
    if not columns:
        which = "no judge" if people else "no person"
        assert data.reports is not None
        reason = f"{which} labelled reports in {data.material.named(data.reports)}"
        return empty(f"{data.name}: Spearman", [Column("judge with person")], reason, "Setting")
    rows, nobody = [], np.full(len(rows_of), np.nan)
    for setting in ("all settings", *settings):
        kept = np.array([setting in ("all settings", system) for _, system in rows_of], bool)
        cells = tuple(
            as_cell(
                correlation_estimates(
                    by_judge[judge].get(judge, nobody)[kept],
                    by_judge[judge].get(person, nobody)[kept],
                    number[kept],
                    ("spearman",),
                    " of coverage",
                    draws=options.resamples,
                    seed=options.seed,
                )["spearman"]
            )
            for judge, person in pairs
        )
        rows.append((setting, cells))
    caption = (
        f"{data.name}: Spearman's correlation of coverage over all answers, query difficulty "
        "included"
    )
    return Grid(caption, columns, tuple(rows), stub="Setting")


def _kappa_grid(data: DataSet) -> Grid:
    assert data.reports is not None
    agreement = data.material.agreement(data.reports).get("answerable")
    reason = f"{data.material.named(data.reports)} gives no yes or no"
    names = (FLEISS.key, "percent")
    cells = tuple(agreement["agreement"][name] if agreement else missing(reason) for name in names)
    columns = (Column("Value"),)
    rows = [(label, (cell,)) for label, cell in zip(("Fleiss' κ", "agreement"), cells, strict=True)]
    caption = f"{data.name}: agreement of people"
    name = data.name
    return Grid(caption, columns, tuple(rows), stub="Among people", by=PEOPLE, data=name)


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
