"""From a design to who is asked what, in which order: pure and seeded.

Every draw ranks keys by SHA-256 of the seed, the purpose and the key, so that anyone can make it
again in any language.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from annotation.protocols.base import UnitSpec

FIXED = ("reference",)
"""Kinds of texts that are no unit, so that their order sways nothing."""


def rank(seed: int, purpose: str, key: str) -> bytes:
    """The place of a key in a seeded order: SHA-256 of seed, purpose and key, NUL between them."""
    return hashlib.sha256(f"{seed}\0{purpose}\0{key}".encode()).digest()


def shuffled(keys: Iterable[str], seed: int, purpose: str) -> list[str]:
    return sorted(keys, key=lambda key: rank(seed, purpose, key))


def draw(keys: Sequence[str], count: int, seed: int, purpose: str) -> list[str]:
    """`count` of the keys at random, without replacement, in their given order."""
    drawn = set(shuffled(keys, seed, purpose)[:count])
    return [key for key in keys if key in drawn]


def share_of(total: int, share: float) -> int:
    """How many a share is: rounded, and at least one where there is anything to draw from."""
    return min(total, max(1, round(share * total))) if share > 0 else 0


def shuffle_units(
    units: Sequence[UnitSpec], seed: int, purpose: str, query: str = ""
) -> list[UnitSpec]:
    """Units in random order, the sentences of a text still behind it and in reading order.

    What joins a passage and an answer stands behind the passage, in the order of the answers.
    `query` is as for `shuffle_fields`.
    """

    def place(unit: UnitSpec) -> tuple[bytes, ...]:
        texts = [_unit_of(field, query) for field in reversed(unit.of)] or [_text_of(unit)]
        return tuple(rank(seed, purpose, text) for text in texts)

    return sorted(units, key=place)


def shuffle_fields(fields: Sequence[str], seed: int, purpose: str, query: str = "") -> list[str]:
    """The fields of texts, each kind by itself, in the order of `shuffle_units` for the same texts.

    `query` is the query's key, with which the units of its passages begin. Reference answers, which
    nobody judges, are none of them: they stand first, in their own order.
    """
    kinds = list(dict.fromkeys(field.partition(":")[0] for field in fields))

    def place(field: str) -> tuple[int, bytes]:
        kind = field.partition(":")[0]
        return kinds.index(kind), rank(seed, purpose, _unit_of(field, query))

    return sorted((f for f in fields if f.partition(":")[0] not in FIXED), key=place)


def _unit_of(field: str, query: str) -> str:
    """The key of the unit that a text would be."""
    kind, _, key = field.partition(":")
    return f"{query}/{key}" if kind == "passage" and query else key


def _text_of(unit: UnitSpec) -> str:
    """The key of the text that a unit is, or that a sentence stands in."""
    return unit.key.rpartition("#")[0] if unit.kind.endswith("sentence") else unit.key
