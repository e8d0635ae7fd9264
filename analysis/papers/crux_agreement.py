"""Figure 4 and section 4.3 of CRUX: how judges agree with people on reports and on passages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from analysis.evaluation.inputs import PEOPLE, system_of
from analysis.evaluation.passages import report_parts
from analysis.papers.base import Column, Grid, as_cell, empty, missing, percent, plain
from analysis.papers.coverage import YES_NO_ETA, DataSet, column_means, data_sets, holds
from analysis.papers.crux_thresholds import threshold_grids
from analysis.papers.material import Material, persons
from tandem.scores.base import values_of
from tandem.scores.coverage import REPORT_COVERAGE
from tandem.statistics import FLEISS, Floats, correlation_estimates
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
