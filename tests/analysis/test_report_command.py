"""The report by its command: formats, choices, labels files, and what is said of wrong calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from tests.analysis.conftest import run

LABELS = Path(__file__).resolve().parents[1] / "contract" / "labels.jsonl"


def report(*options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("report", "--labels", str(LABELS), *options))
    found.pop("generated_at")
    return found


@pytest.fixture
def mood(tmp_path: Path) -> Path:
    """A bare labels file: no protocol, no query, words for values."""
    path = tmp_path / "mood.jsonl"
    values = {"Ada": ["good", "bad", "good"], "Bram": ["good", "good", "fair"]}
    rows = [
        {"item": f"i{n}", "unit": f"i{n}", "variable": "mood", "value": value, "rater": rater}
        for rater, column in values.items()
        for n, value in enumerate(column)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_the_same_seed_gives_the_same_report_and_another_another_interval() -> None:
    assert report("--resamples", "100") == report("--resamples", "100", "--seed", "0")
    first, other = report("--resamples", "100"), report("--resamples", "100", "--seed", "1")
    percent = [r["variables"]["answerable"]["agreement"]["percent"] for r in (first, other)]
    assert percent[0]["value"] == percent[1]["value"]
    assert percent[0]["low"] != percent[1]["low"]


def test_epsilon_is_said_and_used() -> None:
    judge = report("--epsilon", "0.1")["variables"]["answerable"]["judges"]["model-x"]
    assert judge["alt_test"]["epsilon"] == 0.1


def test_a_bare_file_needs_no_campaign_and_each_item_is_a_query(mood: Path) -> None:
    found = json.loads(run("report", "--labels", str(mood)))
    assert found["queries"] == 3
    assert found["variables"]["mood"]["measurement"] == "nominal"
    assert found["variables"]["mood"]["categories"] == ["bad", "fair", "good"]


def test_a_level_may_be_given(mood: Path) -> None:
    found = json.loads(run("report", "--labels", str(mood), "--level", "mood=ordinal"))
    assert found["variables"]["mood"]["measurement"] == "ordinal"


def test_markdown_shows_the_same_numbers() -> None:
    value = report()["variables"]["answerable"]["agreement"]["fleiss_kappa"]["value"]
    markdown = run("report", "--labels", str(LABELS), "--format", "md")
    assert f"{value:.3f} [" in markdown
    assert "| model-x" in markdown


def test_it_writes_a_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    assert run("report", "--labels", str(LABELS), "--output", str(path)) == ""
    assert json.loads(path.read_text("utf-8"))["resamples"] == 2000
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--labels", str(LABELS), "--level", "mood"), "VARIABLE=nominal|ordinal|interval"),
        (("--labels", str(LABELS), "--resamples", "0"), "at least 1"),
        (("--labels", "nowhere.jsonl"), "nowhere.jsonl: cannot be read"),
    ],
)
def test_a_wrong_call_is_told_in_one_line(options: tuple[str, ...], says: str) -> None:
    with pytest.raises(CommandError) as error:
        run("report", *options)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.django_db
def test_a_campaign_that_is_not_there_is_told_in_one_line() -> None:
    with pytest.raises(CommandError, match="There is no campaign 'nothing'"):
        run("report", "--campaign", "nothing")
