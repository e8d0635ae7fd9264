"""Generated tasks, the same in every run: sentences with some peculiarities of real texts."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def write_tasks(path: Path, count: int, questions: int, characters: int) -> Path:
    """Write a batch file: each line is a query with one report and some sub-questions."""
    with path.open("w", encoding="utf-8") as file:
        for line in _tasks(count, questions, characters):
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return path


def _tasks(count: int, questions: int, characters: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(1)
    words = ["".join(chance.choices(LETTERS, k=chance.randint(2, 10))) for _ in range(3000)]
    for number in range(count):
        line: dict[str, Any] = {"id": f"t{number}", "text": f"What happened in case {number}?"}
        if questions:
            line["questions"] = [
                {"id": f"t{number}:q{n}", "text": f"Who decided on point {n} of case {number}?"}
                for n in range(questions)
            ]
        text = _text(chance, words, characters)
        line["reports"] = [{"id": f"r{number}", "text": text, "system": f"system-{number % 3}"}]
        yield line


def _text(chance: random.Random, words: list[str], characters: int) -> str:
    """Return paragraphs of sentences, some with quotation marks, accents or a symbol."""
    pieces: list[str] = []
    size = 0
    while size < characters:
        drawn = chance.choices(words, k=chance.randint(6, 20))
        drawn[0] = drawn[0].capitalize()
        if chance.random() < 0.2:
            drawn[-1] = chance.choice(('"so"', "café", "40 €", "north–south"))
        pieces.append(" ".join(drawn) + (".\n\n" if chance.random() < 0.15 else ". "))
        size += len(pieces[-1])
    return "".join(pieces)[:characters].rstrip().ljust(characters, ".")
