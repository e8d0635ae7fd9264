"""The tables of CRUX (Ju and others 2025): contexts beside the reports written from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from analysis.evaluation.inputs import PEOPLE, system_of
from analysis.evaluation.passages import report_parts
from analysis.papers.base import (
    Cell,
    Column,
    Grid,
    Paper,
    PaperTable,
    Printed,
    as_cell,
    empty,
    missing,
    percent,
    plain,
)
from analysis.papers.coverage import (
    DEN,
    NO_CONTEXT,
    NO_REPORT,
    RATED,
    DataSet,
    Values,
    data_sets,
)
from analysis.papers.material import Material, judges, labels_by, persons
from tandem.scores.base import values_of
from tandem.scores.contexts import members, required_subset
from tandem.scores.coverage import ALPHA_NDCG, COV, REPORT_COVERAGE, REPORT_DENSITY
from tandem.scores.options import PRESETS, Options
from tandem.scores.tokenizer import tokenizer
from tandem.statistics import (
    SHARE,
    Bools,
    Bootstrap,
    Floats,
    Tally,
    Value,
    correlation_estimates,
    mean_by_cluster,
)
from tandem.statistics.arrays import ratio, unbatch
from tandem.types import JSON

OPTIONS = PRESETS["crux"]
ETAS = (3.0, 5.0)
SIZES: tuple[tuple[str, int | None], ...] = (("oracle's size", None), ("10", 10), ("20", 20))
NOTHING = "the study has no campaign of rubric-passage and none of report-coverage"
TAU_ROW = "Kendall's τ with Cov(y), or Den(y)"
COLUMNS = (COV.name, ALPHA_NDCG.name, REPORT_COVERAGE.name, DEN.name, REPORT_DENSITY.name)
HEADS = ("Cov(Z)", "α-nDCG", "Cov(y)", "Den(Z)", "Den(y)")
OF_REPORTS = (REPORT_COVERAGE.name, REPORT_DENSITY.name)
PARTNERS = {COV.name: OF_REPORTS[0], ALPHA_NDCG.name: OF_REPORTS[0], DEN.name: OF_REPORTS[1]}
NOBODY = ""
"""In place of a judge's name, where no judge says which questions count."""
MATRIX = ("Cov", "Recall", "MAP", "nDCG", "alpha_nDCG", "Cov(y)")
MATRIX_HEADS = ("Cov(Z)", "Recall", "MAP", "nDCG", "α-nDCG", "Cov(y)")
NO_SAMPLED = (
    "no report was written from sampled contexts: derive a batch by sampled-contexts, and label "
    "its reports in a campaign of report-coverage"
)


def _evaluators(sets: Sequence[DataSet]) -> list[str]:
    found = dict.fromkeys(by for each in sets for by in each.evaluators)
    return sorted(found, key=lambda by: by != PEOPLE)


def _named(sets: Sequence[DataSet], data: DataSet, head: str) -> str:
    return head if len(sets) == 1 else f"{data.name}: {head}"


def table_1(material: Material) -> list[Grid]:
    """Context and result measures of each setting, by people and by each judge."""
    sets = data_sets(material)
    columns = [percent(_named(sets, data, head)) for data in sets for head in HEADS]
    if not columns:
        return [empty("By people", [percent(head) for head in HEADS], NOTHING)]
    references = list(dict.fromkeys(s for data in sets for s in data.references))
    settings = list(dict.fromkeys(s for data in sets for s in data.settings))
    systems = [*references, *settings]
    found = []
    for by in _evaluators(sets):
        rows = [
            (system, tuple(cell for data in sets for cell in _row(data, by, system)))
            for system in systems
        ]
        taus = tuple(cell for data in sets for cell in _taus(data, by))
        found.append(Grid(f"By {by}", tuple(columns), (*rows, (TAU_ROW, taus)), apart=1))
    return found


def _values(data: DataSet, by: str, options: Options = OPTIONS) -> dict[str, Values]:
    return {**data.of_contexts(by, options), **data.of_reports(by, options)}


def _row(data: DataSet, by: str, system: str) -> Iterator[Cell]:
    found = _values(data, by)
    for name in COLUMNS:
        without = NO_REPORT if name in OF_REPORTS else NO_CONTEXT
        yield found[name].cell(system, data.numbers, data.material, without)


def _taus(data: DataSet, by: str) -> Iterator[Cell]:
    found = _values(data, by)
    for name in COLUMNS:
        if name in PARTNERS:
            yield _unscaled(data.tau(found[name], found[PARTNERS[name]], data.settings))
        else:
            yield ""


def _unscaled(cell: JSON) -> JSON:
    """Return a correlation for a percent column, to be printed unscaled."""
    return {**cell, "scale": 1.0, "digits": 3}


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
    return _column_means(np.array([*tables, nobody]))


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


