"""Expected widths: against published formulas, a simulation, and SciPy's own distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from annotation.expecting import (
    AssumptionError,
    Assumptions,
    design_effect,
    expected_kappa,
    expected_powered,
    expected_share,
    kappa_variance,
    t_quantile,
)


@pytest.mark.every_case
@pytest.mark.parametrize("kappa", [0.1, 0.4, 0.6, 0.9])
@pytest.mark.parametrize("prevalence", [0.1, 0.3, 0.5, 0.8])
def test_two_raters_give_the_formula_of_bloch_and_kraemer(kappa: float, prevalence: float) -> None:
    k, chance = kappa, 2 * prevalence * (1 - prevalence)
    published = (1 - k) * ((1 - k) * (1 - 2 * k) + k * (2 - k) / chance)
    assert kappa_variance(kappa, 2, prevalence) == pytest.approx(published)


def test_at_even_shares_it_is_cohens_simple_one_too() -> None:
    # Observed 0.8, by chance 0.5: 0.8 * 0.2 / 0.5^2 = 0.64.
    assert kappa_variance(0.6, 2, 0.5) == pytest.approx(0.64)


@pytest.mark.parametrize(("raters", "prevalence"), [(3, 0.5), (3, 0.25), (5, 0.4)])
def test_several_raters_give_what_a_simulation_does(raters: int, prevalence: float) -> None:
    rng, kappa, units, times = np.random.default_rng(7), 0.5, 400, 3000
    odds = (1 - kappa) / kappa
    latent = rng.beta(prevalence * odds, (1 - prevalence) * odds, size=(times, units))
    yes = rng.binomial(raters, latent)
    apart = (2 * yes * (raters - yes) / (raters * (raters - 1))).mean(axis=1)
    share = yes.mean(axis=1) / raters
    fleiss = 1 - apart / (2 * share * (1 - share))
    expected = kappa_variance(kappa, raters, prevalence) / units
    assert fleiss.var() == pytest.approx(expected, rel=0.1)


@pytest.mark.every_case
@pytest.mark.parametrize("df", [9, 14, 29, 49, 999])
def test_the_quantile_is_that_of_t(df: int) -> None:
    assert t_quantile(df) == pytest.approx(float(stats.t.ppf(0.975, df)), abs=5e-4)


def test_a_design_effect_by_hand() -> None:
    assert design_effect([15] * 20, 0.2) == pytest.approx(1 + 14 * 0.2)
    # Queries of 10 and 30 units: (100 + 900) / 40 = 25 to each unit.
    assert design_effect([10, 30], 0.1) == pytest.approx(1 + 24 * 0.1)
    assert design_effect([1] * 5, 0.9) == 1


def test_a_share_by_hand() -> None:
    told = expected_share([15] * 20, Assumptions())
    effective = 300 / 3.8
    assert told.effective == pytest.approx(effective)
    width = 2 * float(stats.t.ppf(0.975, 19)) * math.sqrt(0.25 / effective)
    assert told.width == pytest.approx(width, rel=1e-3)


def test_a_judge_narrows_it_as_its_correlation_allows() -> None:
    sizes, given = [15] * 40, Assumptions(correlation=0.8)
    alone, both = expected_share(sizes, given), expected_powered(sizes, 260, given)
    assert alone.width is not None
    assert both.width is not None
    assert (both.width / alone.width) ** 2 == pytest.approx(1 - 0.64 / (1 + 40 / 260))
    useless = expected_powered(sizes, 260, Assumptions(correlation=0))
    assert useless.width == alone.width


def test_more_raters_narrow_kappa() -> None:
    widths = [expected_kappa([10] * 20, raters, Assumptions()).width for raters in (2, 3, 5)]
    assert all(width is not None for width in widths)
    assert widths == sorted(widths, key=lambda width: -(width or 0))


def test_few_queries_have_no_interval_and_say_why() -> None:
    told = expected_share([5] * 9, Assumptions())
    assert told.width is None
    assert told.reason == "9 queries are too few for an interval; 10 are needed"
    assert expected_kappa([5] * 20, 1, Assumptions()).reason == (
        "one person an item agrees with nobody; ask two or more"
    )


@pytest.mark.parametrize("wrong", [{"kappa": 0.0}, {"prevalence": 1.0}, {"icc": 1.5}])
def test_an_assumption_that_cannot_be(wrong: dict[str, float]) -> None:
    with pytest.raises(AssumptionError, match="give another number"):
        Assumptions(**wrong)
