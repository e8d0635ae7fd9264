"""Beside the alternative annotator test: its verdict by other rules, and its power."""

from __future__ import annotations

from typing import Any

from analysis.formats.document import Cell, Number, Table

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


def verdict_words(test: JSON) -> str:
    """The verdict of a test, or of one rule or point of its curve; old frozen reports have none."""
    if test.get("verdict") != "undecided":
        return {True: "passes", False: "fails", None: "undefined"}[test["passed"]]
    n, needed = test["queries"], test["queries_needed"]
    queries = f"{n} query" if n == 1 else f"{n} queries"
    if needed is None:
        return f"cannot be decided with {queries}; at epsilon 0 a tie never passes"
    return f"cannot be decided with {queries}; at least {needed} are needed"


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
