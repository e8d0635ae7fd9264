"""The alternative annotator test in the report: by other rules, and its power."""

from __future__ import annotations

from typing import Any

from tandem.sections.agreement import agreement
from tandem.sections.alt_power import sensitivity_and_power, sensitivity_tables
from tandem.sections.judges import judges
from tests.analysis.cast import JUDGE, frame_of, sample_of, table

ADA = "yynn" * 20
BRAM = "yyny" * 20
CHIDI = "ynnn" * 20


def beside(rows: dict[str, str], variable: str = "answerable") -> Any:
    sample = sample_of(frame_of(table(rows, variable)), variable)
    compared = {"agreement": agreement(sample), "judges": judges(sample, 0.2)}
    column = [r.name for r in sample.frame.raters].index(JUDGE)
    return sensitivity_and_power(sample, column, compared, 0.2)


def test_the_power_is_shown_beside_the_verdict() -> None:
    # Of every four units two have full agreement and two have it in one pair of three:
    # (1 + 1/3 + 1 + 1/3)/4 = 2/3, so that an accuracy a has a^2 + (1-a)^2 = 2/3: a = 0.789.
    power = beside({"Ada": ADA, "Bram": BRAM, "Chidi": CHIDI, JUDGE: ADA})["power"]
    assert round(power["accuracy"], 3) == 0.789
    assert 0 <= power["worse"] < power["as_good"] <= 1
    assert 40 <= power["effective_items"] <= 80


def test_an_undefined_test_has_an_undefined_power_with_the_same_reason() -> None:
    found = beside({"Ada": "yn" * 5, "Bram": "yy" * 5, JUDGE: "yn" * 5})
    reason = "fewer than two annotators have 30 items that another one labelled too"
    assert found["power"]["as_good"] is None
    assert found["power"]["reason"] == reason
    assert found["sensitivity"]["multiplicative"]["reason"] == reason
    assert found["sensitivity"]["wilcoxon"]["winning_rate"] is not None


def test_ordered_ratings_have_other_rules_and_a_simulated_power() -> None:
    rows = {"Ada": "0125" * 20, "Bram": "0135" * 20, "Chidi": "1125" * 20, JUDGE: "0124" * 20}
    found = beside(rows, "rating")
    assert found["sensitivity"]["multiplicative"]["winning_rate"] is not None
    assert 0 <= found["power"]["worse"] <= found["power"]["as_good"] <= 1


def test_only_one_row_of_the_table_drops_missing_answers() -> None:
    judge = "." * 40 + ADA[40:]
    found = beside({"Ada": ADA, "Bram": BRAM, "Chidi": CHIDI, JUDGE: judge})["sensitivity"]
    dropped, kept = found["missing_dropped"], found["multiplicative"]
    assert dropped["advantage_probability"] > kept["advantage_probability"]
    (table_of_rules,) = sensitivity_tables({"sensitivity": found})
    assert "Items without an answer dropped" in [row[0] for row in table_of_rules.rows]


def test_an_older_report_has_no_tables_of_rules_and_power() -> None:
    assert sensitivity_tables({"winning_rate": 1.0}) == []
