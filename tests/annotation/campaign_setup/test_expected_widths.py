"""Expected widths match published formulas, a simulation and SciPy's distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from annotation.campaign_setup.expected_widths import (
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
def test_kappas_variance_for_two_raters_is_bloch_and_kraemers(
    kappa: float, prevalence: float
) -> None:
    k, chance = kappa, 2 * prevalence * (1 - prevalence)
    published = (1 - k) * ((1 - k) * (1 - 2 * k) + k * (2 - k) / chance)
    assert kappa_variance(kappa, 2, prevalence) == pytest.approx(published)


def test_kappas_variance_at_even_shares_is_cohens() -> None:
    # Observed 0.8, by chance 0.5: 0.8 * 0.2 / 0.5^2 = 0.64.
    assert kappa_variance(0.6, 2, 0.5) == pytest.approx(0.64)


@pytest.mark.first_case
@pytest.mark.parametrize(("raters", "prevalence"), [(3, 0.5), (3, 0.25), (5, 0.4)])
def test_kappas_variance_for_several_raters_matches_a_simulation(
    raters: int, prevalence: float
) -> None:
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
def test_the_quantile_matches_scipys_t(df: int) -> None:
    assert t_quantile(df) == pytest.approx(float(stats.t.ppf(0.975, df)), abs=5e-4)


def test_the_design_effect_matches_a_hand_calculation() -> None:
    assert design_effect([15] * 20, 0.2) == pytest.approx(1 + 14 * 0.2)
    # Queries of 10 and 30 units: (100 + 900) / 40 = 25 to each unit.
    assert design_effect([10, 30], 0.1) == pytest.approx(1 + 24 * 0.1)
    assert design_effect([1] * 5, 0.9) == 1


def test_the_width_of_a_share_matches_a_hand_calculation() -> None:
    expected = expected_share([15] * 20, Assumptions())
    effective = 300 / 3.8
    assert expected.effective == pytest.approx(effective)
    width = 2 * float(stats.t.ppf(0.975, 19)) * math.sqrt(0.25 / effective)
    assert expected.width == pytest.approx(width, rel=1e-3)


def test_a_judge_narrows_the_interval_as_far_as_its_correlation_allows() -> None:
    sizes, given = [15] * 40, Assumptions(correlation=0.8)
    alone, both = expected_share(sizes, given), expected_powered(sizes, 260, given)
    assert alone.width is not None
    assert both.width is not None
    assert (both.width / alone.width) ** 2 == pytest.approx(1 - 0.64 / (1 + 40 / 260))
    useless = expected_powered(sizes, 260, Assumptions(correlation=0))
    assert useless.width == alone.width


def test_more_raters_narrow_the_interval_of_kappa() -> None:
    widths = [expected_kappa([10] * 20, raters, Assumptions()).width for raters in (2, 3, 5)]
    assert all(width is not None for width in widths)
    assert widths == sorted(widths, key=lambda width: -(width or 0))


def test_few_queries_have_no_interval_and_say_why() -> None:
    expected = expected_share([5] * 9, Assumptions())
    assert expected.width is None
    assert expected.reason == "9 queries are too few for an interval; 10 are needed"
    assert expected_kappa([5] * 20, 1, Assumptions()).reason == (
        "agreement needs two or more people per item"
    )


@pytest.mark.parametrize("wrong", [{"kappa": 0.0}, {"prevalence": 1.0}, {"icc": 1.5}])
def test_an_impossible_assumption_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(AssumptionError, match="give another number"):
        Assumptions(**wrong)


@pytest.mark.every_case
@pytest.mark.parametrize("name", ["icc", "correlation"])
@pytest.mark.parametrize(
    ("value", "fits"), [(0.0, True), (1.0, True), (-0.01, False), (1.01, False)]
)
def test_icc_and_correlation_may_be_0_and_1(name: str, value: float, fits: bool) -> None:
    if fits:
        assert getattr(Assumptions(**{name: value}), name) == value
    else:
        with pytest.raises(AssumptionError, match=f"{name} is not from 0 to 1"):
            Assumptions(**{name: value})


@pytest.mark.every_case
@pytest.mark.parametrize("name", ["kappa", "prevalence"])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_agreement_and_prevalence_may_not_be_0_or_1(name: str, value: float) -> None:
    with pytest.raises(AssumptionError, match=f"{name} is not between 0 and 1"):
        Assumptions(**{name: value})


def test_the_variance_holds_for_beta_parameters_of_one() -> None:
    # With kappa 0.2 and prevalence 3/4 the parameters of the beta are 3 and exactly 1. By Bloch and
    # Kraemer: 0.8 (0.8 * 0.6 + 0.2 * 1.8 / 0.375) = 0.8 (0.48 + 0.96) = 1.152.
    assert kappa_variance(0.2, 2, 0.75) == pytest.approx(1.152)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("df", "value"), [(1, 11.30011756347976), (2, 4.2705513418998144), (5, 2.570308227150842)]
)
def test_the_quantile_has_the_four_published_terms(df: int, value: float) -> None:
    # Abramowitz and Stegun, 26.7.5; below five degrees it is not yet that of t.
    assert t_quantile(df) == pytest.approx(value, rel=1e-9)


def test_no_units_have_no_design_effect() -> None:
    assert design_effect([], 0.2) == design_effect([0, 0], 0.5) == 1


def test_a_query_counts_from_its_first_unit_on() -> None:
    given = Assumptions()
    ten, nine = [1] * 5 + [3] * 5, [1] * 5 + [3] * 4
    assert expected_share([*ten, 0, 0], given).queries == 10
    assert expected_share([*ten, 0, 0], given).width == expected_share(ten, given).width is not None
    expected = expected_share([*nine, 0, 0], given)
    assert (expected.width, expected.units, expected.queries) == (None, 17, 9)
    # 17 units in queries of (5 * 1 + 4 * 9) / 17 = 41/17 each: 17 / (1 + 24/17 * 0.2).
    assert expected.effective == pytest.approx(17 / (1 + 24 / 17 * 0.2))


def test_a_judge_narrows_the_interval_by_the_queries_that_have_units() -> None:
    ten, given = [1] * 10, Assumptions(correlation=0.6)
    alone = expected_share([*ten, 0, 0], given).width
    both = expected_powered([*ten, 0, 0], 30, given).width
    assert alone is not None
    assert both is not None
    assert (both / alone) ** 2 == pytest.approx(1 - 0.36 / (1 + 10 / 30))


def test_a_judge_without_further_queries_narrows_nothing() -> None:
    given = Assumptions(correlation=1.0)
    assert expected_powered([5] * 12, 0, given) == expected_share([5] * 12, given)


def test_the_width_of_kappa_matches_a_hand_calculation() -> None:
    expected = expected_kappa([15] * 20, 2, Assumptions())
    effective = 300 / 3.8
    width = 2 * float(stats.t.ppf(0.975, 19)) * math.sqrt(0.64 / effective)
    assert expected.width == pytest.approx(width, rel=1e-3)
    assert (expected.units, expected.queries, expected.reason) == (300, 20, None)
    assert expected.effective == pytest.approx(effective)


def test_units_are_counted_even_without_an_interval() -> None:
    given = Assumptions()
    for raters in (1, 0):
        expected = expected_kappa([15] * 20, raters, given)
        assert (expected.width, expected.units, expected.queries) == (None, 300, 20)
        assert expected.effective == pytest.approx(300 / 3.8)
    assert expected_share([5, 0], given).reason == (
        "1 query is too few for an interval; 10 are needed"
    )
    assert (
        expected_share([], given).reason == "0 queries are too few for an interval; 10 are needed"
    )


def test_assumptions_have_documented_defaults() -> None:
    assert Assumptions() == Assumptions(kappa=0.6, prevalence=0.5, icc=0.2, correlation=0.7)
