"""How often the alternative annotator test passes a judge that is as good as the people."""

from __future__ import annotations

import numpy as np

from analysis.statistics.arrays import Floats, Ints
from analysis.statistics.distributions import t_below

#: So many labels are simulated at once.
AT_ONCE = 4_000_000


def alt_test_power(
    items: int,
    *,
    annotators: int = 3,
    categories: int = 3,
    accuracy: float = 0.85,
    judge_accuracy: float | None = None,
    epsilon: float = 0.2,
    q: float = 0.05,
    trials: int = 600,
    seed: int = 0,
) -> float:
    """The share of simulated studies that a judge passes (default: one as good as the people).

    In each, `items` independent items have one of equally frequent categories; everyone gives the
    right one with the chance `accuracy` (the judge with `judge_accuracy`), else any of the others.
    A verdict "failed" says little where this is low. Accuracy from the people's agreement:
    `accuracy_of`. With several items in a query, put the number of queries for a cautious answer.
    Raises ValueError below two annotators or two items.
    """
    if annotators < 2 or items < 2:
        raise ValueError("the test needs two annotators and two items")
    generator = np.random.Generator(np.random.PCG64(seed))
    judge = accuracy if judge_accuracy is None else judge_accuracy
    chances = np.append(np.full(annotators, accuracy), judge)
    step = max(1, AT_ONCE // (items * (annotators + 1)))
    passed = 0
    for start in range(0, trials, step):
        shape = (min(step, trials - start), items, annotators + 1)
        right = generator.random(shape) < chances
        # The true category is 0: which one it is makes no difference to who equals whom.
        labels = np.where(right, 0, generator.integers(1, categories, shape))
        passed += int(_passes(labels, epsilon, q).sum())
    return passed / trials


def accuracy_of(agreement: float, categories: int) -> float:
    """The accuracy a at which independent raters agree so often: a^2 + (1-a)^2/(K-1).

    1/K where they agree no more than by guessing.
    """
    k = categories
    return float((1 + np.sqrt(max((k - 1) * (k * agreement - 1), 0.0))) / k)


def _passes(labels: Ints, epsilon: float, q: float) -> Floats:
    """Whether the judge, in the last column of (T, n, m + 1), passes each study, (T,)."""
    people, judge = labels[:, :, :-1], labels[:, :, -1:]
    m, n = people.shape[2], people.shape[1]
    same = (people[:, :, :, None] == people[:, :, None, :]).sum(axis=3) - 1
    with_judge = people == judge
    judge_score = with_judge.sum(axis=2, keepdims=True) - with_judge
    d = np.sign(same - judge_score).astype(float)
    error = d.std(axis=1, ddof=1) / np.sqrt(n)
    gap = d.mean(axis=1) - epsilon
    t = np.divide(gap, error, out=np.where(gap < 0, -np.inf, np.inf), where=error > 0)
    p = np.sort(t_below(t, n - 1), axis=1)
    ranks = np.arange(1, m + 1)
    below = p <= ranks * q / (m * (1 / ranks).sum())
    rejected = np.where(below, ranks, 0).max(axis=1)
    passes: Floats = rejected / m >= 0.5
    return passes
