"""Scores of a label from the probabilities of all codes: the chance of yes, or the expected rating.

No threshold is applied, so that the analysis can try many.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from judging.backends.base import AskedVariable

YES = "yes"
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
DIGITS = 9


def score_of(
    variable: AskedVariable, shares: Mapping[str, float]
) -> tuple[float | None, float | None]:
    """Return the score and its variance: p(yes), or the expected rating without escapes.

    Both are None if the codes besides escapes have no probability, or are neither ordered nor
    contain yes.
    """
    codes = [code for code in variable.codes if code not in variable.escapes]
    whole = sum(shares.get(code, 0.0) for code in codes)
    if not whole:
        return None, None
    if variable.level != "nominal":
        values = values_of(codes)
        mean = sum(value * shares.get(code, 0.0) for code, value in values.items()) / whole
        spread = sum((v - mean) ** 2 * shares.get(c, 0.0) for c, v in values.items()) / whole
        return round(mean, DIGITS), round(spread, DIGITS)
    return (round(shares.get(YES, 0.0) / whole, DIGITS), None) if YES in codes else (None, None)


def values_of(codes: Sequence[str]) -> dict[str, float]:
    """Return the codes as numbers if all are numbers, else their ranks from 0."""
    if all(_NUMBER.fullmatch(code) for code in codes):
        return {code: float(code) for code in codes}
    return {code: float(rank) for rank, code in enumerate(codes)}
