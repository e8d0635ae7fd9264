from itertools import product

import numpy as np
import pytest
from scipy import stats

from tandem.statistics import paired_t, sign_flip, wilcoxon_signed_rank
from tandem.statistics.paired import signed_rank_below

pytestmark = pytest.mark.every_case


def enumerated(differences):
    """Two-sided p by enumerating the signs of all ranks."""
    ranks = stats.rankdata(np.abs(differences))
    observed = ranks[differences > 0].sum()
    sums = [
        sum(r for r, s in zip(ranks, signs, strict=True) if s)
        for signs in product((0, 1), repeat=len(ranks))
    ]
    low, high = np.mean(np.array(sums) <= observed), np.mean(np.array(sums) >= observed)
    return min(1, 2 * min(low, high))


def test_p_values_of_five_differences_of_one_sign_match_the_calculation_by_hand():
    # One arrangement of 2^5 is as extreme on each side: 2/32.
    assert wilcoxon_signed_rank(np.array([1.0, 2, 3, 4, 5])).p_value == pytest.approx(2 / 32)


@pytest.mark.parametrize("seed", range(6))
def test_without_ties_it_agrees_with_scipy(seed):
    differences = np.random.default_rng(seed).normal(0.3, 1, 14)
    expected = stats.wilcoxon(differences, method="exact").pvalue
    assert wilcoxon_signed_rank(differences).p_value == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(6))
def test_with_ties_the_signed_rank_test_is_exact_over_all_signs(seed):
    differences = np.random.default_rng(seed).choice([-2.0, -1, 1, 2, 3], 9)
    assert wilcoxon_signed_rank(differences).p_value == pytest.approx(enumerated(differences))


def test_fractions_that_are_equal_on_paper_are_tied():
    fractions = wilcoxon_signed_rank(np.array([0.2 - 0.3, 0.1, 0.3, 0.4, 0.5]))
    whole = wilcoxon_signed_rank(np.array([-1.0, 1, 3, 4, 5]))
    assert fractions.p_value == pytest.approx(whole.p_value)


def test_zeros_are_left_out_of_the_test_but_count_in_the_mean():
    test = wilcoxon_signed_rank(np.array([0.0, 0, 1, 2, 3]))
    assert test.p_value == pytest.approx(2 / 8)
    assert (test.difference.value, test.difference.n) == (pytest.approx(6 / 5), 5)


def test_if_all_differences_are_zero_there_is_no_p_value():
    test = wilcoxon_signed_rank(np.zeros(4))
    assert (test.p_value, test.reason) == (None, "no difference is other than zero")


def test_many_differences_take_the_normal_approximation_and_say_so():
    differences = np.random.default_rng(0).normal(0.1, 1, 300)
    test = wilcoxon_signed_rank(differences)
    expected = stats.wilcoxon(differences, method="approx").pvalue
    assert (test.p_value, "normal" in test.method) == (pytest.approx(expected), True)


def test_ties_and_zeros_are_recognised_despite_rounding_errors():
    whole = np.random.default_rng(1).integers(-3, 5, 400).astype(float)
    fractions = (whole + 1) / 10 - 0.1
    expected = stats.wilcoxon(whole[whole != 0], method="approx").pvalue
    assert wilcoxon_signed_rank(whole).p_value == pytest.approx(expected)
    assert wilcoxon_signed_rank(fractions).p_value == pytest.approx(expected)


def test_two_hundred_differences_are_still_exact():
    differences = np.random.default_rng(0).normal(0.1, 1, 200)
    expected = stats.wilcoxon(differences, method="exact").pvalue
    assert wilcoxon_signed_rank(differences).p_value == pytest.approx(expected)


def test_the_paired_t_test_compares_the_means_of_queries():
    rng = np.random.default_rng(1)
    a, b, queries = rng.normal(size=60), rng.normal(size=60), np.repeat(np.arange(12), 5)
    means = (a - b).reshape(12, 5).mean(axis=1)
    test = paired_t(a, b, queries)
    assert test.p_value == pytest.approx(stats.ttest_1samp(means, 0).pvalue)
    low, high = stats.ttest_1samp(means, 0).confidence_interval()
    assert (test.difference.low, test.difference.high) == pytest.approx((low, high))


