"""The alternative annotator test: may a judge replace a person? (Calderon, Reichart, Dror 2025)

Each annotator is left out in turn. On each of the annotator's items the judge wins where it is at
least as close to the remaining annotators as the annotator is, and the other way round; a tie is a
win for both. The annotator loses to the judge where wins_annotator - wins_judge is on average below
epsilon, by a one-sided t test with the false discovery rate held over annotators
(Benjamini-Yekutieli). The winning rate is the share of annotators who lose; 0.5 is a pass.

Over few queries the t test alone is too sure of itself: a judge that is broken on every fifth query
shows no broken one in .8^n of the draws, and its differences then have no variance. So by query the
p-value is never below the bound of `markov`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.statistics.alternative_results import PASS, AltTest, AnnotatorTest, Reading
from analysis.statistics.arrays import Bools, Floats, Ints, Level, pack, ratio
from analysis.statistics.bootstrap import sums_by_cluster
from analysis.statistics.distributions import t_below

#: Root mean squares that differ by less are a tie: sums of decimal fractions are not exact.
TOLERANCE = 1e-9
#: The curve's places; experts are given 0.2, trained annotators 0.15, a crowd 0.1.
EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)


#: From the judge's wins, the annotator's and epsilon to a p-value.
PValue = Callable[[Floats, Floats, float], float]
#: From labels (n,) and those of others (n, L), NaN where there is none, to how close they are.
Score = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Comparison:
    """Judge and one annotator on the annotator's items: who wins each (1 or 0), and its query."""

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
    Below `queries_needed` queries only a judge that wins more often than the annotators can pass,
    and no other has failed: the verdict is `undecided`.
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
    everyone = compare_all(human, judge, clusters, level, names)
    return tuple(verdict(everyone, epsilon, q, minimum) for epsilon in epsilons)


def additive(judge: Floats, annotator: Floats, epsilon: float) -> float:
    """H0: the annotator's wins less the judge's are on average at least epsilon; by t."""
    return p_below(annotator - judge, epsilon)


def additive_by_query(judge: Floats, annotator: Floats, epsilon: float) -> float:
    """The same H0 over the means of queries: the larger of t's p and the bound of `markov`."""
    differences = annotator - judge
    return max(p_below(differences, epsilon), markov(differences, epsilon))


def verdict(
    everyone: Sequence[Comparison],
    epsilon: float,
    q: float = 0.05,
    minimum: int = 30,
    p_value: PValue = additive,
    by_query: PValue = additive_by_query,
) -> AltTest:
    """The test of annotators with at least `minimum` items, in both readings."""
    tested = [c for c in everyone if len(c.judge) >= minimum]
    decides: Literal["by_query", "items"] = "by_query" if _repeats(tested) else "items"
    if len(tested) < 2:
        reason = f"fewer than two annotators have {minimum} items that another one labelled too"
        nothing = Reading(None, None, ())
        return AltTest(epsilon, nothing, nothing, decides, reason)
    by_items = _read(tested, epsilon, q, p_value)
    means = [_query_means(c) for c in tested]
    by_queries = _read(means, epsilon, q, by_query)
    if decides == "items":
        return AltTest(epsilon, by_items, by_queries, decides)
    # The fewest queries of those annotators who would make half, were they to lose.
    most = sorted((a.n for a in by_queries.annotators), reverse=True)
    queries, needed = most[_half(len(most)) - 1], queries_needed(len(most), epsilon, q)
    ahead = [
        a.wins and c.annotator.mean() < c.judge.mean()
        for a, c in zip(by_queries.annotators, means, strict=True)
    ]
    undecided = (needed is None or queries < needed) and float(np.mean(ahead)) < PASS
    return AltTest(epsilon, by_items, by_queries, decides, None, queries, needed, undecided)


