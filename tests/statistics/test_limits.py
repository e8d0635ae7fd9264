"""Values exactly at the stated limits are accepted, on small tables worked by hand."""

import json
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from tandem.statistics import (
    AltTest,
    Estimate,
    Plan,
    Reading,
    Resamples,
    alt_test,
    ceiling_estimates,
    correlation_estimates,
    design_effect,
    effective_labels,
    fixed_collection_mean,
    fixed_collection_ratio,
    mean_by_cluster,
    mean_of_clusters,
    more_queries,
    more_raters,
    paired_t,
    people_only_mean,
    percentile_interval,
    prediction_powered_mean,
    prediction_powered_mean_unequal,
    prediction_powered_ratio,
    proportion,
    sign_flip,
    threshold_sweep,
    undefined,
    wilcoxon_signed_rank,
)
from tandem.statistics.alternative import benjamini_yekutieli, p_below
from tandem.statistics.curves import equal_count_bins
from tandem.statistics.estimate import pack
from tandem.statistics.ppi import linearise, tuning
from tandem.statistics.resampling import acceleration, bca_interval, too_few
from tandem.statistics.spans import (
    Span,
    exact_f1,
    iou_f1,
    merge_fragments,
    overlap_f1,
    token_alpha,
)
from tests.statistics.cast import interval, number, width

pytestmark = pytest.mark.every_case

TEN = np.array([0.1, 0.4, 0.3, 0.8, 0.6, 0.5, 0.9, 0.2, 0.7, 0.4])
SCORED = np.array([0.2, 0.4, 0.5, 0.9, 0.6, 0.4, 0.9, 0.3, 0.9, 0.5])
REST = np.array([0.3, 0.6, 0.8])


def sums(shares):
    """Hits of five nuggets in every other query, and of ten in the rest."""
    sizes = np.where(np.arange(len(shares)) % 2, 10.0, 5.0)
    return np.stack([np.round(shares * sizes), sizes], axis=1)


ESTIMATES = {
    "people only": lambda n: people_only_mean(TEN[:n]),
    "PPI++": lambda n: prediction_powered_mean(TEN[:n], SCORED[:n], REST),
    "fixed collection": lambda n: fixed_collection_mean(TEN[:n], SCORED[:n], REST),
    "unequal": lambda n: prediction_powered_mean_unequal(
        TEN[:n], SCORED[:n], np.full(n, 0.5), REST
    ),
    "ratio": lambda n: prediction_powered_ratio(
        sums(TEN[:n]), sums(SCORED[:n]), sums(REST), resamples=50
    ),
    "fixed ratio": lambda n: fixed_collection_ratio(sums(TEN[:n]), sums(SCORED[:n]), sums(REST)),
    "mean by query": lambda n: mean_by_cluster(TEN[:n], np.arange(n)),
    "mean of queries": lambda n: mean_of_clusters(TEN[:n], np.arange(n)),
    "share": lambda n: proportion(3, 20, n, "share", "no labels"),
    "correlation": lambda n: correlation_estimates(
        TEN[:n], SCORED[:n], np.arange(n), ["spearman"], draws=50
    )["spearman"],
}


@pytest.mark.parametrize("name", ESTIMATES)
def test_ten_queries_have_an_interval_and_nine_have_none(name):
    ten, nine = ESTIMATES[name](10), ESTIMATES[name](9)
    low, high = interval(ten)
    assert low < number(ten.value) < high
    assert (nine.low, nine.high) == (None, None)
    assert nine.value is not None


def test_the_message_for_one_query_uses_the_singular():
    assert too_few(1) == "no interval: 1 query, at least 10 are needed"
    assert too_few(2) == "no interval: 2 queries, at least 10 are needed"


def test_at_most_one_resample_in_twenty_may_be_undefined():
    assert percentile_interval(np.r_[np.arange(95.0), [np.nan] * 5]) is not None
    assert percentile_interval(np.r_[np.arange(94.0), [np.nan] * 6]) is None


class TestDesignEffect:
    def test_the_design_effect_of_two_opposite_queries_matches_the_calculation_by_hand(self):
        # Sums 0 and 2 of two items each about a mean of 1/2: squares 1 + 1, twice that over 16 is
        # 1/4. Independent items: variance 1/3 over 4 is 1/12. The effect is 3.
        effect = design_effect(np.array([0.0, 0, 1, 1]), np.array([7, 7, 9, 9]))
        assert effect == pytest.approx(3)

    def test_one_query_or_a_constant_value_has_no_design_effect(self):
        assert np.isnan(design_effect(np.array([0.0, 1]), np.array([0, 0])))
        assert np.isnan(design_effect(np.ones(4), np.array([0, 0, 1, 1])))

    def test_missing_values_are_left_out(self):
        values, queries = np.array([0.0, np.nan, 0, 1, 1, np.nan]), np.array([7, 7, 7, 9, 9, 8])
        assert design_effect(values, queries) == pytest.approx(3)


