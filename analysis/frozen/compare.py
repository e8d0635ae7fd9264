"""Comparison of two reports: the added labels, and the change of each estimate.

Only scores are tested for a difference, paired by query, on the items in both reports. A report
keeps no coefficients by query, and two reports of a campaign partly use the same labels, so their
intervals say nothing about the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tandem.document import DASH, Block, Cell, Document, Number, RaterName, Section, Table, count
from tandem.formats.facts import facts
from tandem.sections.contents import computed_at
from tandem.statistics import AMONG, CORRELATIONS, OF_TWO, SHARE_DIFFERENCE, difference_by_cluster
from tandem.types import JSON

ABOUT = (
    "Differences of coefficients have no interval, because two reports partly use the same labels, "
    "and coefficients by query are not stored. Scores of the items in both are paired."
)
HEADER = ("System", "Rater", "Items in both", "Changed", "Mean difference")
CHANGE_HEADER = ("Before", "After", "Difference", "Change")
NAMES = {"f1": "F1"} | {key: each.name for key, each in (OF_TWO | CORRELATIONS | AMONG).items()}
INTERVAL = "interval only"
NONE_THERE = "not in this report"


def paired_sections(before: JSON, after: JSON) -> Iterator[Section]:
    """Yield one section, with a table of changed items for each score."""
    blocks = [
        Block("", (Table(f"{name.capitalize()}, after less before", HEADER, rows),))
        for name in before["scores"]
        if name in after["scores"] and (rows := tuple(_rows(before, after, name)))
    ]
    yield Section("Paired differences", tuple(blocks), ABOUT)


def _rows(before: JSON, after: JSON, name: str) -> Iterator[tuple[Cell, ...]]:
    old, new = (
        {item["item"]: item for item in report["scores"][name]["items"]}
        for report in (before, after)
    )
    kinds = {rater["name"]: rater["kind"] for rater in after["raters"]}
    pairs: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for key in old.keys() & new.keys():
        for rater, value in new[key]["values"].items():
            if rater in old[key]["values"]:
                difference = value - old[key]["values"][rater]
                place = (new[key]["system"] or "", rater)
                pairs.setdefault(place, []).append((new[key]["query"], difference))
    for (system, rater), found in sorted(pairs.items()):
        yield from _row(system, RaterName(rater, kinds.get(rater, "")), found)


def _row(
    system: str, rater: RaterName, found: list[tuple[str, float]]
) -> Iterator[tuple[Cell, ...]]:
    differences = np.array([difference for _, difference in found], float)
    changed = int((np.abs(differences) > 1e-12).sum())
    if changed:
        queries = np.unique([query for query, _ in found], return_inverse=True)[1]
        how = "mean difference of items in both reports"
        mean = difference_by_cluster(differences, queries, how, SHARE_DIFFERENCE)
        yield system or DASH, rater, len(found), changed, Number.from_estimate(mean.as_json())


def comparison_document(before: JSON, after: JSON) -> Document:
    """Return the changes from `before` to `after`. Unchanged estimates are only counted."""
    sections = (
        _inputs(before, after),
        *_estimates(before, after),
        *paired_sections(before, after),
    )
    about = f"before: {computed_at(before)}; after: {computed_at(after)}"
    return Document(before["campaign"] or "Labels file", about, "", sections)


def describe_change(before: JSON | None, after: JSON | None) -> str:
    """Describe the change of an estimate; empty if it is the same."""
    if before is None or after is None:
        return "new" if before is None else "gone"
    old, new = before["value"], after["value"]
    if old is None or new is None:
        return "" if old is new else ("now defined" if old is None else "now undefined")
    if old == new:
        same = (before["low"], before["high"]) == (after["low"], after["high"])
        return "" if same else INTERVAL
    way = "higher" if new > old else "lower"
    low, high = before["low"], before["high"]
    outside = low is not None and high is not None and not low <= new <= high
    return f"{way}, outside the earlier interval" if outside else way


def _inputs(before: JSON, after: JSON) -> Section:
    same = before["inputs"]["sha256"] == after["inputs"]["sha256"]
    words = "Both use the same labels." if same else "The labels differ."
    old, new = ({r["name"]: r for r in report["raters"]} for report in (before, after))
    rows = tuple(_rater(name, old.get(name), new.get(name)) for name in sorted({*old, *new}))
    header = ("Rater", "Before", "After", "Difference")
    tables = [Table("Labels by rater", header, rows)] if rows else []
    if options := tuple(_option_rows(before, after)):
        tables.append(Table("Options", ("Option", "Before", "After"), options))
    return Section("Labels and options of the reports", (Block("", tuple(tables)),), words)


def _rater(name: str, before: JSON | None, after: JSON | None) -> tuple[Cell, ...]:
    kind = (before or after or {})["kind"]
    old, new = (of["labels"] if of else 0 for of in (before, after))
    changes = [f"{new - old:+d}" if new != old else "", _describe_exclusion(before, after)]
    return RaterName(name, kind), old, new, "; ".join(filter(None, changes)) or "none"


def _describe_exclusion(before: JSON | None, after: JSON | None) -> str:
    """Describe the change if a rater is excluded in only one of the reports, with the reason."""
    if not before or not after or bool(before["excluded"]) == bool(after["excluded"]):
        return ""
    return f"excluded: {after['excluded']}" if after["excluded"] else "counts again"


def _option_rows(before: JSON, after: JSON) -> Iterator[tuple[Cell, ...]]:
    old, new = (
        {name: report[name] for name in ("seed", "resamples", "version")} | report["choices"]
        for report in (before, after)
    )
    for name in old:
        if old[name] != new.get(name):
            yield name, _format_option(old[name]), _format_option(new.get(name))


def _format_option(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{k} {', '.join(v)}" for k, v in value.items()) or "all"
    if isinstance(value, list):
        return ", ".join(value) or "all"
    return "none" if value is None else str(value)


def _estimates(before: JSON, after: JSON) -> Iterator[Section]:
    old, new = _by_path(before), _by_path(after)
    sections: dict[str, dict[str, list[tuple[Cell, ...]]]] = {}
    unchanged = intervals = 0
    for path in dict.fromkeys((*old, *new)):
        a, b = old.get(path), new.get(path)
        words = describe_change(a, b)
        if words in ("", INTERVAL):
            intervals += words == INTERVAL
            unchanged += not words
            continue
        where = b or a or {}
        variable, block, name = _location(where)
        row: tuple[Cell, ...] = (name, _number(a), _number(b), _difference(a, b), words)
        sections.setdefault(variable, {}).setdefault(block, []).append(row)
    for variable, blocks in sections.items():
        made = tuple(
            Block("", (Table(block, ("Estimate", *CHANGE_HEADER), tuple(rows)),))
            for block, rows in blocks.items()
        )
        yield Section(variable, made)
    rest = f"{count(intervals, 'estimate')} kept the value with another interval"
    about = f"{count(unchanged, 'estimate')} did not change; {rest}."
    yield Section("Unchanged", (), about)


def _by_path(report: JSON) -> dict[str, JSON]:
    """Return every estimate by its path. List items have names, since their index may change."""
    return {_stable(row): row for row in facts(report) if "method" in row}


def _stable(row: JSON) -> str:
    if row.get("other") or row.get("category"):
        names = (row.get(n) for n in ("section", "variable", "stratum", "group", "judge", "rater",
                                      "other", "category", "statistic"))  # fmt: skip
        return "|".join(map(str, names))
    return str(row["path"])


def _location(row: JSON) -> tuple[str, str, str]:
    """Return an estimate's section, table and name."""
    names = [row.get("judge"), row.get("rater"), row.get("other"), row.get("category")]
    stratum = f"{row['stratum']} {row['group']}" if row.get("group") else ""
    words = NAMES.get(row["statistic"]) or str(row["statistic"]).replace("_", " ")
    name = " · ".join(str(part) for part in (*names, words) if part)
    block = "Judges" if row.get("judge") else "Among people"
    return str(row.get("variable") or "Whole"), stratum or block, name


def _number(row: JSON | None) -> Number:
    if row is None:
        return Number(None, reason=NONE_THERE)
    return Number(
        row["value"], row["low"], row["high"], row["method"] or "", row.get("reason") or ""
    )


def _difference(before: JSON | None, after: JSON | None) -> Number:
    if not before or not after or before["value"] is None or after["value"] is None:
        return Number(None, reason="there is nothing to subtract")
    return Number(after["value"] - before["value"])