def queries_needed(annotators: int, epsilon: float, q: float = 0.05) -> int | None:
    """From how many queries on a judge that ties with people throughout can pass; None: from none.

    Half of m annotators must be rejected: k = ceil(m/2) p-values of at most k q / (m H_m) with
    H_m = 1 + 1/2 + ... + 1/m (Benjamini and Yekutieli 2001). A tie on all n queries has
    (1 - epsilon)^n by `markov`, so that n = ln(k q / (m H_m)) / ln(1 - epsilon), rounded up.
    """
    if epsilon <= 0:
        return None
    if epsilon >= 1:
        return 1
    harmonic = sum(1 / j for j in range(1, annotators + 1))
    level = _half(annotators) * q / (annotators * harmonic)
    return max(1, math.ceil(math.log(level) / math.log1p(-epsilon)))


def _half(annotators: int) -> int:
    return (annotators + 1) // 2


def _with_nan(labels: Floats | Ints) -> Floats:
    if np.issubdtype(labels.dtype, np.integer):
        return np.where(labels < 0, np.nan, labels.astype(float))
    return labels.astype(float)


def compare_all(
    human: Floats | Ints,
    judge: Floats | Ints,
    clusters: Ints,
    level: Level,
    names: Sequence[str] | None = None,
) -> list[Comparison]:
    """The judge against each annotator; labels as in `alt_test`."""
    people, machine = _with_nan(human), _with_nan(judge)
    if names is None:
        names = [str(j) for j in range(people.shape[1])]
    packed, place = pack(people)
    several = np.isfinite(packed).sum(axis=1) > 1
    score = _equal_share if level == "nominal" else _minus_rmse
    found = []
    for j, name in enumerate(names):
        items = np.flatnonzero((place[:, j] >= 0) & several)
        others = packed[items]
        others[np.arange(len(items)), place[items, j]] = np.nan
        found.append(
            _compare(people[items, j], machine[items], others, score, clusters[items], name)
        )
    return found


def _compare(
    own: Floats, judge: Floats, others: Floats, score: Score, clusters: Ints, name: str
) -> Comparison:
    missing = ~np.isfinite(judge)
    judge_score, annotator_score = score(judge, others), score(own, others)
    judge_wins = (judge_score >= annotator_score - TOLERANCE) & ~missing
    annotator_wins = (annotator_score >= judge_score - TOLERANCE) | missing
    return Comparison(name, judge_wins.astype(float), annotator_wins.astype(float), clusters)


def _equal_share(label: Floats, others: Floats) -> Floats:
    return ratio((others == label[:, None]).sum(axis=1), np.isfinite(others).sum(axis=1))


def _minus_rmse(value: Floats, others: Floats) -> Floats:
    squares = (others - value[:, None]) ** 2
    return -np.sqrt(ratio(np.nansum(squares, axis=1), np.isfinite(others).sum(axis=1)))


def _repeats(comparisons: list[Comparison]) -> bool:
    return any(len(np.unique(c.clusters)) < len(c.clusters) for c in comparisons)


def _query_means(c: Comparison) -> Comparison:
    judge, sizes = sums_by_cluster(c.judge, c.clusters)
    annotator, _ = sums_by_cluster(c.annotator, c.clusters)
    return Comparison(c.name, judge / sizes, annotator / sizes, np.unique(c.clusters))


def _read(comparisons: list[Comparison], epsilon: float, q: float, p_value: PValue) -> Reading:
    p_values = np.array([p_value(c.judge, c.annotator, epsilon) for c in comparisons])
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


def markov(differences: Floats, threshold: float, most: float = 1.0) -> float:
    """A bound of the p-value of mean >= threshold, for differences (n,) of at most `most`.

    ((most - threshold) / (most - mean))^n, and 1 where the mean is no lower than the threshold:
    under H0 the product of n independent (most - d) has a mean of at most (most - threshold)^n, so
    Markov's inequality bounds the chance of a product as large as (most - mean)^n, the largest that
    this mean allows. For equal differences no smaller p-value is valid.
    """
    mean = float(differences.mean())
    if mean >= threshold:
        return 1.0
    return float(((most - threshold) / (most - mean)) ** len(differences))


def benjamini_yekutieli(p_values: Floats, q: float = 0.05) -> Bools:
    """Which hypotheses are rejected at false discovery rate q under any dependence (2001)."""
    from scipy import stats

    rejected: Bools = stats.false_discovery_control(p_values, method="by") <= q
    return rejected
