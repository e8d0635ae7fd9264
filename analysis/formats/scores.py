"""The section of a score, such as coverage: systems, rankings, and what a judge adds."""

from __future__ import annotations

from typing import Any

from analysis.formats.components import components_tables
from analysis.formats.crowd import ranking_table
from analysis.formats.document import DASH, Block, Cell, Number, Section, Table, Who
from analysis.formats.planning import planning_tables

JSON = dict[str, Any]
MEAN = "mean"


def score_section(report: JSON, name: str) -> Section:
    """Everything that is said of one score."""
    block = report["scores"][name]
    kinds = {rater["name"]: rater["kind"] for rater in report["raters"]}
    tables = [_systems(block["systems"], block.get("majority", {}), kinds)]
    if "pairs_distribution" in block:
        tables.append(ranking_table(block["pairs_distribution"]))
    if block.get("pairs") or block["correlation"]:
        tables.append(_rankings(block))
    tables += _comparisons(block.get("comparisons", []))
    tables += _estimates(block["estimate"])
    tables += planning_tables(block)
    tables += components_tables(block)
    title = name.capitalize()
    return Section(title, (Block("", tuple(tables)),), part="scores", subject=name)


def _who(rater: str, kinds: dict[str, str]) -> Who:
    return Who("mean of people") if rater == MEAN else Who(rater, kinds.get(rater, ""))


def _systems(systems: JSON, people: JSON, kinds: dict[str, str]) -> Table:
    """People together and their mean first; what was frozen before may lack the former."""
    named = dict.fromkeys(rater for values in systems.values() for rater in values)
    raters = [*(each for each in (MEAN,) if each in named), *(r for r in named if r != MEAN)]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (system or DASH, *((Number.of(people[system]),) if people else ()),
         *(_cell(values, rater) for rater in raters))
        for system, values in systems.items()
    )  # fmt: skip
    together = (Who("people"),) if people else ()
    return Table("Mean by system", ("System", *together, *(_who(r, kinds) for r in raters)), rows)


def _cell(values: JSON, rater: str) -> Number:
    return Number.of(values[rater]) if rater in values else Number(None, reason="no labels here")


def _rankings(block: JSON) -> Table:
    rows = [_ranking(f"{p['a']} – {p['b']}", p) for p in block.get("pairs", [])]
    rows += [
        _ranking(Who(f"{judge} – {'mean of people' if rater == MEAN else rater}", "judge"), of)
        for judge, others in block["correlation"].items()
        for rater, of in others.items()
    ]
    header = ("Raters", "Spearman", "Kendall")
    return Table("Do raters rank the reports alike?", header, tuple(rows))


def _ranking(label: str | Who, of: JSON) -> tuple[Cell, ...]:
    return (label, Number.of(of["spearman"]), Number.of(of["kendall"]))


def _comparisons(pairs: list[JSON]) -> list[Table]:
    """Which system is better on the same queries; no table where there is one system only."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (f"{pair['a'] or DASH} – {pair['b'] or DASH}", Number.of(pair["difference"]),
         f"{pair['higher']} : {pair['lower']} of {pair['queries']}",
         *(_p_value(pair[test]) for test in ("paired_t", "wilcoxon")))
        for pair in pairs
    )  # fmt: skip
    header = ("Systems", "Difference", "Higher : lower", "p, t test", "p, Wilcoxon")
    caption = "Pairs of systems on the same queries, p after Holm"
    return [Table(caption, header, rows)] if rows else []


def _p_value(test: JSON) -> Number:
    return Number.p(test["adjusted_p_value"], test.get("reason", ""))


def _estimates(systems: JSON) -> list[Table]:
    """One table a judge; where there is only one, its name stands in the caption all the same."""
    by_judge: dict[str, list[tuple[Cell, ...]]] = {}
    for system, block in systems.items():
        for judge, of in block.get("judges", {block.get("judge_name", "judge"): block}).items():
            by_judge.setdefault(judge, []).append(_estimate(system or DASH, of))
    header = ("System", "People", "Judge, uncorrected", "Prediction-powered", "Effective labels")
    return [
        Table(f"People, and {judge} beside them", header, tuple(rows))
        for judge, rows in by_judge.items()
    ]


def _estimate(system: str, of: JSON) -> tuple[Cell, ...]:
    powered = of["prediction_powered"]
    worth = Number(of["effective_labels"], reason=powered.get("reason", ""), digits=0)
    return (system, Number.of(of["humans"]), Number.of(of["judge"]), Number.of(powered), worth)
