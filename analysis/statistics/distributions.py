"""Quantiles and probabilities of the normal, Student's t and the beta distribution.

By scipy.special: to import scipy.stats takes as long as all else that a command or the site imports
to start, so that is left to the few functions that need its tests.
"""

from scipy import special

from analysis.statistics.arrays import Floats, Ints


def normal_quantile(p: float | list[float] | Floats) -> Floats:
    """The z below which a standard normal lies with probability p, elementwise."""
    z: Floats = special.ndtri(p)
    return z


def normal_below(z: Floats) -> Floats:
    """The probability that a standard normal lies below z, elementwise."""
    p: Floats = special.ndtr(z)
    return p


def t_quantile(p: float, df: int) -> float:
    """The value below which Student's t with df degrees of freedom lies with probability p."""
    return float(special.stdtrit(df, p))


def t_below(t: float | Floats, df: int | Ints) -> Floats:
    """The probability that Student's t with df degrees of freedom lies below t, elementwise."""
    p: Floats = special.stdtr(df, t)
    return p


def beta_quantile(p: float, a: float, b: float) -> float:
    """The value below which Beta(a, b) lies with probability p."""
    return float(special.betaincinv(a, b, p))
