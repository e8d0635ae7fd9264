"""Soft labels: the probability of each category of a unit, given each rater's reliability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .agreement import counts_of
from .estimate import Floats, Ints, ratio
from .tally import kinds_of

#: A lower bound of probabilities, so that one slip of a rater does not exclude a category.
LEAST = 1e-10


@dataclass(frozen=True)
class SoftLabels:
    """The result of `dawid_skene`.

    `shares` (U, K) are the probabilities of each unit's categories, NaN for units without labels.
    `raters` (R, K, K) says how often a rater answers a category (column) on units of a category
    (row). `prevalence` (K,) is the share of each category.
    """

    shares: Floats
    raters: Floats
    prevalence: Floats
    iterations: int
    converged: bool

    @property
    def labels(self) -> Ints:
        """Return the likeliest category of each unit, the first one on a tie; -1 = no label."""
        known = np.isfinite(self.shares[:, 0]) if self.shares.size else np.zeros(0, bool)
        best = np.argmax(np.nan_to_num(self.shares), axis=1)
        return np.where(known, best, -1).astype(np.int64)


def dawid_skene(
    codes: Ints, k: int, iterations: int = 2_000, tolerance: float = 1e-8
) -> SoftLabels:
    """Estimate labels and raters' errors together by EM (Dawid and Skene 1979).

    `codes` (U, R) are labels, -1 = missing. EM starts from each unit's shares of labels and
    alternates two steps. One estimates each rater's confusion: the share of each answer among the
    units of a category, weighted by the probability of that category. The other computes each
    unit's shares, proportional to prevalence * product over its labels of the rater's probability
    of giving that label. EM stops when no share changes by more than `tolerance`. Shares that have
    not settled after `iterations` depend on where EM was stopped: report them as undefined. Raters
    count as independent given the category. If they err together, the result is overconfident.
    """
    # Units with the same labels from the same raters always have equal shares, so one suffices.
    rows, kinds = kinds_of(codes)
    times = np.bincount(kinds, minlength=len(rows)).astype(float)
    indicators, people = _indicators(rows, k), rows.shape[1]
    counts = counts_of(rows, k).astype(float)
    labelled = counts.sum(axis=1) > 0
    shares = np.where(labelled[:, None], ratio(counts, counts.sum(axis=1, keepdims=True)), 0.0)
    done, moved = 0, np.inf
    times = times * labelled
    raters, prevalence = _errors(shares, indicators, times, people)
    while done < iterations and moved > tolerance:
        before, done = shares, done + 1
        shares = _posterior(indicators, raters, prevalence, labelled)
        moved = float(np.abs(shares - before).max(initial=0.0))
        raters, prevalence = _errors(shares, indicators, times, people)
    known = np.where(labelled[:, None], shares, np.nan)
    return SoftLabels(known[kinds], raters, prevalence, done, moved <= tolerance)


def _indicators(codes: Ints, k: int) -> sparse.csr_array:
    """Return (R * K, U): 1 if a rater gave a unit a category; sparse, one entry per label."""
    unit, rater = np.nonzero(codes >= 0)
    cells = rater * k + codes[unit, rater]
    shape = (codes.shape[1] * k, len(codes))
    return sparse.csr_array((np.ones(len(unit)), (cells, unit)), shape=shape)


def _errors(
    shares: Floats, indicators: sparse.csr_array, times: Floats, people: int
) -> tuple[Floats, Floats]:
    weighted = shares * times[:, None]
    k = shares.shape[1]
    crossed = (indicators @ weighted).reshape(people, k, k).transpose(0, 2, 1)
    raters = np.maximum(np.nan_to_num(ratio(crossed, crossed.sum(axis=2, keepdims=True))), LEAST)
    return raters, np.maximum(weighted.sum(axis=0) / max(float(times.sum()), 1.0), LEAST)


def _posterior(
    indicators: sparse.csr_array, raters: Floats, prevalence: Floats, labelled: Ints
) -> Floats:
    k = len(prevalence)
    logs = np.log(prevalence) + indicators.T @ np.log(raters).transpose(0, 2, 1).reshape(-1, k)
    odds = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares: Floats = odds / odds.sum(axis=1, keepdims=True)
    return np.where(labelled[:, None], shares, 0.0)
