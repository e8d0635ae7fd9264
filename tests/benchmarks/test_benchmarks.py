"""The benchmarks work: a small run gives every figure. How fast it was is not asserted."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.reference import FIGURES
from benchmarks.scales import QUICK
from benchmarks.table import table, value_of
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
long = pytest.mark.long


def made_up() -> dict[str, Any]:
    """A run with figures twice the best of the other tools."""
    figures: dict[str, Any] = {}
    for figure in FIGURES:
        *path, name = figure.key.split(".")
        place = figures
        for part in path:
            place = place.setdefault(part, {})
        place[name] = 2 * (figure.best or 1)
    on = {"processors": 2, "processor": "x", "memory_gb": 8, "python": "3.11", "load_before": 0}
    return {"machine": on, "scale": QUICK.as_dict(), "figures": {"sqlite": figures}}


def test_the_table_compares_every_figure_with_the_best_other_tool() -> None:
    lines = table(made_up()).splitlines()[-len(FIGURES) :]
    for figure, line in zip(FIGURES, lines, strict=True):
        title, *cells = re.split("  +", line)
        assert (title, cells[0]) == (figure.title, figure.unit)
        ratio = "2.0" if figure.more_is_better else "0.5"
        assert cells[2:3] + cells[4:] == ([] if figure.best is None else [ratio, figure.by]), line


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    output = tmp_path_factory.mktemp("benchmarks") / "figures.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--output", str(output)],
        cwd=ROOT, capture_output=True, text=True, timeout=3 * PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(output.read_text("utf-8")), done.stdout


@pytest.fixture
def figures(run: tuple[dict[str, Any], str]) -> dict[str, Any]:
    return run[0]["figures"]["sqlite"]


@long
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.key)
def test_every_figure_exists_and_is_a_number(figures: dict[str, Any], figure: Any) -> None:
    value = value_of(figures, figure.key)
    assert math.isfinite(value)
    assert value > 0


@long
def test_the_figures_are_consistent(figures: dict[str, Any]) -> None:
    for who in ("small", "one", "many"):
        for what in ("save", "open"):
            assert figures[who][what]["median"] <= figures[who][what]["p95"]
    assert figures["import"]["whole_tasks_per_second"] < figures["import"]["tasks_per_second"]
    assert figures["import"]["rows_per_second"] == 2 * figures["import"]["tasks_per_second"]


@long
def test_the_figures_cover_all_items_units_and_saves(figures: dict[str, Any]) -> None:
    assert figures["campaign"]["made"]["items"] == QUICK.tasks
    assert figures["campaign"]["made"]["units"] == 2 * QUICK.tasks
    assert figures["export"]["units"] == figures["export"]["labels"] == 2 * QUICK.tasks
    for who in ("small", "one", "many"):
        assert figures[who]["save"]["n"] == figures[who]["open"]["n"] == QUICK.saves


@long
def test_a_first_visit_counts_the_page_and_its_files(figures: dict[str, Any]) -> None:
    visit = figures["visit"]
    assert visit["requests"] > 5
    assert any(name.endswith(".js") for name in visit["largest"])
    assert visit["bytes"] > sum(visit["largest"].values()) > 5_000


@long
def test_the_table_names_every_figure_once(run: tuple[dict[str, Any], str]) -> None:
    result, said = run
    for figure in FIGURES:
        assert any(line.startswith(figure.title) for line in said.splitlines()), figure.title
    assert table(result) in said


@long
def test_the_run_records_its_machine_and_time(run: tuple[dict[str, Any], str]) -> None:
    result = run[0]
    assert result["machine"]["processors"] >= 1
    assert result["scale"]["tasks"] == QUICK.tasks
    assert result["at"].startswith("20")
