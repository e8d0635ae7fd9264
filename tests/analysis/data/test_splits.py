"""The items on which people and judges are compared, by the splits of their queries."""

from __future__ import annotations

from tandem.labels.frame import evaluation_items, item_mask, splits_as_json
from tandem.labels.selection import ReportOptions

STRATA = {
    "role": {"a": "evaluation", "b": "development", "c": "evaluation", "d": "audit"},
    "system": {"a": "one"},
}
WITHOUT = {"role": {}, "system": {"a": "one"}}


def test_comparisons_use_items_of_evaluation_queries() -> None:
    assert evaluation_items(STRATA, ReportOptions()) == {"a", "c"}
    by_system = ReportOptions(strata=(("system", "one"),))
    assert evaluation_items(STRATA, by_system) == {"a", "c"}


def test_choosing_a_split_compares_all_of_its_items() -> None:
    chosen = ReportOptions(strata=(("system", "one"), ("role", "audit")))
    assert evaluation_items(STRATA, chosen) is None


def test_without_splits_all_items_are_compared() -> None:
    for strata in ({}, WITHOUT):
        assert evaluation_items(strata, ReportOptions()) is None
        assert splits_as_json(strata, None) is None


def test_a_mask_marks_the_items_that_are_compared() -> None:
    assert item_mask(["c", "b", "a", "c"], {"a", "c"}).tolist() == [True, False, True, True]
    assert item_mask([], {"a"}).tolist() == []
    assert item_mask(["a"], set()).dtype == bool


def test_the_report_counts_the_items_of_each_split_and_names_the_compared_one() -> None:
    counts = {"development": 1, "evaluation": 2, "audit": 1}
    assert splits_as_json(STRATA, {"a", "c"}) == {**counts, "compared": "evaluation"}
    assert splits_as_json(STRATA, set()) == {**counts, "compared": "evaluation"}
    assert splits_as_json(STRATA, None) == {**counts, "compared": "chosen"}
    one = {"role": {"a": "audit"}}
    assert splits_as_json(one, None) == {
        "development": 0, "evaluation": 0, "audit": 1, "compared": "chosen"
    }  # fmt: skip
