"""The report of measures as tables, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from analysis.evaluation.csv_file import as_csv
from analysis.evaluation.inputs import JOINT_EVALUATORS, JUDGE, MEAN_OF_PEOPLE, PEOPLE, TEXTS
from analysis.evaluation.methods import methods_section
from analysis.evaluation.slicing import slice_sections
from tandem.document import (
    DASH,
    Block,
    Cell,
    Document,
    Format,
    Number,
    RaterName,
    Section,
    Table,
    computed_by,
    in_noun,
)
from tandem.formats.html import as_json
from tandem.formats.latex import sections_as_latex
from tandem.formats.markdown import sections_as_markdown
from tandem.labels.evaluators import kinds_by_name
from tandem.labels.reference import HUMAN
from tandem.sections.exposure import NOT_EXPOSED, describe_exposed
from tandem.types import JSON

NO_VALUE = "no value here"
NO_TEST = "not tested: people's joint labels are tested instead"
TITLES = {
    PEOPLE: "Under people together",
    MEAN_OF_PEOPLE: "Under the mean of people",
    TEXTS: "From the batch alone",
    JUDGE: "Under the judge {}, uncorrected",
    "powered": "People and {} together (prediction-powered)",
    "reference": "Under the reference {}",
    HUMAN: "Under {}",
}
SIGNS: dict[str, str] = {PEOPLE: HUMAN, MEAN_OF_PEOPLE: HUMAN, "powered": JUDGE, TEXTS: ""}
NO_LABELS = "no labels here"
RANKS = "Do evaluators order the systems alike?"
WITH_PEOPLE = {
    "tau_ap": "tau_AP of the systems' means, people's order as the reference",
    "kendall_within": "Kendall's tau-b within queries with people's order, mean of queries",
    "tau_ap_within": "tau_AP within queries, people's order as the reference, mean of queries",
}
COMPARED = "Measures compared with each other"
#: With more systems than this, pairs are only in JSON and CSV.
MOST_PAIRED = 6
ERRORS = {
    "Brier score": "brier",
    "Expected calibration error": "expected_calibration_error",
}
CUT = ("Kept", "Share", "False discovery rate", "False positive rate")


def board_sections(report: JSON) -> list[Section]:
    """Return the system rankings. Single people appear only under their measures."""
    blocks = tuple(block for board in shown_boards(report) for block in _blocks(report, board))
    return [Section("System rankings", blocks, _about(report))] if blocks else []


def shown_boards(report: JSON) -> list[JSON]:
    """Return all boards except those of single people, unless there are no others."""
    boards: list[JSON] = report["leaderboard"]["boards"]
    return [each for each in boards if each["kind"] != HUMAN] or boards


def _about(report: JSON) -> str:
    exposed = report.get("exposed", NOT_EXPOSED)
    marked = f"{in_noun(describe_exposed(exposed))}. " if exposed["labels"] else ""
    return f"{marked}{_letters(report)}"


def _letters(report: JSON) -> str:
    percent = f"{100 * report['leaderboard']['level']:g} %"
    return (
        "The letters after a number are the systems over which it is significantly higher, at "
        f"{percent}, adjusted over all pairs of systems of the measure (Holm). The test is t by "
        "query, like the intervals of differences, which have the adjusted level. Higher is "
        "not always better. Cuts of rankings are not tested, and neither is the oracle by "
        "measures relative to it."
    )


def _blocks(report: JSON, board: JSON) -> Iterator[Block]:
    title, kind = title_of(board)
    tables = tuple(board_table(report, board, cut) for cut in cuts_of(report, board))
    if tables:
        yield Block(title, tables, describe_test(board), kind)


def describe_test(board: JSON) -> str:
    """Describe the test of a board's systems."""
    return f"tested by {board['test']}" if board["test"] else NO_TEST


def title_of(board: JSON) -> tuple[str, str]:
    """Return a board's title, and the sign of its evaluator."""
    kind: str = board["kind"]
    return TITLES.get(kind, "{}").format(board["by"]), SIGNS.get(kind, kind)


def cuts_of(report: JSON, board: JSON) -> list[str]:
    """Return the cuts of a board's measures, in order; empty for whole rankings."""
    names = dict.fromkeys(name for row in board["systems"].values() for name in row)
    return list(dict.fromkeys(report["measures"][name]["cut"] for name in names))


