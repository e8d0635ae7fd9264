"""Whole blocks of the report, with their reasons, on tables small enough to work by hand."""

import numpy as np
import pytest

from tandem.statistics import (
    Bootstrap,
    Tally,
    agreement_estimates,
    alignment_estimates,
    correlation_estimates,
    dawid_skene,
    kendall,
    pair_estimates,
    system_rank_correlation,
    unitising_alpha,
)
from tandem.statistics.alignment import majority, mean_absolute_error
from tandem.statistics.estimate import t_quantile
from tandem.statistics.spans import Span
from tests.statistics.cast import number

pytestmark = pytest.mark.every_case


def values(estimates):
    return [each.value for each in estimates]


class TestAlignment:
    """People say a a a b, the judge a a b b; nobody ever says c."""

    REFERENCE, JUDGE = np.array([0, 0, 0, 1, -1, 1]), np.array([0, 0, 1, 1, 1, -1])

    def made(self, reference=REFERENCE, judge=JUDGE):
        return alignment_estimates(reference, judge, np.arange(len(reference)), 3, draws=0)

    def test_the_table_has_people_in_its_rows(self):
        assert self.made().confusion.tolist() == [[2, 1, 0], [0, 1, 0], [0, 0, 0]]

    @pytest.mark.parametrize(
        ("name", "expected", "reason"),
        [
            ("precision", [1, 1 / 2, None], "the judge never uses the category"),
            ("recall", [2 / 3, 1, None], "people never use the category"),
            ("f1", [4 / 5, 2 / 3, None], "neither people nor the judge use the category"),
            ("specificity", [1, 2 / 3, 1], None),
        ],
    )
    def test_measures_of_each_category_match_the_calculation_by_hand(self, name, expected, reason):
        found = self.made().classes[name]
        assert values(found)[:2] == pytest.approx(expected[:2])
        assert (found[2].value, found[2].reason) == (expected[2], reason)
        assert {each.n for each in found} == {4}

    def test_overall_measures_average_over_defined_categories(self):
        found = {name: each.value for name, each in self.made().overall.items()}
        assert found == pytest.approx(
            {
                "accuracy": 3 / 4,
                "balanced_accuracy": (2 / 3 + 1) / 2,
                "macro_precision": (1 + 1 / 2) / 2,
                "macro_recall": (2 / 3 + 1) / 2,
                "macro_f1": (4 / 5 + 2 / 3) / 2,
                "macro_specificity": (1 + 2 / 3 + 1) / 3,
            }
        )

    def test_specificity_is_undefined_if_people_use_one_category_only(self):
        found = self.made(np.zeros(3, int), np.array([0, 1, 0])).classes["specificity"]
        assert (found[0].value, found[0].reason) == (None, "people use no other category")
        assert found[1].value == pytest.approx(2 / 3)

    def test_without_a_unit_that_both_labelled_the_reason_says_so(self):
        made = self.made(np.array([0, -1]), np.array([-1, 0]))
        assert {each.reason for each in made.overall.values()} == {"no unit has both labels"}


