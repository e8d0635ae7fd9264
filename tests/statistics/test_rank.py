import numpy as np
import pytest
from scipy import stats

from tandem.statistics import correlation, kendall, pearson, spearman
from tests.statistics.cast import random_weights

pytestmark = pytest.mark.every_case

ORACLES = {spearman: stats.spearmanr, kendall: stats.kendalltau, pearson: stats.pearsonr}
every_correlation = pytest.mark.parametrize("function", ORACLES, ids=lambda f: f.__name__)


def scores(seed, n=40, ties=True):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = x + rng.normal(size=n)
    return (np.round(x * 2), np.round(y * 2)) if ties else (x, y)


def test_kendalls_tau_matches_the_calculation_by_hand():
    # x 1 2 3, y 1 3 2: two pairs agree, one disagrees: 1/3.
    assert kendall(np.array([1.0, 2, 3]), np.array([1.0, 3, 2])) == pytest.approx(1 / 3)


def test_spearmans_rho_matches_the_calculation_by_hand():
    # Rank differences 0 1 1: 1 - 6 * 2 / (3 * 8) = 1/2.
    assert spearman(np.array([10.0, 20, 900]), np.array([1.0, 3, 2])) == pytest.approx(1 / 2)


def test_pearsons_r_matches_the_calculation_by_hand():
    # Deviations -1 0 1 and -1 1 0: 1 / root(2 * 2).
    assert pearson(np.array([1.0, 2, 3]), np.array([1.0, 3, 2])) == pytest.approx(1 / 2)


@every_correlation
@pytest.mark.filterwarnings("error")
def test_a_correlation_without_pairs_is_undefined(function):
    assert np.isnan(function(np.array([]), np.array([])))


@every_correlation
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ties", [True, False])
def test_correlations_agree_with_scipy(function, seed, ties):
    x, y = scores(seed, ties=ties)
    assert function(x, y) == pytest.approx(ORACLES[function](x, y).statistic)


@every_correlation
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ties", [True, False])
def test_a_weight_of_two_counts_a_unit_twice(function, seed, ties):
    x, y = scores(seed, ties=ties)
    weights = random_weights(seed, 40)
    repeated = [
        ORACLES[function](np.repeat(x, w), np.repeat(y, w)).statistic for w in weights.astype(int)
    ]
    assert function(x, y, weights) == pytest.approx(repeated)


@every_correlation
def test_a_constant_score_has_no_correlation(function):
    x = np.arange(5.0)
    assert np.isnan(function(x, np.full(5, 0.1)))
    assert np.isnan(function(np.full(5, 0.1), x))


@every_correlation
def test_a_constant_resample_is_undefined_and_leaves_the_others_alone(function):
    x, y = np.array([0.1, 0.1, 0.7, 0.3]), np.array([0.2, 0.9, 0.3, 0.4])
    weights = np.array([[1.0, 3, 0, 0], [1, 1, 1, 1], [0, 0, 0, 4], [0, 0, 0, 0]])
    assert np.isnan(function(x, y, weights)).tolist() == [True, False, True, True]


def test_a_constant_resample_is_undefined_despite_rounding_errors():
    x = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.7, 0.3])
    y = np.array([0.8, 0.6, 0.9, 0.0, 0.5, 0.3, 0.4])
    five = np.array([[1.0, 1, 1, 1, 1, 0, 0]])
    assert np.isnan(pearson(x, y, five)).all()


@every_correlation
def test_reversing_a_score_reverses_the_sign(function):
    x, y = scores(9)
    weights = random_weights(9, 40)
    assert function(x, -y, weights) == pytest.approx(-function(x, y, weights))


@pytest.mark.parametrize("function", [spearman, kendall])
def test_stretching_a_scale_does_not_change_rank_correlations(function):
    x, y = scores(9)
    assert function(np.exp(x), y) == pytest.approx(function(x, y))


def test_beyond_the_limit_kendalls_tau_refuses_weights(monkeypatch):
    monkeypatch.setattr(correlation, "MAXIMUM_POINTS", 30)
    x, y = scores(1, n=40, ties=False)
    with pytest.raises(ValueError, match="40 different points"):
        kendall(x, y, random_weights(1, 40))
    assert kendall(x, y) == pytest.approx(stats.kendalltau(x, y).statistic)


@every_correlation
def test_weights_of_one_resample_give_one_number(function):
    x, y = scores(2)
    assert function(x, y, np.ones(40)) == pytest.approx(function(x, y))


def test_the_limit_of_kendalls_tau_counts_distinct_points_and_not_units():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 6, (2, 8000)).astype(float)
    weights = rng.integers(0, 3, (1, 8000))
    expected = stats.kendalltau(np.repeat(x, weights[0]), np.repeat(y, weights[0])).statistic
    assert kendall(x, y, weights.astype(float)) == pytest.approx([expected])


def test_kendalls_tau_takes_weights_up_to_the_limit_of_distinct_points(monkeypatch):
    monkeypatch.setattr("tandem.statistics.correlation.MAXIMUM_POINTS", 4)
    x = np.array([1.0, 2, 3, 4, 4])
    assert kendall(x, x[::-1] * 0 + x, np.ones((1, 5))) == pytest.approx([1])
    with pytest.raises(ValueError, match="5 different points"):
        kendall(np.arange(5.0), np.arange(5.0), np.ones((1, 5)))


def test_a_large_offset_does_not_change_pearsons_correlation():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=30), rng.normal(size=30)
    far = pearson(x + 1e9, y - 1e9), pearson(x - 1e9, y + 1e9)
    assert far == pytest.approx((pearson(x, y), pearson(x, y)), abs=1e-6)


def test_integers_near_the_limit_of_floats_correlate_exactly():
    small, other = np.array([0.0, 1, 3, 2, 5, 7]), np.array([2.0, 1, 5, 3, 4, 9])
    large = 2.0**52 + small
    assert pearson(large, other) == pytest.approx(pearson(small, other))
    assert pearson(other, large) == pytest.approx(pearson(small, other))


def test_kendalls_tau_needs_at_least_two_units():
    assert kendall(np.array([1.0, 2]), np.array([5.0, 7])) == pytest.approx(1)
    assert np.isnan(kendall(np.array([1.0]), np.array([5.0])))
