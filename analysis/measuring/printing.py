"""The report of measures as a document, and the formats that it is written in."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from analysis.formats.base import Format
from analysis.formats.document import DASH, Block, Cell, Document, Number, Section, Table, Who
from analysis.formats.jsonfile import as_json
from analysis.formats.latex import sections_as_latex
from analysis.formats.markdown import sections_as_markdown
from analysis.measuring.boards import board_sections, rank_sections
from analysis.measuring.methods import methods_section
from analysis.measuring.parts import TOGETHER
from analysis.measuring.rows import as_csv
from analysis.measuring.slice_tables import slice_sections

JSON = dict[str, Any]
NO_LABELS = "no labels here"
#: The pairs of more systems than this are for JSON and CSV.
MOST_PAIRED = 6


def document(report: JSON, with_slices: bool = False) -> Document:
    """The report in the order in which it is read: leaderboards, methods, measures, choices.

    Slices only if asked for: they are many. What single people say of cuts is for the files that
    hold everything.
    """
    kinds = {rater["name"]: rater["kind"] for rater in report["raters"]}
    measured = [
        _measure(name, of, kinds) for name, of in report["measures"].items() if not of["cut"]
    ]
    about = " · ".join(
        (report["protocol"], report["batch"], f"{report['queries']} queries",
         f"options of {report['preset']}", f"seed {report['seed']}", "intervals are 95 %")
    )  # fmt: skip
    made = f"Tandem {report['version']}, {report['generated_at']}"
    beside = (
        *(slice_sections(report) if with_slices else ()),
        *_thresholds(report), *_references(report), *_metrics(report), *_scores(report),
        _options(report),
    )  # fmt: skip
    front = (*board_sections(report), *rank_sections(report), methods_section(report))
    return Document(report["campaign"], about, made, (*front, *measured, *beside))


def _measure(name: str, of: JSON, kinds: dict[str, str]) -> Section:
    tables = [_systems("By system", of["systems"], kinds)]
    if len(of["systems"]) <= MOST_PAIRED:
        tables += [_settings(rater, pairs) for rater, pairs in of["settings"].items()]
    return Section(name, (Block("", tuple(tables)),), f"{of['summary']} {of['citation']}.")


def _systems(caption: str, systems: JSON, kinds: dict[str, str]) -> Table:
    together = [each for each in TOGETHER if any(of.get(each) for of in systems.values())]
    raters = list(dict.fromkeys(r for of in systems.values() for r in of["raters"]))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (system or DASH, *(_printed_number(of.get(each)) for each in together),
         *(_printed_number(of["raters"].get(rater)) for rater in raters))
        for system, of in systems.items()
    )  # fmt: skip
    header: tuple[str | Who, ...] = ("System", *(TOGETHER[each] for each in together))
    header += tuple(Who(r, kinds.get(r, "")) for r in raters)
    return Table(caption, header, rows)


def _printed_number(estimate: JSON | None) -> Number:
    return Number(None, reason=NO_LABELS) if estimate is None else Number.of(estimate)


def _settings(rater: str, pairs: list[JSON]) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (f"{each['a'] or DASH} – {each['b'] or DASH}", Number.of(each["difference"]),
         Number.p(each["p_value"], each.get("reason", "")),
         Number.p(each["adjusted_p_value"], each.get("reason", "")),
         Number.p(each["wilcoxon"]["p_value"], each["wilcoxon"].get("reason", "")))
        for each in pairs
    )  # fmt: skip
    header = ("Systems", "Difference", "p, paired t", "p after Holm", "p, Wilcoxon")
    return Table(f"Systems on the same queries, by {rater}", header, rows)


def _thresholds(report: JSON) -> list[Section]:
    """Coverage of contexts and of reports at each threshold."""
    header = ("From", "Questions", "Cov(Z)", "Cov(y)", "Kendall")
    tables = tuple(
        Table(f"Reports as rated by {rater}", header, tuple(
            (f"{row['eta']:g}", row["questions"],
             *(Number.of(row["estimates"][name]) for name in ("context", "report", "kendall")))
            for row in rows
        ))
        for rater, rows in report["thresholds"].items()
    )  # fmt: skip
    return [Section("Thresholds", (Block("", tables),))] if tables else []


def _references(report: JSON) -> list[Section]:
    """CRUX's measures of the oracle context and of its required subset."""
    tables = tuple(
        Table(f"By the ratings of {rater}", ("Context", *of["oracle"]), tuple(
            (name, *(Number.of(each) for each in of[name].values()))
            for name in ("oracle", "required")
        ))
        for rater, of in report["reference_contexts"].items()
    )  # fmt: skip
    return [Section("Oracle and required contexts", (Block("", tables),))] if tables else []


def _metrics(report: JSON) -> list[Section]:
    """How far the measures of contexts order systems, or random contexts, alike."""
    tables = tuple(
        _printed_orders(f"Kendall's tau-b of the {what}, by {rater}", pairs)
        for key, what in (("metrics", "systems"), ("sampled", "sampled contexts"))
        for rater, pairs in report[key].items()
    )
    return [Section("Measures beside each other", (Block("", tables),))] if tables else []


def _printed_orders(caption: str, pairs: list[JSON]) -> Table:
    rows = tuple((f"{each['a']} – {each['b']}", Number.of(each["kendall"])) for each in pairs)
    return Table(caption, ("Measures", "Kendall"), rows)


def _scores(report: JSON) -> list[Section]:
    """The cuts of key-point scores and their calibration, by people; the chosen cut, by rater."""
    scores = report["key_point_scores"]
    if not scores:
        return []
    cuts = tuple((f"{each['threshold']:g}", *_cut(each)) for each in scores["cuts"])
    table = Table("Cuts of the key-point score, by people", ("Score from", *CUT), cuts)
    return [Section("Key-point scores", (Block("", (table, _curve(scores), _by_rater(report))),))]


ERRORS = {
    "Brier score": "brier",
    "Expected calibration error": "expected_calibration_error",
}
CUT = ("Kept", "Share", "False discovery rate", "False positive rate")


def _cut(cut: JSON) -> tuple[Cell, ...]:
    rates = (Number.of(cut["false_discovery_rate"]), Number.of(cut["false_positive_rate"]))
    return cut["kept"], Number(cut["share"]), *rates


def _curve(scores: JSON) -> Table:
    """The calibration curve, with the two errors that sum it up."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (f"{each['probability']:.3f}", each["units"], Number.of(each["share"]))
        for each in scores["reliability"]
    )
    errors: tuple[tuple[Cell, ...], ...] = tuple(
        (name, scores[key]["n"], Number.of(scores[key])) for name, key in ERRORS.items()
    )
    header = ("Mean score", "Points", "Share that people call key")
    return Table("Calibration of the key-point score", header, (*rows, *errors), len(errors))


def _by_rater(report: JSON) -> Table:
    scores, kinds = report["key_point_scores"], {r["name"]: r["kind"] for r in report["raters"]}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (Who(name, kinds.get(name, "")), *_cut(each))
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
    """A format that prints slices, too; JSON and CSV always do."""
    render = {"md": as_markdown, "latex": as_latex}.get(name)
    return (
        replace(FORMATS[name], render=partial(render, with_slices=True))
        if render
        else FORMATS[name]
    )