class TestPlans:
    def shrinks(self, queries):
        return stats.t.ppf(0.975, queries - 1) / np.sqrt(queries)

    @pytest.mark.parametrize(("now", "then"), [(10, 11), (10, 14), (12, 40)])
    def test_the_width_shrinks_with_the_t_quantile_over_the_root_of_queries(self, now, then):
        target = 0.3 * self.shrinks(then) / self.shrinks(now)
        assert more_queries(0.3, now, target * 1.000001) == Plan(then, then - now)
        assert more_queries(0.3, now, target * 0.999999) == Plan(then + 1, then + 1 - now)

    def test_a_width_that_is_just_reached_needs_no_more_queries_or_raters(self):
        assert more_queries(0.2, 20, 0.2) == Plan(20, 0)
        assert more_raters({2: 0.3, 3: 0.2}, 0.2) == Plan(3, 0)

    def test_a_fully_labelled_collection_cannot_reach_a_smaller_width(self):
        plan = more_queries(0.2, 20, 0.1, available=20)
        assert plan.reason == "all 20 queries would leave it wider"

    def test_plans_stop_at_a_million_queries(self):
        plan = more_queries(1.0, 20, 1e-4, available=2_000_000)
        assert plan.reason == "more than 1,000,000 queries would be needed"
        plan = more_queries(1.0, 20, 1e-4, available=1_000_000)
        assert plan.reason == "all 1000000 queries would leave it wider"

    def test_ten_queries_are_enough_to_plan_from(self):
        assert more_queries(0.2, 10, 0.1).needed is not None
        refused = more_queries(0.2, 9, 0.1)
        assert refused.reason == "9 queries are too few to plan from, 10 are needed"

    @pytest.mark.parametrize("width", [0, -0.1])
    def test_both_widths_must_be_above_zero(self, width):
        with pytest.raises(ValueError, match="above 0"):
            more_queries(width, 20, 0.1)
        with pytest.raises(ValueError, match="above 0"):
            more_queries(0.1, 20, width)
        with pytest.raises(ValueError, match="above 0"):
            more_raters({2: 0.2, 3: 0.1}, width)

    def test_a_plan_below_the_present_number_still_asks_for_one_more_rater(self):
        # 1/r are 1/2, 1/3, 1/4, squares 0.04, 0.03, 0.03: slope 0.042857, floor 0.017857. The fit
        # says 0.042857 / (0.0295 - 0.017857) = 3.7 raters, but four are wider than that already.
        widths = {2: 0.2, 3: np.sqrt(0.03), 4: np.sqrt(0.03)}
        assert more_raters(widths, np.sqrt(0.0295)) == Plan(5, 1)

    def test_plans_stop_at_a_million_raters(self):
        # width^2 = 0.01 + 0.06/r, of which 0.01 + 5e-8 takes 1.2 million.
        widths = {2: 0.2, 3: np.sqrt(0.03)}
        assert more_raters(widths, np.sqrt(0.01 + 5e-8)) == Plan(None, None, "over a million")
        assert more_raters(widths, np.sqrt(0.01 + 1e-6)).needed == pytest.approx(60_000, rel=1e-3)