def table_2(material: Material) -> list[Grid]:
    """Mean and deviation over settings of Cov(y) and Cov(Z) at each threshold, and τ."""
    columns = (
        percent("Cov(y)"),
        percent("SD of Cov(y)"),
        percent("Cov(Z)"),
        percent("SD of Cov(Z)"),
        Column("τ"),
    )
    found = []
    for data in data_sets(material):
        for by in data.evaluators:
            rows = tuple((f"η = {eta:g}", _threshold_row(data, by, eta)) for eta in ETAS)
            found.append(Grid(f"{data.name}, by {by}", columns, rows, stub="Threshold"))
    return found or [empty("By threshold", columns, NOTHING, "Threshold")]


def _threshold_row(data: DataSet, by: str, eta: float) -> tuple[Cell, ...]:
    options = replace(OPTIONS, eta=eta)
    contexts = data.of_contexts(by, options)[COV.name]
    reports = data.of_reports(by, options)[REPORT_COVERAGE.name]
    part = data.report_part(by, options)
    if part is not None and part.suffix != RATED and eta != OPTIONS.eta:
        reason = f"{by} said yes or no about reports, which no other threshold can cut"
        reports = Values(REPORT_COVERAGE, reason=reason)
    cells = [cell for of in (reports, contexts) for cell in _over_settings(data, of)]
    return (*cells, data.tau(contexts, reports, data.settings))


def _over_settings(data: DataSet, values: Values) -> Iterator[Cell]:
    table = values.table(data.settings) if data.settings else None
    reason = values.why(data.settings)
    if table is None or reason:
        cell = missing(reason or "a setting has no context or no report")
        yield from (cell, cell)
        return
    queries = np.repeat(data.numbers, table.shape[1])
    yield as_cell(mean_by_cluster(table.ravel(), queries, "mean over settings and queries", SHARE))
    means = _column_means(table)
    if len(means) < 2:
        yield missing("one retrieval setting has no deviation")
    else:
        yield plain(float(np.std(means, ddof=1)), len(means), "deviation of the settings' means")


def _column_means(table: Floats) -> Floats:
    return ratio(np.nansum(table, axis=0), np.isfinite(table).sum(axis=0).astype(float))


def table_3(material: Material) -> list[Grid]:
    """Kendall's τ of each measure of contexts with Cov(y), and of densities, by size."""
    names = (COV.name, ALPHA_NDCG.name, "Recall", "MAP", "nDCG")
    heads = ("Cov(Z)", "α-nDCG", "Recall", "MAP", "nDCG")
    columns = (*(Column(f"{head} – Cov(y)") for head in heads), Column("Den(Z) – Den(y)"))
    sets = data_sets(material)
    found = []
    for by in _evaluators(sets):
        rows = []
        for data in sets:
            reports = data.of_reports(by, OPTIONS)
            for label, size in SIZES:
                contexts = data.of_contexts(by, OPTIONS, size, is_cut=True)
                covered, dense = (reports[name] for name in OF_REPORTS)
                pairs = [
                    *((contexts[name], covered) for name in names),
                    (contexts[DEN.name], dense),
                ]
                cells = tuple(data.tau(one, other, data.settings) for one, other in pairs)
                rows.append((f"{data.name} · {label}", cells))
        found.append(Grid(f"By {by}", columns, tuple(rows), stub="Data set · passages"))
    return found or [empty("By size of the context", columns, NOTHING, "Data set · passages")]


def figure_5(material: Material) -> list[Grid]:
    """Matrix of τ among measures over sampled contexts."""
    written = data_sets(material, sampled=True)
    found = [_written_matrix(data, by) for data in written for by in data.evaluators]
    if not found:
        found = [grid for data in data_sets(material) for grid in _sampled_matrices(data)]
    columns = tuple(map(Column, MATRIX_HEADS))
    return found or [empty("Over sampled contexts", columns, NOTHING, "Measure")]


def _written_matrix(data: DataSet, by: str) -> Grid:
    """Return τ over sampled contexts from which reports were written."""
    values = _values(data, by)
    cells = {
        (a, b): data.tau(values[a], values[b], data.settings)
        for n, a in enumerate(MATRIX)
        for b in MATRIX[n + 1 :]
    }
    return _matrix(f"{data.name}, by {by}", cells, f"{len(data.settings)} sampled contexts")


def _sampled_matrices(data: DataSet) -> Iterator[Grid]:
    """Yield τ over contexts sampled here from the rated passages, without reports."""
    if data.passages is None:
        return
    sampled = data.material.measures(data.passages)["sampled"]
    for by in data.evaluators:
        taus = {
            (pair["a"], pair["b"]): pair["kendall"]
            for pair in sampled.get(data.rater_of_passages(by), ())
        }
        cells = {
            (a, b): taus.get((a, b), taus.get((b, a), missing(data.no_ratings(by))))
            for n, a in enumerate(MATRIX)
            for b in MATRIX[n + 1 :]
            if b != REPORT_COVERAGE.name
        }
        yield _matrix(f"{data.name}, by {by}", cells, f"{OPTIONS.samples} contexts drawn here")


