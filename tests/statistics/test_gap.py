"""A judge's gap compares pairs on the same units and in the same resamples, as for a person."""

from itertools import combinations

import numpy as np
import pytest

from tandem.statistics import (
    Resamples,
    cohen_kappa,
    confusion,
    gap_estimates,
    judge_difference,
    majority,
    with_people_estimates,
)
from tandem.statistics.ceiling import NO_LARGE_PAIR, NO_UNIT
from tests.statistics.cast import number, random_codes

LEAST_SHARED = 30

pytestmark = pytest.mark.every_case

QUERIES = np.arange(60) % 15
ADA, BRAM = [0, 0, 1, 1], [0, 1, 1, 1]


def columns(*raters):
    return np.array(raters).T


def mean_kappa(codes, pairs, weights=None):
    """Mean kappa over pairs, weighted by their shared units, computed by loops."""
    found = []
    for a, b in pairs:
        both = ((codes[:, a] >= 0) & (codes[:, b] >= 0)).astype(float)
        units = both.sum() if weights is None else weights @ both
        found.append((cohen_kappa(confusion(codes[:, a], codes[:, b], 4, weights)), units))
    kappas, units = (np.array(each) for each in zip(*found, strict=True))
    return (kappas * units).sum(axis=0) / units.sum(axis=0)


