"""The parts on which the figures of statistics depend; the bars themselves are never tests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from benchmarks.report import JUDGES, create_labels
from benchmarks.statistics import (
    MOST_MEMORY,
    MOST_SECONDS,
    MOST_SECONDS_OF_REPORT,
    UNITS_BAR,
    labels_of,
    lines,
)
from tests.cast import ROOT


def verdicts(of_report: Mapping[str, float] = MappingProxyType({}), **changed: object) -> list[str]:
    compared = {"library": "krippendorff", "resampled": "units", "theirs": 50.0, "ours": 1.0}
    figures = {
        "units": 10,
        "resamples": 5,
        "compared": [{**compared, "least": UNITS_BAR, **changed}],
        "many": 100,
        "seconds": MOST_SECONDS,
        "peak_mb": MOST_MEMORY,
        "reports": {
            "campaign": {
                "labels": 60,
                "seconds": 10.0,
                "reading": 4.0,
                "peak_mb": 300.0,
                **of_report,
            },
        },
    } | {k: v for k, v in changed.items() if k in ("seconds", "peak_mb")}
    said = lines(figures).splitlines()
    return [line.split()[-1] for line in said if line.endswith(("holds", "MISSED"))]


def test_each_bar_is_met_or_missed_by_its_own_figure() -> None:
    assert verdicts() == ["holds"] * 4
    assert verdicts(theirs=39.0) == ["MISSED", "holds", "holds", "holds"]
    assert verdicts(seconds=MOST_SECONDS + 1) == ["holds", "MISSED", "holds", "holds"]
    assert verdicts(peak_mb=MOST_MEMORY + 1) == ["holds", "holds", "MISSED", "holds"]
    assert verdicts({"seconds": MOST_SECONDS_OF_REPORT + 1})[-1] == "MISSED"
    assert verdicts(least=None) == ["holds"] * 3


def test_the_simulated_labels_agree_in_part() -> None:
    labels = labels_of(2_000)
    assert labels.shape == (2_000, 3)
    assert 0.4 < (labels[:, 0] == labels[:, 1]).mean() < 0.8


def test_the_report_has_the_requested_number_of_labels_by_three_people_and_judges() -> None:
    made = list(create_labels(1_200))
    assert len(made) == 1_200
    raters = Counter((line["rater"], line.get("rater_kind", "human")) for line in made)
    assert Counter(kind for _, kind in raters) == {"human": 3, "judge": 3}
    assert all(("score" in line) == (line["rater"] in JUDGES) for line in made)
    assert {line["value"] for line in made} == set("0123")


@pytest.mark.long
@pytest.mark.processes
def test_the_command_measures_and_writes_its_figures(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "--only", "statistics", "--quick"]
    output = tmp_path / "figures.json"
    done = subprocess.run(
        [*command, "--output", str(output)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(output.read_text())["statistics"]
    assert len(figures["compared"]) == 4
    assert all(each["ours"] > 0 for each in figures["compared"])
    assert "times faster than krippendorff, units one by one" in done.stdout
    assert set(figures["reports"]) == {"campaign", "labels file"}
    for report in figures["reports"].values():
        assert report["labels"] >= 1_200
        assert all(report[name] > 0 for name in ("seconds", "reading", "peak_mb"))
    assert "report of a labels file, 1,200 labels: seconds of reading in it" in done.stdout
