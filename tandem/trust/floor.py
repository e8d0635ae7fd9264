"""The floor of truth: the risk that a faultless judge would have, since people err, too."""

from __future__ import annotations

from math import comb, factorial, sqrt

import numpy as np

from ..statistics import Estimate, Ints, defined, undefined

MOST_VOTES = 100
"""More votes on a cell count as so many: errors of a majority of 100 are rare enough."""
METHOD = "expected errors of people together, from how often two of them agree"
BY_CHANCE = "people agree no more often than by chance"


def floor_of_truth(counts: Ints) -> Estimate:
    """Return the risk that a faultless judge is expected to have, from votes (N, K) by category.

        A = Σ n_k (n_k - 1) / Σ n (n - 1),
        p = (1 + √((K - 1)(K A - 1))) / K.

    A is how often two people agree on a cell, and p how often each of them is right. Votes are
    taken as independent given the truth, each right with probability p, and wrong answers as spread
    evenly over the other categories: two people then agree with probability
    p² + (1 - p)² / (K - 1) = A. The floor is the mean over labelled cells of `majority_error` with
    their number of votes. With three votes on two categories it is 3q² - 2q³ where q = 1 - p, and
    a share s of split votes gives q = (1 - √(1 - 4s/3)) / 2. Undefined if no cell has two votes, or
    if people agree no more often than by chance, 1/K. Real errors are not independent: where people
    err together on hard cells, the floor is higher.
    """
    votes, k = counts.sum(axis=1), counts.shape[1]
    cells, pairs = int((votes > 0).sum()), float((votes * (votes - 1)).sum())
    if not pairs or k < 2:
        why = "only one category is in use" if k < 2 else "no two people share a unit"
        return undefined(why, cells, METHOD)
    agree = float((counts * (counts - 1)).sum()) / pairs
    if k * agree <= 1:
        return undefined(BY_CHANCE, cells, METHOD)
    right = (1 + sqrt((k - 1) * (k * agree - 1))) / k
    sizes, cells_of_size = np.unique(votes[votes > 0], return_counts=True)
    errors = [majority_error(right, int(size), k) for size in sizes]
    return defined(float(np.average(errors, weights=cells_of_size)), None, cells, METHOD)


def majority_error(right: float, votes: int, k: int) -> float:
    """Return the probability that the most frequent of several votes is not the truth.

        1 - Σ_r C(n, r) p^r (1 - p)^m f(r) / (k - 1)^m,   m = n - r

    Each vote is right with probability p = `right`; wrong ones are spread evenly over k - 1
    categories. f(r) is the number of ways to give each of these fewer than r of the m wrong votes.
    A tie is an error.
    """
    n, sure = min(votes, MOST_VOTES), 0.0
    for r in range(1, n + 1):
        m = n - r
        terms, each = np.array([1.0]), np.array([1 / factorial(i) for i in range(min(r, m + 1))])
        for _ in range(k - 1):
            terms = np.convolve(terms, each)[: m + 1]
        fits = float(terms[m]) * factorial(m) if m < len(terms) else 0.0
        sure += comb(n, r) * right**r * (1 - right) ** m * fits / float(k - 1) ** m
    return max(0.0, 1 - sure)
