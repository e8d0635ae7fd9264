"""The two forms of Cov(y): by yes and no, and by ratings that are cut at eta."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.conftest import run
from tests.analysis.evaluation.test_command import label
from tests.cast import write_lines

pytestmark = pytest.mark.django_db

JSON = dict[str, Any]
QUESTIONS = range(6)
#: The number of six sub-questions that get a yes from people.
YES = {"u": 4, "v": 3, "w": 1, "x": 2, "y": 6, "z": 0}
#: A judge's ratings. At 3 they cover 5, 4, 2, 3, 6 and 0 of six; at 5 they cover 4, 3, 2, 1, 6, 0.
RATED = {
    "u": "5 5 5 5 4 0",
    "v": "5 5 5 3 0 0",
    "w": "5 5 1 0 0 0",
    "x": "3 4 5 2 0 0",
    "y": "5 5 5 5 5 5",
    "z": "2 1 0 0 0 0",
}


@pytest.fixture
def campaign(tmp_path: Path) -> None:
    line = {
        "id": "t",
        "text": "What happened?",
        "questions": [{"id": f"q{n}", "text": "What?"} for n in QUESTIONS],
        "reports": [{"id": name, "text": "Words.", "system": name} for name in YES],
    }
    run("load_batch", str(write_lines(tmp_path / "batch.jsonl", [line])), "--name", "b")
    run("create_campaign", "c", "--protocol", "report-coverage", "--batch", "b",
        "--option", "variables=answerable,rating")  # fmt: skip
    run("import_labels", str(write_lines(tmp_path / "l.jsonl", labels())), "--campaign", "c")


def labels() -> Iterator[JSON]:
    for name, ratings in RATED.items():
        for n, rating in enumerate(ratings.split()):
            yield label(name, f"q{n}", "answerable", "yes" if n < YES[name] else "no")
            yield label(name, f"q{n}", "answerable", "no" if n else "yes", "judge")
            yield label(name, f"q{n}", "rating", rating, "judge")


def report(*options: str) -> JSON:
    found: JSON = json.loads(run("measures", "--campaign", "c", "--resamples", "2", *options))
    return found


def test_a_judges_ratings_and_peoples_yes_and_no_are_compared_by_their_order_of_systems(
    campaign: None,
) -> None:
    """At η = 3, people and the judge order the six systems alike; at 5, w and x change places."""
    (pair,) = report()["measures"]["Cov(y)"]["forms"]
    assert (pair["a"], pair["form"], pair["b"]) == ("people", "Cov(y)@rated", "judge")
    assert pair["kendall"]["value"] == pytest.approx(1)
    # One query, so that the reports are the systems: their ranks are the same.
    assert (pair["spearman"]["value"], pair["spearman"]["n"]) == (pytest.approx(1), 6)
    (pair,) = report("--option", "eta=5")["measures"]["Cov(y)"]["forms"]
    assert pair["kendall"]["value"] == pytest.approx((14 - 1) / 15)
    # Two ranks differ by 1: 1 - 6 * 2 / (6 * 35).
    assert pair["spearman"]["value"] == pytest.approx(1 - 12 / 210)


def test_pairs_of_forms_are_listed_once_and_not_for_single_people(campaign: None) -> None:
    found = report()
    assert found["measures"]["Cov(y)@rated"]["forms"] == []
    assert all(
        rater in ("people", "judge")
        for of in found["measures"].values()
        for pair in of["forms"]
        for rater in (pair["a"], pair["b"])
    )


def test_both_forms_of_one_rater_are_compared_as_two_measures(campaign: None) -> None:
    """The judge says yes once for every report, which orders nothing."""
    (pair,) = report()["metrics"]["judge"]
    assert (pair["a"], pair["b"]) == ("Cov(y)", "Cov(y)@rated")
    assert (pair["kendall"]["value"], pair["kendall"]["n"]) == (None, 6)
    assert "people" not in report()["metrics"]


def test_markdown_and_csv_show_the_comparison_of_forms(campaign: None) -> None:
    markdown = run("measures", "--campaign", "c", "--resamples", "2", "--format", "md")
    assert "| Cov(y) – Cov(y)@rated | people – judge" in markdown
    text = run("measures", "--campaign", "c", "--resamples", "2", "--format", "csv")
    rows = [row for row in csv.DictReader(text.splitlines()) if row["part"] == "form"]
    compared = [(row["by"], row["other"], row["method"].split()[0], row["value"]) for row in rows]
    assert compared == [
        ("people", "judge: Cov(y)@rated", "Kendall's", "1.0"),
        ("people", "judge: Cov(y)@rated", "Spearman's", "1.0"),
    ]