class TestPairs:
    def test_kappas_of_three_ordered_categories_match_the_calculation_by_hand(self):
        # Units 0-0 1-1 2-2 0-2: 3 of 4 agree. Rows 2 1 1, columns 1 1 2: chance (2 + 1 + 2)/16.
        # Distances: observed 2 of 4 units; expected: rows times columns times gaps:
        # 2*(1*1 + 2*2) + 1*(1*1 + 2*1) + 1*(1*2 + 1*1) = 10 + 3 + 3 = 16 of 16.
        # Squares: observed 4; expected 2*(1 + 8) + (1 + 2) + (4 + 1) = 26 of 16.
        one, other = np.array([0, 1, 2, 0]), np.array([0, 1, 2, 2])
        made = pair_estimates(one, other, np.arange(4), 3, draws=0)
        assert made["percent"].value == pytest.approx(3 / 4)
        assert made["cohen_kappa"].value == pytest.approx((3 / 4 - 5 / 16) / (11 / 16))
        assert made["cohen_kappa_linear"].value == pytest.approx(1 - (2 / 4) / (16 / 16))
        assert made["cohen_kappa_quadratic"].value == pytest.approx(1 - (4 / 4) / (26 / 16))
        assert list(made) == [
            "percent",
            "cohen_kappa",
            "cohen_kappa_linear",
            "cohen_kappa_quadratic",
        ]

    def test_with_one_category_agreement_is_defined_and_kappa_is_not(self):
        zeros = np.zeros(4, int)
        made = pair_estimates(zeros, zeros, np.arange(4), 1, draws=0)
        assert made["percent"].value == 1
        assert made["cohen_kappa"].reason == "all labels are the same category"

    @pytest.mark.parametrize("turned", [False, True])
    def test_a_code_beyond_the_categories_is_refused_from_either_rater(self, turned):
        one, other = np.zeros(2, int), np.array([0, 2])
        one, other = (other, one) if turned else (one, other)
        with pytest.raises(ValueError, match="a code is not one of 2 categories"):
            pair_estimates(one, other, np.arange(2), 2)

    def test_raters_without_a_common_unit_get_a_reason(self):
        made = pair_estimates(np.array([0, -1]), np.array([-1, 1]), np.arange(2), 2, draws=0)
        assert {each.reason for each in made.values()} == {"no unit has two labels"}
        assert {each.n for each in made.values()} == {0}


class TestAgreement:
    """Three raters and four units: a a a, a a b, b b, and b alone."""

    CODES = np.array([[0, 0, 0], [0, 0, 1], [1, 1, -1], [1, -1, -1]])

    def test_every_coefficient_matches_the_calculation_by_hand(self):
        # Agreeing pairs 3/3, 1/3, 1/1: mean 7/9, pooled (3 + 1 + 1)/7 = 5/7. Of the 8 labels on
        # units with two or more, 5 are a: chance (25 + 9)/64 = 17/32.
        # Alpha: differing ordered pairs 0, 4/(3 - 1), 0; 7 * 2 / (64 - 34) = 14/30.
        # AC1: shares of a 1, 2/3, 0, 0: mean 5/12; chance 2 * 2 * (5/12) (7/12) / 2 = 70/144.
        made = agreement_estimates(self.CODES, np.arange(4), 2, draws=0)
        assert {name: each.value for name, each in made.items()} == pytest.approx(
            {
                "percent": 7 / 9,
                "percent_pooled": 5 / 7,
                "fleiss_kappa": (7 / 9 - 17 / 32) / (15 / 32),
                "fleiss_kappa_pooled": (5 / 7 - 17 / 32) / (15 / 32),
                "randolph_kappa": (7 / 9 - 1 / 2) / (1 / 2),
                "krippendorff_alpha": 1 - 14 / 30,
                "gwet_ac": (7 / 9 - 70 / 144) / (74 / 144),
            }
        )
        assert {each.n for each in made.values()} == {3}
        assert "k = 2" in made["randolph_kappa"].method

    def test_with_interval_distances_near_labels_agree_in_part(self):
        # 0-1 and 2-2 of three categories at 0 1 2. Alpha, interval: observed 2 * 1 / (2 - 1), all
        # labels 0 1 2 2: 2 * (4 * 9 - 25) = 22: 1 - 3 * 2 / 22.
        # AC2: weights 1 - d^2/4: agreement (3/4 + 1)/2; shares 1/4 1/4 1/2, spread 10/16, weights'
        # sum 3 + 4 * 3/4 = 6: chance 6 * (10/16) / 6.
        codes = np.array([[0, 1], [2, 2]])
        made = agreement_estimates(codes, np.arange(2), 3, "interval", draws=0)
        assert made["krippendorff_alpha"].value == pytest.approx(1 - 6 / 22)
        assert made["gwet_ac"].value == pytest.approx((7 / 8 - 5 / 8) / (3 / 8))
        assert "interval" in made["krippendorff_alpha"].method

    def test_ordinal_distances_are_distances_of_midranks(self):
        # Labels 0 1 2 2 have midranks 0.5, 1.5, 3: observed 2 * 1; overall 2 * (4 * (0.25 + 2.25 +
        # 18) - 64) = 36: 1 - 3 * 2 / 36.
        codes = np.array([[0, 1], [2, 2]])
        made = agreement_estimates(codes, np.arange(2), 3, "ordinal", draws=0)
        assert made["krippendorff_alpha"].value == pytest.approx(1 - 6 / 36)

    def test_given_values_of_the_categories_define_the_distances(self):
        # At 0, 1 and 10: observed 2 * 1; overall 2 * (4 * 201 - 441) = 726.
        codes = np.array([[0, 1], [2, 2]])
        made = agreement_estimates(
            codes, np.arange(2), 3, "interval", np.array([0.0, 1, 10]), draws=0
        )
        assert made["krippendorff_alpha"].value == pytest.approx(1 - 6 / 726)

    def test_units_with_one_label_do_not_count_towards_the_queries_of_the_interval(self):
        codes = np.array([[n % 2, n % 2] for n in range(11)])
        codes[9:, 1] = -1
        codes[0, 1] = 1
        assert "9 queries" in agreement_estimates(codes, np.arange(11), 2)["percent"].method
        codes[9, 1] = 0
        method = agreement_estimates(codes, np.arange(11), 2)["percent"].method
        assert "BCa bootstrap of 10 queries, 10000 resamples" in method


