"""Two columns of labels held against each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.blocks.resampling import TOO_MANY, Sample
from analysis.people import numbered
from analysis.statistics import Estimate, Floats, Ints, pair_estimates, undefined
from analysis.statistics.coefficients import PAIR

NO_ORDER = "its categories have no order"
WEIGHTED = ("cohen_kappa_linear", "cohen_kappa_quadratic")


def pair(
    sample: Sample, one: Ints, other: Ints, names: Sequence[str] = tuple(PAIR)
) -> dict[str, Estimate]:
    """The share of equal labels and Cohen's kappas of two columns (U,), as far as named."""
    apart = {name: no for name in names if (no := _undefined(sample, name, one, other))}
    wanted = [name for name in names if name not in apart]
    k = sample.k
    if sample.is_continuous:
        # Whether two labels are equal is all that a share needs, whatever the number of values.
        one, other, k = *_equal_or_not(one, other), 2
    made = pair_estimates(one, other, sample.clusters, k, names=wanted, **sample.drawing)
    return {name: (made | apart)[name] for name in names}


def numbers(sample: Sample, codes: Ints) -> Floats:
    """Codes as the numbers of their categories, NaN where there is no label."""
    return numbered(sample.frame.scale, codes)


def _undefined(sample: Sample, name: str, one: Ints, other: Ints) -> Estimate | None:
    method = PAIR[name][1]
    if name in WEIGHTED and not sample.is_ordered:
        return undefined(NO_ORDER, 0, method)
    if name != "percent" and sample.is_continuous:
        return undefined(TOO_MANY, int(((one >= 0) & (other >= 0)).sum()), method)
    return None


def _equal_or_not(one: Ints, other: Ints) -> tuple[Ints, Ints]:
    both = (one >= 0) & (other >= 0)
    return np.where(both, 0, -1), np.where(both, one != other, -1)