class TestPredictionPowered:
    """People and a judge: PPI++."""

    def test_two_labelled_queries_are_enough_to_tune(self):
        # cov = 1/2; of all scores 0 1 1 0 the variance is 1/3: 0.5 / (2 * 1/3) = 0.75.
        two = np.array([0.0, 1])
        assert tuning(two, two, two[::-1]) == pytest.approx(0.75)
        assert tuning(two[:1], two[:1], two) == 0

    def test_one_query_that_only_the_judge_saw_is_enough(self):
        # Scores 0 1 1: variance 1/3; 0.5 / ((1 + 2/1) / 3) = 0.5.
        two = np.array([0.0, 1])
        assert tuning(two, two, np.ones(1)) == pytest.approx(0.5)

    def test_the_effective_number_of_two_labels_matches_the_calculation_by_hand(self):
        # lambda 0.75: people vary by 0.5 / 2; powered 0.25^2 * 0.25 + 0.75^2 * 0.25 = 0.15625.
        two = np.array([0.0, 1])
        assert effective_labels(two, two, two) == pytest.approx(2 * 0.25 / 0.15625)

    def test_plain_ppi_is_named_and_is_peoples_mean_if_they_labelled_every_query(self):
        made = prediction_powered_mean(TEN, SCORED, REST, 1)
        assert made.value == pytest.approx(REST.mean() + TEN.mean() - SCORED.mean())
        assert made.method.startswith(
            "PPI, lambda 1.000, 3 queries with judge labels only; 95 % t interval"
        )
        alone = prediction_powered_mean(TEN, SCORED, np.empty(0), 1)
        assert alone.method.startswith("PPI, lambda 0.000, 0 queries with judge labels only")
        people = people_only_mean(TEN)
        assert (alone.value, alone.low) == pytest.approx((people.value, people.low))
        assert prediction_powered_mean(TEN, SCORED, REST).method.startswith("PPI++, lambda 0.")
        assert people.method == "people only; 95 % t interval, 10 labelled queries"

    def test_plain_ppi_of_a_ratio_matches_the_calculation_by_hand(self):
        # Others 6/8, people 4/8, judge 6/10: 0.75 + 0.5 - 0.6.
        human, judge = np.array([[3.0, 4], [1, 4]]), np.array([[4.0, 5], [2, 5]])
        made = prediction_powered_ratio(human, judge, np.array([[5.0, 5], [1, 3]]), 1)
        assert made.value == pytest.approx(0.65)
        assert made.method.startswith(
            "PPI of a ratio, lambda 1.000, 2 queries with judge labels only"
        )
        half = prediction_powered_ratio(human, judge, np.array([[5.0, 5], [1, 3]]), 0.5)
        assert half.value == pytest.approx(0.5 + 0.5 * (0.75 - 0.6))

    def test_the_linearised_values_of_queries_match_the_calculation_by_hand(self):
        # R = 4/10, mean denominator 5: 0.4 + (3 - 0.4 * 4)/5 and 0.4 + (1 - 0.4 * 6)/5.
        found = linearise(np.array([[3.0, 4], [1, 6]]))
        assert found.tolist() == pytest.approx([0.68, 0.12])

    def test_the_interval_of_a_fixed_collection_ratio_matches_its_formula(self):
        human, judge, rest = sums(TEN), sums(SCORED), sums(REST)
        made = fixed_collection_ratio(human, judge, rest)
        errors = linearise(human) - linearise(judge)
        error = np.sqrt(3 / 13 * errors.var(ddof=1) / 10)
        assert width(made) / 2 == pytest.approx(stats.t.ppf(0.975, 9) * error)
        assert "over a fixed collection of 13 queries; 95 % t interval, 10 labelled" in made.method

    def test_a_chance_of_one_is_accepted_and_more_than_one_is_refused(self):
        judged = np.empty(0)
        sure = prediction_powered_mean_unequal(TEN, SCORED, np.ones(10), judged)
        assert sure.value == pytest.approx(TEN.mean())
        beyond = prediction_powered_mean_unequal(TEN, SCORED, np.full(10, 1.0001), judged)
        assert beyond.value is None

    def test_the_interval_for_unequal_chances_matches_its_formula_written_out(self):
        chances = np.where(np.arange(10) % 2, 0.5, 0.8)
        made = prediction_powered_mean_unequal(TEN, SCORED, chances, REST, 0.5)
        z = np.r_[0.5 * SCORED + (TEN - 0.5 * SCORED) / chances, 0.5 * REST]
        half = stats.t.ppf(0.975, 9) * z.std(ddof=1) / np.sqrt(13)
        assert (made.value, made.low, made.high) == pytest.approx(
            (z.mean(), z.mean() - half, z.mean() + half)
        )
        assert "lambda 0.500" in made.method

    def test_the_tuning_for_unequal_chances_matches_its_formula_written_out(self):
        chances = np.where(np.arange(10) % 2, 0.5, 0.8)
        people = np.r_[TEN / chances, np.zeros(3)]
        gain = np.r_[SCORED * (1 - 1 / chances), REST]
        best = -np.cov(people, gain)[0, 1] / gain.var(ddof=1)
        assert 0 < best < 1
        made = prediction_powered_mean_unequal(TEN, SCORED, chances, REST)
        assert made.value == pytest.approx((people + best * gain).mean())


