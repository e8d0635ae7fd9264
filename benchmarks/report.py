"""Time and peak memory of a full report over many generated labels."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.processes import python

PEOPLE, JUDGES = ("Ada", "Bram", "Chidi"), ("strong", "middling", "weak")
SKILL = {"strong": 0.8, "middling": 0.7, "weak": 0.6} | dict.fromkeys(PEOPLE, 0.75)
CATEGORIES, QUERIES, UNITS_AN_ITEM = 4, 100, 16
SYSTEMS, DOMAINS = ("bm25", "dense", "hybrid", "oracle"), ("law", "health", "news")
ENVIRONMENT = {"DEBUG": "1", "DJANGO_SETTINGS_MODULE": "config.settings"}


def measure_report(labels: int, resamples: int) -> dict[str, Any]:
    """Time the report and its reading of labels, in a separate process with its own peak."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "labels.jsonl")
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in create_labels(labels))
        env = {**ENVIRONMENT, "TANDEM_DATA_DIR": folder}
        cost = python("-m", "benchmarks.report", path, resamples, env=env)
    return {"labels": labels, "peak_mb": cost.peak_mb, **cost.answer()}


def create_labels(labels: int) -> Iterator[dict[str, Any]]:
    """Create ordinal labels by three people and three judges, with scores, in three strata."""
    generator = np.random.default_rng(0)
    units = -(-labels // len(SKILL))
    truth = generator.integers(0, CATEGORIES, units)
    for unit in range(units):
        query, turn = unit % QUERIES, unit // QUERIES // UNITS_AN_ITEM
        place: dict[str, Any] = {
            "item": f"q{query}/{turn}",
            "unit": f"u{unit}",
            "kind": "question",
            "query": f"q{query}",
            "variable": "rating",
            "system": SYSTEMS[turn % len(SYSTEMS)],
            "setting": f"{query % 2}",
            "meta": {"domain": DOMAINS[query % len(DOMAINS)]},
        }
        for rater, skill in SKILL.items():
            right = generator.random() < skill
            value = int(truth[unit] if right else generator.integers(0, CATEGORIES))
            line = {**place, "rater": rater, "value": str(value)}
            if rater in JUDGES:
                score = float(np.clip(value + generator.normal(0, 0.4), 0, CATEGORIES - 1))
                line |= {"rater_kind": "judge", "score": score}
            yield line


def seconds(path: Path, resamples: int) -> dict[str, float]:
    """Time the function behind `report --labels`, and the reading that is part of it."""
    import django

    django.setup()

    from tandem.labels.file.frames import file_frame
    from tandem.labels.selection import ReportOptions
    from tandem.labels_report import labels_report

    began = perf_counter()
    file_frame([path], {"rating": "ordinal"})
    read = perf_counter()
    labels_report([path], {"rating": "ordinal"}, ReportOptions(resamples=resamples))
    return {"seconds": perf_counter() - read, "reading": read - began}


if __name__ == "__main__":
    print(json.dumps(seconds(Path(sys.argv[1]), int(sys.argv[2]))))
