"""What each query's labels are for: development, evaluation or audit; pure and seeded.

Roles are drawn apart among the queries that people are asked and among the others, so that each
role has its share of both.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from annotation.assigning import share_of, shuffled

DEVELOPMENT, EVALUATION, AUDIT = "development", "evaluation", "audit"
ASKED, OTHERS = "roles of queries for people", "roles of other queries"


class Role(NamedTuple):
    """A query's role, and the chance with which it got that one."""

    name: str
    probability: float


def draw_roles(
    keys: Sequence[str], asked: Collection[str], development: float, audit: float, seed: int
) -> dict[str, Role]:
    """The role of each query. The first of a seeded order are development, the next ones audit."""
    kept = set(asked)
    found: dict[str, Role] = {}
    for purpose, part in (
        (ASKED, [key for key in keys if key in kept]),
        (OTHERS, [key for key in keys if key not in kept]),
    ):
        found |= _part(part, development, audit, seed, purpose)
    return found


def _part(
    keys: Sequence[str], development: float, audit: float, seed: int, purpose: str
) -> dict[str, Role]:
    total = len(keys)
    first = share_of(total, development)
    second = min(share_of(total, audit), total - first)
    numbers = {DEVELOPMENT: first, AUDIT: second, EVALUATION: total - first - second}
    names = [name for name, number in numbers.items() for _ in range(number)]
    order = shuffled(keys, seed, purpose)
    return {key: Role(name, numbers[name] / total) for key, name in zip(order, names, strict=True)}
