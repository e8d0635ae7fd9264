"""The power of the alternative annotator test, and how its answer depends on its rules.

The rule that decides is simulated: by items where each query has a single one, and otherwise by
the means of queries, with the bound of `markov`, whose items are as correlated as in the data.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .alternative import (
    FEW,
    TOLERANCE,
    AltTest,
    Comparison,
    Q,
    compare_all,
    markov,
    p_below,
    verdict,
)
from .alternative_losses import Losses, passing
from .cluster_means import design_effect
from .estimate import Bools, Floats, Ints, Level
from .paired import signed_rank_below

#: The largest number of labels simulated at once.
AT_ONCE = 4_000_000
#: The most queries simulated, from which studies are drawn, and the fewest.
MOST_QUERIES, FEWEST_QUERIES = 10_000, 2_000


def alt_test_power(
    items: int,
    *,
    annotators: int = 3,
    categories: int = 3,
    accuracy: float = 0.85,
    judge_accuracy: float | None = None,
    epsilon: float = 0.2,
    q: float = Q,
    trials: int = 600,
    seed: int = 0,
    queries: int | None = None,
    correlation: float = 0.0,
    frequencies: Sequence[float] | None = None,
    values: Sequence[float] | None = None,
) -> float:
    """Return the share of simulated studies that a judge passes (default: one as good as people).

    If the share is low, a judge as good as people would often not pass. Each study has `items`
    items with a true category each, which are equally frequent unless there are `frequencies` (K,).
    A rater gives the true category with probability `accuracy` (the judge with `judge_accuracy`):
    it knows it, or it guesses by the frequencies. A judge less accurate than people replaces right
    labels with other categories. `accuracy_of` computes the accuracy from people's agreement.

    With fewer `queries` than items, the items are spread over the queries, and the means of queries
    decide. Two items of a query have the given `correlation` of losses: with a chance of
    root(correlation), an item repeats a common pattern of its query. With `values` (K,) of ordered
    categories, closeness is minus the root mean square difference; guesses are still by frequency,
    so that errors are larger than near misses.

    Raises ValueError below two annotators or two items, and for a correlation outside 0 to 1.
    """
    if annotators < 2 or items < 2:
        raise ValueError("the test needs two annotators and two items")
    if not 0 <= correlation <= 1:
        raise ValueError("a correlation is a number from 0 to 1")
    generator = np.random.Generator(np.random.PCG64(seed))
    shares = np.full(categories, 1 / categories) if frequencies is None else np.array(frequencies)
    model = _Raters(annotators, shares / shares.sum(), accuracy, judge_accuracy, values)
    if queries is None or queries >= items:
        return _by_items(model, items, epsilon, q, trials, generator)
    size = max(1, round(items / queries))
    simulated = AT_ONCE // (size * (annotators + 1))
    pool = model.query_means(
        int(np.clip(simulated, FEWEST_QUERIES, MOST_QUERIES)), size, correlation, generator
    )
    drawn = generator.integers(0, len(pool), (trials, queries))
    step = max(1, AT_ONCE // (queries * annotators))
    passed = [
        _passes(pool[drawn[start : start + step]], epsilon, q, by_query=True).sum()
        for start in range(0, trials, step)
    ]
    return float(sum(passed)) / trials


def accuracy_of(
    agreement: float, categories: int, frequencies: Sequence[float] | None = None
) -> float:
    """Return the accuracy at which independent raters agree this often.

    A rater knows the true category with chance a, and otherwise guesses by the frequencies f of K
    categories (default: equal). With s = sum f^2, two raters agree by a^2 + (1 - a^2) s, and the
    accuracy is a + (1 - a) s. Returns s if the agreement is no higher than by guessing.
    """
    f = np.full(categories, 1 / categories) if frequencies is None else np.array(frequencies)
    s = float(((f / f.sum()) ** 2).sum())
    known = np.sqrt(max((agreement - s) / (1 - s), 0.0)) if s < 1 else 1.0
    return float(known + (1 - known) * s)


class _Raters:
    """People of one accuracy, and a judge, who label items of categories with these shares."""

    def __init__(
        self,
        annotators: int,
        shares: Floats,
        accuracy: float,
        judge_accuracy: float | None,
        values: Sequence[float] | None = None,
    ) -> None:
        self.shares, self.values = shares, None if values is None else np.array(values, float)
        by_chance = float((shares**2).sum())

        def known(accuracy: float) -> float:
            return max(accuracy - by_chance, 0.0) / (1 - by_chance) if by_chance < 1 else 1.0

        of_judge = accuracy if judge_accuracy is None else judge_accuracy
        # A worse judge knows as much as people, and spoils a share of its right labels.
        best = max(accuracy, of_judge)
        right = known(best) + (1 - known(best)) * by_chance
        self.spoilt = float(np.clip(1 - of_judge / right, 0.0, 1.0))
        self.known = np.append(np.full(annotators, known(accuracy)), known(best))

    def labels(self, shape: tuple[int, ...], generator: np.random.Generator) -> tuple[Ints, Ints]:
        """Return labels of random items (*shape, m + 1), the judge's last, and the true ones."""
        truth = self._guess((*shape, 1), generator)
        each = (*shape, len(self.known))
        knows = generator.random(each) < self.known
        labels = np.where(knows, truth, self._guess(each, generator))
        if self.spoilt and self.shares.max() < 1:
            self._spoil(labels, truth, generator)
        return labels, truth

    def losses(self, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        """Return the judge's losses to each annotator on random items, (*shape, m)."""
        labels, _ = self.labels(shape, generator)
        people, judge = labels[..., :-1], labels[..., -1:]
        if self.values is not None:
            return _by_distance(self.values[people], self.values[judge])
        # Counting the people who give each label is cheaper than comparing all pairs.
        codes = range(len(self.shares))
        given = np.stack([(people == code).sum(axis=-1) for code in codes], axis=-1)
        same = np.take_along_axis(given, people, axis=-1) - 1
        with_judge = people == judge
        of_judge = with_judge.sum(axis=-1, keepdims=True) - with_judge
        losses: Floats = np.sign(same - of_judge).astype(float)
        return losses

    def _guess(self, shape: tuple[int, ...], generator: np.random.Generator) -> Ints:
        drawn, labels = generator.random(shape), np.zeros(shape, np.int64)
        for cut in np.cumsum(self.shares)[:-1]:
            labels += drawn >= cut
        return labels

    def _spoil(self, labels: Ints, truth: Ints, generator: np.random.Generator) -> None:
        """Replace some of the judge's right labels with another category, by its frequency."""
        judge, right = labels[..., -1], truth[..., 0]
        hit = (judge == right) & (generator.random(judge.shape) < self.spoilt)
        other = self._guess(judge.shape, generator)
        while (again := hit & (other == right)).any():
            other[again] = self._guess((int(again.sum()),), generator)
        judge[hit] = other[hit]

    def query_means(
        self, queries: int, size: int, correlation: float, generator: np.random.Generator
    ) -> Floats:
        """Return the judge's mean losses on random queries of so many items, (queries, m)."""
        losses = self.losses((queries, size), generator)
        common = self.losses((queries, 1), generator)
        repeats = generator.random((queries, size, 1)) < np.sqrt(correlation)
        means: Floats = np.where(repeats, common, losses).mean(axis=1)
        return means


def _by_distance(people: Floats, judge: Floats) -> Floats:
    """Return who is closer to the other annotators, (..., m): 1 is the annotator, 0 a tie.

    For a sum s of the other m - 1 values, their squared distances from x and y differ by
    (x - y) ((m - 1) (x + y) - 2 s).
    """
    others = people.shape[-1] - 1
    sums = people.sum(axis=-1, keepdims=True) - people
    further = (judge - people) * (others * (judge + people) - 2 * sums)
    losses: Floats = np.sign(np.where(np.abs(further) < TOLERANCE, 0.0, further))
    return losses


def _by_items(
    model: _Raters,
    items: int,
    epsilon: float,
    q: float,
    trials: int,
    generator: np.random.Generator,
) -> float:
    step = max(1, AT_ONCE // (items * len(model.known)))
    passed = 0
    for start in range(0, trials, step):
        losses = model.losses((min(step, trials - start), items), generator)
        passed += int(_passes(losses, epsilon, q, by_query=False).sum())
    return passed / trials


def _passes(losses: Floats, epsilon: float, q: float, *, by_query: bool) -> Bools:
    """Return in which studies the judge passes, (T,), by losses (T, n, m) of independent units."""
    n = np.full(losses.shape[2], losses.shape[1], float)
    moments = Losses(losses.mean(axis=1), losses.std(axis=1, ddof=1), n, n * by_query, (), ())
    return passing(moments, epsilon, q)


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
