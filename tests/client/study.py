"""A small study: twelve reports about ferries, and labels of three people from elsewhere."""

from __future__ import annotations

import random
from typing import Any

PEOPLE = ("Ada", "Bram", "Chloé")
JUDGE = "ferry-words"  # names of judges are unique on the site, where a notebook has its own
QUESTIONS = ("When does it leave?", "Does it carry cars?")
BATCH: list[dict[str, Any]] = [
    {
        "id": f"q{n}",
        "text": f"Tell me about ferry {n} ⛴.",
        "questions": [{"id": f"q{n}:{m}", "text": text} for m, text in enumerate(QUESTIONS)],
        "reports": [
            {
                "id": f"r{n}",
                "text": f"Ferry {n} leaves at nine." + (" It carries cars." if n % 2 else ""),
                "system": ("bm25", "dense")[n % 2],
            }
        ],
    }
    for n in range(12)
]


def labels() -> list[dict[str, Any]]:
    chance = random.Random(4)
    return [
        {
            "item": f"r{n}",
            "unit": f"q{n}:{m}",
            "variable": "answerable",
            "rater": rater,
            "value": ("yes" if m == 0 or n % 2 else "no") if chance.random() < 0.9 else "no",
        }
        for n in range(12)
        for m in range(2)
        for rater in PEOPLE
    ]
