"""A batch of two queries with a part of every kind, and the labels of a few people on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets.material import batch_rows
from datasets.models import Batch
from tandem.files.rows import Query
from tests.cast import campaign_of, load, run, write_lines

Line = dict[str, Any]
PEOPLE = ("ada", "ben", "cleo")


def _query(number: int, points: int = 4) -> Line:
    name = f"q{number}"
    return {
        "id": name,
        "text": f"What of the bridge {number}?",
        "questions": [{"id": f"{name}:{n}", "text": f"Question {n}?"} for n in range(3)],
        "passages": [
            {"id": f"{name}p{n}", "text": f"Passage {n} of {name}. It says more."} for n in range(3)
        ],
        "key_points": [
            {"id": f"{name}k{n}", "text": f"Point {n}.", "passage": f"{name}p{n % 3}"}
            for n in range(points)
        ],
        "reports": [
            {"id": f"{name}r", "text": "It was built.", "system": "one", "context": [f"{name}p1"]},
            {"id": f"{name}o", "text": "It is old.", "system": "oracle", "setting": "oracle"},
        ],
        "rankings": [{"system": "bm25", "passages": [f"{name}p2", f"{name}p0", f"{name}p1"]}],
        "references": [{"text": "By hand.", "citations": [f"{name}p0"]}],
        "meta": {"domain": "bridges", "b": 1, "a": [2]},
    }


BATCH = (_query(1), _query(2))


def batch(folder: Path, lines: Sequence[Line] = BATCH, name: str = "b") -> Batch:
    load(folder, lines, name)
    return Batch.objects.get(name=name)


def campaign(protocol: str, *arguments: str, name: str = "verify", people: int = 3) -> None:
    campaign_of(protocol, "--raters-per-item", str(people), *arguments, name=name)


def label(
    folder: Path,
    given: Mapping[str, Sequence[Mapping[str, str]]],
    name: str = "verify",
    items: Mapping[str, str] | None = None,
    people: Sequence[str] = PEOPLE,
    **more: str,
) -> None:
    """Import labels: for each unit, the values that each person gave it, by variable."""
    lines = [
        {
            "item": (items or {}).get(unit, unit),
            "unit": unit,
            "variable": variable,
            "value": value,
            "rater": rater,
            **more,
        }
        for unit, answers in given.items()
        for rater, values in zip(people, answers, strict=False)
        for variable, value in values.items()
    ]
    run("import_labels", write_lines(folder / f"{name}-labels.jsonl", lines), "--campaign", name)


def derive(name: str, rule: str, *arguments: object, source: str = "b", campaign: str = "") -> str:
    of = ("--from", campaign) if campaign else ()
    return run("derive_batch", name, "--batch", source, "--rule", rule, *of, *arguments)


def queries(name: str) -> dict[str, Query]:
    return {query.id: query for query in batch_rows(Batch.objects.get(name=name))}
