"""Rows by what they are: lengths in thirds, shares in bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from analysis.statistics import Bools, Floats

T = TypeVar("T")
QUALITY = ("low", "medium", "high")
QUALITY_CUTS = (1 / 3, 2 / 3)


def sliced(names: Sequence[str | None], of: Callable[[Bools], T]) -> dict[str, T]:
    """What `of` makes of the rows of each name, in order of name; rows without a name in none."""
    every = np.array([name or "" for name in names], dtype=str)
    return {str(name): of(every == name) for name in sorted(set(every.tolist()) - {""})}


def grounding_quality(relevant: Floats) -> list[str | None]:
    """Bins of the share of relevant passages (N,): low below 1/3, medium up to 2/3, high above.

    After Sorodoc and others 2025, who print 33 and 66 %. None where the share is unknown (NaN).
    """
    low, high = QUALITY_CUTS
    return [
        None if np.isnan(x) else QUALITY[int(x >= low) + int(x > high)] for x in relevant.tolist()
    ]
