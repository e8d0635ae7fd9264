"""Reports to draw in tests: a full one, and unusual ones that a study may have."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report
from tests.cast import write_lines

JSON = dict[str, Any]
LEVELS: dict[str, Any] = {"answerable": "nominal", "rating": "ordinal"}


def report_of(
    folder: Path,
    people: Sequence[str] = ("Ada", "Bram", "Chidi"),
    judges: Sequence[str] = ("mild", "strict"),
    systems: Sequence[str] = ("bm25", "dense"),
    queries: int = 12,
    resamples: int = 60,
) -> JSON:
    """A report of made-up labels: people mostly agree, judges less, and judges sometimes fail."""
    lines = list(_labels(random.Random(7), people, judges, systems, queries))
    path = write_lines(folder / "labels.jsonl", lines)
    found = {line["variable"] for line in lines}
    levels = {name: level for name, level in LEVELS.items() if name in found}
    return labels_report([path], levels, ReportOptions(resamples=resamples))


def _labels(
    chance: random.Random,
    people: Sequence[str],
    judges: Sequence[str],
    systems: Sequence[str],
    queries: int,
) -> Iterator[JSON]:
    for n in range(queries * len(systems) * 4):
        item, unit = divmod(n, 4)
        query, system = divmod(item, len(systems))
        place = {
            "item": f"q{query}/{systems[system]}",
            "unit": f"u{unit}",
            "query": f"q{query}",
            "kind": "question",
            "system": systems[system],
        }
        truth = min(5, max(0, round(chance.gauss(2.4 + 0.5 * (system % 3), 1.5))))
        for rater in (*people, *judges):
            spread = 0.6 if rater in people else 1.3
            rating = min(5, max(0, round(chance.gauss(truth, spread))))
            who = {"rater": rater, "rater_kind": "human" if rater in people else "judge"}
            if rater in judges and chance.random() < 0.06:
                why = chance.choice(("unreadable", "unreadable", "refused", "timeout"))
                yield from (place | who | {"variable": v, "missing": why} for v in LEVELS)
                continue
            sure = min(0.99, max(0.01, 0.5 + 0.3 * (rating - 2.5) / 2.5 + chance.gauss(0, 0.15)))
            score = {"score": sure} if rater in judges else {}
            yes = {"variable": "answerable", "value": ("no", "yes")[rating > 2]}
            yield place | who | yes | score
            yield place | who | {"variable": "rating", "value": str(rating)}
