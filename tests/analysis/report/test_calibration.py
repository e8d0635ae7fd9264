"""A judge's probabilities against what most people say, by hand on four units."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tandem.formats.markdown import as_markdown
from tandem.labels.facts import LabelFact, LabelKey, Scale
from tandem.labels.probabilities import CodeProbabilities, probabilities_of, with_probabilities
from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report
from tandem.sections.judges import judges
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


def test_calibration_is_that_worked_by_hand() -> None:
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


def test_units_without_a_score_or_a_majority_are_left_out() -> None:
    people = {"Ada": "nyyyny", "Bram": "nyyyyy"}
    found = judged(people, [0.2, 0.2, 0.8, 0.8, 0.9, None])["calibration"]
    assert sum(each["units"] for each in found["reliability"]) == 4


def test_perfect_probabilities_have_no_error() -> None:
    found = judged({"Ada": "nnyy"}, [0.0, 0.0, 1.0, 1.0])["calibration"]
    assert found["brier"]["value"] == found["expected_calibration_error"]["value"] == 0


def test_ten_queries_are_enough_for_intervals() -> None:
    people, scores = {"Ada": "nyyn" * 5}, [0.3, 0.7] * 10
    found = judged(people, list(scores))["calibration"]
    brier, error = found["brier"], found["expected_calibration_error"]
    assert brier["low"] <= brier["value"] <= brier["high"]
    assert 0 <= error["low"] < error["value"] < error["high"] <= 1
    few = judged({"Ada": "nyny"}, [0.3, 0.7, 0.3, 0.7])["calibration"]
    assert few["brier"]["low"] is few["expected_calibration_error"]["low"] is None


@pytest.mark.parametrize("scores", [[None] * 4, [0.2, 0.4, 0.6, 3.5]])
def test_without_probabilities_there_is_no_calibration(scores: list[float | None]) -> None:
    assert "calibration" not in judged({"Ada": "nyyy"}, scores)


def test_without_people_there_is_no_calibration() -> None:
    assert "calibration" not in judged({}, [0.2, 0.4, 0.6, 0.8])


def test_an_expected_rating_does_not_count_as_a_probability() -> None:
    ratings = [*table({"Ada": "0123"}, "rating")]
    ratings += [fact(f"r{n // 2}", f"q{n}", JUDGE, "1", "rating", score=0.5) for n in range(4)]
    found = judges(sample_of(frame_of(ratings), "rating"), 0.2)[JUDGE]
    assert "calibration" not in found


def shared(variable: str, *rows: dict[str, float]) -> CodeProbabilities:
    return {
        LabelKey(f"r{n // 2}", "question", f"q{n}", variable, JUDGE): row
        for n, row in enumerate(rows)
    }


def judged_on(
    variable: str, people: str, given: CodeProbabilities, **scales: Scale
) -> dict[str, Any]:
    """The judge's block on a variable for which it gave each code a probability."""
    facts = table({"Ada": people}, variable)
    facts += [fact(f"r{n // 2}", f"q{n}", JUDGE, people[0], variable) for n in range(len(people))]
    frame = with_probabilities(frame_of(facts, **scales), given)
    return dict(judges(sample_of(frame, variable), 0.2)[JUDGE])


def test_several_categories_are_compared_by_all_probabilities() -> None:
    three = Scale(("a", "b", "c"), "nominal")
    # (.8 .1 .1) of a: .06; (.2 .6 .2) of b: .24; (.5 .3 .2) of c: .98; certain of b: 0.
    given = shared("kind", {"a": 0.8, "b": 0.1, "c": 0.1}, {"a": 0.2, "b": 0.6, "c": 0.2},
                   {"a": 0.5, "b": 0.3, "c": 0.2}, {"b": 1.0})  # fmt: skip
    found = judged_on("kind", "abcb", given, kind=three)["calibration"]
    assert found["of"] == "label"
    assert found["brier"]["value"] == pytest.approx(0.32)
    assert [each["units"] for each in found["reliability"]] == [1] * 4
    assert "ranked_probability_score" not in found


def test_an_ordered_scale_has_the_ranked_probability_score_too() -> None:
    found = judged_on("rating", "0505", shared("rating", *[{"0": 1.0}] * 4))["calibration"]
    assert found["ranked_probability_score"]["value"] == pytest.approx(0.5)


def test_escapes_are_not_a_category_of_the_calibration() -> None:
    two = Scale(("a", "b"), "nominal", ("odd",))
    given = shared("kind", {"a": 0.3, "b": 0.1, "odd": 0.6}, {"odd": 1.0})
    found = judged_on("kind", "aa", given, kind=two)["calibration"]
    # Of a and b alone, a has .75; the second unit has nothing to compare.
    assert (found["brier"]["n"], found["brier"]["value"]) == (1, pytest.approx(2 * 0.25**2))


@pytest.mark.parametrize(
    "meta",
    [None, {}, {"probabilities": []}, {"probabilities": {}}, {"probabilities": {"a": "0.5"}},
     {"probabilities": {"a": 1.5}}, {"probabilities": {"a": True}}, {"probabilities": {"a": 0}}],
)  # fmt: skip
def test_invalid_probabilities_in_a_file_are_ignored(meta: Any) -> None:
    assert probabilities_of(meta) is None


def test_probabilities_are_read_from_a_labels_file(tmp_path: Path) -> None:
    rows = []
    for n in range(4):
        own = {"item": f"r{n}", "unit": f"q{n}", "variable": "kind", "value": "abcb"[n]}
        shares = {"a": 0.2, "b": 0.5, "c": 0.3}
        rows += [
            {**own, "rater": "Ada"},
            {**own, "rater": "m", "rater_kind": "judge", "meta": {"probabilities": shares}},
        ]
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    report = labels_report([path], {}, ReportOptions(resamples=50))
    found = report["variables"]["kind"]["judges"]["m"]["calibration"]
    # .64 + .25 + .09 = .98 of a, .04 + .25 + .09 = .38 of b twice, .04 + .25 + .49 = .78 of c.
    assert found["brier"]["value"] == pytest.approx((0.98 + 2 * 0.38 + 0.78) / 4)
    text = as_markdown(report)
    assert "Calibration of the probability of its label, against the majority" in text
    assert "Reliability of the probability of its label, in bins" in text