def test_a_large_query_weighs_no_more_than_a_small_one():
    # Query means 1 and 3, though the second has three items.
    test = paired_t(np.array([1.0, 2, 3, 4]), np.zeros(4), np.array([0, 1, 1, 1]))
    assert test.difference.value == 2


def test_items_that_one_system_lacks_are_left_out():
    test = paired_t(np.array([1.0, np.nan, 5]), np.zeros(3), np.array([0, 1, 2]))
    assert (test.difference.value, test.difference.n) == (3, 2)


@pytest.mark.parametrize(
    ("values", "reason"),
    [([1.0], "fewer than two queries"), ([1.0, 1.0], "all differences are equal")],
)
def test_without_variation_there_is_no_p_value(values, reason):
    a = np.array(values)
    test = paired_t(a, np.zeros(len(a)), np.arange(len(a)))
    assert (test.p_value, test.reason) == (None, reason)


def test_a_tiny_sample_has_a_p_value_and_no_interval():
    test = paired_t(np.array([1.0, 2, 3]), np.zeros(3), np.arange(3))
    assert test.p_value is not None
    assert (test.difference.low, "3 queries" in test.difference.method) == (None, True)


def test_sign_flips_match_the_calculation_by_hand():
    # 1, 2, 3: of 8 sums of signs only +6 and -6 are as far from 0 as 6.
    made = sign_flip(np.array([1.0, 2, 3]))
    assert (made.p_value, made.method) == (2 / 8, "sign flips, exact")
    # 1, 2, -3: the sum is 0, and every sum is at least as far from 0.
    assert sign_flip(np.array([1.0, 2, -3])).p_value == 1


def test_sums_that_differ_by_rounding_only_count_as_equally_extreme():
    # 0.1 + 0.2 - 0.3 is not 0 in floating point.
    assert sign_flip(np.array([0.1, 0.2, -0.3])).p_value == 1


@pytest.mark.parametrize("seed", range(3))
def test_sign_flips_agree_with_scipy(seed):
    d = np.random.default_rng(seed).normal(0.3, 1, 11)
    theirs = stats.permutation_test((d,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip(d).p_value == pytest.approx(theirs.pvalue)


def test_sampled_sign_flips_are_close_to_the_t_test():
    d = np.random.default_rng(4).normal(0.25, 1, 60)
    made = sign_flip(d, seed=1)
    assert made.p_value == pytest.approx(stats.ttest_1samp(d, 0).pvalue, abs=0.02)
    assert made == sign_flip(d, seed=1)
    assert "10000 drawn" in made.method


def test_without_differences_sign_flips_have_no_p_value():
    made = sign_flip(np.zeros(20))
    assert (made.p_value, made.reason) == (None, "no difference is other than zero")


@pytest.mark.parametrize("seed", range(6))
def test_the_one_sided_signed_rank_test_agrees_with_scipy(seed):
    differences = np.random.default_rng(seed).normal(-0.3, 1, 14)
    expected = stats.wilcoxon(differences, method="exact", alternative="less").pvalue
    assert signed_rank_below(differences) == pytest.approx(expected)


def test_the_one_sided_signed_rank_test_matches_the_calculation_by_hand():
    # Of the 2^4 arrangements of the ranks 1 to 4 only those with sums 0 and 1 are at most 1.
    assert signed_rank_below(np.array([1.0, -2, -3, -4])) == pytest.approx(2 / 16)
    assert signed_rank_below(np.zeros(3)) == 1


def test_the_one_sided_test_is_exact_up_to_two_hundred_differences():
    differences = np.random.default_rng(6).normal(-0.1, 1, 201)
    below = {"method": "asymptotic", "correction": False, "alternative": "less"}
    expected = stats.wilcoxon(differences, **below).pvalue
    assert signed_rank_below(differences) == pytest.approx(expected, rel=1e-9)
    assert signed_rank_below(-differences) == pytest.approx(1 - expected, rel=1e-9)
    exact = stats.wilcoxon(differences[:200], method="exact", alternative="less").pvalue
    assert signed_rank_below(differences[:200]) == pytest.approx(exact, rel=1e-9)


def test_sampled_signs_are_plus_and_minus_equally_often():
    # For fourteen ones only 2 of the 2^14 sums are as extreme: hardly any of 9,999 samples are.
    assert (sign_flip(np.ones(14), resamples=9_999).p_value or 1) < 0.001
