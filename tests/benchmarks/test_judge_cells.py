"""The parts on which the judge engine's figures depend; the bars themselves are never tests."""

from __future__ import annotations

import json
import subprocess
import sys
from math import isfinite
from pathlib import Path

import pytest

from benchmarks.judge_cells import (
    BARRED,
    MOST_MEMORY,
    MOST_PROCESSOR,
    MOST_START,
    TINY,
    UNITS,
    Cell,
    lines,
)
from tests.cast import ROOT
from tests.patience import PATIENCE


def cell(**changed: object) -> dict[str, object]:
    figures: dict[str, object] = {
        "name": "a cell", "share": 0.96, "share_of_command": 0.9, "processor": 0.4, "bare": None,
        "start": 900.0, "rate": 122.0, "peak_mb": 90.0, "rejected": 0.05, "least": 0.95,
        "most_rejected": None, "least_of_bare": None,
    }  # fmt: skip
    return figures | changed


def verdicts(**changed: object) -> list[str]:
    said = lines({"sqlite": {"cells": [cell(**changed)]}})
    return [line.split()[-1] for line in said.splitlines() if line.endswith(("holds", "MISSED"))]


def test_the_ideal_is_a_server_that_is_never_idle() -> None:
    assert Cell(0.5, 64, 2_560).ideal == 20.0
    assert Cell(0.1, 64, 4_000, capacity=50).ideal == 8.0


def test_each_bar_is_met_or_missed_by_its_own_figure() -> None:
    assert verdicts() == ["holds", "holds", "holds", "holds"]
    assert verdicts(share=0.94) == ["MISSED", "holds", "holds", "holds"]
    assert verdicts(processor=MOST_PROCESSOR + 0.1) == ["holds", "MISSED", "holds", "holds"]
    assert verdicts(start=MOST_START + 1) == ["holds", "holds", "MISSED", "holds"]
    assert verdicts(peak_mb=MOST_MEMORY + 1) == ["holds", "holds", "holds", "MISSED"]
    bare = {"bare": {"processor": 0.2, "rate": 200.0}}
    assert verdicts(**bare, least_of_bare=0.6)[2] == "holds"
    assert verdicts(**bare, least_of_bare=0.7)[2] == "MISSED"
    assert verdicts(rejected=0.07, most_rejected=0.06)[-1] == "MISSED"


def test_the_cost_of_a_call_is_shown_beside_that_of_the_bare_http_client() -> None:
    said = lines({"sqlite": {"cells": [cell(bare={"processor": 0.16, "rate": 150.0})]}})
    (row,) = [line for line in said.splitlines() if "times a bare HTTP client" in line]
    assert row.split()[-1] == "2.5"
    assert "bare" not in lines({"sqlite": {"cells": [cell()]}})


def test_a_cell_sets_the_options_of_its_server_and_judge() -> None:
    capped = next(each for each in BARRED if each.capacity)
    faulty = next(each for each in BARRED if each.faults)
    assert capped.server[-2:] == ["--capacity", "50"]
    assert faulty.server[-4:] == ["--fault", "500:0.05", "--fault", "hang:0.01"]
    assert faulty.params == ["--param", "concurrency=64", "--param", "timeout=5"]


def test_every_cell_asks_about_whole_items() -> None:
    assert all(each.calls % UNITS == 0 for each in (*BARRED, *TINY))


@pytest.mark.long
@pytest.mark.processes
def test_a_tiny_run_gives_every_figure(tmp_path: Path) -> None:
    output = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "--only", "judges", "--quick"]
    done = subprocess.run(
        [*command, "--database", "sqlite", "--output", str(output)],
        cwd=ROOT, capture_output=True, text=True, timeout=3 * PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    figures = json.loads(output.read_text("utf-8"))["judges"]["sqlite"]
    assert [each["done"] for each in figures["cells"]] == [each.calls for each in TINY]
    assert all(each["share"] > 0 and each["start"] > 0 for each in figures["cells"])
    # The time of so few calls, less that of the start, may be lost in what else the machine does.
    assert all(isfinite(each["processor"]) for each in figures["cells"])
    assert figures["saves"]["idle"] > 0
    assert "save during a run over idle" in done.stdout
