"""Labels of three people and two judges, as rows and as a labels file."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.cast import write_lines

Row = dict[str, Any]
PEOPLE, JUDGES = ("Ada", "Bram", "Chloé"), ("llama", "gpt & co")


def rows(items: int = 60, variables: tuple[str, ...] = ("answerable",)) -> list[Row]:
    """Labels that mostly agree; some of the judges' are missing, each with its reason."""
    chance = random.Random(4)
    return [
        _row(chance, n, variable, rater)
        for n in range(items)
        for variable in variables
        for rater in (*PEOPLE, *JUDGES)
    ]


def _row(chance: random.Random, n: int, variable: str, rater: str) -> Row:
    codes = "012345" if variable == "rating" else ("yes", "no")
    right = codes[n * 7 % len(codes)]
    row: Row = {
        "item": f"i{n}",
        "unit": f"u{n}",
        "variable": variable,
        "rater": rater,
        "rater_kind": "judge" if rater in JUDGES else "human",
        "query": f"q{n % 15}",
        "system": ("bm25", "dense")[n % 2],
    }
    if rater in JUDGES and chance.random() < 0.05:
        return {**row, "missing": "refused"}
    return {**row, "value": right if chance.random() < 0.85 else chance.choice(codes)}


def file_of(folder: Path, made: list[Row]) -> Path:
    return write_lines(folder / "labels.jsonl", made)
