"""The report of measures as one long CSV, and declared measures as a leaderboard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from analysis.evaluation.inputs import JOINT_EVALUATORS, PEOPLE
from tandem.files.rows import Query
from tandem.files.spreadsheet import write_rows
from tandem.formats.facts import Score, leaderboard_lines
from tandem.labels.evaluators import kinds_by_name
from tandem.scores.options import ZERO
from tandem.types import JSON

COLUMNS = (
    "part", "measure", "cut", "by", "kind", "stratum", "group", "system", "other", "value", "low",
    "high", "n", "method", "reason", "p_value", "adjusted_p_value", "higher_than",
    "effective_labels", "judged", "all_no", "all_yes", "report",
)  # fmt: skip
ORDERS = {
    "order": "kendall",
    "tau_ap": "tau_ap",
    "order_within": "kendall_within",
    "tau_ap_within": "tau_ap_within",
}
"""By part, the key of a pair of evaluators."""
ESTIMATE = ("value", "low", "high", "n", "method", "reason", "judged")


def as_csv(report: JSON) -> str:
    """Return rankings, slices, tests of pairs, rank correlations, and declared measures of reports.

    Everything else is in JSON.
    """
    return "".join(write_rows(COLUMNS, _csv_rows(report)))


def _csv_rows(report: JSON) -> Iterator[JSON]:
    for parts in (
        _boards(report), _slices(report), _pairs(report), _orders(report), _reports(report)
    ):  # fmt: skip
        for row in parts:
            yield {name: row.get(name) for name in COLUMNS}


def _estimate(of: JSON) -> JSON:
    no, yes = of.get("bounds", (None, None))
    return {**{name: of.get(name) for name in ESTIMATE}, "all_no": no, "all_yes": yes}


def _boards(report: JSON) -> Iterator[JSON]:
    for board in report["leaderboard"]["boards"]:
        for system, row in board["systems"].items():
            for name, cell in row.items():
                yield {
                    "part": "leaderboard",
                    "measure": name,
                    "cut": report["measures"][name]["cut"],
                    "by": board["by"],
                    "kind": board["kind"],
                    "system": system,
                    **_estimate(cell),
                    "higher_than": cell["higher_than"],
                    "effective_labels": cell.get("effective_labels"),
                }


def _slices(report: JSON) -> Iterator[JSON]:
    kinds = kinds_by_name(report)
    for name, of in report["measures"].items():
        for stratum, groups in of["slices"].items():
            for group, systems in groups.items():
                for system, said in systems.items():
                    place = {"stratum": stratum, "group": group, "system": system}
                    for by, kind, cell in _evaluators(said, kinds):
                        who = {"part": "slice", "measure": name, "cut": of["cut"], "by": by}
                        yield {**who, "kind": kind, **place, **_estimate(cell)}


def _evaluators(said: JSON, kinds: JSON) -> Iterator[tuple[str, str, JSON]]:
    for name in JOINT_EVALUATORS:
        if said.get(name):
            yield name, name, said[name]
    for name, cell in said["raters"].items():
        yield name, kinds.get(name, ""), cell


def _pairs(report: JSON) -> Iterator[JSON]:
    for name, of in report["measures"].items():
        together = {judge: each["pairs"] for judge, each in of["powered"].items()}
        for kind, found in (("", of["settings"]), ("powered", together)):
            for by, pairs in found.items():
                for pair in pairs:
                    yield {
                        "part": "pair",
                        "measure": name,
                        "by": by,
                        "kind": kind,
                        "system": pair["a"],
                        "other": pair["b"],
                        **_estimate(pair["difference"]),
                        "p_value": pair["p_value"],
                        "adjusted_p_value": pair["adjusted_p_value"],
                    }


def _orders(report: JSON) -> Iterator[JSON]:
    for name, of in report["measures"].items():
        for pair in of["evaluators"]:
            who = {"by": pair["a"], "other": pair["b"]}
            for part, key in ORDERS.items():
                if key in pair:
                    yield {"part": part, "measure": name, **who, **_estimate(pair[key])}
        for pair in of["forms"]:
            who = {"by": pair["a"], "other": f"{pair['b']}: {pair['form']}"}
            for key in ("kendall", "spearman"):
                yield {"part": "form", "measure": name, **who, **_estimate(pair[key])}


def _reports(report: JSON) -> Iterator[JSON]:
    for name, of in report["measures"].items():
        for by, values in of.get("reports", {}).items():
            why = of["reasons"][by]
            for each, value in values.items():
                row = {"part": "report", "measure": name, "by": by, "report": each}
                yield {**row, "value": value, "reason": why.get(each)}


def leaderboard(report: JSON, queries: Iterable[Query]) -> str:
    """Return a leaderboard of a report of measures.

    Values by people bear the measure's name, those by another evaluator `MEASURE@NAME`. A report
    without a value has no line. Topics that a run lacks have 0 if the report counts them so.
    """
    return "".join(leaderboard_lines(_scores(report, tuple(queries))))


def _scores(report: JSON, queries: tuple[Query, ...]) -> Iterator[Score]:
    places = {r.id: (r.system or "", q.id) for q in queries for r in q.reports}
    systems = dict.fromkeys(system for system, _ in places.values() if system)
    there = set(places.values())
    lacking = [(s, q.id) for q in queries for s in systems if (s, q.id) not in there]
    counts_zero = report["options"]["missing_topics"]["value"] == ZERO
    for name, of in report["measures"].items():
        for by, values in of.get("reports", {}).items():
            measure = name if by == PEOPLE else f"{name}@{by}"
            found = {places[each]: value for each, value in values.items() if value is not None}
            found |= dict.fromkeys(lacking, 0.0) if counts_zero else {}
            for (system, query), value in found.items():
                if system:
                    yield Score(system, query, measure, value)
