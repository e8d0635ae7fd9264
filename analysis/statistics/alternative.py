"""The alternative annotator test: may a judge replace a person? (Calderon, Reichart, Dror 2025)

Each annotator is left out in turn. On each of the annotator's items the judge wins where it is at
least as close to the remaining annotators as the annotator is, and the other way round; a tie is a
win for both. The annotator loses to the judge where wins_annotator - wins_judge is on average below
epsilon, by a one-sided t test with the false discovery rate held over annotators
(Benjamini-Yekutieli). The winning rate is the share of annotators who lose; 0.5 is a pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.statistics.alternative_results import AltTest, AnnotatorTest, Reading
from analysis.statistics.arrays import Bools, Floats, Ints, Level, ratio
from analysis.statistics.bootstrap import sums_by_cluster
from analysis.statistics.distributions import t_below

#: Root mean squares that differ by less are a tie: sums of decimal fractions are not exact.
TOLERANCE = 1e-9
#: The curve's places; experts are given 0.2, trained annotators 0.15, a crowd 0.1.
EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)


@dataclass(frozen=True)
class _Comparison:
    """Judge and one annotator on the annotator's items: who wins each, and its query."""

    name: str
    judge: Floats
    annotator: Floats
    clusters: Ints


def alt_test(
    human: Floats | Ints,
    judge: Floats | Ints,
    clusters: Ints,
    *,
    level: Level,
    epsilon: float,
    names: Sequence[str] | None = None,
    q: float = 0.05,
    minimum: int = 30,
) -> AltTest:
    """Test a judge (U,) against annotators (U, R), the queries of the units being `clusters`.

    In whole-number arrays -1 is a missing label (codes), in floating-point ones NaN (values). A
    missing label of the judge is a loss. The score is the share of equal labels for nominal, minus
    the root mean square difference for ordinal and interval variables. Annotators with fewer than
    `minimum` items that someone else labelled too are dropped. Queries decide where at least one
    holds several of the items that are compared; else each item is a query, and items decide.
    """
    (test,) = epsilon_curve(
        human, judge, clusters, level=level, epsilons=(epsilon,), names=names, q=q, minimum=minimum
    )
    return test


def epsilon_curve(
    human: Floats | Ints,
    judge: Floats | Ints,
    clusters: Ints,
    *,
    level: Level,
    epsilons: Sequence[float] = EPSILONS,
    names: Sequence[str] | None = None,
    q: float = 0.05,
    minimum: int = 30,
) -> tuple[AltTest, ...]:
    """The test at each epsilon: how far the verdict hangs on the choice made before the run."""
    everyone = _compare_all(_with_nan(human), _with_nan(judge), clusters, level, names)
    tested = [c for c in everyone if len(c.judge) >= minimum]
    return tuple(_test(tested, epsilon, q, minimum) for epsilon in epsilons)


def _test(tested: list[_Comparison], epsilon: float, q: float, minimum: int) -> AltTest:
    decides: Literal["by_query", "items"] = "by_query" if _repeats(tested) else "items"
    if len(tested) < 2:
        reason = f"fewer than two annotators have {minimum} items that another one labelled too"
        nothing = Reading(None, None, ())
        return AltTest(epsilon, nothing, nothing, decides, reason)
    by_items = _read(tested, epsilon, q)
    by_queries = _read([_query_means(c) for c in tested], epsilon, q)
    return AltTest(epsilon, by_items, by_queries, decides)


def _with_nan(labels: Floats | Ints) -> Floats:
    if np.issubdtype(labels.dtype, np.integer):
        return np.where(labels < 0, np.nan, labels.astype(float))
    return labels.astype(float)


def _compare_all(
    human: Floats, judge: Floats, clusters: Ints, level: Level, names: Sequence[str] | None
) -> list[_Comparison]:
    if names is None:
        names = [str(j) for j in range(human.shape[1])]
    return [_compare(human, judge, clusters, level, j, name) for j, name in enumerate(names)]


def _compare(
    human: Floats, judge: Floats, clusters: Ints, level: Level, j: int, name: str
) -> _Comparison:
    others = np.delete(human, j, axis=1)
    items = np.isfinite(human[:, j]) & np.isfinite(others).any(axis=1)
    score = _equal_share if level == "nominal" else _minus_rmse
    judge_score = score(judge[items], others[items])
    annotator_score = score(human[items, j], others[items])
    missing = ~np.isfinite(judge[items])
    judge_wins = (judge_score >= annotator_score - TOLERANCE) & ~missing
    annotator_wins = (annotator_score >= judge_score - TOLERANCE) | missing
    return _Comparison(
        name, judge_wins.astype(float), annotator_wins.astype(float), clusters[items]
    )


def _equal_share(label: Floats, others: Floats) -> Floats:
    return ratio((others == label[:, None]).sum(axis=1), np.isfinite(others).sum(axis=1))


def _minus_rmse(value: Floats, others: Floats) -> Floats:
    squares = (others - value[:, None]) ** 2
    return -np.sqrt(ratio(np.nansum(squares, axis=1), np.isfinite(others).sum(axis=1)))


def _repeats(comparisons: list[_Comparison]) -> bool:
    return any(len(np.unique(c.clusters)) < len(c.clusters) for c in comparisons)


def _query_means(c: _Comparison) -> _Comparison:
    judge, sizes = sums_by_cluster(c.judge, c.clusters)
    annotator, _ = sums_by_cluster(c.annotator, c.clusters)
    return _Comparison(c.name, judge / sizes, annotator / sizes, np.unique(c.clusters))


def _read(comparisons: list[_Comparison], epsilon: float, q: float) -> Reading:
    p_values = np.array([p_below(c.annotator - c.judge, epsilon) for c in comparisons])
    wins = benjamini_yekutieli(p_values, q)
    annotators = tuple(
        AnnotatorTest(c.name, len(c.judge), float(p), bool(won), float(c.judge.mean()))
        for c, p, won in zip(comparisons, p_values, wins, strict=True)
    )
    advantage = float(np.mean([a.advantage_probability for a in annotators]))
    return Reading(float(wins.mean()), advantage, annotators)


def p_below(differences: Floats, epsilon: float) -> float:
    """The one-sided t test of mean >= epsilon against mean < epsilon.

    Without variance it is 0 where the mean is below epsilon and else 1; a single difference, which
    can prove nothing, gives 1.
    """
    n, mean = len(differences), differences.mean()
    if n < 2:
        return 1.0
    if np.ptp(differences) < TOLERANCE:
        return 0.0 if mean < epsilon else 1.0
    t = (mean - epsilon) / (differences.std(ddof=1) / np.sqrt(n))
    return float(t_below(t, n - 1))


def benjamini_yekutieli(p_values: Floats, q: float = 0.05) -> Bools:
    """Which hypotheses are rejected at false discovery rate q under any dependence (2001)."""
    from scipy import stats

    rejected: Bools = stats.false_discovery_control(p_values, method="by") <= q
    return rejected
