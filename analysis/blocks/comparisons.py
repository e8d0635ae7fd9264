"""Every two systems on the same queries, by the mean of people's scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.blocks.itemscores import Scores
from analysis.blocks.resampling import JSON
from analysis.statistics import (
    SHARE_DIFFERENCE,
    PairedTest,
    compare_systems,
    holm,
    wilcoxon_signed_rank,
)


def comparisons(of: Scores) -> list[JSON]:
    """Paired t by query and, on the same differences, Wilcoxon's signed-rank test.

    Only queries count on which both systems have a score. Holm's adjustment of each test is over
    all pairs of systems where it is defined.
    """
    names, scores = of.by_query(of.people)
    compared = compare_systems(scores, names)
    column = {name: scores[:, n] for n, name in enumerate(names)}
    differences = [column[each.a] - column[each.b] for each in compared]
    means = _adjusted([each.test for each in compared])
    ranks = _adjusted([wilcoxon_signed_rank(difference) for difference in differences])
    return [
        {
            "a": each.a,
            "b": each.b,
            "queries": int(np.isfinite(difference).sum()),
            "difference": each.test.difference.within(*SHARE_DIFFERENCE).as_json(),
            "higher": int((np.round(difference, 12) > 0).sum()),
            "lower": int((np.round(difference, 12) < 0).sum()),
            "paired_t": mean,
            "wilcoxon": rank,
        }
        for each, difference, mean, rank in zip(compared, differences, means, ranks, strict=True)
    ]


def _adjusted(tests: Sequence[PairedTest]) -> list[JSON]:
    known = np.array([test.p_value for test in tests if test.p_value is not None], dtype=float)
    adjusted = iter(holm(known).tolist())
    return [
        {"p_value": None, "adjusted_p_value": None, "reason": test.reason}
        if test.p_value is None
        else {"p_value": test.p_value, "adjusted_p_value": next(adjusted)}
        for test in tests
    ]
