"""Sizes of the measurements."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Scale:
    """Tasks of the large and the small project, and how often each operation is repeated.

    `saves` is the number of answers in each run over HTTP, whatever the number of people.
    """

    tasks: int
    small: int
    people: int
    saves: int
    repeats: int
    text: int = 4000

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


FULL = Scale(tasks=10_000, small=1_000, people=16, saves=400, repeats=3)
QUICK = Scale(tasks=60, small=20, people=2, saves=6, repeats=1, text=400)