class TestReference:
    def test_a_tie_has_no_majority_and_is_marked(self):
        codes = np.array([[0, 0, 1], [0, 1, -1], [2, -1, -1], [-1, -1, -1], [1, 1, 1]])
        reference, ties = majority(codes)
        assert reference.tolist() == [0, -1, 2, -1, 1]
        assert ties.tolist() == [False, True, False, False, False]

    def test_the_mean_absolute_error_skips_missing_scores(self):
        x, y = np.array([1.0, 2, np.nan, 4]), np.array([2.0, 2, 3, np.nan])
        assert mean_absolute_error(x, y) == pytest.approx(1 / 2)
        weights = np.array([[3.0, 1, 5, 5], [0, 0, 1, 1]])
        assert mean_absolute_error(x, y, weights) == pytest.approx([3 / 4, np.nan], nan_ok=True)


class TestCorrelations:
    def test_correlations_of_three_points_with_a_tie_match_the_calculation_by_hand(self):
        # x 1 2 3, y 1 1 2. Pearson: covariance 1, variances 2 and 2/3. Midranks of y 1.5 1.5 3:
        # covariance 1.5, variances 2 and 1.5. Two pairs concordant, one tied in y: 2 / root(3 * 2).
        made = correlation_estimates(
            np.array([1.0, 2, 3, np.nan]), np.array([1.0, 1, 2, 5]), np.arange(4), draws=0
        )
        assert made["pearson"].value == pytest.approx(1 / (4 / 3) ** 0.5)
        assert made["spearman"].value == pytest.approx(1.5 / 3**0.5)
        assert made["kendall"].value == pytest.approx(2 / 6**0.5)
        assert {each.n for each in made.values()} == {3}

    def test_two_units_have_a_correlation_and_one_has_none(self):
        two = correlation_estimates(np.array([1.0, 2]), np.array([3.0, 1]), np.arange(2), draws=0)
        assert values(two.values()) == pytest.approx([-1, -1, -1])
        one = correlation_estimates(np.ones(1), np.ones(1), np.arange(1), draws=0)
        assert {each.reason for each in one.values()} == {"fewer than two units have both scores"}
        assert np.isnan(kendall(np.ones(1), np.ones(1)))

    def test_a_constant_score_has_no_correlation_and_a_reason(self):
        made = correlation_estimates(np.ones(3), np.arange(3.0), np.arange(3), draws=0)
        assert {each.reason for each in made.values()} == {"one of the two scores is constant"}


