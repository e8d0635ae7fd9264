"""Two systems on the same queries: tests of the paired differences."""

from dataclasses import dataclass

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
    ties included, for up to 200 differences.
    """
    difference = mean_by_cluster(differences, np.arange(len(differences)), "mean difference")
    kept = differences[np.isfinite(differences) & (differences != 0)]
    if len(kept) == 0:
        reason = "no difference is other than zero"
        return PairedTest(difference, None, "Wilcoxon signed-rank", reason)
    if len(kept) > EXACT_UP_TO:
        from scipy import stats

        p = float(stats.wilcoxon(kept, method="approx").pvalue)
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


def _exact_signed_rank(differences: Floats) -> float:
    from scipy import stats

    # Differences of fractions that are equal on paper differ in the last bits.
    sizes = np.round(np.abs(differences), 12)
    doubled = np.round(2 * stats.rankdata(sizes)).astype(int)
    ways = np.ones(1)
    for rank in doubled:
        # Halving keeps a probability where a count would outgrow a float.
        ways = (np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))) / 2
    positive = int(doubled[differences > 0].sum())
    low = min(positive, int(doubled.sum()) - positive)
    return float(min(1.0, 2 * ways[: low + 1].sum()))