def board_table(report: JSON, board: JSON, cut: str) -> Table:
    """Return a board at a cut."""
    letters, measures = report["leaderboard"]["letters"], report["measures"]
    there = {name for row in board["systems"].values() for name in row}
    names = [name for name, of in measures.items() if name in there and of["cut"] == cut]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (f"{letters[system]}  {system or DASH}", *(_number(row.get(n), letters) for n in names))
        for system, row in board["systems"].items()
        if any(name in row for name in names)
    )
    caption = f"Systems, rankings cut {_describe_cut(cut)}" if cut else "Systems"
    return Table(caption, ("System", *names), rows)


def _describe_cut(cut: str) -> str:
    at = cut.removeprefix("@")
    return "at the size of the oracle context" if at == "oracle" else f"at {at}"


def _number(cell: JSON | None, letters: JSON) -> Number:
    if cell is None:
        return Number(None, reason=NO_VALUE)
    above = tuple(letters[system] for system in cell["higher_than"] or ())
    return replace(Number.from_estimate(cell), above=above)


def rank_sections(report: JSON, with_evaluators: bool = True) -> list[Section]:
    """Return whether people and judges order the systems alike, also by two forms of a measure.

    A page that shows the evaluators as matrices needs no tables of them.
    """
    beside: list[tuple[Cell, ...]] = []
    squares: dict[tuple[str, ...], list[tuple[Cell, ...]]] = {}
    for name, of in report["measures"].items():
        if with_evaluators and of["evaluators"]:
            names = tuple(of["evaluator_matrix"]["evaluators"])
            squares.setdefault(names, []).extend(_square(name, names, of["evaluators"]))
        beside += [
            (f"{name} – {pair['form']}", *_pair(pair), Number.from_estimate(pair["spearman"]))
            for pair in of["forms"]
        ]
    weighted = [
        table
        for key, caption in WITH_PEOPLE.items()
        for table in _with_people(report, key, caption)
    ]
    if not squares and not beside and not weighted:
        return []
    tables = [
        Table(
            "Kendall's tau-b of the systems' means", ("Measure", "Evaluator", *names), tuple(rows)
        )
        for names, rows in squares.items()
    ]
    tables += weighted
    if beside:
        about = (
            "By two forms of a measure: tau of the systems' means, Spearman of all reports, query "
            "difficulty included"
        )
        header = ("Measure", "Evaluators", "tau", "Spearman")
        tables.append(Table(about, header, tuple(beside)))
    about = (
        "Of means, this needs six systems besides the oracle; within queries, three. Whole queries "
        "are resampled; if queries have splits, only evaluation queries."
    )
    return [Section(RANKS, (Block("", tuple(tables)),), about)]


def _with_people(report: JSON, key: str, caption: str) -> Iterator[Table]:
    """Yield a correlation of each judge's order with people's, a table for the same evaluators."""
    rows: dict[tuple[str, ...], list[tuple[Cell, ...]]] = {}
    for name, of in report["measures"].items():
        found = {
            pair["b"] if pair["a"] == PEOPLE else pair["a"]: Number.from_estimate(pair[key])
            for pair in of["evaluators"]
            if PEOPLE in (pair["a"], pair["b"]) and key in pair
        }
        if found:
            rows.setdefault(tuple(found), []).append((name, *found.values()))
    for names, of_measures in rows.items():
        yield Table(caption, ("Measure", *names), tuple(of_measures))


def _square(measure: str, names: tuple[str, ...], pairs: list[JSON]) -> Iterator[tuple[Cell, ...]]:
    """Yield a row for each evaluator with its taus; blank with itself and with its own people."""
    taus = {
        frozenset((pair["a"], pair["b"])): Number.from_estimate(pair["kendall"]) for pair in pairs
    }
    for one in names:
        yield measure, one, *(taus.get(frozenset((one, other)), Number(None)) for other in names)


def _pair(pair: JSON) -> tuple[Cell, Cell]:
    return f"{pair['a']} – {pair['b']}", Number.from_estimate(pair["kendall"])


