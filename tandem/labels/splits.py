"""Splits: comparisons of people and judges use the labels of evaluation queries.

Queries on which a prompt was tuned say nothing about the judge on other queries, and audit queries
are set aside. Agreement among people uses all of their labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from ..statistics import Bools
from ..types import JSON
from .selection import ReportOptions, Strata

STRATUM = "role"
ROLES = DEVELOPMENT, EVALUATION, AUDIT = "development", "evaluation", "audit"
"""The splits of queries, by the names that campaigns store."""


def evaluation_items(strata: Strata, options: ReportOptions) -> Collection[str] | None:
    """Return the items on which judges and people may be compared; None for all.

    If the options select a split, it is used instead.
    """
    roles = strata.get(STRATUM)
    if not roles or any(name == STRATUM for name, _ in options.strata):
        return None
    return {item for item, role in roles.items() if role == EVALUATION}


def item_mask(items: Sequence[str], evaluated: Collection[str]) -> Bools:
    return np.array([item in evaluated for item in items], dtype=bool)


def splits_as_json(strata: Strata, comparable: Collection[str] | None) -> JSON | None:
    """Return the items of each split, and those used in comparisons; None with a single split."""
    roles = strata.get(STRATUM)
    if not roles:
        return None
    counts = Counter(roles.values())
    return {
        **{name: counts[name] for name in ROLES},
        "compared": "chosen" if comparable is None else EVALUATION,
    }
