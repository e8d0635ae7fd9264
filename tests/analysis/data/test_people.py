"""People's joint label of a unit, and judges compared with a mean, which never ties."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tandem.formats import FORMATS
from tandem.labels.facts import Scale
from tandem.labels.reference import reference
from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report
from tandem.sections.adjudicated import adjudicated, settled_codes
from tandem.sections.judges import judges
from tandem.sections.methods import methods
from tests.analysis.cast import JUDGE, fact, frame_of, sample_of, table
from tests.cast import write_lines

STARS = Scale(tuple("12345"), "interval")
# On the first three units all people differ, so that no label is the most frequent.
PEOPLE = {"Ada": "124355", "Bram": "235355"}
ROWS = {**PEOPLE, JUDGE: "225345"}


def rated(rows: dict[str, str] = ROWS, *more: Any) -> Any:
    return frame_of([*table(rows, "stars"), *more], stars=STARS)


def judged(rows: dict[str, str] = ROWS) -> Any:
    return judges(sample_of(rated(rows), "stars"), 0.2)[JUDGE]


def test_for_interval_ratings_the_reference_is_the_mean_without_ties() -> None:
    said = reference(rated().variables["stars"])
    assert said.rule == "mean"
    assert said.values.tolist() == [1.5, 2.5, 4.5, 3, 5, 5]
    # Halves are rounded up: the positions of the categories 2 3 5 3 5 5.
    assert said.codes.tolist() == [1, 2, 4, 2, 4, 4]
    assert not said.ties.any()


def test_for_other_labels_the_reference_is_the_most_frequent_label() -> None:
    said = reference(frame_of(table({"Ada": "012", "Bram": "112"}, "rating")).variables["rating"])
    assert (said.rule, said.codes.tolist()) == ("majority", [-1, 1, 2])
    assert said.ties.tolist() == [True, False, False]


def test_a_mean_is_never_rounded_to_a_category_used_by_judges_only() -> None:
    said = reference(rated({**PEOPLE, JUDGE: "999999"}).variables["stars"])
    assert set(said.codes.tolist()) <= {1, 2, 4}


def test_with_means_no_unit_is_lost_to_a_tie() -> None:
    found = judged()
    assert (found["reference"], found["units"], found["ties"]) == ("mean", 6, 0)
    # The judge's 2 2 5 3 4 5 against the categories 2 3 5 3 5 5.
    assert found["agreement"]["percent"]["value"] == pytest.approx(4 / 6)
    assert found["confusion"]["labels"] == ["2", "3", "4", "5"]
    error = found["overall"]["mean_absolute_error"]
    assert error["value"] == pytest.approx((0.5 + 0.5 + 0.5 + 0 + 1 + 0) / 6)


def test_alpha_uses_the_unrounded_mean() -> None:
    means, judge = np.array([1.5, 2.5, 4.5, 3, 5, 5]), np.array([2, 2, 5, 3, 4, 5])
    both = np.concatenate([means, judge])
    chance = 12 * (both**2).sum() - both.sum() ** 2
    expected = 1 - 11 * ((means - judge) ** 2).sum() / chance
    assert judged()["agreement"]["krippendorff_alpha"]["value"] == pytest.approx(expected)


def test_for_thresholds_the_mean_rating_must_reach_the_threshold() -> None:
    at = {row["threshold"]: row for row in judged()["thresholds"]}
    # People's means reach 3 on four units, and the judge reaches 3 on the same four.
    assert at[3]["precision"]["n"] == 6
    assert at[3]["recall"]["value"] == at[3]["precision"]["value"] == 1
    # Both reach 2 on the other units too, and the judge also on the first.
    assert at[2]["precision"]["value"] == pytest.approx(5 / 6)


def test_bounds_for_missing_answers_cover_all_units() -> None:
    lost = fact("r0", "q0", JUDGE, None, "stars", missing="error")
    frame = rated({**PEOPLE, JUDGE: ".25345"}, lost)
    from tandem.sections.judges import bounds

    column = frame.variables["stars"].columns("judge")[0]
    assert bounds(sample_of(frame, "stars"), column)["bounds"]["units"] == 6


def test_units_without_an_adjudicated_label_use_the_mean() -> None:
    decided = fact("r0", "q0", "chair", "4", "stars", rater_kind="reference")
    frame = rated(ROWS, decided)
    codes, is_decided = settled_codes(frame.variables["stars"])
    assert codes.tolist() == [3, 2, 4, 2, 4, 4]
    assert is_decided.tolist() == [True, *[False] * 5]
    sample = sample_of(frame, "stars")
    found = adjudicated(sample, frame.variables["stars"].columns("judge")[0])["settled"]
    assert found["units"] == 6
    assert found["overall"]["mean_absolute_error"]["value"] == pytest.approx(4 / 6)


def lines(people: dict[str, str], judge: str) -> list[dict[str, Any]]:
    kinds = {**dict.fromkeys(people, "human"), JUDGE: "judge"}
    return [
        {
            "item": f"i{n}",
            "unit": f"u{n}",
            "query": f"q{n}",
            "variable": "stars",
            "value": code,
            "rater": rater,
            "rater_kind": kinds[rater],
        }
        for rater, column in {**people, JUDGE: judge}.items()
        for n, code in enumerate(column)
    ]


@pytest.fixture
def report(tmp_path: Path) -> dict[str, Any]:
    path = write_lines(tmp_path / "labels.jsonl", lines(PEOPLE, ROWS[JUDGE]))
    return labels_report([path], {"stars": "interval"}, ReportOptions(resamples=20))


def test_the_methods_say_that_the_mean_is_the_reference(report: dict[str, Any]) -> None:
    text = " ".join(methods(report))
    assert "The judge model was compared with the mean human rating, so that no unit ties" in text
    assert "rounding halves up" in text
    assert "most frequent human label" not in text


@pytest.mark.parametrize("name", ["md", "latex", "html"])
def test_the_tables_say_that_the_mean_is_the_reference(report: dict[str, Any], name: str) -> None:
    text = FORMATS[name].render(report)
    assert "Mean of people" in text
    assert "6 units with people" in text
    assert "Majority of people" not in text
