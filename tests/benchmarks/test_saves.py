"""Saves alone and the promise: a small run gives every figure. How fast it was is not asserted."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks import promise, saves
from tests.cast import ROOT
from tests.patience import PATIENCE


def run(part: str, folder: Path) -> tuple[dict[str, Any], str]:
    output = folder / "figures.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--only", part, "--quick", "--database", "sqlite",
         "--output", str(output)],
        cwd=ROOT, capture_output=True, text=True, timeout=3 * PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(output.read_text("utf-8"))[part]["sqlite"], done.stdout


@pytest.mark.long
def test_the_phases_of_a_save_add_up_to_its_latency(tmp_path: Path) -> None:
    figures, said = run("saves", tmp_path)
    for people in saves.PEOPLE:
        assert figures[str(people)]["n"] == saves.QUICK.saves
    assert set(figures["phases"]["shares"]) == set(saves.PHASES)
    assert sum(figures["phases"]["shares"].values()) == pytest.approx(1)
    assert all(phase in said for phase in saves.PHASES)


@pytest.mark.long
def test_latencies_of_a_busy_site_are_compared_with_those_of_a_quiet_one(tmp_path: Path) -> None:
    figures, said = run("promise", tmp_path)
    assert set(figures["p99"]) == {"save", "health/live"}
    for of in figures["p99"].values():
        assert of["times"] == pytest.approx(of["busy"] / of["quiet"])
    parts = promise.PARTS.count("busy")
    assert figures["others"]["slow connections"] == parts * promise.QUICK.slow
    assert "at most 3" in said
    for what in ("reports", "exports"):
        of = figures["answers"][what]
        # On a busy machine, the seconds of a quick run may be too few for a page.
        assert of["share"] == (pytest.approx(of["busy"] / of["alone"]) if of["alone"] else None)
    assert "at least 0.5" in said


def test_the_answers_that_researchers_get_are_a_share_of_those_without_people_who_save() -> None:
    alone = Counter({"reports (200)": 40, "exports (200)": 10, "exports (202)": 8})
    busy = Counter({"reports (200)": 30, "reports (503)": 9, "exports (200)": 5})
    assert promise.compare_answers(alone, busy) == {
        "reports": {"alone": 40, "busy": 30, "share": 0.75},
        "exports": {"alone": 10, "busy": 5, "share": 0.5},
    }


def test_a_share_of_no_answers_is_missing_and_misses_the_bar() -> None:
    answers = promise.compare_answers(Counter(), Counter({"reports (200)": 1}))
    assert answers["reports"] == {"alone": 0, "busy": 1, "share": None}
    said = promise.lines("sqlite", {"p99": {}, "answers": answers, "others": {}})
    assert said.count("at least 0.5: missed") == 2


def test_parts_with_and_without_people_who_save_are_interleaved_evenly() -> None:
    places = {kind: [n for n, part in enumerate(promise.PARTS) if part == kind] for kind in
              promise.PARTS}  # fmt: skip
    assert sum(places["alone"]) == sum(places["busy"])
    assert len(places["alone"]) == len(places["busy"])


def test_a_phases_time_excludes_that_of_nested_phases() -> None:
    watch, inner_seconds = saves.Stopwatch(), 0.02
    inner = watch.within("inner", lambda: time.sleep(inner_seconds))
    watch.within("outer", inner)()
    assert watch.seconds["inner"] >= inner_seconds
    assert watch.seconds["outer"] < watch.seconds["inner"]


def test_each_phase_names_functions_that_exist() -> None:
    for names in saves.PHASES.values():
        for name in names:
            owner, attribute = saves._owner(name)
            assert callable(getattr(owner, attribute)), name


def test_a_percentile_is_a_measured_value() -> None:
    assert promise._percentile([3.0, 1.0, 2.0]) == 3.0
    assert promise._percentile([float(n) for n in range(200)]) == 198.0