class TestAlternativeTest:
    PEOPLE = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    JUDGE = np.array([0, 0, 1, 0])

    def reading(self, rate):
        return Reading(rate, 0.5, ())

    def test_winning_against_half_of_the_annotators_is_a_pass(self):
        for rate, passed in ((0.5, True), (0.4999, False), (1.0, True)):
            assert AltTest(0.2, self.reading(rate), self.reading(0.0), "items").passed is passed
            assert AltTest(0.2, self.reading(0.0), self.reading(rate), "by_query").passed is passed

    def test_the_false_discovery_rate_is_the_requested_one(self):
        # Both p-values are 0.0848, so both are rejected from q = 0.0848 * 3/2 = 0.1272 on.
        def rate(q):
            return alt_test(
                self.PEOPLE, self.JUDGE, np.arange(4), level="nominal", epsilon=0.2, q=q, minimum=1
            ).winning_rate

        assert (rate(0.12), rate(0.13)) == (0, 1)

    def test_a_p_value_of_exactly_q_is_rejected(self):
        assert benjamini_yekutieli(np.array([0.05])).tolist() == [True]
        assert benjamini_yekutieli(np.array([0.0501])).tolist() == [False]

    def test_two_differences_can_be_tested(self):
        # Differences 0 and -1: mean -1/2, error 1/2; (-0.5 - 0.2)/0.5 = -1.4, one degree.
        assert p_below(np.array([0.0, -1.0]), 0.2) == pytest.approx(stats.t.cdf(-1.4, 1))

    def test_annotators_without_names_are_numbered(self):
        test = alt_test(
            self.PEOPLE, self.JUDGE, np.arange(4), level="nominal", epsilon=0.2, minimum=4
        )
        assert [a.name for a in test.annotators] == ["0", "1"]
        assert test.reason is None

    def test_the_result_in_the_report_says_which_reading_decides(self):
        test = AltTest(0.2, self.reading(0.0), self.reading(1.0), "by_query")
        assert json.loads(json.dumps(test.as_json())) == {
            "epsilon": 0.2,
            "winning_rate": 0.0,
            "advantage_probability": 0.5,
            "annotators": [],
            "by_query": {"winning_rate": 1.0, "advantage_probability": 0.5, "annotators": []},
            "decides": "by_query",
            "passed": True,
            "verdict": "passes",
            "queries": None,
            "queries_needed": None,
        }


class TestSpans:
    FIVE = np.array([[0, 3], [4, 9], [10, 12], [13, 17], [18, 23]])

    def test_tokens_of_a_text_in_which_nobody_marked_anything_count(self):
        # Two texts of five words: in the first Ada marked words 1 and 2, and Bram 2 and 3; in the
        # second nobody marked any. 2 of 10 words differ, 4 of 20 labels are in a span.
        # 2 * 4 * 16 / (20 * 19).
        marked = [[Span(((0, 9),))], [Span(((4, 12),))]]
        made = token_alpha([marked, [[], []]], [self.FIVE, self.FIVE], np.arange(2), draws=0)
        assert made.value == pytest.approx(1 - (2 / 10) / (128 / 380))
        assert made.n == 10

    def test_tokens_judged_by_one_person_only_do_not_count(self):
        marked = [[Span(((0, 9),))], [Span(((4, 12),))]]
        alone = [[Span(((0, 9),))], None]
        made = token_alpha([marked, alone], [self.FIVE, self.FIVE], np.arange(2), draws=0)
        only = token_alpha([marked], [self.FIVE], np.arange(1), draws=0)
        assert (made.value, made.n) == (only.value, 5)

    def test_a_token_is_in_a_span_if_one_of_its_characters_is(self):
        one = [[Span(((3, 4),))], [Span(((9, 10),))]]  # the spaces between words: no token
        made = token_alpha([one], [self.FIVE], np.arange(1), draws=0)
        assert (made.value, made.reason) == (None, "all tokens are in spans, or none is")

    def test_spans_match_if_half_of_their_union_overlaps(self):
        assert iou_f1([Span(((0, 4),))], [Span(((0, 8),))]) == 1
        assert iou_f1([Span(((0, 4),))], [Span(((0, 9),))]) == 0
        two, one = [Span(((0, 4),)), Span(((20, 24),))], [Span(((0, 8),))]
        assert iou_f1(two, one) == pytest.approx(2 / 3)

    def test_adjacent_spans_are_merged_and_separate_ones_are_not(self):
        assert merge_fragments([(4, 6), (0, 2), (2, 3)]) == [(0, 3), (4, 6)]
        assert merge_fragments([(0, 9), (2, 3), (8, 12)]) == [(0, 12)]

    def test_adjacent_spans_do_not_overlap(self):
        assert overlap_f1([Span(((0, 4),))], [Span(((4, 8),))]) == 0
        assert overlap_f1([Span(((0, 4),))], [Span(((3, 8),))]) == 1

    def test_the_same_span_with_another_label_does_not_match(self):
        assert exact_f1([Span(((0, 4),), "a")], [Span(((0, 4),), "b"), Span(((0, 4),), "a")]) == (
            pytest.approx(2 / 3)
        )


