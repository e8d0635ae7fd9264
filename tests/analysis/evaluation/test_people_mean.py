"""*people* and *mean of people* are the same in the report and among the measures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.evaluation.system_values import mean_over_people
from annotation.models import Campaign
from tandem.scores.base import JudgedValues, Pooled
from tests.analysis.conftest import run
from tests.analysis.evaluation.test_powered import QUERIES, SYSTEMS, line
from tests.cast import write_lines
from tests.databases import rolled_back

PEOPLE = ("ada", "bram", "chidi")
JSON = dict[str, Any]


def says(rater: str, n: int, system: str, question: int) -> str:
    """Three people who answer differently, and each call some questions invalid."""
    place, who = SYSTEMS.index(system), PEOPLE.index(rater)
    if (n + 2 * question + who) % 17 == 0:
        return "invalid"
    # Each person finds a different one of three questions answered; on the fourth they agree.
    found = question % 3 == who if question < 3 else n % 6 >= place
    return "yes" if found else "no"


def labels() -> list[JSON]:
    """Chidi answers every other query alone, so that people tie on the others, too."""
    spans = [{"field": "report", "start": 0, "end": 5, "text": "Words"}]
    found = []
    for rater in PEOPLE:
        for n in range(0, QUERIES, 2 if rater == "chidi" else 1):
            for system in SYSTEMS:
                for q in range(4):
                    code = says(rater, n, system, q)
                    found.append(
                        {
                            "item": f"{system}{n:02}",
                            "unit": f"q{n:02}-{q}",
                            "rater": rater,
                            "variable": "answerable",
                            "value": code,
                            "rater_kind": "human",
                            **({"spans": spans} if code == "yes" else {}),
                        }
                    )
    return found


@pytest.fixture(scope="module")
def both(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[JSON, JSON]]:
    """The report and the measures of one campaign, which is removed after the module."""
    folder = tmp_path_factory.mktemp("both")
    batch = write_lines(folder / "batch.jsonl", [line(n) for n in range(QUERIES)])
    with rolled_back(django_db_blocker):
        run("load_batch", str(batch), "--name", "both")
        run("create_campaign", "both", "--protocol", "report-coverage", "--batch", "both",
            "--raters-per-item", "3")  # fmt: skip
        run("import_labels", str(write_lines(folder / "l.jsonl", labels())), "--campaign", "both")
        assert Campaign.objects.get().name == "both"
        report, measures = (
            json.loads(run(of, "--campaign", "both", "--resamples", "20"))
            for of in ("report", "measures")
        )
        yield report["scores"]["coverage"], measures["measures"]["Cov(y)"]["systems"]


def numbers(estimate: JSON) -> Any:
    return pytest.approx([estimate[key] for key in ("value", "low", "high", "n")])


def test_people_and_mean_of_people_are_the_same_in_report_and_measures(
    both: tuple[JSON, JSON],
) -> None:
    report, measures = both
    assert set(report["systems"]) == set(measures) == set(SYSTEMS)
    for system in SYSTEMS:
        keys = ("value", "low", "high", "n")
        people, mean = measures[system]["people"], measures[system]["mean_of_people"]
        assert [people[key] for key in keys] == numbers(report["majority"][system])
        assert [mean[key] for key in keys] == numbers(report["systems"][system]["mean"])
        for rater in PEOPLE:
            own = measures[system]["raters"][rater]
            assert [own[key] for key in keys] == numbers(report["systems"][system][rater])


def test_people_and_mean_of_people_are_different_figures(both: tuple[JSON, JSON]) -> None:
    _, measures = both
    apart = [abs(o["people"]["value"] - o["mean_of_people"]["value"]) for o in measures.values()]
    assert max(apart) > 0.05


@pytest.mark.long
@pytest.mark.django_db
def test_the_files_show_people_and_mean_of_people_under_these_names(
    both: tuple[JSON, JSON],
) -> None:
    measures = run("measures", "--campaign", "both", "--resamples", "20", "--format", "md")
    assert "| System | people | mean of people |" in " ".join(measures.split()).replace("  ", " ")
    assert "Under the mean of people" in measures
    report = run("report", "--campaign", "both", "--resamples", "20", "--format", "md")
    header = "| System | majority of people | mean of people |"
    assert header in " ".join(report.split())
    rows = run("measures", "--campaign", "both", "--resamples", "20", "--format", "csv")
    assert "leaderboard,Cov(y),,mean_of_people,mean_of_people" in rows


def test_one_person_has_no_mean_of_people(tmp_path: Path, db: None) -> None:
    batch = write_lines(tmp_path / "batch.jsonl", [line(n) for n in range(2)])
    run("load_batch", str(batch), "--name", "b")
    run("create_campaign", "c", "--protocol", "report-coverage", "--batch", "b")
    rows = [each for each in labels() if each["rater"] == "ada" and int(each["item"][-2:]) < 2]
    run("import_labels", str(write_lines(tmp_path / "l.jsonl", rows)), "--campaign", "c")
    found = json.loads(run("measures", "--campaign", "c", "--resamples", "20"))
    assert found["measures"]["Cov(y)"]["systems"]["good"]["mean_of_people"] is None
    assert [board["by"] for board in found["leaderboard"]["boards"]] == ["people", "ada"]


def test_for_pooled_measures_it_is_the_mean_of_each_persons_figure() -> None:
    """One person has 3 of 4 points, the other 1 of 6; together they would have 4 of 10."""

    def share(totals: Any) -> Any:
        return totals[..., 0] / totals[..., 1]

    one = Pooled(np.array([[2.0, 2.0], [1.0, 2.0]]), share)
    other = Pooled(np.array([[0.0, 3.0], [1.0, 3.0]]), share)
    made = mean_over_people([one, other])
    assert isinstance(made, Pooled)
    assert made.of(made.sums.sum(axis=0)) == pytest.approx((3 / 4 + 1 / 6) / 2)


def test_for_each_row_it_is_the_mean_of_people_with_a_value() -> None:
    made = mean_over_people([np.array([1.0, 0.0, np.nan]), np.array([0.0, np.nan, np.nan])])
    assert isinstance(made, np.ndarray)
    np.testing.assert_array_equal(made, [0.5, 0.0, np.nan])


def test_if_one_persons_figure_is_unknown_the_mean_is_unknown() -> None:
    known = JudgedValues(np.array([1.0, 1.0]))
    hidden = JudgedValues(np.array([np.nan, 1.0]), refused=np.array([True, False]), why="unrated")
    made = mean_over_people([known, hidden])
    assert isinstance(made, JudgedValues)
    assert made.reason == "of a person, unrated"