def _matrix(caption: str, cells: dict[tuple[str, str], JSON], how: str) -> Grid:
    rows = []
    for a, head in zip(MATRIX, MATRIX_HEADS, strict=True):
        row: list[Cell] = [
            "" if a == b else cells.get((a, b), cells.get((b, a), missing(NO_SAMPLED)))
            for b in MATRIX
        ]
        rows.append((head, tuple(row)))
    columns = tuple(map(Column, MATRIX_HEADS))
    return Grid(f"{caption}: {how}", columns, tuple(rows), stub="Measure")


def table_4(material: Material) -> list[Grid]:
    """Statistics of each data set."""
    sets = data_sets(material)
    columns = tuple(Column(data.name, digits=1) for data in sets)
    if not columns:
        return [empty("Statistics", (Column("Value"),), NOTHING, "Statistic")]
    by_set = [dict(_statistics(data)) for data in sets]
    rows = tuple((name, tuple(found[name] for found in by_set)) for name in by_set[0])
    return [Grid("Statistics of the data set", columns, rows, stub="Statistic")]


def _statistics(data: DataSet) -> Iterator[tuple[str, Cell]]:
    queries, count = data.queries, tokenizer(OPTIONS.tokenizer).count
    passages = {passage.id: passage.text for query in queries for passage in query.passages}
    texts = {
        "query": [query.text for query in queries],
        "question": [question.text for query in queries for question in query.questions],
        "passage": list(passages.values()),
        "reference": [reference.text for query in queries for reference in query.references],
    }
    yield "queries", len(queries)
    yield "passages", len(passages)
    for name, of in texts.items():
        value = float(np.mean([count(text) for text in of])) if of else None
        method = f"mean length in tokens ({OPTIONS.tokenizer})"
        yield f"tokens per {name}", plain(value, len(of), method, f"the batch has no {name}")
    by = next(iter(data.evaluators), PEOPLE)
    required, redundant = _required_and_redundant(data, by)
    yield f"required passages per query, by {by}", required
    yield f"redundant relevant passages per query, by {by}", redundant


def _required_and_redundant(data: DataSet, by: str) -> tuple[Cell, Cell]:
    """Return the mean size of P**, and how many other passages answer a counted question."""
    rated = data.passage_ratings(by)
    if rated is None:
        cell = missing(data.no_ratings(by))
        return cell, cell
    oracle = data.oracle(by, OPTIONS)
    assert oracle is not None
    found = oracle.answers
    relevant = found.yes.any(axis=2)
    # All passages are candidates here, since the oracle context may hold only required ones.
    every = found.passages | members(oracle.oracle, found.passages.shape[1])
    required = required_subset(found, every)
    sizes = required.sum(axis=1).astype(float), (relevant & ~required).sum(axis=1).astype(float)
    first, second = (
        as_cell(mean_by_cluster(each, data.numbers, "mean over queries")) for each in sizes
    )
    return first, second


PAPER = Paper(
    "crux",
    "CRUX",
    "Ju and others 2025",
    (
        PaperTable(
            "table-1",
            "Table 1",
            "Contexts and the reports written from them. People say yes or no about reports, and "
            "judges rate them; questions count if an oracle passage answers them.",
            table_1,
            data_released=False,
        ),
        PaperTable(
            "figure-4",
            "Figure 4 and section 4.3",
            "Coverage of each report by a judge and by each person, over the sub-questions that "
            "are answerable by the judge, and their agreement.",
            figure_4,
            (Printed("Fleiss' κ", "Value", 0.52),),
        ),
        PaperTable(
            "table-2",
            "Table 2",
            "Thresholds of answerability: means over retrieval settings and their deviation.",
            table_2,
            (
                Printed("η = 3", "Cov(y)", 50.1),
                Printed("η = 3", "Cov(Z)", 40.4),
                Printed("η = 3", "τ", 0.676),
                Printed("η = 5", "Cov(y)", 42.6),
                Printed("η = 5", "Cov(Z)", 35.6),
                Printed("η = 5", "τ", 0.562),
            ),
            data_released=False,
        ),
        PaperTable(
            "table-3",
            "Table 3",
            "Kendall's τ over retrieval settings. Rankings are cut at each size; the reports stay "
            "those that the study has.",
            table_3,
            data_released=False,
        ),
        PaperTable(
            "figure-5",
            "Figure 5",
            "Kendall's τ among measures over sampled contexts.",
            figure_5,
            data_released=False,
        ),
        PaperTable("table-4", "Table 4", "Statistics of the data sets.", table_4),
    ),
    "The paper's generation settings (temperature, prompts) cannot be computed from labels.",
)
