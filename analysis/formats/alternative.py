"""Beside the alternative annotator test: its verdict by other rules, and its power."""

from __future__ import annotations

from typing import Any

from analysis.formats.document import Cell, Number, Table
from analysis.statistics.alternative_results import undecided_words

JSON = dict[str, Any]

RULES = {
    "multiplicative": "Multiplicative epsilon",
    "missing_dropped": "Items without an answer dropped",
    "wilcoxon": "Signed ranks (Wilcoxon), for few units",
}


def beside_tables(test: JSON) -> list[Table]:
    """Both tables, or none in a report that was frozen before they were made."""
    tables = [_sensitivity(test["sensitivity"])] if test.get("sensitivity") else []
    return tables + ([_power(test["power"])] if "power" in test else [])


def verdict_words(test: JSON, floor: JSON | None = None) -> str:
    """The verdict of a test, or of one rule or point of its curve; old frozen reports have none.

    With what a judge's `floor` says it is told at which epsilon the floor does not pass.
    """
    if test.get("verdict") == "floor-passes":
        return f"cannot be said at this ε: word overlap passes too{_smaller(floor)}"
    if test.get("verdict") != "undecided":
        return {True: "passes", False: "fails", None: "undefined"}[test["passed"]]
    return undecided_words(test["queries"], test["queries_needed"])


def _smaller(floor: JSON | None) -> str:
    if floor is None:
        return ""
    largest = floor["largest_epsilon_failed"]
    if largest is None:
        return ", at every ε of the curve"
    return f"; the largest ε of the curve at which it does not is {largest:g}"


def _sensitivity(rules: JSON) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            RULES.get(rule, rule),
            Number(found["by_query"]["winning_rate"], reason=found.get("reason", "")),
            Number(found["winning_rate"], reason=found.get("reason", "")),
            verdict_words(found),
        )
        for rule, found in rules.items()
    )
    header = ("Rule", "Winning rate by queries", "By items", "Verdict")
    return Table("The test by other rules, for comparison", header, rows)


def _power(power: JSON) -> Table:
    reason = power.get("reason", "")
    numbers = (("as_good", 2), ("worse", 2), ("effective_items", 0), ("accuracy", 2))
    cells = tuple(Number(power[key], reason=reason, digits=digits) for key, digits in numbers)
    header = ("Chance to pass", "As good as people", "10 points worse", "Effective items",
              "People's accuracy")  # fmt: skip
    return Table("How often a judge would pass", header, (("Simulated", *cells),))
