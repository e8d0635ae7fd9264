"""The parts on which a crowd's figures depend; the bars themselves are never tests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.crowd import (
    LEAST_LINES,
    MOST_JSON,
    MOST_MEMORY,
    MOST_MEMORY_OF_MANY,
    MOST_SECONDS,
    create_labels,
    lines,
)
from tests.cast import ROOT


def verdicts(**changed: float) -> list[str]:
    few = {"people": 12, "labels": 360, "processor": 2.0, "peak_mb": MOST_MEMORY,
           "json_mb": MOST_JSON}  # fmt: skip
    many = {"people": 3, "labels": 600, "seconds": MOST_SECONDS, "peak_mb": MOST_MEMORY_OF_MANY,
            "lines_per_second": LEAST_LINES}  # fmt: skip
    crowd: dict[str, Any] = {**few, "people": 400, "processor": 3.0, **changed}
    said = lines({"crowds": [few, crowd], "crossed": few, "many": many | changed}).splitlines()
    return [line.split()[-1] for line in said if line.endswith(("holds", "MISSED"))]


def test_each_bar_is_met_or_missed_by_its_own_figure() -> None:
    assert verdicts() == ["holds"] * 9
    assert verdicts(processor=3.1).index("MISSED") == 2
    assert verdicts(json_mb=MOST_JSON + 1).index("MISSED") == 4
    assert verdicts(lines_per_second=LEAST_LINES - 1).index("MISSED") == 6
    assert verdicts(seconds=MOST_SECONDS + 1).index("MISSED") == 7
    assert verdicts(peak_mb=MOST_MEMORY_OF_MANY + 1).count("MISSED") == 2


def test_each_unit_is_labelled_by_the_sampled_number_of_people() -> None:
    made = list(create_labels(40, 150))
    assert set(Counter(line["unit"] for line in made).values()) == {3}
    assert len({(line["unit"], line["rater"]) for line in made}) == 450
    assert len({line["rater"] for line in made}) == 40


@pytest.mark.long
@pytest.mark.processes
def test_the_command_measures_and_writes_its_figures(tmp_path: Path) -> None:
    output = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "--only", "crowd", "--quick"]
    done = subprocess.run([*command, "--output", output], cwd=ROOT, capture_output=True, check=True)
    assert "labels by 40 people" in done.stdout.decode()
    assert len(json.loads(output.read_text())["crowd"]["crowds"]) == 2
