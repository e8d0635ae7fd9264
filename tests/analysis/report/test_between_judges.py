"""The report compares judges with each other, and selects the units to label first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.document import in_noun
from tandem.labels.frame import Frame
from tandem.sections.between_judges import between_judges, between_judges_blocks, entropies
from tests.analysis.cast import frame_of, sample_of, table

JUDGES = ("one", "two", "three")


def frame(people: dict[str, str] | None = None, **judges: str) -> Frame:
    facts = table(judges, rater_kind="judge")
    return frame_of([*facts, *table(people or {})])


def between(made: Frame) -> dict[str, Any]:
    found: dict[str, Any] = between_judges(sample_of(made))
    return found.get("between_judges", {})


def test_two_judges_agree_beyond_chance_without_any_person() -> None:
    # 6 of 8 equal, both say yes half of the time: kappa (3/4 - 1/2) / (1/2).
    found = between(frame(one="yyyynnnn", two="yyynnnny"))
    (pair,) = found["pairs"]
    assert (pair["a"], pair["b"], pair["units"]) == ("one", "two", 8)
    assert pair["cohen_kappa"]["value"] == pytest.approx(0.5)
    assert pair["percent"]["value"] == pytest.approx(0.75)
    assert found["errors"] is None


def test_with_one_judge_there_is_no_agreement_between_judges() -> None:
    assert between_judges(sample_of(frame(one="yn"))) == {}


def test_with_labels_of_people_the_report_says_how_alike_judges_err() -> None:
    found = between(frame({"ada": "ynynynyn" * 3}, one="nnynynyn" * 3, two="nnynynyn" * 3))
    assert found["errors"]["mean_correlation"]["value"] == pytest.approx(1)
    assert found["errors"]["effective_judges"]["value"] == pytest.approx(1)


def test_entropy_is_one_if_labels_are_as_different_as_possible() -> None:
    codes = np.array([[0, 1, -1], [0, 0, 0], [0, 1, 2], [0, 0, 1], [-1, -1, -1]])
    third = -(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3)) / np.log(3)
    assert entropies(codes, 3) == pytest.approx([1, 0, 1, third, 0])


def test_unlabelled_units_on_which_judges_differ_most_come_first() -> None:
    made = frame({"ada": "y......."}, one="yyyyyyyy", two="nynyyyyy", three="nyynyyyy")
    units = between(made)["label_first"]
    assert {each["unit"] for each in units[:2]} == {"q2", "q3"}
    assert "q0" not in [each["unit"] for each in units]
    assert units[0]["why"] == "2 of 3 say yes, 1 of 3 say no"
    assert units[-1]["why"] == "all say yes"
    assert units[0]["labels"].keys() == set(JUDGES)


def test_no_single_query_fills_the_list_of_units_to_label_first() -> None:
    facts = [
        *table({"one": "y" * 60, "two": "n" * 60}, rater_kind="judge", query="a"),
        *table({"one": "y" * 60, "two": "y" * 60}, rater_kind="judge", variable="answerable"),
    ]
    # The first 60 units are all of query a and all disputed; the others agree.
    other = [
        fact._replace(item=f"s{fact.item}", query=f"b{n % 9}") for n, fact in enumerate(facts[120:])
    ]
    units = between(frame_of([*facts[:120], *other]))["label_first"]
    assert len(units) == 50
    assert sum(not each["item"].startswith("s") for each in units) == 5


def test_the_tables_name_judges_units_and_reasons() -> None:
    made = between_judges(sample_of(frame(one="yyyynnnn", two="yyynnnny")))
    among, first = between_judges_blocks(made)
    assert among.tables[0].caption == "Cohen's kappa of every pair of judges"
    assert in_noun(first.tables[0].caption) == "Units that people should label first"
    assert "1 of 2 say yes, 1 of 2 say no" in {str(row[2]) for row in first.tables[0].rows}
    assert between_judges_blocks({}) == []
