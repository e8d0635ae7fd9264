"""Labels that may be used where people and judges are combined: those of evaluation queries.

What a prompt was tuned on says nothing about the judge on other queries, and audit queries are
left aside. Agreement among people uses all of their labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from ..statistics import Bools
from ..types import JSON
from .selection import Choices, Strata

STRATUM = "role"
ROLES = DEVELOPMENT, EVALUATION, AUDIT = "development", "evaluation", "audit"
"""What a query may be drawn for, by the names that campaigns keep."""


def evaluated(strata: Strata, choices: Choices) -> Collection[str] | None:
    """The items that judges and people may be compared on; None for all.

    A reader who chose a role sees that one.
    """
    roles = strata.get(STRATUM)
    if not roles or any(name == STRATUM for name, _ in choices.strata):
        return None
    return {item for item, role in roles.items() if role == EVALUATION}


def among(items: Sequence[str], evaluated: Collection[str]) -> Bools:
    return np.array([item in evaluated for item in items], dtype=bool)


def told(strata: Strata, held: Collection[str] | None) -> JSON | None:
    """The items of each role, and which of them comparisons take; None where all have one."""
    roles = strata.get(STRATUM)
    if not roles:
        return None
    counts = Counter(roles.values())
    return {
        **{name: counts[name] for name in ROLES},
        "compared": "chosen" if held is None else EVALUATION,
    }
