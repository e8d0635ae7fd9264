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
) -> dict[str, AltTest]:
    """Run `alt_test` under other rules, with the same arguments; return the results by rule.

    `multiplicative`: H0 is that annotator - judge / (1 - epsilon) has a mean of at least 0, for
    the wins of each. `missing_dropped`, only if the judge lacks labels: items without its label
    are left out instead of lost. `wilcoxon`, only if the test decides over fewer than 30 items (or
    queries) of an annotator or has too few to decide: the exact signed-rank test of whether wins
    less epsilon lie below 0, without `minimum`.
    """
    everyone = compare_all(human, judge, clusters, level, names)
    found = {
        "multiplicative": verdict(
            everyone, epsilon, q, minimum, multiplicative, multiplicative_by_query
        )
    }
    there = _is_there(judge)
    if not there.all():
        kept = compare_all(human[there], judge[there], clusters[there], level, names)
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
) -> float | None:
    """Return the effective number of independent items in the test.

    This is the mean over annotators of n / design effect, the design effect being that of the
    annotator's wins less the judge's (Kish 1965). It is never below the number of queries nor above
    the number of items. None if no annotator is tested.
    """
    everyone = compare_all(human, judge, clusters, level)
    tested = [c for c in everyone if len(c.judge) >= minimum]
    return float(np.mean([_effective(c) for c in tested])) if tested else None


def multiplicative(judge: Floats, annotator: Floats, epsilon: float) -> float:
    """Return the p-value of H0: annotator - judge / (1 - epsilon) has a mean of at least 0; by t.

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
