"""Figure 4 and section 4.3 of CRUX: how judges agree with people on reports and on passages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from analysis.evaluation.inputs import PEOPLE, system_of
from analysis.evaluation.passages import report_parts
from analysis.papers.base import Cell, Column, Grid, as_cell, empty, missing, percent, plain
from analysis.papers.coverage import OPTIONS, DataSet, column_means, data_sets
from analysis.papers.material import Material, judges, labels_by, persons
from tandem.scores.base import values_of
from tandem.scores.coverage import REPORT_COVERAGE
from tandem.statistics import Bools, Bootstrap, Floats, Tally, Value, correlation_estimates
from tandem.statistics.arrays import ratio, unbatch
from tandem.types import JSON

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
    return [*found, *_threshold_grids(material)]


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
    return [by for by in found if data.report_part(by, OPTIONS) is not None]


def _denominator(data: DataSet, by: str) -> str:
    if data.counted(by, OPTIONS) is None:
        return "all sub-questions"
    return f"the sub-questions that are answerable by {by}"


def _coverage_cell(value: float, data: DataSet) -> JSON:
    if np.isnan(value):
        assert data.reports is not None
        return missing(f"no label in campaign {data.reports.name}")
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
    parts = report_parts(data.queries, frame, OPTIONS, data.counted(by, OPTIONS))
    found: dict[str, Floats] = {}
    for part in parts:
        # Yes and no come first, and ratings count where a person gave only these.
        if part.kind == "human" and part.rater not in found:
            found[part.rater] = values_of(part.compute(REPORT_COVERAGE, OPTIONS))
    judged = data.report_part(by, OPTIONS)
    if judged is not None:
        found[by] = values_of(judged.compute(REPORT_COVERAGE, OPTIONS))
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
        reason = f"{which} labelled reports in campaign {data.campaign.name}"
        return empty(f"{data.name}: Spearman", [Column("judge with person")], reason, "Setting")
    rows = []
    for setting in ("all settings", *settings):
        kept = np.array([setting in ("all settings", system) for _, system in rows_of], bool)
        cells = tuple(
            as_cell(
                correlation_estimates(
                    by_judge[judge][judge][kept],
                    by_judge[judge][person][kept],
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
    reason = f"campaign {data.reports.name} does not ask for answerable"
    names = ("fleiss_kappa", "percent")
    cells = tuple(agreement["agreement"][name] if agreement else missing(reason) for name in names)
    columns = (Column("Value"),)
    rows = [(label, (cell,)) for label, cell in zip(("Fleiss' κ", "agreement"), cells, strict=True)]
    return Grid(f"{data.name}: agreement of people", columns, tuple(rows), stub="Among people")


def _threshold_grids(material: Material) -> Iterator[Grid]:
    """Yield precision and recall of each judge at η, on both sides, against people's ratings."""
    heads = ("Precision", "Recall")
    columns = tuple(Column(f"{side}: {head}") for side in ("answerable", "not") for head in heads)
    for data in data_sets(material):
        caption = f"{data.name}: passages cut at η = {OPTIONS.eta:g}"
        if data.ratings is None or data.passages is None:
            yield empty(caption, columns, data.no_ratings("a judge"), "Judge")
            continue
        machines = judges(material.frame(data.passages))
        if not machines:
            reason = f"no judge rated passages in campaign {data.passages.name}"
            yield empty(caption, columns, reason, "Judge")
            continue
        rows = tuple((judge, _sides(data, judge)) for judge in machines)
        yield Grid(caption, columns, rows, stub="Judge")


def _sides(data: DataSet, judge: str) -> tuple[Cell, ...]:
    """Return a judge's precision and recall against each person's ratings, on both sides of η."""
    frame = data.ratings
    assert frame is not None
    machine = labels_by(frame, judge)
    assert machine is not None
    counts = []
    for column in frame.columns("human"):
        person = frame.scale.values()[np.maximum(frame.codes[:, column], 0)]
        known = (frame.codes[:, column] >= 0) & np.isfinite(machine.values)
        human: Bools = person >= OPTIONS.eta
        other: Bools = machine.values >= OPTIONS.eta
        cells: list[Bools] = [h & o for h in (human, ~human) for o in (other, ~other)]
        counts.append((np.column_stack(cells)[known], frame.units.query[known]))
    sums = np.concatenate([each for each, _ in counts] or [np.zeros((0, 4), bool)]).astype(float)
    queries = np.concatenate([each for _, each in counts] or [np.zeros(0, np.int64)])
    if not len(sums):
        return tuple(missing(f"no person and {judge} rated the same passage") for _ in range(4))
    options = data.material.options
    bootstrap = Bootstrap(Tally.of_sums(sums, queries), options.resamples, options.seed)
    # Hits over all the judge's labels, and over all people's labels, on either side.
    over = ((0, (0, 2)), (0, (0, 1)), (3, (1, 3)), (3, (2, 3)))
    return tuple(
        as_cell(
            bootstrap.estimate(
                partial(_rate, hit, under), len(sums), "people's ratings as truth", "no such rating"
            )
        )
        for hit, under in over
    )


def _rate(hit: int, under: tuple[int, int], sums: Floats) -> Value:
    return unbatch(ratio(sums[..., hit], sums[..., under[0]] + sums[..., under[1]]))
