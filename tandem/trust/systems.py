"""A bound of each system's errors beside a plan's statement, by the same draws.

A judge may be wrong on some systems more often than on others, and then changes their ranking. A
plan that says so before its draws spends `PART` of its level on bounds by system, and the rest on
the statement. Each cut of each system has the same level, since nobody knows beforehand which cut
will be the loosest certified one. So all of these bounds and the statement hold together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..statistics import Ints
from ..types import JSON
from .plan import level
from .state import State

PART = 0.5
"""The part of a plan's level that bounds by system have together."""


def split(delta: float, number: int, part: float = 0, bounds: int = 1) -> tuple[float, float]:
    """Return the levels of a plan's statement and of each of its bounds by system.

    The bounds have `part` of the level of the plan of this number together, shared equally.
    """
    whole = level(delta, number)
    return whole * (1 - part), whole * part / bounds


@dataclass(frozen=True)
class Systems:
    """The cells of each system that each cut accepts, by query, (G, J), and each bound's level."""

    accepted: Mapping[str, Ints]
    level: float

    @classmethod
    def of(cls, document: JSON) -> Systems | None:
        """Return the systems of a commitment's document; None if it has no bounds by system.

        Raises ValueError.
        """
        if (found := document.get("by_system")) is None:
            return None
        accepted = {
            name: np.array(own, dtype=np.int64) for name, own in sorted(found["accepted"].items())
        }
        every = np.array(document["accepted"], dtype=np.int64)
        if any(own.shape != every.shape for own in accepted.values()):
            raise ValueError("the cells of a system are not those of the plan's queries and cuts")
        each = np.stack(list(accepted.values()))
        if (
            (each < 0).any()
            or (np.diff(each, axis=2) < 0).any()
            or (each.sum(axis=0) > every).any()
        ):
            raise ValueError("the cells of the systems are not nested, or more than all of them")
        return cls(accepted, found["level"])

    def bounds(self, state: State, wrong: Sequence[Ints], cut: int) -> dict[str, float | None]:
        """Return the upper bound of each system's risk in a cut; None where it has no cells there.

        `wrong` are the wrong cells by system and cut, (S, J), of each labelled query in its order.
        """
        found: dict[str, float | None] = {}
        for place, (name, own) in enumerate(self.accepted.items()):
            errors = np.array([each[place, cut] for each in wrong], dtype=np.int64)
            some = own[:, cut].any()
            found[name] = (
                state.bound_of_part(cut, own[:, cut], errors, self.level) if some else None
            )
        return found
