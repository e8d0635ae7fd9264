"""Shares, with intervals that are valid for few labels and for shares near 0 and 1."""

import math

from .estimate import Estimate, beta_quantile, defined, normal_quantile, undefined
from .resampling import LEVEL, MINIMUM_CLUSTERS


def wilson_interval(successes: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's score interval of a share, which never excludes an observed 0 or 1.

        (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)

    where p is the share and z the normal quantile of the level (Wilson, Probable inference, the law
    of succession, and statistical inference, JASA 22, 1927). Raises ValueError if n is 0 or there
    are more successes than trials.
    """
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"{successes} of {n} is not a share; count again")
    return score_interval(successes / n, n, float(normal_quantile((1 + level) / 2)))


def score_interval(share: float, n: float, z: float) -> tuple[float, float]:
    """Return Wilson's interval of a share of n units, not necessarily whole, for a quantile z."""
    shrunk = 1 + z * z / n
    middle = (share + z * z / (2 * n)) / shrunk
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / shrunk
    low = 0.0 if share == 0 else middle - half
    high = 1.0 if share == 1 else middle + half
    return low, high


def clopper_pearson_interval(successes: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the exact interval of a share, for claims of "at most" and "at least".

    For x successes among n, the interval reaches from the (1-level)/2 quantile of Beta(x, n-x+1) to
    the (1+level)/2 quantile of Beta(x+1, n-x) (Clopper and Pearson, Biometrika 26, 1934). It is
    never too narrow. Raises ValueError if n is 0 or there are more successes than trials.
    """
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"{successes} of {n} is not a share; count again")
    tail = (1 - level) / 2
    low = beta_quantile(tail, successes, n - successes + 1) if successes else 0.0
    high = beta_quantile(1 - tail, successes + 1, n - successes) if successes < n else 1.0
    return low, high


def proportion(successes: int, n: int, queries: int, method: str, reason: str) -> Estimate:
    """Return the share of successes among n with Wilson's interval; undefined if n is 0.

    Labels count as independent, although labels of one query are not quite independent. As for
    every other estimate, there is no interval below `MINIMUM_CLUSTERS` queries.
    """
    method = f"{method}, Wilson interval"
    if n == 0:
        return undefined(reason, 0, method)
    interval = wilson_interval(successes, n) if queries >= MINIMUM_CLUSTERS else None
    return defined(successes / n, interval, n, method)