class TestSystems:
    PEOPLE = np.tile(np.array([0.1, 0.2, 0.3]), (12, 1))

    @pytest.mark.parametrize(("function", "expected"), [("kendall", 1 / 3), ("spearman", 1 / 2)])
    def test_the_rank_correlation_of_three_systems_matches_the_calculation_by_hand(
        self, function, expected
    ):
        judge = np.tile(np.array([0.5, 0.9, 0.7]), (12, 1))
        made = system_rank_correlation(self.PEOPLE, judge, function, draws=20)
        assert made.value == pytest.approx(expected)
        assert made.n == 3
        assert "12 queries" in made.method

    def test_only_queries_that_both_scored_count(self):
        judge = self.PEOPLE.copy()
        judge[:3] = np.nan
        made = system_rank_correlation(self.PEOPLE, judge, draws=20)
        assert (made.value, made.low) == (1, None)
        assert "9 queries" in made.method


class TestIntervals:
    def test_intervals_are_bca_with_ten_thousand_resamples_below_thirty_queries(self):
        def method(queries, draws=None):
            sums = np.stack([np.arange(queries) % 3, np.ones(queries)], axis=1).astype(float)
            bootstrap = Bootstrap(Tally.of_sums(sums, np.arange(queries)), draws)
            return bootstrap.estimate(lambda w: w[..., 0] / w[..., 1], queries, "mean").method

        assert method(29) == "mean; 95 % BCa bootstrap of 29 queries, 10000 resamples"
        assert method(30) == "mean; 95 % BCa bootstrap of 30 queries, 2000 resamples"
        assert method(29, 200) == "mean; 95 % BCa bootstrap of 29 queries, 200 resamples"

    def test_the_t_quantile_of_one_degree_of_freedom_is_the_tabulated_one(self):
        assert t_quantile(0.975, 1) == pytest.approx(12.7062, abs=1e-4)


class TestUnitisingAlpha:
    def test_alpha_of_three_raters_on_a_small_continuum_matches_the_calculation_by_hand(self):
        # Length 10; units 0-2, 0-3, 0-2. Observed: ordered pairs 4 * 1 / (3 * 2 * 100). Expected,
        # N = 3: units of 2: 2/3 * 6 + 4 * (7 + 6 + 7) = 84 twice; of 3: 2/3 * 30 + 9 * 17 = 173:
        # sum 341. Denominator: 30 * 29 - 2 - 6 - 2 = 860.
        marked = [[Span(((0, 2),))], [Span(((0, 3),))], [Span(((0, 2),))]]
        made = unitising_alpha([marked], [10], np.arange(1), draws=0)
        assert made.value == pytest.approx(1 - (4 / 600) / (0.2 * 341 / 860))

    def test_a_unit_that_overlaps_no_other_adds_its_squared_length(self):
        # Units 0-2 and 4-8 of one, 0-2 of the other: observed 16 * 2 / (2 * 100). Expected, N = 3:
        # gaps 2, 2 and 8; units of 2: 2/3 * 6 + 4 * (1 + 1 + 7) = 40 twice; of 4:
        # 2/3 * (128 - 48 + 4) + 16 * 5 = 136: sum 216. Denominator: 20 * 19 - 2 - 12 - 2 = 364.
        one, other = [Span(((0, 2),)), Span(((4, 8),))], [Span(((0, 2),))]
        made = unitising_alpha([[one, other]], [10], np.arange(1), draws=0)
        assert made.value == pytest.approx(1 - 0.16 / (0.2 * 216 / 364))


class TestSoftLabels:
    def test_identical_units_are_counted_each_time(self):
        made = dawid_skene(np.array([[0, 0], [0, 0], [1, 1], [-1, -1]]), 3)
        assert made.prevalence == pytest.approx([2 / 3, 1 / 3, 1e-10])
        assert made.raters[:, 0, 0] == pytest.approx([1, 1])
        assert made.raters.min() == 1e-10
        assert made.converged

    def test_the_label_is_the_first_of_equally_likely_categories(self):
        made = dawid_skene(np.array([[0, 1]]), 2, iterations=0)
        assert made.shares.tolist() == [[0.5, 0.5]]
        assert made.labels.tolist() == [0]
        assert (made.iterations, made.converged) == (0, False)

    def test_it_stops_after_the_maximum_number_of_iterations(self):
        codes = np.array([[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 0]])
        three = dawid_skene(codes, 2, iterations=3, tolerance=0)
        assert three.iterations == 3
        assert number(np.abs(three.shares - dawid_skene(codes, 2, 2, 0).shares).max()) > 0
