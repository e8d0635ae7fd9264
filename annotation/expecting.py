"""How wide a design's intervals are to be expected: from counts and assumptions, before any label.

Units of one query resemble each other, so n units count as n / deff with the design effect
deff = 1 + (m - 1) * icc (Kish 1965), m the units of a query, weighted by themselves. Widths are
those of 95 % intervals by t with one degree of freedom less than queries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

FEWEST_QUERIES = 10
"""Below so many a report gives no interval."""


class AssumptionError(ValueError):
    """An assumption that cannot be."""


@dataclass(frozen=True)
class Assumptions:
    """What nobody knows beforehand.

    `kappa` is the true agreement, `prevalence` the share of yes (0.5 gives the widest interval for
    coverage), `icc` how alike units of a query are, `correlation` that of the judge's scores of
    queries with people's.
    """

    kappa: float = 0.6
    prevalence: float = 0.5
    icc: float = 0.2
    correlation: float = 0.7

    def __post_init__(self) -> None:
        for name in ("kappa", "prevalence"):
            if not 0 < getattr(self, name) < 1:
                raise AssumptionError(f"{name} is not between 0 and 1; give another number")
        for name in ("icc", "correlation"):
            if not 0 <= getattr(self, name) <= 1:
                raise AssumptionError(f"{name} is not from 0 to 1; give another number")


@dataclass(frozen=True)
class Expected:
    """The width of an interval to be expected, or why there is none.

    `units` enter it, of `queries`, worth `effective` independent ones.
    """

    width: float | None
    units: int
    queries: int
    effective: float
    reason: str | None = None


def expected_kappa(sizes: Sequence[int], raters: int, given: Assumptions) -> Expected:
    """Fleiss' kappa of `raters` on two categories; `sizes` are the shared units of each query."""
    if raters < 2:
        return _none(sizes, given, "one person an item agrees with nobody; ask two or more")
    return _expected(sizes, kappa_variance(given.kappa, raters, given.prevalence), given)


def expected_share(sizes: Sequence[int], given: Assumptions) -> Expected:
    """The share of yes, such as coverage, by people alone; `sizes` are the units of each query."""
    return _expected(sizes, given.prevalence * (1 - given.prevalence), given)


def expected_powered(sizes: Sequence[int], others: int, given: Assumptions) -> Expected:
    """The same with a judge on all queries (PPI++); `others` have no people.

    The variance of people alone times 1 - r^2 / (1 + n/N), r the correlation, for n queries with
    people and N others: the least that a weighted correction leaves (Angelopoulos et al. 2023).
    """
    alone, n = given.prevalence * (1 - given.prevalence), sum(size > 0 for size in sizes)
    gain = given.correlation**2 / (1 + n / others) if others else 0.0
    return _expected(sizes, alone * (1 - gain), given)


def kappa_variance(kappa: float, raters: int, prevalence: float) -> float:
    """n times the large-sample variance of Fleiss' kappa on n independent units.

    By the delta method, where the number of yes among the raters of a unit is beta-binomial with
    the intraclass correlation kappa. For two raters it is the formula of Bloch and Kraemer (1989),
    (1-k) ((1-k) (1-2k) + k (2-k) / (2 p (1-p))).
    """
    p, chance = prevalence, 2 * prevalence * (1 - prevalence)
    apart = chance * (1 - kappa)
    found = 0.0
    for yes in range(raters + 1):
        pairs = 2 * yes * (raters - yes) / (raters * (raters - 1))
        by_pairs = (apart - pairs) / chance
        by_share = apart / chance**2 * 2 * (1 - 2 * p) * (yes / raters - p)
        found += _beta_binomial(yes, raters, p, kappa) * (by_pairs + by_share) ** 2
    return found


def design_effect(sizes: Sequence[int], icc: float) -> float:
    units = sum(sizes)
    weighted = sum(size**2 for size in sizes) / units if units else 1.0
    return 1 + (weighted - 1) * icc


def t_quantile(df: int) -> float:
    """The 0.975 quantile of t, by Fisher and Cornish's expansion: right to 0.001 from 5 on."""
    z = NormalDist().inv_cdf(0.975)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / df ** (n + 1) for n, term in enumerate(terms))


def _expected(sizes: Sequence[int], variance: float, given: Assumptions) -> Expected:
    queries = sum(size > 0 for size in sizes)
    if queries < FEWEST_QUERIES:
        few = f"{queries} {'query is' if queries == 1 else 'queries are'} too few for an interval"
        return _none(sizes, given, f"{few}; {FEWEST_QUERIES} are needed")
    effective = sum(sizes) / design_effect(sizes, given.icc)
    width = 2 * t_quantile(queries - 1) * math.sqrt(variance / effective)
    return Expected(width, sum(sizes), queries, effective)


def _none(sizes: Sequence[int], given: Assumptions, reason: str) -> Expected:
    units, queries = sum(sizes), sum(size > 0 for size in sizes)
    return Expected(None, units, queries, units / design_effect(sizes, given.icc), reason)


def _beta_binomial(yes: int, of: int, share: float, icc: float) -> float:
    a, b = share * (1 - icc) / icc, (1 - share) * (1 - icc) / icc

    def log_beta(x: float, y: float) -> float:
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    return math.comb(of, yes) * math.exp(log_beta(yes + a, of - yes + b) - log_beta(a, b))
