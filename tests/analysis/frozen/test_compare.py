"""Scores of two reports on the items that both contain, paired by query."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.frozen.compare import paired_sections
from tandem.document import Number


def report(values: dict[str, float], rater: str = "Ada") -> Any:
    """Items named after their queries, one each, scored by one person."""
    items = [
        {"item": key, "query": key, "system": "S", "values": {rater: value}}
        for key, value in values.items()
    ]
    return {
        "raters": [{"name": rater, "kind": "human"}],
        "scores": {"coverage": {"items": items}},
    }


def rows(before: Any, after: Any) -> Any:
    (section,) = paired_sections(before, after)
    return [row for block in section.blocks for table in block.tables for row in table.rows]


def test_the_mean_difference_and_its_interval_are_those_worked_by_hand() -> None:
    # Differences 0.1 and 0.3, five times each: mean 0.2, s = 0.10541, t(9) = 2.26216,
    # half = 2.26216 * 0.10541 / root(10) = 0.07541.
    before = report({f"q{n}": 0.2 for n in range(10)})
    after = report({f"q{n}": 0.3 if n < 5 else 0.5 for n in range(10)})
    ((system, rater, items, changed, mean),) = rows(before, after)
    assert (system, str(rater), items, changed) == ("S", "Ada", 10, 10)
    assert isinstance(mean, Number)
    assert (mean.value, mean.low, mean.high) == pytest.approx((0.2, 0.12459, 0.27541), abs=1e-5)


def test_only_items_in_both_reports_count_and_few_queries_give_no_interval() -> None:
    ((_, _, items, changed, mean),) = rows(
        report({"q0": 0.5, "q1": 0.5, "q2": 0.9}), report({"q0": 0.5, "q1": 0.7, "q3": 0.1})
    )
    assert (items, changed) == (2, 1)
    assert (mean.value, mean.low) == (pytest.approx(0.1), None)


def test_there_is_no_row_without_a_change_or_a_rater_in_both_reports() -> None:
    same = report({"q0": 0.5})
    assert rows(same, same) == []
    assert rows(same, report({"q0": 0.9}, rater="Bram")) == []
    (section,) = paired_sections({"scores": {}, "raters": []}, same)
    assert "have no interval" in section.about
