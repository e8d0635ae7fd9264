"""The command `report`: formats, options, labels files, and messages about wrong calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from tandem.statistics import resampling
from tests.analysis.conftest import run

LABELS = Path(__file__).resolve().parents[1] / "contract" / "labels.jsonl"


def report(*options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("report", "--labels", str(LABELS), *options))
    found.pop("generated_at")
    return found


@pytest.fixture
def mood(tmp_path: Path) -> Path:
    """A minimal labels file: without protocol and query, with words as values."""
    path = tmp_path / "mood.jsonl"
    values = {"Ada": ["good", "bad", "good"], "Bram": ["good", "good", "fair"]}
    rows = [
        {"item": f"i{n}", "unit": f"i{n}", "variable": "mood", "value": value, "rater": rater}
        for rater, column in values.items()
        for n, value in enumerate(column)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_the_same_seed_gives_the_same_report_and_another_seed_does_not() -> None:
    seeds = ((), ("--seed", "0"), ("--seed", "1"))
    first, same, other = (report("--resamples", "100", *seed) for seed in seeds)
    assert first == same
    percent = [r["variables"]["answerable"]["agreement"]["percent"] for r in (first, other)]
    assert percent[0]["value"] == percent[1]["value"]
    assert percent[0]["low"] != percent[1]["low"]


def test_epsilon_and_the_planned_width_are_printed_and_used() -> None:
    found = report("--epsilon", "0.1", "--width", "0.3")
    judge = found["variables"]["answerable"]["judges"]["model-x"]
    assert judge["alt_test"]["epsilon"] == 0.1
    assert found["choices"]["width"] == 0.3
    assert found["variables"]["answerable"]["planning"]["width"] == 0.3
    with pytest.raises(CommandError, match=r"--width must be a number from 0\.001 to 1\."):
        report("--width", "0")


def test_a_minimal_file_needs_no_campaign_and_each_item_is_its_own_query(mood: Path) -> None:
    found = json.loads(run("report", "--labels", str(mood)))
    assert found["queries"] == 3
    assert found["variables"]["mood"]["measurement"] == "nominal"
    assert found["variables"]["mood"]["categories"] == ["bad", "fair", "good"]


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    """Ratings with decimals by three people, with a different value on each unit."""
    path = tmp_path / "ratings.jsonl"
    rows = [
        {
            "item": f"i{n}",
            "unit": f"i{n}",
            "variable": "score",
            "value": f"{n + shift / 10:.1f}",
            "rater": rater,
        }
        for shift, rater in enumerate(("Ada", "Bram", "Chidi"))
        for n in range(40)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_the_level_of_measurement_can_be_set(ratings: Path) -> None:
    found = json.loads(run("report", "--labels", str(ratings), "--level", "score=interval"))
    score = found["variables"]["score"]
    assert score["measurement"] == "interval"
    assert score["agreement"]["krippendorff_alpha"]["value"] > 0.99


def test_a_table_of_more_than_sixty_values_is_left_out(ratings: Path) -> None:
    found = json.loads(run("report", "--labels", str(ratings), "--level", "score=interval"))
    pair = found["variables"]["score"]["agreement"]["pairs"][0]
    assert pair["cohen_kappa"]["value"] is None
    assert "over 60 different values" in pair["cohen_kappa"]["reason"]
    assert pair["spearman"]["value"] == pytest.approx(1)


def test_the_command_writes_the_whole_file_and_markdown_has_its_numbers(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    assert run("report", "--labels", str(LABELS), "--output", str(path)) == ""
    found = json.loads(path.read_text("utf-8"))
    assert found["resamples"] == resampling.RESAMPLES_OF_FEW
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]
    value = found["variables"]["answerable"]["agreement"]["fleiss_kappa"]["value"]
    markdown = run("report", "--labels", str(LABELS), "--format", "md")
    assert f"{value:.3f} [" in markdown
    assert "| model-x" in markdown


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--labels", str(LABELS), "--level", "mood"), "VARIABLE=nominal|ordinal|interval"),
        (("--labels", str(LABELS), "--level", "mood=ordinal"), "no label is of 'mood'"),
        (("--labels", str(LABELS), "--epsilon", "nan"), "from 0 to 1"),
        (("--campaign", "c", "--level", "mood=ordinal"), "goes with --labels"),
        (("--labels", str(LABELS), "--resamples", "0"), "at least 1"),
        (("--labels", "nowhere.jsonl"), "nowhere.jsonl: cannot be read"),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(options: tuple[str, ...], says: str) -> None:
    with pytest.raises(CommandError) as error:
        run("report", *options)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.django_db
def test_an_unknown_campaign_is_refused_in_one_line() -> None:
    with pytest.raises(CommandError, match="There is no campaign 'nothing'"):
        run("report", "--campaign", "nothing")


def test_labels_in_words_have_no_order_in_a_file(mood: Path) -> None:
    with pytest.raises(CommandError, match=r'line 1: mood is "good", which is not a number'):
        run("report", "--labels", str(mood), "--level", "mood=ordinal")


def lines_of(path: Path, *rows: dict[str, str]) -> str:
    base = {"item": "i", "unit": "i", "variable": "mood", "rater": "Ada"}
    path.write_text("".join(json.dumps({**base, **row}) + "\n" for row in rows), "utf-8")
    return str(path)


def test_contradictions_are_refused_as_they_are_on_import(tmp_path: Path) -> None:
    twice = lines_of(tmp_path / "twice.jsonl", {"value": "good"}, {"value": "bad"})
    with pytest.raises(CommandError, match=r"line 2: .* on line 1 too"):
        run("report", "--labels", twice)
    human = {"value": "good", "rater_kind": "human"}
    judge = {"value": "good", "unit": "j", "rater_kind": "judge"}
    with pytest.raises(CommandError, match=r"line 2: 'Ada' is a judge here"):
        run("report", "--labels", lines_of(tmp_path / "kinds.jsonl", human, judge))


def test_an_answer_that_no_person_gave_counts_against_the_judge(tmp_path: Path) -> None:
    rows = [
        {"unit": f"u{n}", "value": "xy"[n % 2], "rater": rater, "rater_kind": "human"}
        for rater in ("Ada", "Bram")
        for n in range(4)
    ] + [
        {"unit": f"u{n}", "value": "x" if n == 0 else "z", "rater": "m", "rater_kind": "judge"}
        for n in range(4)
    ]
    found = json.loads(run("report", "--labels", lines_of(tmp_path / "z.jsonl", *rows)))
    mood = found["variables"]["mood"]
    judge = mood["judges"]["m"]
    assert mood["categories"] == ["x", "y"]
    assert judge["units"] == 4
    assert judge["agreement"]["percent"]["value"] == pytest.approx(1 / 4)
    assert judge["confusion"]["labels"] == ["x", "y", "z"]
    assert judge["escapes"] == {}
    assert mood["agreement"]["randolph_kappa"]["value"] == 1
