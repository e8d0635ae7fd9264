"""The parts that the figures of the statistics hang on; the bars themselves are never tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.statistics import MOST_MEMORY, MOST_SECONDS, UNITS_BAR, labels_of, lines
from tests.cast import ROOT


def verdicts(**changed: object) -> list[str]:
    compared = {"library": "krippendorff", "resampled": "units", "theirs": 50.0, "ours": 1.0}
    figures = {
        "units": 10,
        "resamples": 5,
        "compared": [{**compared, "least": UNITS_BAR, **changed}],
        "many": 100,
        "seconds": MOST_SECONDS,
        "peak_mb": MOST_MEMORY,
    } | {k: v for k, v in changed.items() if k in ("seconds", "peak_mb")}
    said = lines(figures).splitlines()
    return [line.split()[-1] for line in said if line.endswith(("holds", "MISSED"))]


def test_each_bar_is_held_or_missed_by_its_own_figure() -> None:
    assert verdicts() == ["holds", "holds", "holds"]
    assert verdicts(theirs=39.0) == ["MISSED", "holds", "holds"]
    assert verdicts(seconds=MOST_SECONDS + 1) == ["holds", "MISSED", "holds"]
    assert verdicts(peak_mb=MOST_MEMORY + 1) == ["holds", "holds", "MISSED"]
    assert verdicts(least=None) == ["holds", "holds"]


def test_the_labels_agree_in_part() -> None:
    labels = labels_of(2_000)
    assert labels.shape == (2_000, 3)
    assert 0.4 < (labels[:, 0] == labels[:, 1]).mean() < 0.8


@pytest.mark.processes
def test_the_command_measures_and_writes(tmp_path: Path) -> None:
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
