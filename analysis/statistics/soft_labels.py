"""Soft labels: how likely each category is for a unit, given how reliable each rater seems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.statistics.arrays import Floats, Ints, ratio
from analysis.statistics.counts import counts_of
from analysis.statistics.tally import kinds_of

#: No probability falls below this, so that one slip of a rater excludes nothing for ever.
LEAST = 1e-10


@dataclass(frozen=True)
class SoftLabels:
    """`shares` (U, K): how likely each category is, NaN rows where nobody labelled; `raters`
    (R, K, K): how often a rater answers (column) on units of a category (row); `prevalence` (K,).
    """

    shares: Floats
    raters: Floats
    prevalence: Floats
    iterations: int
    converged: bool

    @property
    def labels(self) -> Ints:
        """The likeliest category of each unit, the first one where several are; -1 = no label."""
        known = np.isfinite(self.shares[:, 0]) if self.shares.size else np.zeros(0, bool)
        best = np.argmax(np.nan_to_num(self.shares), axis=1)
        return np.where(known, best, -1).astype(np.int64)


def dawid_skene(codes: Ints, k: int, iterations: int = 200, tolerance: float = 1e-8) -> SoftLabels:
    """Labels and raters' errors estimated together by EM (Dawid and Skene 1979).

    codes (U, R), -1 = missing. It starts from each unit's shares of labels. Then in turn: a rater's
    confusion is the share of each answer among the units of a category, weighted by how likely
    that category is; a unit's shares are proportional to prevalence * product over its labels of
    the rater's chance to give it. It ends where no share moves by more than `tolerance`. Raters
    count as independent given the category: where they err together it is too sure of itself.
    """
    # Units with the same labels of the same raters stay alike throughout: one stands for all.
    rows, kinds = kinds_of(codes)
    times = np.bincount(kinds, minlength=len(rows)).astype(float)
    given = _indicators(rows, k)
    counts = counts_of(rows, k).astype(float)
    labelled = counts.sum(axis=1) > 0
    shares = np.where(labelled[:, None], ratio(counts, counts.sum(axis=1, keepdims=True)), 0.0)
    done, moved = 0, np.inf
    times = times * labelled
    raters, prevalence = _errors(shares, given, times)
    while done < iterations and moved > tolerance:
        before, done = shares, done + 1
        shares = _posterior(given, raters, prevalence, labelled)
        moved = float(np.abs(shares - before).max(initial=0.0))
        raters, prevalence = _errors(shares, given, times)
    known = np.where(labelled[:, None], shares, np.nan)
    return SoftLabels(known[kinds], raters, prevalence, done, moved <= tolerance)


def _indicators(codes: Ints, k: int) -> Floats:
    """(R, U, K): 1 where a rater gave a unit a category."""
    indicators: Floats = (codes.T[:, :, None] == np.arange(k)).astype(float)
    return indicators


def _errors(shares: Floats, given: Floats, times: Floats) -> tuple[Floats, Floats]:
    weighted = shares * times[:, None]
    crossed: Floats = weighted.T @ given
    raters = np.maximum(np.nan_to_num(ratio(crossed, crossed.sum(axis=2, keepdims=True))), LEAST)
    return raters, np.maximum(weighted.sum(axis=0) / max(float(times.sum()), 1.0), LEAST)


def _posterior(given: Floats, raters: Floats, prevalence: Floats, labelled: Ints) -> Floats:
    logs = np.log(prevalence) + (given @ np.log(raters).transpose(0, 2, 1)).sum(axis=0)
    odds = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares: Floats = odds / odds.sum(axis=1, keepdims=True)
    return np.where(labelled[:, None], shares, 0.0)