def document(report: JSON, with_slices: bool = False) -> Document:
    """Return the report in reading order: rankings, methods, measures, options.

    Slices are included on request, since they are many. Single people's values of cuts are only in
    the complete files.
    """
    kinds = kinds_by_name(report)
    measured = [
        _measure(name, of, kinds) for name, of in report["measures"].items() if not of["cut"]
    ]
    about = " · ".join(
        (
            report["protocol"],
            report["batch"],
            f"{report['queries']} queries",
            f"options of {report['preset']}",
            f"seed {report['seed']}",
            "intervals are 95 %",
        )
    )
    made = f"{computed_by(report)}, {report['generated_at']}"
    beside = (
        *(slice_sections(report) if with_slices else ()),
        *_thresholds(report),
        *_references(report),
        *_metrics(report),
        *_scores(report),
        _options(report),
    )
    front = (
        *_warnings(report),
        *board_sections(report),
        *rank_sections(report),
        methods_section(report),
    )
    return Document(report["campaign"], about, made, (*front, *measured, *beside))


def texts_document(report: JSON) -> Document:
    """Return the measures of a batch without labels, each with its systems."""
    measured = tuple(
        _measure(name, of, {}) for name, of in report["measures"].items() if not of["cut"]
    )
    return Document(report["batch"], "", "", (*rank_sections(report), *measured))


def _warnings(report: JSON) -> list[Section]:
    texts = tuple(warning["text"] for warning in report["warnings"])
    return [Section("Warnings", (), points=texts)] if texts else []


def _measure(name: str, of: JSON, kinds: dict[str, str]) -> Section:
    tables = [_systems("By system", of["systems"], kinds)]
    if len(of["systems"]) <= MOST_PAIRED:
        tables += [_settings(rater, pairs) for rater, pairs in of["settings"].items()]
    about = f"{of['summary']} {of['citation']}.{_made_of(of)}"
    return Section(name, (Block("", tuple(tables)),), about)


def _made_of(of: JSON) -> str:
    """Name the judge of each variable that an evaluator's values are made of."""
    return "".join(
        f" By {evaluator}: {', '.join(f'{name} of {judge}' for name, judge in judges.items())}."
        for evaluator, judges in of.get("judgements", {}).items()
    )


def _systems(caption: str, systems: JSON, kinds: dict[str, str]) -> Table:
    together = [each for each in JOINT_EVALUATORS if any(of.get(each) for of in systems.values())]
    raters = list(dict.fromkeys(r for of in systems.values() for r in of["raters"]))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            system or DASH,
            *(_printed_number(of.get(each)) for each in together),
            *(_printed_number(of["raters"].get(rater)) for rater in raters),
        )
        for system, of in systems.items()
    )
    header: tuple[str | RaterName, ...] = ("System", *(JOINT_EVALUATORS[each] for each in together))
    header += tuple(RaterName(r, kinds.get(r, "")) for r in raters)
    return Table(caption, header, rows)


def _printed_number(estimate: JSON | None) -> Number:
    return Number(None, reason=NO_LABELS) if estimate is None else Number.from_estimate(estimate)


def _settings(rater: str, pairs: list[JSON]) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            f"{each['a'] or DASH} – {each['b'] or DASH}",
            Number.from_estimate(each["difference"]),
            Number.p(each["p_value"], each.get("reason", "")),
            Number.p(each["adjusted_p_value"], each.get("reason", "")),
            Number.p(each["wilcoxon"]["p_value"], each["wilcoxon"].get("reason", "")),
        )
        for each in pairs
    )
    header = ("Systems", "Difference", "p, paired t", "p after Holm", "p, Wilcoxon")
    return Table(f"Systems on the same queries, by {rater}", header, rows)


def _thresholds(report: JSON) -> list[Section]:
    """Return the coverage of contexts and of reports at each threshold."""
    header = ("From", "Questions", "Cov(Z)", "Cov(y)", "Kendall")
    estimates = ("context", "report", "kendall")
    tables = tuple(
        Table(
            f"Reports as rated by {rater}",
            header,
            tuple(
                (
                    f"{row['eta']:g}",
                    row["questions"],
                    *(Number.from_estimate(row["estimates"][name]) for name in estimates),
                )
                for row in rows
            ),
        )
        for rater, rows in report["thresholds"].items()
    )
    return [Section("Thresholds", (Block("", tables),))] if tables else []


