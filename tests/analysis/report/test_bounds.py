"""A judge's headline has bounds: all missing answers wrong, and all of them right."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.sections.judges import bounds
from tests.analysis.cast import JUDGE, fact, frame_of, sample_of, table


def bounded(people: str, judge: str) -> Any:
    """The bounds; `-` is an answer of the judge that could not be read."""
    rows = table({"Ada": people, "Bram": people, JUDGE: judge.replace("-", ".")})
    lost = [
        fact(f"r{n // 2}", f"q{n}", JUDGE, None, missing="unreadable")
        for n, code in enumerate(judge)
        if code == "-"
    ]
    sample = sample_of(frame_of([*rows, *lost]))
    column = [r.name for r in sample.frame.raters].index(JUDGE)
    return bounds(sample, column)


def test_both_bounds_are_those_worked_by_hand() -> None:
    # People yyynnn, judge yyn-nn: 4 of 5 agree. Wrong: 4 of 6, right: 5 of 6.
    # Right: margins 3/6 and 2/6 yes, chance 1/6 + 2/6 = 1/2, kappa (5/6 - 1/2)/(1/2) = 2/3.
    # Wrong: margins 3/6 and 3/6, chance 1/2, kappa (4/6 - 1/2)/(1/2) = 1/3.
    found = bounded("yyynnn", "yyn-nn")["bounds"]
    assert (found["units"], found["missing"]) == (6, 1)
    assert found["percent"] == pytest.approx([4 / 6, 5 / 6])
    assert found["cohen_kappa"] == pytest.approx([1 / 3, 2 / 3])


def test_without_missing_answers_there_are_no_bounds() -> None:
    assert bounded("yyynnn", "yynnnn") == {}


def test_if_every_answer_is_missing_the_bounds_span_the_whole_range() -> None:
    found = bounded("yyynnn", "------")["bounds"]
    assert found["percent"] == [0, 1]
    assert found["cohen_kappa"] == [-1, 1]


def test_units_without_a_majority_do_not_count_in_the_bounds() -> None:
    rows = table({"Ada": "yy", "Bram": "yn", JUDGE: "y."})
    lost = fact("r0", "q1", JUDGE, None, missing="error")
    sample = sample_of(frame_of([*rows, lost]))
    column = [r.name for r in sample.frame.raters].index(JUDGE)
    assert bounds(sample, column) == {}
