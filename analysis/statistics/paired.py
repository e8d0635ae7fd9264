"""Two systems on the same queries: tests of the paired differences."""

from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np

from analysis.statistics.arrays import Bools, Floats, Ints
from analysis.statistics.bootstrap import mean_by_cluster, sums_by_cluster
from analysis.statistics.estimate import Estimate

#: Above this many differences the normal approximation is used: it is then as good as exact.
EXACT_UP_TO = 200
#: Up to so many differences all signs are gone through.
ENUMERATED_UP_TO = 13


@dataclass(frozen=True)
class PairedTest:
    """The mean difference with its interval, and a two-sided p-value (null with a reason)."""

    difference: Estimate
    p_value: float | None
    method: str
    reason: str | None = None


def wilcoxon_signed_rank(differences: Floats) -> PairedTest:
    """The signed-rank test that differences (n,) lie around 0 (Wilcoxon 1945), two-sided.

    Zeros are left out, ties take midranks. The p-value is exact, over all signs of the ranks found,
    ties included, for up to 200 differences, and above that the normal approximation's.
    """
    difference = mean_by_cluster(differences, np.arange(len(differences)), "mean difference")
    kept = _other_than_zero(differences)
    if len(kept) == 0:
        reason = "no difference is other than zero"
        return PairedTest(difference, None, "Wilcoxon signed-rank", reason)
    if len(kept) > EXACT_UP_TO:
        p = erfc(abs(_normal_score(kept)) / sqrt(2))
        return PairedTest(difference, p, "Wilcoxon signed-rank, normal approximation")
    return PairedTest(difference, _exact_signed_rank(kept), "Wilcoxon signed-rank, exact")


def sign_flip(differences: Floats, resamples: int = 10_000, seed: int = 0) -> PairedTest:
    """The permutation test that differences (n,) of queries are as likely to be turned round.

    Two-sided p of the mean over all 2^n signs up to 13 differences, else (1 + those at least as
    extreme) / (1 + `resamples`) over random signs (Fisher 1935; Phipson and Smyth 2010).
    """
    kept = differences[np.isfinite(differences)]
    difference = mean_by_cluster(kept, np.arange(len(kept)), "mean difference")
    if not kept.any():
        return PairedTest(difference, None, "sign flips", "no difference is other than zero")
    n = len(kept)
    if n <= ENUMERATED_UP_TO:
        signs = _signs(np.arange(2**n)[:, None] >> np.arange(n) & 1)
        return PairedTest(difference, float(_extreme(signs, kept).mean()), "sign flips, exact")
    generator = np.random.Generator(np.random.PCG64(seed))
    signs = _signs(generator.integers(0, 2, (resamples, n)))
    p = (1 + int(_extreme(signs, kept).sum())) / (1 + resamples)
    return PairedTest(difference, p, f"sign flips, {resamples} drawn")


def _signs(bits: Ints) -> Floats:
    return np.where(bits > 0, -1.0, 1.0)


def _extreme(signs: Floats, differences: Floats) -> Bools:
    """Which sums are as far from 0 as that of the differences; sums of fractions are not exact."""
    found: Bools = np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9
    return found


def paired_t(a: Floats, b: Floats, clusters: Ints) -> PairedTest:
    """t on the query means of a - b, items (n,) belonging to the queries `clusters`, two-sided.

    Every query weighs the same. Items without one of the two values (NaN) are left out.
    """
    there = np.isfinite(a - b)
    sums, sizes = sums_by_cluster((a - b)[there], clusters[there])
    means = sums / sizes
    difference = mean_by_cluster(means, np.arange(len(means)), "mean difference of queries")
    if len(means) < 2 or np.ptp(means) == 0:
        reason = "fewer than two queries" if len(means) < 2 else "all differences are equal"
        return PairedTest(difference, None, "paired t by query", reason)
    from scipy import stats

    return PairedTest(difference, float(stats.ttest_1samp(means, 0).pvalue), "paired t by query")


def signed_rank_below(differences: Floats) -> float:
    """The one-sided p-value of the signed-rank test that differences (n,) lie below 0.

    As `wilcoxon_signed_rank`; 1 where no difference is other than zero.
    """
    kept = _other_than_zero(differences)
    if len(kept) == 0:
        return 1.0
    if len(kept) > EXACT_UP_TO:
        return erfc(-_normal_score(kept) / sqrt(2)) / 2
    ways, positive = _rank_sums(kept)
    return float(min(1.0, ways[: positive + 1].sum()))


def _exact_signed_rank(differences: Floats) -> float:
    ways, positive = _rank_sums(differences)
    low = min(positive, len(ways) - 1 - positive)
    return float(min(1.0, 2 * ways[: low + 1].sum()))


def _other_than_zero(differences: Floats) -> Floats:
    # Differences of fractions that are equal on paper differ in the last bits.
    rounded: Floats = np.round(differences, 12)
    kept: Floats = rounded[np.isfinite(rounded) & (rounded != 0)]
    return kept


def _normal_score(differences: Floats) -> float:
    """z = (W+ - n (n + 1) / 4) / sqrt((n (n + 1) (2 n + 1) - sum of (t^3 - t) / 2) / 24).

    t are the numbers of equal sizes; no correction for continuity.
    """
    ranks, times = _midranks(np.abs(differences))
    n, tied = len(ranks), float((times**3 - times).sum()) / 2
    variance = (n * (n + 1) * (2 * n + 1) - tied) / 24
    return float((ranks[differences > 0].sum() - n * (n + 1) / 4) / sqrt(variance))


def _midranks(sizes: Floats) -> tuple[Floats, Floats]:
    """The rank of each size from 1, equal ones sharing their mean, and how often each size is."""
    _, place, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    times = counts.astype(float)
    return (np.cumsum(times) - (times - 1) / 2)[place], times


def _rank_sums(differences: Floats) -> tuple[Floats, int]:
    """The chance of each doubled sum of positive ranks, from 0, over all signs; the one found."""
    ranks, _ = _midranks(np.abs(differences))
    doubled = np.round(2 * ranks).astype(int)
    ways = np.ones(1)
    for rank in doubled:
        # Halving keeps a probability where a count would outgrow a float.
        ways = (np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))) / 2
    return ways, int(doubled[differences > 0].sum())