def _references(report: JSON) -> list[Section]:
    """Return CRUX's measures of the oracle context and of its required subset."""
    tables = tuple(
        Table(
            f"By the ratings of {rater}",
            ("Context", *of["oracle"]),
            tuple(
                (name, *(Number.from_estimate(each) for each in of[name].values()))
                for name in ("oracle", "required")
            ),
        )
        for rater, of in report["reference_contexts"].items()
    )
    return [Section("Oracle and required contexts", (Block("", tables),))] if tables else []


def _metrics(report: JSON) -> list[Section]:
    """Return the rank correlations of the context measures, over systems and sampled contexts."""
    tables = tuple(
        _printed_orders(f"Kendall's tau-b of the {what}, by {rater}", pairs)
        for key, what in (("metrics", "systems"), ("sampled", "sampled contexts"))
        for rater, pairs in report[key].items()
    )
    return [Section(COMPARED, (Block("", tables),))] if tables else []


def _printed_orders(caption: str, pairs: list[JSON]) -> Table:
    rows = tuple(
        (f"{each['a']} – {each['b']}", Number.from_estimate(each["kendall"])) for each in pairs
    )
    return Table(caption, ("Measures", "Kendall"), rows)


def _scores(report: JSON) -> list[Section]:
    """Return people's cuts of key-point scores, calibration, and each rater's chosen cut."""
    scores = report["key_point_scores"]
    if not scores:
        return []
    cuts = tuple((f"{each['threshold']:g}", *_cut(each)) for each in scores["cuts"])
    table = Table("Cuts of the key-point score, by people", ("Score from", *CUT), cuts)
    return [Section("Key-point scores", (Block("", (table, _curve(scores), _by_rater(report))),))]


def _cut(cut: JSON) -> tuple[Cell, ...]:
    rates = (
        Number.from_estimate(cut["false_discovery_rate"]),
        Number.from_estimate(cut["false_positive_rate"]),
    )
    return cut["kept"], Number(cut["share"]), *rates


def _curve(scores: JSON) -> Table:
    """Return the calibration curve, with the two errors that summarise it."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (f"{each['probability']:.3f}", each["units"], Number.from_estimate(each["share"]))
        for each in scores["reliability"]
    )
    errors: tuple[tuple[Cell, ...], ...] = tuple(
        (name, scores[key]["n"], Number.from_estimate(scores[key])) for name, key in ERRORS.items()
    )
    header = ("Mean score", "Points", "Share that people call key")
    return Table("Calibration of the key-point score", header, (*rows, *errors), len(errors))


def _by_rater(report: JSON) -> Table:
    scores, kinds = report["key_point_scores"], kinds_by_name(report)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (RaterName(name, kinds.get(name, "")), *_cut(each))
        for name, of in scores["raters"].items()
        for each in of["cuts"]
        if each["threshold"] == scores["cut"]
    )
    return Table(f"The cut at {scores['cut']:g}, by rater", ("Rater", *CUT), rows)


def _options(report: JSON) -> Section:
    points = tuple(
        f"{name}: {of['value']}. {of['reason']}" for name, of in report["options"].items()
    )
    return Section("Options", (), points=points)


def as_markdown(report: JSON, with_slices: bool = False) -> str:
    return sections_as_markdown(document(report, with_slices), "Measures")


def as_latex(report: JSON, with_slices: bool = False) -> str:
    return sections_as_latex(document(report, with_slices), "Measures")


FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format("json", "JSON", "json", "application/json", as_json),
        Format("md", "Markdown", "md", "text/markdown; charset=utf-8", as_markdown),
        Format("csv", "CSV", "csv", "text/csv; charset=utf-8", as_csv),
        Format("latex", "LaTeX", "tex", "application/x-tex", as_latex),
    )
}


def with_slices(name: str) -> Format:
    """Return a format that prints slices, too; JSON and CSV always do."""
    render = {"md": as_markdown, "latex": as_latex}.get(name)
    return (
        replace(FORMATS[name], render=partial(render, with_slices=True))
        if render
        else FORMATS[name]
    )