class TestCeiling:
    def test_units_with_one_label_do_not_count_towards_the_queries_of_the_interval(self):
        labels = np.array([[n % 2, n % 3 % 2] for n in range(12)])
        labels[9:, 1] = -1
        made = ceiling_estimates(labels, np.arange(12), 2, draws=20)["percent"]
        assert (made.n, made.low) == (9, None)
        assert "9 queries" in made.method
        labels[9, 1] = 1
        made = ceiling_estimates(labels, np.arange(12), 2, draws=20)["percent"]
        assert made.n == 10
        assert made.low is not None


class TestBins:
    def test_an_edge_belongs_to_the_bin_below(self):
        assert equal_count_bins(np.arange(1.0, 6), 2).tolist() == [0, 0, 0, 1, 1]
        assert equal_count_bins(np.array([3.0, 1, 2, 2, 2]), 2).tolist() == [1, 0, 0, 0, 0]


class TestPack:
    def test_labels_are_moved_to_the_left_and_their_new_column_is_returned(self):
        labels = np.array([[np.nan, 1, np.nan, 2], [np.nan] * 4, [3, np.nan, np.nan, np.nan]])
        packed, place = pack(labels)
        assert np.array_equal(
            packed, np.array([[1, 2], [np.nan, np.nan], [3, np.nan]]), equal_nan=True
        )
        assert place.tolist() == [[-1, 0, -1, 1], [-1] * 4, [0, -1, -1, -1]]

    @pytest.mark.parametrize("units", [0, 2])
    def test_without_labels_there_is_one_empty_column(self, units):
        packed, _ = pack(np.full((units, 3), np.nan))
        assert packed.shape == (units, 1)
        assert np.isnan(packed).all()


class TestBca:
    def test_the_acceleration_matches_the_calculation_by_hand(self):
        # Mean 2: differences 1, 1, -2: cubes 1 + 1 - 8 = -6, squares 6: -6 / (6 * 6^1.5).
        assert acceleration(np.array([1.0, 1, 4])) == pytest.approx(-1 / 6**1.5)
        assert acceleration(np.array([1.0, 4]), np.array([2, 1])) == pytest.approx(-1 / 6**1.5)
        assert acceleration(np.ones(5)) == 0

    def test_without_bias_and_acceleration_it_is_the_percentile_interval(self):
        resampled, left_out = np.arange(1001.0), np.array([499.0, 500, 501])
        assert bca_interval(500.0, resampled, left_out) == pytest.approx((25, 975), abs=0.01)
        assert bca_interval(500.0, resampled, left_out, level=0.9) == pytest.approx(
            (50, 950), abs=0.01
        )

    def test_there_is_no_bca_if_resamples_are_undefined_too_often_or_one_sided(self):
        left_out = np.array([1.0, 2, 3])
        assert bca_interval(500.0, np.r_[np.arange(95.0), [np.nan] * 5], left_out) is None
        assert bca_interval(47.0, np.r_[np.arange(95.0), [np.nan] * 5], left_out) is not None
        assert bca_interval(47.0, np.r_[np.arange(94.0), [np.nan] * 6], left_out) is None
        assert bca_interval(-1.0, np.arange(100.0), left_out) is None
        assert bca_interval(47.0, np.arange(95.0), np.array([1.0, np.nan])) is None

    def test_constant_resamples_give_an_interval_without_width(self):
        assert bca_interval(2.0, np.full(20, 2.0), np.array([1.0, 2])) == (2.0, 2.0)
        assert bca_interval(2.0, np.empty(0), np.array([1.0, 2])) is None


