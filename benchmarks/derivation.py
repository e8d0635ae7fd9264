"""Derive a batch from a large campaign: verified key points of three people.

`python -m benchmarks --only derivation [--database …]`. The import of the labels takes most of the
time, and is not measured here.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.processes import Cost, manage
from benchmarks.site import production
from benchmarks.suite import Say, server_of, throw_away

Figures = dict[str, Any]
PEOPLE = ("ada", "ben", "cleo")
MOST_SECONDS, MOST_MEMORY = 20.0, 300.0


@dataclass(frozen=True)
class Size:
    queries: int
    points: int


FULL, QUICK = Size(10_000, 20), Size(20, 4)


def run_derivation(databases: Sequence[str], size: Size, say: Say) -> dict[str, Figures]:
    return {name: measure_derivation(name, size, say) for name in databases}


def measure_derivation(database: str, size: Size, say: Say) -> Figures:
    """Measure one database, which is created for this and deleted."""
    with throw_away() as folder, server_of(database) as url:
        env = production(folder, url)
        manage("migrate", "--verbosity", "0", env=env)
        batch = _write(folder / "batch.jsonl", _queries(size))
        labels = _write(folder / "labels.jsonl", _labels(size))
        say(f"{database}: loading and importing …")
        loaded = manage("load_batch", batch, "--name", "b", env=env)
        protocol = ("--protocol", "key-point-verification", "--raters-per-item", "3")
        manage("create_campaign", "c", "--batch", "b", *protocol, env=env)
        manage("import_labels", labels, "--campaign", "c", env=env)
        say(f"{database}: deriving …")
        rule = ("--rule", "verified-key-points", "--from", "c", "--ties", "drop")
        derived = manage("derive_batch", "d", "--batch", "b", *rule, env=env)
        shown = manage("batch_lineage", "d", env=env)
    figures = {"load": _cost(loaded), "derive": _cost(derived), "behind": _cost(shown)}
    return {"key_points": size.queries * size.points, **figures}


def _cost(cost: Cost) -> Figures:
    return {"wall": cost.wall, "processor": cost.processor, "peak_mb": cost.peak_mb}


def _write(path: Path, lines: Iterator[dict[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


def _queries(size: Size) -> Iterator[dict[str, Any]]:
    text = " ".join(f"word{number}" for number in range(200))
    for q in range(size.queries):
        yield {
            "id": f"q{q}",
            "text": f"What of {q}?",
            "passages": [{"id": f"q{q}p{n}", "text": f"{n} of {q} {text}"} for n in range(2)],
            "key_points": [
                {"id": f"q{q}k{n}", "text": f"Point {n} of {q}.", "passage": f"q{q}p{n % 2}"}
                for n in range(size.points)
            ],
        }


def _labels(size: Size) -> Iterator[dict[str, Any]]:
    chance = random.Random(1)
    for q in range(size.queries):
        for n in range(size.points):
            for rater in PEOPLE:
                grounded = chance.random() < 0.8
                of = {"item": f"q{q}k{n}", "unit": f"q{q}k{n}", "rater": rater}
                yield {**of, "variable": "grounded", "value": "yes" if grounded else "no"}
                if grounded:
                    code = chance.choice(("agree", "agree", "agree", "disagree"))
                    yield {**of, "variable": "key", "value": code}


def lines(figures: dict[str, Figures]) -> str:
    """Return the figures as lines of text, beside the bars."""
    head = f"bars of derive: {MOST_SECONDS:g} s, {MOST_MEMORY:g} MB"
    return "\n".join([head, *(_line(name, of) for name, of in figures.items())])


def _line(database: str, figures: Figures) -> str:
    costs = (
        f"{name} {figures[name]['wall']:.1f} s ({figures[name]['processor']:.1f} s of processor, "
        f"{figures[name]['peak_mb']:.0f} MB)"
        for name in ("load", "derive", "behind")
    )
    return f"{database}, {figures['key_points']:,} key points: {', '.join(costs)}"
