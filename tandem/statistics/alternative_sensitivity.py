"""How the alternative annotator test depends on its rules and on the correlation within queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .alternative import FEW, AltTest, Comparison, compare_all, markov, p_below, verdict
from .arrays import Bools, Floats, Ints, Level
from .cluster_means import design_effect
from .paired import signed_rank_below


def alt_test_sensitivity(
    human: Floats | Ints,
    judge: Floats | Ints,
    clusters: Ints,
    *,
    level: Level,
    epsilon: float,
    names: Sequence[str] | None = None,
    q: float = 0.05,
    minimum: int = FEW,
    members: Floats | None = None,
) -> dict[str, AltTest]:
    """Run `alt_test` under other rules, with the same arguments; return the results by rule.

    - `multiplicative`: H0 is that the mean of wins_annotator - wins_judge / (1 - epsilon) is at
      least 0.
    - `missing_dropped`, only if the judge lacks labels: items without the judge's label are left
      out instead of lost.
    - `wilcoxon`, only if an annotator has fewer than 30 of the items or queries that decide, or if
      there are too few to decide: the exact signed-rank test of whether
      wins_annotator - wins_judge - epsilon is below 0, without `minimum`.
    """
    everyone = compare_all(human, judge, clusters, level, names, members)
    found = {
        "multiplicative": verdict(
            everyone, epsilon, q, minimum, multiplicative, multiplicative_by_query
        )
    }
    there = _is_there(judge)
    if not there.all():
        kept = compare_all(human[there], judge[there], clusters[there], level, names, members)
        found["missing_dropped"] = verdict(kept, epsilon, q, minimum)
    test = verdict(everyone, epsilon, q, minimum)
    read = test.by_query if test.decides == "by_query" else test.items
    if test.reason or any(a.n < FEW for a in read.annotators):
        found["wilcoxon"] = verdict(everyone, epsilon, q, 1, signed_rank, signed_rank)
    return found


def effective_items(
    human: Floats | Ints,
    judge: Floats | Ints,
    clusters: Ints,
    *,
    level: Level,
    minimum: int = FEW,
    members: Floats | None = None,
) -> float | None:
    """Return the effective number of independent items in the test.

    This is the mean over annotators of n / design effect (Kish 1965), where the design effect is
    that of wins_annotator - wins_judge. The result is at least the number of queries and at most
    the number of items. None if no annotator is tested.
    """
    everyone = compare_all(human, judge, clusters, level, members=members)
    tested = [c for c in everyone if len(c.judge) >= minimum]
    return float(np.mean([_effective(c) for c in tested])) if tested else None


def loss_correlation(
    human: Floats | Ints,
    judge: Floats | Ints,
    clusters: Ints,
    *,
    level: Level,
    minimum: int = FEW,
    members: Floats | None = None,
) -> float | None:
    """Return the correlation of two losses of a judge in the same query, from 0 to 1.

    From the design effect 1 + (n - 1) r, where n = sum n_q^2 / sum n_q for queries of n_q items
    (Kish 1965), as a mean over annotators. A loss is wins_annotator - wins_judge. None if no
    annotator is tested, and 0 if no query holds several items.
    """
    everyone = compare_all(human, judge, clusters, level, members=members)
    found = [_correlation(c) for c in everyone if len(c.judge) >= minimum]
    return float(np.clip(np.mean(found), 0.0, 1.0)) if found else None


def _correlation(c: Comparison) -> float:
    sizes = np.unique(c.clusters, return_counts=True)[1].astype(float)
    size, effect = (sizes**2).sum() / sizes.sum(), design_effect(c.annotator - c.judge, c.clusters)
    return float((effect - 1) / (size - 1)) if size > 1 and np.isfinite(effect) else 0.0


def multiplicative(judge: Floats, annotator: Floats, epsilon: float) -> float:
    """Return the t test's p-value of H0: annotator - judge / (1 - epsilon) has a mean >= 0.

    Both sides are multiplied by 1 - epsilon, which leaves t unchanged and allows an epsilon of 1.
    """
    return p_below((1 - epsilon) * annotator - judge, 0.0)


def multiplicative_by_query(judge: Floats, annotator: Floats, epsilon: float) -> float:
    """Like `multiplicative`, from query means: the larger of t's p and the bound of `markov`."""
    differences = (1 - epsilon) * annotator - judge
    return max(p_below(differences, 0.0), markov(differences, 0.0, most=1 - epsilon))


def signed_rank(judge: Floats, annotator: Floats, epsilon: float) -> float:
    """Return the p-value of H0: annotator - judge - epsilon is not below 0; by signed ranks."""
    return signed_rank_below(annotator - judge - epsilon)


def _is_there(labels: Floats | Ints) -> Bools:
    is_code = np.issubdtype(labels.dtype, np.integer)
    return np.asarray(labels >= 0 if is_code else np.isfinite(labels))


def _effective(c: Comparison) -> float:
    n, queries = len(c.judge), len(np.unique(c.clusters))
    effect = design_effect(c.annotator - c.judge, c.clusters)
    return float(np.clip(n / effect, queries, n)) if np.isfinite(effect) and effect > 0 else n