class TestPairs:
    def test_the_exact_p_value_of_signed_ranks_matches_the_calculation_by_hand(self):
        # Sizes 1 2 3, only the first is negative: sums of negative ranks up to 1 are two of eight.
        made = wilcoxon_signed_rank(np.array([-1.0, 2, 3]))
        assert made.p_value == pytest.approx(2 * 2 / 8)
        assert made.method == "Wilcoxon signed-rank, exact"

    def test_up_to_two_hundred_differences_are_tested_exactly(self):
        differences = np.arange(1.0, 202) * np.where(np.arange(201) % 3, 1, -1)
        assert wilcoxon_signed_rank(differences[:200]).method.endswith("exact")
        assert wilcoxon_signed_rank(differences).method.endswith("normal approximation")

    def test_signs_of_up_to_thirteen_differences_are_enumerated_and_of_more_are_sampled(self):
        differences = np.arange(1.0, 15)
        assert sign_flip(differences[:13]).p_value == pytest.approx(2 / 2**13)
        drawn = sign_flip(differences, resamples=99)
        assert (drawn.method, drawn.p_value) == ("sign flips, 99 drawn", pytest.approx(1 / 100))

    def test_two_different_queries_are_enough_for_the_t_test(self):
        # Differences 1 and 3: mean 2, error 1; t = 2 with one degree of freedom.
        made = paired_t(np.array([2.0, 4]), np.ones(2), np.arange(2))
        assert made.p_value == pytest.approx(2 * stats.t.sf(2, 1))
        one = paired_t(np.array([2.0, 4]), np.ones(2), np.zeros(2, int))
        assert (one.p_value, one.reason) == (None, "fewer than two queries")
        alike = paired_t(np.array([2.0, 2]), np.ones(2), np.arange(2))
        assert (alike.p_value, alike.reason) == (None, "all differences are equal")


class TestSweeps:
    def test_a_threshold_sweep_matches_the_calculation_by_hand(self):
        # Scores 1 2 3 4 of people's no, yes, no, yes.
        made = threshold_sweep(np.arange(1.0, 5), np.array([0, 1, 0, 1]), np.arange(4), draws=0)
        assert made.thresholds.tolist() == [1, 2, 3, 4]
        assert [e.value for e in made.recall] == [1, 1, 0.5, 0.5]
        assert [e.value for e in made.false_positive_rate] == [1, 0.5, 0.5, 0]
        assert [e.value for e in made.precision] == pytest.approx([1 / 2, 2 / 3, 1 / 2, 1])
        assert [e.value for e in made.f1] == pytest.approx([2 / 3, 4 / 5, 1 / 2, 2 / 3])
        assert made.roc_auc.value == pytest.approx(3 / 4)
        assert made.average_precision.value == pytest.approx((1 + 2 / 3) / 2)

    def test_the_bands_match_resampling_the_queries(self):
        rng = np.random.default_rng(5)
        scores, positive = rng.integers(0, 4, 60) / 1.0, rng.integers(0, 2, 60)
        queries = np.arange(60) // 4
        drawn = Resamples.draw(queries, 60, 2)
        made = threshold_sweep(scores, positive, queries, draws=drawn, interval="percentile")
        above = scores >= 2
        hits = drawn.weights() @ (above & (positive == 1))
        all_yes, all_no = (drawn.weights() @ (positive == code) for code in (1, 0))
        false = drawn.weights() @ (above & (positive == 0))
        bands = {
            "recall": hits / all_yes,
            "false_positive_rate": false / all_no,
            "precision": hits / (hits + false),
            "f1": 2 * hits / (hits + false + all_yes),
        }
        for name, resampled in bands.items():
            ends = interval(getattr(made, name)[2])
            assert ends == pytest.approx(tuple(np.quantile(resampled, [0.025, 0.975]))), name

    def test_a_curve_shows_at_most_fifty_points_including_both_ends(self):
        def thresholds(size):
            made = threshold_sweep(
                np.arange(size) * 1.0, np.arange(size) % 2, np.arange(size), draws=0
            )
            return made.thresholds.tolist()

        assert thresholds(50) == list(range(50))
        many = thresholds(99)
        assert (len(many), many[0], many[-1]) == (50, 0, 98)
        assert all(0 < b - a <= 3 for a, b in pairwise(many))


class TestEstimate:
    def test_an_interval_is_cut_to_the_possible_range_and_the_method_says_so(self):
        made = Estimate(0.9, 0.7, 1.1, 5, "mean")
        assert made.within(0, 1) == Estimate(0.9, 0.7, 1.0, 5, "mean; cut at 0 and 1")
        assert made.within(0.8, float("inf")) == Estimate(0.9, 0.8, 1.1, 5, "mean; cut at 0.8")
        assert made.within(0.7, 1.1) is made
        nothing = undefined("there are no labels", 0, "mean")
        assert nothing.within(0, 1) is nothing
