"""How wide the intervals of a design would be, before any label exists.

Widths follow from counts and assumptions. Units of one query resemble each other, so n units count
as n / deff with the design effect deff = 1 + (m - 1) * icc (Kish 1965), m being the units of a
query, weighted by themselves. Widths are those of 95 % intervals from the t distribution, with one
degree of freedom less than there are queries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Annotated, Any

from annotation.campaigns.design import DesignError

FEWEST_QUERIES = 10
"""A report gives no interval for fewer queries."""


class AssumptionError(DesignError):
    """An assumption is outside its range."""


def _assumed(default: float, help: str, label: str) -> Any:
    about = {"help": help, "label": label, "least": 0, "most": 1}
    return field(default=default, metadata=about)


@dataclass(frozen=True)
class Assumptions:
    """The assumptions about quantities that are unknown before the study.

    `kappa` is the true agreement, `prevalence` the share of yes (0.5 gives the widest interval for
    coverage), `icc` the correlation within a query, and `correlation` that between the scores of
    queries by the judge and by people. All are options, declared once for page, command and API.
    """

    kappa: float = _assumed(0.6, "true agreement", "True kappa")
    prevalence: float = _assumed(0.5, "share of yes", "Share of yes")
    icc: float = _assumed(0.2, "correlation within a query", "Correlation within a query")
    correlation: float = _assumed(
        0.7, "correlation of judge and people over queries", "Correlation of judge and people"
    )

    def __post_init__(self) -> None:
        for name in ("kappa", "prevalence"):
            if not 0 < getattr(self, name) < 1:
                raise AssumptionError(f"{name} is not between 0 and 1; give another number", name)
        for name in ("icc", "correlation"):
            if not 0 <= getattr(self, name) <= 1:
                raise AssumptionError(f"{name} is not from 0 to 1; give another number", name)


@dataclass(frozen=True)
class Expected:
    """The expected width of an interval, or the reason why there is none.

    It is computed from the `units` of `queries`, which count as `effective` independent units.
    """

    width: Annotated[float | None, "width of the 95 % interval"]
    units: int
    queries: int
    effective: Annotated[float, "number of independent units that would give as much information"]
    reason: Annotated[str | None, "why there is no interval"] = None


def expected_kappa(sizes: Sequence[int], raters: int, assumptions: Assumptions) -> Expected:
    """Return the expected interval of Fleiss' kappa of `raters` people on two categories.

    `sizes` holds the number of shared units of each query.
    """
    if raters < 2:
        return _no_interval(sizes, assumptions, "agreement needs two or more people per item")
    return _expected(
        sizes, kappa_variance(assumptions.kappa, raters, assumptions.prevalence), assumptions
    )


def expected_share(sizes: Sequence[int], assumptions: Assumptions) -> Expected:
    """Return the expected interval of the share of yes, such as coverage, by people alone.

    `sizes` holds the number of units of each query.
    """
    return _expected(sizes, assumptions.prevalence * (1 - assumptions.prevalence), assumptions)


def expected_powered(sizes: Sequence[int], others: int, assumptions: Assumptions) -> Expected:
    """Like `expected_share`, but with a judge on all queries (PPI++).

    `others` is the number of queries that only the judge labels.

    The variance is that of people alone times 1 - r^2 / (1 + n/N), with the correlation r, n
    queries with people and N others. This is the minimum that a weighted correction reaches
    (Angelopoulos et al. 2023).
    """
    alone, n = (
        assumptions.prevalence * (1 - assumptions.prevalence),
        sum(size > 0 for size in sizes),
    )
    gain = assumptions.correlation**2 / (1 + n / others) if others else 0.0
    return _expected(sizes, alone * (1 - gain), assumptions)


def kappa_variance(kappa: float, raters: int, prevalence: float) -> float:
    """Return n times the large-sample variance of Fleiss' kappa on n independent units.

    It follows from the delta method if the number of yes among the raters of a unit is
    beta-binomial with the intraclass correlation kappa. For two raters it is the formula of Bloch
    and Kraemer (1989), (1-k) ((1-k) (1-2k) + k (2-k) / (2 p (1-p))).
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
    """Return the 0.975 quantile of t by the Cornish-Fisher expansion, within 0.001 from df 5 on."""
    z = NormalDist().inv_cdf(0.975)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / df ** (n + 1) for n, term in enumerate(terms))


def _expected(sizes: Sequence[int], variance: float, assumptions: Assumptions) -> Expected:
    queries = sum(size > 0 for size in sizes)
    if queries < FEWEST_QUERIES:
        few = f"{queries} {'query is' if queries == 1 else 'queries are'} too few for an interval"
        return _no_interval(sizes, assumptions, f"{few}; {FEWEST_QUERIES} are needed")
    effective = sum(sizes) / design_effect(sizes, assumptions.icc)
    width = 2 * t_quantile(queries - 1) * math.sqrt(variance / effective)
    return Expected(width, sum(sizes), queries, effective)


def _no_interval(sizes: Sequence[int], assumptions: Assumptions, reason: str) -> Expected:
    units, queries = sum(sizes), sum(size > 0 for size in sizes)
    return Expected(None, units, queries, units / design_effect(sizes, assumptions.icc), reason)


def _beta_binomial(yes: int, of: int, share: float, icc: float) -> float:
    a, b = share * (1 - icc) / icc, (1 - share) * (1 - icc) / icc

    def log_beta(x: float, y: float) -> float:
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    return math.comb(of, yes) * math.exp(log_beta(yes + a, of - yes + b) - log_beta(a, b))
