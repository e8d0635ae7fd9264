"""A judge's probabilities against what most people say, by hand on four units."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.data.frame import LabelFact
from analysis.report.judges import judges
from tests.analysis.cast import JUDGE, fact, frame_of, sample_of, table


def judged(
    people: dict[str, str], scores: list[float | None], codes: str = "yn??"
) -> dict[str, Any]:
    """The judge's block; its own labels play no part in its calibration."""
    facts: list[LabelFact] = table(people)
    for n, score in enumerate(scores):
        value = {"y": "yes", "n": "no", "?": "invalid"}[codes[n % len(codes)]]
        facts.append(fact(f"r{n // 2}", f"q{n}", JUDGE, value, score=score))
    return dict(judges(sample_of(frame_of(facts)), 0.2)[JUDGE])


def test_it_is_as_worked_by_hand() -> None:
    # Bins 0.2, 0.2 | 0.8, 0.8 with yes in 1 of 2 and 2 of 2.
    found = judged({"Ada": "nyyy"}, [0.2, 0.2, 0.8, 0.8])["calibration"]
    bins = found["reliability"]
    assert [(b["units"], b["probability"], b["share"]["value"]) for b in bins] == [
        (2, 0.2, 0.5),
        (2, 0.8, 1.0),
    ]
    # (0.2 - 0)^2 + (0.2 - 1)^2 + (0.8 - 1)^2 + (0.8 - 1)^2 = 0.04 + 0.64 + 0.04 + 0.04 = 0.76
    assert found["brier"]["value"] == pytest.approx(0.76 / 4)
    # 2/4 * |0.2 - 0.5| + 2/4 * |0.8 - 1| = 0.25
    assert found["expected_calibration_error"]["value"] == pytest.approx(0.25)


def test_units_without_a_score_or_a_majority_stay_out() -> None:
    people = {"Ada": "nyyyny", "Bram": "nyyyyy"}
    found = judged(people, [0.2, 0.2, 0.8, 0.8, 0.9, None])["calibration"]
    assert sum(each["units"] for each in found["reliability"]) == 4


def test_perfect_probabilities_have_no_error() -> None:
    found = judged({"Ada": "nnyy"}, [0.0, 0.0, 1.0, 1.0])["calibration"]
    assert found["brier"]["value"] == found["expected_calibration_error"]["value"] == 0


def test_ten_queries_give_intervals() -> None:
    people, scores = {"Ada": "nyyn" * 5}, [0.3, 0.7] * 10
    found = judged(people, list(scores))["calibration"]
    brier, error = found["brier"], found["expected_calibration_error"]
    assert brier["low"] <= brier["value"] <= brier["high"]
    # A bootstrap of it holds the truth too rarely.
    assert (error["low"], error["high"]) == (None, None)
    few = judged({"Ada": "nyny"}, [0.3, 0.7, 0.3, 0.7])["calibration"]
    assert few["brier"]["low"] is None


@pytest.mark.parametrize("scores", [[None] * 4, [0.2, 0.4, 0.6, 3.5]])
def test_without_probabilities_there_is_none(scores: list[float | None]) -> None:
    assert "calibration" not in judged({"Ada": "nyyy"}, scores)


def test_without_people_there_is_none() -> None:
    assert "calibration" not in judged({}, [0.2, 0.4, 0.6, 0.8])


def test_an_expected_rating_is_no_probability() -> None:
    ratings = [*table({"Ada": "0123"}, "rating")]
    ratings += [fact(f"r{n // 2}", f"q{n}", JUDGE, "1", "rating", score=0.5) for n in range(4)]
    found = judges(sample_of(frame_of(ratings), "rating"), 0.2)[JUDGE]
    assert "calibration" not in found
