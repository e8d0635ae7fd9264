"""The cost of a report of a crowd compared with one of twelve people, and of reading a file."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.processes import python
from benchmarks.report import ENVIRONMENT

Figures = dict[str, Any]

LABELS_A_UNIT, QUERIES, UNITS_AN_ITEM, SKILL = 3, 100, 4, 0.75
FEW = 12
MOST_TIMES, MOST_MEMORY, MOST_JSON = 1.5, 500.0, 2.0
LEAST_LINES, MOST_SECONDS, MOST_MEMORY_OF_MANY = 200_000.0, 15.0, 600.0


@dataclass(frozen=True)
class Size:
    """The sizes of the reports.

    `labels` of each number of `people`, three per unit; `many` labels of three people who label
    everything; and all of `crossed` people on each of `units`.
    """

    labels: int
    people: tuple[int, ...]
    many: int
    crossed: int
    units: int
    resamples: int


FULL = Size(12_000, (FEW, 123, 174, 400), 1_000_000, crossed=123, units=350, resamples=2_000)
QUICK = Size(360, (FEW, 40), 600, crossed=35, units=40, resamples=50)


def measure_crowd(size: Size) -> Figures:
    """Measure each report in a separate process, with its peak of memory."""
    with tempfile.TemporaryDirectory() as folder:
        crowds = [
            _measured(folder, people, create_labels(people, size.labels // LABELS_A_UNIT), size)
            for people in size.people
        ]
        everybody = create_labels(size.crossed, size.units, size.crossed, alone=True)
        crossed = _measured(folder, size.crossed, everybody, size)
        many = _measured(
            folder, LABELS_A_UNIT, create_labels(LABELS_A_UNIT, size.many // LABELS_A_UNIT), size
        )
    return {"crowds": crowds, "crossed": crossed, "many": many}


def _measured(folder: str, people: int, lines: Iterator[Figures], size: Size) -> Figures:
    path = Path(folder, "labels.jsonl")
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    env = {**ENVIRONMENT, "TANDEM_DATA_DIR": folder}
    cost = python("-m", "benchmarks.crowd", path, size.resamples, env=env)
    return {"people": people, "peak_mb": cost.peak_mb, **cost.answer()}


def create_labels(
    people: int, units: int, labels: int = LABELS_A_UNIT, alone: bool = False
) -> Iterator[Figures]:
    """Create yes-or-no labels from random people for each unit, three in four of them right.

    Each unit is a query of its own if it stands alone.
    """
    generator = np.random.default_rng(0)
    for unit in range(units):
        item, query = unit // UNITS_AN_ITEM, unit * QUERIES // units
        truth = int(generator.integers(2))
        for person in generator.choice(people, labels, replace=False).tolist():
            right = generator.random() < SKILL
            yield {
                "item": f"i{unit if alone else item}",
                "unit": f"u{unit}",
                "variable": "answerable",
                "value": ("no", "yes")[truth if right else 1 - truth],
                "rater": f"p{person:03}",
                "query": f"q{unit if alone else query}",
                "system": f"s{item % 5}",
            }


def seconds(path: Path, resamples: int) -> Figures:
    """Time the report of a labels file, and the reading that is part of it."""
    import django

    django.setup()

    from tandem.labels.file.columns import read_columns
    from tandem.labels.selection import ReportOptions
    from tandem.labels_report import labels_report

    started, began = process_time(), perf_counter()
    report = labels_report([path], {}, ReportOptions(resamples=resamples))
    made, took = process_time() - started, perf_counter() - began
    began = process_time()
    lines = len(read_columns([path]))
    read = process_time() - began
    return {
        "labels": lines,
        "seconds": took,
        "processor": made,
        "lines_per_second": lines / read,
        "json_mb": len(json.dumps(report)) / 1e6,
    }


def lines(figures: Mapping[str, Any]) -> str:
    """Return a line for each figure, with its bar and whether it meets it."""
    crowds = figures["crowds"]
    few = next(each for each in crowds if each["people"] == FEW)
    rows = [("figure", "is", "bar", "")]
    for each in crowds:
        name = f"report of {each['labels']:,} labels by {each['people']} people"
        rows.append((f"{name}: seconds of processor", f"{each['processor']:.3g}", "", ""))
        if each is not few:
            times = each["processor"] / few["processor"]
            rows.append(_at_most(f"{name}: times those of {FEW}", times, MOST_TIMES))
        rows.append(_at_most(f"{name}: peak mb", each["peak_mb"], MOST_MEMORY))
        rows.append(_at_most(f"{name}: mb of JSON", each["json_mb"], MOST_JSON))
    of = figures["crossed"]
    name = f"report of {of['people']} people who all label the same, {of['labels']:,} labels"
    rows.append((f"{name}: seconds of processor", f"{of['processor']:.3g}", "", ""))
    rows.append(_at_most(f"{name}: peak mb", of["peak_mb"], MOST_MEMORY))
    of = figures["many"]
    name = f"{of['labels']:,} labels of {of['people']} people"
    read = of["lines_per_second"]
    bar = (f">= {LEAST_LINES:,.0f}", _verdict(read >= LEAST_LINES))
    rows.append((f"reading {name}: lines a second", f"{read:,.0f}", *bar))
    rows.append(_at_most(f"report of {name}: seconds", of["seconds"], MOST_SECONDS))
    rows.append(_at_most(f"report of {name}: peak mb", of["peak_mb"], MOST_MEMORY_OF_MANY))
    widths = [max(len(row[n]) for row in rows) for n in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _at_most(name: str, value: float, most: float) -> tuple[str, str, str, str]:
    return name, f"{value:.3g}", f"<= {most:g}", _verdict(value <= most)


def _verdict(holds: bool) -> str:
    return "holds" if holds else "MISSED"


if __name__ == "__main__":
    print(json.dumps(seconds(Path(sys.argv[1]), int(sys.argv[2]))))