class TestGap:
    def test_the_gap_with_two_people_matches_the_calculation_by_hand(self):
        # Ada and Bram: 3 of 4 equal, chance 1/2 * 1/4 + 1/2 * 3/4 = 1/2, so kappa 1/2. The judge
        # labels exactly as Ada does: kappa 1 with her, 1/2 with Bram.
        made = gap_estimates(np.array(ADA), columns(ADA, BRAM), np.arange(4), 2)
        assert made["cohen_kappa"].value == pytest.approx((1 + 1 / 2) / 2 - 1 / 2)
        assert made["percent"].value == pytest.approx((1 + 3 / 4) / 2 - 3 / 4)
        assert {each.n for each in made.values()} == {4}

    def test_pairs_are_weighted_by_their_shared_units(self):
        # Chidi labelled two units, and agrees there with everybody: kappa 1 over 2 units each.
        made = gap_estimates(np.array(ADA), columns(ADA, BRAM, [0, -1, 1, -1]), np.arange(4), 2)
        judge, people = (4 * 1 + 4 / 2 + 2 * 1) / 10, (4 / 2 + 2 * 1 + 2 * 1) / 8
        assert made["cohen_kappa"].value == pytest.approx(judge - people)

    def test_only_units_that_the_judge_and_two_people_labelled_count(self):
        lacking = np.array([*ADA, -1, 0])
        people = columns([*ADA, 1, 0], [*BRAM, 0, -1])
        made = gap_estimates(lacking, people, np.arange(6), 2)["cohen_kappa"]
        assert (made.value, made.n) == (pytest.approx(1 / 4), 4)

    def test_a_judge_that_labels_like_a_person_has_no_gap_on_average(self):
        gaps = [
            number(
                gap_estimates(codes[:, 0], codes[:, 1:], QUERIES, 4, draws=0)["cohen_kappa"].value
            )
            for codes in (random_codes(seed, units=60, raters=4) for seed in range(60))
        ]
        assert abs(np.mean(gaps)) < 3 * np.std(gaps) / np.sqrt(len(gaps))

    def test_a_judge_worse_than_each_person_has_a_negative_gap_whatever_the_majority(self):
        # People are right in .8 of cases and the judge in .75: people agree on .68, the judge with
        # each of them on .65, and with their majority, which is right in .896, on .698.
        rng = np.random.default_rng(5)
        truth = rng.integers(0, 2, 6000)
        right = rng.random((6000, 4)) < [0.75, 0.8, 0.8, 0.8]
        codes = np.where(right, truth[:, None], 1 - truth[:, None])
        judge, people = codes[:, 0], codes[:, 1:]
        made = gap_estimates(judge, people, np.arange(6000), 2, draws=0)
        reference, _ = majority(people)
        with_majority = cohen_kappa(confusion(reference, judge, 2))
        among = [
            float(cohen_kappa(confusion(people[:, a], people[:, b], 2)))
            for a, b in combinations(range(3), 2)
        ]
        assert with_majority > max(among) + 0.01
        assert number(made["cohen_kappa"].value) == pytest.approx(2 * (0.65 - 0.68), abs=0.03)
        assert number(made["percent"].value) == pytest.approx(0.65 - 0.68, abs=0.015)

    def test_value_and_interval_match_resampling_the_units(self):
        codes, drawn = random_codes(3, units=60, raters=4), Resamples.draw(QUERIES, 200, 1)
        made = gap_estimates(
            codes[:, 0], codes[:, 1:], QUERIES, 4, draws=drawn, interval="percentile"
        )["cohen_kappa"]
        judge, people = [(0, 1), (0, 2), (0, 3)], [(1, 2), (1, 3), (2, 3)]
        enter = (codes[:, 0] >= 0) & ((codes[:, 1:] >= 0).sum(axis=1) >= 2)
        there = np.where(enter[:, None], codes, -1)
        expected = mean_kappa(there, judge) - mean_kappa(there, people)
        assert made.value == pytest.approx(expected)
        weights = drawn.weights()
        resampled = mean_kappa(there, judge, weights) - mean_kappa(there, people, weights)
        assert (made.low, made.high) == pytest.approx(np.quantile(resampled, [0.025, 0.975]))

    def test_computing_a_few_pairs_at_a_time_gives_the_same_result(self, monkeypatch):
        codes = random_codes(4, units=60, raters=5)
        whole = gap_estimates(codes[:, 0], codes[:, 1:], QUERIES, 4, draws=50)
        monkeypatch.setattr("tandem.statistics.pairwise.AT_ONCE", 1)
        assert gap_estimates(codes[:, 0], codes[:, 1:], QUERIES, 4, draws=50) == whole

    def test_the_order_of_people_changes_nothing(self):
        codes = random_codes(6, units=60, raters=4)
        made = gap_estimates(codes[:, 0], codes[:, 1:], QUERIES, 4)["cohen_kappa"].value
        turned = gap_estimates(codes[:, 0], codes[:, [3, 1, 2]], QUERIES, 4)["cohen_kappa"].value
        assert made == pytest.approx(turned)

    def test_a_careless_rater_with_15_labels_changes_nothing_and_is_reported(self):
        codes = random_codes(7, units=300, raters=4, gaps=0.0)
        careless = np.where(np.arange(300) < 15, 3 - codes[:, 1], -1)
        clusters = np.arange(300) % 20
        without = gap_estimates(codes[:, 0], codes[:, 1:], clusters, 4)
        people = np.column_stack([codes[:, 1:], careless])
        made = gap_estimates(codes[:, 0], people, clusters, 4)
        for name, each in made.items():
            plain = without[name]
            assert (each.value, each.low, each.high, each.n) == pytest.approx(
                (plain.value, plain.low, plain.high, plain.n)
            )
            assert f"3 pairs below {LEAST_SHARED} shared units left out" in each.method
            assert "left out" not in plain.method

    def test_a_crowd_with_too_few_shared_units_has_no_gap_and_a_reason(self):
        # Forty people in pairs, each with 10 units of their own.
        unit = np.arange(200)
        people = np.full((200, 40), -1)
        people[unit, unit // 10 * 2] = people[unit, unit // 10 * 2 + 1] = unit % 2
        made = gap_estimates(unit % 2, people, unit, 2)
        assert {each.reason for each in made.values()} == {NO_LARGE_PAIR}

    @pytest.mark.parametrize("people", [np.zeros((5, 0), int), np.zeros((5, 1), int)])
    def test_without_two_people_the_gap_is_null_with_a_reason(self, people):
        made = gap_estimates(np.zeros(5, int), people, np.arange(5), 2)
        assert {each.reason for each in made.values()} == {NO_UNIT}

    def test_if_people_use_one_category_only_the_gap_in_kappa_is_undefined(self):
        made = gap_estimates(np.zeros(20, int), np.zeros((20, 2), int), np.arange(20), 2, draws=20)
        assert (made["percent"].value, made["cohen_kappa"].value) == (0, None)
        assert made["cohen_kappa"].reason == "all labels are the same category"

    def test_below_ten_queries_there_is_no_interval(self):
        codes = random_codes(8, units=60, raters=3)
        made = gap_estimates(codes[:, 0], codes[:, 1:], np.arange(60) % 9, 4)["cohen_kappa"]
        assert (made.low, made.high) == (None, None)


class TestWithEachPerson:
    def test_agreement_with_each_person_matches_the_calculation_by_hand(self):
        made = with_people_estimates(np.array(ADA), columns(ADA, BRAM), np.arange(4), 2)
        assert made["cohen_kappa"].value == pytest.approx((1 + 1 / 2) / 2)
        assert made["percent"].value == pytest.approx((1 + 3 / 4) / 2)

    def test_agreement_with_people_minus_the_gap_is_the_agreement_among_people(self):
        codes = random_codes(4, units=60, raters=4)
        arguments = (codes[:, 0], codes[:, 1:], QUERIES, 4)
        made, gap = with_people_estimates(*arguments), gap_estimates(*arguments)
        enter = (codes[:, 0] >= 0) & ((codes[:, 1:] >= 0).sum(axis=1) >= 2)
        people = mean_kappa(codes[enter], list(combinations((1, 2, 3), 2)))
        less = number(made["cohen_kappa"].value) - number(gap["cohen_kappa"].value)
        assert less == pytest.approx(people)
        low, value, high = (
            number(getattr(made["cohen_kappa"], n)) for n in ("low", "value", "high")
        )
        assert low < value < high

    def test_without_two_people_on_any_unit_it_is_undefined(self):
        made = with_people_estimates(np.array(ADA), columns(ADA), np.arange(4), 2)
        assert made["percent"].reason == NO_UNIT


class TestDifferenceOfJudges:
    def test_the_difference_of_two_judges_matches_the_calculation_by_hand(self):
        # One judge labels as Ada does: kappas 1 and 1/2. The other always says 0: 0 and 0.
        made = judge_difference(
            np.array(ADA), np.zeros(4, int), columns(ADA, BRAM), np.arange(4), 2
        )
        assert made["cohen_kappa"].value == pytest.approx(3 / 4)
        assert made["percent"].value == pytest.approx((1 + 3 / 4) / 2 - (1 / 2 + 1 / 4) / 2)

    def test_a_judge_compared_with_itself_differs_by_zero_in_every_resample(self):
        codes = random_codes(9, units=60, raters=4)
        made = judge_difference(codes[:, 0], codes[:, 0], codes[:, 1:], QUERIES, 4)["cohen_kappa"]
        assert (made.value, made.low) == (0, None)
        assert made.method.endswith("no interval: all resamples agree")

    def test_it_is_the_difference_of_the_gaps_if_no_label_is_missing(self):
        codes = random_codes(10, units=60, raters=5, gaps=0.0)
        people = codes[:, 2:]
        one, other = (
            number(gap_estimates(codes[:, n], people, QUERIES, 4)["cohen_kappa"].value)
            for n in (0, 1)
        )
        made = judge_difference(codes[:, 0], codes[:, 1], people, QUERIES, 4)["cohen_kappa"]
        assert made.value == pytest.approx(one - other)

    def test_both_judges_are_resampled_together_so_similar_ones_have_a_narrow_interval(self):
        codes = random_codes(11, units=300, raters=4, gaps=0.0)
        near = codes[:, 0].copy()
        near[:10] = (near[:10] + 1) % 4
        clusters = np.arange(300) % 30
        made = judge_difference(codes[:, 0], near, codes[:, 1:], clusters, 4)["cohen_kappa"]
        alone = gap_estimates(codes[:, 0], codes[:, 1:], clusters, 4)["cohen_kappa"]
        assert number(made.high) - number(made.low) < (number(alone.high) - number(alone.low)) / 2

    def test_one_person_is_enough(self):
        made = judge_difference(np.array(ADA), np.array(BRAM), columns(ADA), np.arange(4), 2)
        assert made["cohen_kappa"].value == pytest.approx(1 - 1 / 2)

    def test_without_a_unit_that_both_judges_labelled_it_is_null_with_a_reason(self):
        made = judge_difference(
            np.array([0, -1]), np.array([-1, 1]), columns([0, 1]), np.arange(2), 2
        )
        assert {each.value for each in made.values()} == {None}
        assert made["percent"].reason == "no unit has a label of both judges and of a person"
