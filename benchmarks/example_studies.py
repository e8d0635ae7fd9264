"""The example studies, from an empty folder and database to tables and a checked release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from analysis.example_studies import EXAMPLES
from benchmarks.processes import manage
from benchmarks.site import production
from benchmarks.suite import temporary_folder

Figures = dict[str, Any]
BAR = 60
"""The maximum number of seconds from nothing to a study's tables."""
TO_THE_TABLES = ("init", "apply", "results")


@dataclass(frozen=True)
class Size:
    """How many studies are run."""

    presets: int


FULL = Size(len(EXAMPLES))
QUICK = Size(1)


def measure_presets(size: Size) -> Figures:
    return {name: _run(name) for name in list(EXAMPLES)[: size.presets]}


def _run(name: str) -> Figures:
    with temporary_folder() as folder:
        env = production(folder)
        manage("migrate", "--verbosity", "0", env=env)
        study, release = folder / name, folder / "release"
        steps = {
            "init": ("init_study", study, "--preset", name),
            "apply": ("apply_study", study),
            "results": (*EXAMPLES[name].results_of(name), "--output", folder / "tables.md"),
            "freeze": ("freeze_study", study, "--output", release, "--resamples", 200),
            "verify": ("verify", release),
        }
        costs = {step: manage(*words, env=env) for step, words in steps.items()}
        return {
            step: {"seconds": cost.wall, "processor": cost.processor, "megabytes": cost.peak_mb}
            for step, cost in costs.items()
        }


def lines(figures: Figures) -> str:
    """Return the figures as lines, with the bar that each study has to keep."""
    found = [f"{'preset':10} {'step':8} {'seconds':>8} {'processor':>9} {'MB':>6}"]
    for name, steps in figures.items():
        for step, cost in steps.items():
            numbers = f"{cost['seconds']:8.1f} {cost['processor']:9.1f} {cost['megabytes']:6.0f}"
            found.append(f"{name:10} {step:8} {numbers}")
        total, work = (
            sum(steps[step][of] for step in TO_THE_TABLES) for of in ("seconds", "processor")
        )
        kept = "kept" if total <= BAR else "not kept"
        found.append(
            f"{name:10} to its tables in {total:.1f} s, {work:.1f} of them processor time; the bar "
            f"of {BAR} s is {kept}"
        )
    return "\n".join(found)
