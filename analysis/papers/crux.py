"""The tables of CRUX (Ju and others 2025): contexts beside the reports written from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.evaluation.inputs import PEOPLE
from analysis.papers.base import (
    Cell,
    Column,
    Grid,
    Paper,
    PaperTable,
    PrintedTable,
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
    YES_NO_ETA,
    DataSet,
    Values,
    column_means,
    data_sets,
)
from analysis.papers.crux_agreement import figure_4, table_5
from analysis.papers.material import Material
from tandem.scores.contexts import members, required_subset
from tandem.scores.coverage import ALPHA_NDCG, COV, REPORT_COVERAGE, REPORT_DENSITY
from tandem.scores.options import tokenizer
from tandem.statistics import (
    SHARE,
    mean_by_cluster,
)
from tandem.types import JSON

ETAS = (YES_NO_ETA, 5.0)
SIZES: tuple[tuple[str, int | None], ...] = (("oracle's size", None), ("10", 10), ("20", 20))
NOTHING = "the study has no campaign of rubric-passage and none of report-coverage"
TAU_ROW = "Kendall's τ with Cov(y), or Den(y)"
COLUMNS = (COV.name, ALPHA_NDCG.name, REPORT_COVERAGE.name, DEN.name, REPORT_DENSITY.name)
HEADS = ("Cov(Z)", "α-nDCG", "Cov(y)", "Den(Z)", "Den(y)")
OF_REPORTS = (REPORT_COVERAGE.name, REPORT_DENSITY.name)
PARTNERS = {COV.name: OF_REPORTS[0], ALPHA_NDCG.name: OF_REPORTS[0], DEN.name: OF_REPORTS[1]}
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
        data = sets[0].name if len(sets) == 1 else ""
        grid = Grid(f"By {by}", tuple(columns), (*rows, (TAU_ROW, taus)), apart=1, by=by, data=data)
        found.append(grid)
    return found


def _values(data: DataSet, by: str) -> dict[str, Values]:
    return {**data.of_contexts(by, data.options), **data.of_reports(by, data.options)}


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
            head: Any = {"by": by, "data": data.name, "settings": len(data.settings)}
            caption = f"{data.name}, by {by}"
            found.append(Grid(caption, columns, rows, stub="Threshold", **head))
    return found or [empty("By threshold", columns, NOTHING, "Threshold")]


def _threshold_row(data: DataSet, by: str, eta: float) -> tuple[Cell, ...]:
    options = replace(data.options, eta=eta)
    contexts = data.of_contexts(by, options)[COV.name]
    reports = data.of_reports(by, options)[REPORT_COVERAGE.name]
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
    means = column_means(table)
    if len(means) < 2:
        yield missing("one retrieval setting has no deviation")
    elif not np.isfinite(means).all():
        yield missing("a setting has no query with a value")
    else:
        yield plain(float(np.std(means, ddof=1)), len(means), "deviation of the settings' means")


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
            reports = data.of_reports(by, data.options)
            for label, size in SIZES:
                contexts = data.of_contexts(by, data.options, size, is_cut=True)
                covered, dense = (reports[name] for name in OF_REPORTS)
                pairs = [
                    *((contexts[name], covered) for name in names),
                    (contexts[DEN.name], dense),
                ]
                cells = tuple(data.tau(one, other, data.settings) for one, other in pairs)
                rows.append((f"{data.name} · {label}", cells))
        found.append(Grid(f"By {by}", columns, tuple(rows), stub="Data set · passages", by=by))
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
    return _matrix(data, by, cells, len(data.settings), "sampled contexts")


def _sampled_matrices(data: DataSet) -> Iterator[Grid]:
    """Yield τ over contexts sampled here from the rated passages, without reports."""
    if data.passages is None:
        return
    sampled = data.material.sampled(data.passages)
    for by in data.evaluators:
        taus = {(pair["a"], pair["b"]): pair["kendall"] for pair in sampled.get(by, ())}
        cells = {
            (a, b): taus.get((a, b), taus.get((b, a), missing(data.no_ratings(by))))
            for n, a in enumerate(MATRIX)
            for b in MATRIX[n + 1 :]
            if b != REPORT_COVERAGE.name
        }
        yield _matrix(data, by, cells, data.options.samples, "contexts drawn here")


def _matrix(
    data: DataSet, by: str, cells: dict[tuple[str, str], JSON], number: int, how: str
) -> Grid:
    rows = []
    for a, head in zip(MATRIX, MATRIX_HEADS, strict=True):
        row: list[Cell] = [
            "" if a == b else cells.get((a, b), cells.get((b, a), missing(NO_SAMPLED)))
            for b in MATRIX
        ]
        rows.append((head, tuple(row)))
    columns = tuple(map(Column, MATRIX_HEADS))
    caption = f"{data.name}, by {by}: {number} {how}"
    return Grid(
        caption, columns, tuple(rows), stub="Measure", by=by, data=data.name, settings=number
    )


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
    queries, counting = data.queries, tokenizer(data.options.tokenizer)
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
        value = float(np.mean([counting.count(text) for text in of])) if of else None
        method = f"mean length in tokens ({counting.name})"
        yield f"tokens per {name}", plain(value, len(of), method, f"the batch has no {name}")
    by = next(iter(data.evaluators), PEOPLE)
    required, redundant = _required_and_redundant(data, by)
    yield f"required passages, by {by}", required
    yield f"redundant relevant passages, by {by}", redundant


def _required_and_redundant(data: DataSet, by: str) -> tuple[Cell, Cell]:
    """Return how many passages are in P**, and how many others answer a counted question.

    Both are totals over queries, as in the paper.
    """
    rated = data.passage_ratings(by)
    if rated is None:
        cell = missing(data.no_ratings(by))
        return cell, cell
    oracle = data.oracle(by, data.options)
    assert oracle is not None
    found = oracle.answers
    relevant = found.yes.any(axis=2)
    # All passages are candidates here, since the oracle context may hold only required ones.
    every = found.passages | members(oracle.oracle, found.passages.shape[1])
    required = required_subset(found, every)
    return int(required.sum()), int((relevant & ~required).sum())


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
            (
                PrintedTable(
                    "1",
                    columns={"alpha-nDCG": "α-nDCG"},
                    rows={
                        "(#1) Direct prompting": "direct",
                        "(#2) Oracle result": "reference",
                        "(#3) Oracle retrieval": "oracle",
                        "Kendall tau with the result": TAU_ROW,
                    },
                ),
            ),
            data_released=False,
        ),
        PaperTable(
            "figure-4",
            "Figure 4 and section 4.3",
            "Coverage of each report by a judge and by each person, over the sub-questions that "
            "are answerable by the judge, and their agreement.",
            figure_4,
            (
                PrintedTable(
                    "text",
                    "{what}",
                    {"value": "Value"},
                    {"Fleiss kappa, task 1": "Fleiss' κ"},
                ),
            ),
        ),
        PaperTable(
            "table-2",
            "Table 2",
            "Thresholds of answerability: means over retrieval settings and their deviation. The "
            "printed table is by the paper's LLM, and its headings are swapped: over the 21 "
            "settings of the printed Table 1, Cov(Z) is 50.14 on average (SD 3.50), and Cov(y) "
            "40.37 (SD 3.04). So a printed figure stands here beside the measure that it is of; at "
            "η = 5 the paper gives no means to check this.",
            table_2,
            (
                PrintedTable(
                    "2",
                    "η = {threshold}",
                    {
                        "Cov(y) mean": "Cov(Z)",
                        "Cov(y) SD": "SD of Cov(Z)",
                        "Cov(Z) mean": "Cov(y)",
                        "Cov(Z) SD": "SD of Cov(y)",
                        "Kendall tau": "τ",
                    },
                ),
            ),
            data_released=False,
        ),
        PaperTable(
            "table-3",
            "Table 3",
            "Kendall's τ over retrieval settings. Rankings are cut at each size; the reports stay "
            "those that the study has.",
            table_3,
            (
                PrintedTable(
                    "3",
                    "{k}",
                    {
                        **{
                            name: f"{name} – Cov(y)" for name in ("Cov(Z)", "Recall", "MAP", "nDCG")
                        },
                        "alpha-nDCG": "α-nDCG – Cov(y)",
                        "Den(Z)": "Den(Z) – Den(y)",
                    },
                    {"oracle size": SIZES[0][0]},
                    set="set",
                    data_in_row=True,
                ),
            ),
            data_released=False,
        ),
        PaperTable(
            "figure-5",
            "Figure 5",
            "Kendall's τ among measures over sampled contexts.",
            figure_5,
            (
                PrintedTable(
                    "F5",
                    "{measure}",
                    {"with Cov(y)": "Cov(y)", "with Cov(Z)": "Cov(Z)"},
                    {"alpha-nDCG": "α-nDCG"},
                ),
            ),
            data_released=False,
        ),
        PaperTable(
            "table-4",
            "Table 4",
            "Statistics of the data sets. Required and redundant passages are totals over queries, "
            "as in print; the printed lengths are in tokens of Llama 3.1 (option tokenizer).",
            table_4,
            (
                PrintedTable(
                    "4",
                    "{what}",
                    rows={
                        "tokens per sub-question": "tokens per question",
                        "tokens per oracle result": "tokens per reference",
                    },
                    data_in_columns=True,
                ),
            ),
        ),
        PaperTable(
            "table-5",
            "Table 5",
            "One query, named by the option query: its sub-questions, of which those that no "
            "oracle passage answers are dropped; its rated passages by the number of "
            "sub-questions that they answer, with the new ones, and whether they are required; "
            "and its reports.",
            table_5,
            data_released=False,
        ),
    ),
    "The paper's generation settings (temperature, prompts) cannot be computed from labels.",
    ("contexts", "reports", "report-densities", "rankings"),
    ("samples", "query"),
)
