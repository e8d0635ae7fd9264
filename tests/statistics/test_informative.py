"""Which queries are informative, counted by hand, and what depends on them."""

import numpy as np
import pytest

from tandem.statistics import (
    Bootstrap,
    Resamples,
    Tally,
    agreement_estimates,
    alignment_estimates,
    bca_interval,
    binary_unitising_alpha,
    ceiling_estimates,
    correlation_estimates,
    counts_of,
    crowd_ceiling_estimates,
    expanded_level,
    gap_estimates,
    judge_difference,
    kinds_of,
    pair_estimates,
    prediction_powered_ratio,
    threshold_sweep,
)
from tandem.statistics.cluster_means import (
    informative_among,
    informative_by_category,
    informative_of_each,
    informative_shares,
)
from tandem.statistics.coefficients import cells_of, pair_tally
from tandem.statistics.spans import Span, token_alpha
from tests.statistics.cast import interval

pytestmark = pytest.mark.every_case

TWELVE = np.repeat(np.arange(12), 4)


def yes_in(queries, units=1, size=4):
    """Codes of twelve queries of four units: a yes on the first `units` of some queries."""
    query, unit = np.divmod(np.arange(12 * size), size)
    return ((query < queries) & (unit < units)).astype(np.int64)


def among(codes, clusters, k=2):
    rows, kinds = kinds_of(counts_of(codes, k))
    return informative_among(Tally.of(kinds, len(rows), clusters), rows)


def of_each(one, other, clusters, k=2):
    return informative_of_each(pair_tally(one, other, clusters, k), *cells_of(k))


class TestRatersTogether:
    def test_two_labels_other_than_the_commonest_make_a_query_informative(self):
        # One rater says yes once in five queries, and in three of them the other one does too.
        assert among(np.stack([yes_in(5), yes_in(3)], axis=1), TWELVE) == 3
        assert among(np.stack([yes_in(5, units=2), yes_in(3)], axis=1), TWELVE) == 5

    def test_the_commonest_label_is_determined_over_all_queries(self):
        no = 1 - np.stack([yes_in(5, units=2), yes_in(3)], axis=1)
        assert among(no, TWELVE) == 5

    def test_in_queries_with_fewer_than_four_labels_half_are_enough(self):
        # Queries of one unit and two labels: (1, 0) is informative, (1, 1) counts twice.
        codes = np.array([[1, 0], [1, 1], [0, 0], [0, 0], [0, 0], [0, 0]])
        assert among(codes, np.arange(6)) == 3
        # Two of three labels are more than half of them, one is less.
        codes = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 0]])
        assert among(codes, np.arange(4)) == 1

    def test_balanced_labels_on_queries_of_one_unit_are_all_informative(self):
        codes = np.repeat(np.arange(12) % 2, 2).reshape(12, 2)
        assert among(codes, np.arange(12)) == 12

    def test_there_are_never_more_informative_queries_than_queries(self):
        codes = np.repeat(np.r_[np.ones(5, int), np.zeros(6, int)], 2).reshape(11, 2)
        assert among(codes, np.arange(11)) == 10
        codes = np.repeat(np.arange(9) % 3, 2).reshape(9, 2)
        assert among(codes, np.arange(9), k=3) == 9


class TestColumns:
    def test_each_rater_needs_one_rarer_label_in_a_query(self):
        assert of_each(yes_in(5), yes_in(9), TWELVE) == 5
        assert of_each(yes_in(9), 1 - yes_in(7), TWELVE) == 7

    def test_a_rater_with_a_single_category_has_no_informative_queries(self):
        assert of_each(yes_in(9), yes_in(0), TWELVE) == 0

    def test_missing_labels_do_not_count(self):
        tally = Tally.of(np.array([0, 0, 1, 2]), 3, np.array([0, 0, 1, 2]))
        # Kind 2 has no label; of the others 0 is the commonest, and the 1 is alone in its query.
        assert informative_of_each(tally, np.array([0, 1, -1])) == 2

    def test_each_category_has_its_own_informative_queries(self):
        # Three categories: nine queries have a 2, and three of them also have a 1.
        codes = np.where(yes_in(9) == 1, 2, 0)
        codes[1:12:4] = 1
        tally = pair_tally(codes, codes, TWELVE, 3)
        assert informative_by_category(tally, 3, *cells_of(3)) == [9, 3, 9]


def test_for_a_share_queries_with_both_outcomes_are_informative():
    parts, wholes = np.array([0.0, 0, 1, 2, 4, 0]), np.array([4.0, 4, 4, 4, 4, 0])
    # The part is above zero in three queries, the remainder in four; the last query is empty.
    assert informative_shares(parts, wholes) == 3
    # Queries of one unit count twice the smaller group: three ones and zeros, then a single one.
    assert informative_shares(np.array([1.0, 1, 1, 0, 0, 0]), np.ones(6)) == 6
    assert informative_shares(np.array([1.0, 0, 0, 0, 0, 0]), np.ones(6)) == 2


ONE = {n: yes_in(n, units=2) for n in (4, 5, 7)}
BESIDE = (np.arange(48) % 4 < 2).astype(np.int64)
ROUGH = np.where(np.arange(48) % 5 == 0, 1 - BESIDE, BESIDE)


def of_people(n):
    """Two people who say yes on two units of n queries; one misses some, and says yes once in a
    third of the other queries."""
    slips = ONE[n].copy()
    slips[np.flatnonzero(ONE[n])[::3]] = 0
    slips[4 * n + 3 :: 12] = 1
    return np.stack([ONE[n], slips], axis=1)


def shares(codes):
    return np.stack([np.bincount(TWELVE, codes), np.full(12, 4.0)], axis=1)


def spans_of(n):
    """Two people mark the start of n texts; one often marks a little more, and also a word in a
    third of the other texts."""
    both = [[[Span(((0, 4),))], [Span(((0, 4 + t % 3),))]] for t in range(n)]
    return both + [[[], [Span(((8, 10),))] if t % 3 == 0 else []] for t in range(12 - n)]


WORDS = [np.array([[start, start + 2] for start in range(0, 12, 2)])] * 12
STATISTICS = {
    "agreement": lambda n: agreement_estimates(of_people(n), TWELVE, 2, draws=200)["fleiss_kappa"],
    "pair": lambda n: pair_estimates(ONE[n], ROUGH, TWELVE, 2, draws=200)["cohen_kappa"],
    "accuracy": lambda n: alignment_estimates(ONE[n], ROUGH, TWELVE, 2, draws=200).overall[
        "accuracy"
    ],
    "class": lambda n: alignment_estimates(ONE[n], ROUGH, TWELVE, 2, draws=200).classes[
        "precision"
    ][1],
    "ceiling": lambda n: ceiling_estimates(of_people(n), TWELVE, 2, draws=200)["cohen_kappa"],
    "crowd": lambda n: crowd_ceiling_estimates(of_people(n), TWELVE, 2, draws=200)["percent"],
    "gap": lambda n: gap_estimates(ROUGH, of_people(n), TWELVE, 2, draws=200)["cohen_kappa"],
    "difference": lambda n: judge_difference(ROUGH, BESIDE, of_people(n), TWELVE, 2, draws=200)[
        "percent"
    ],
    "curve": lambda n: threshold_sweep(ROUGH + BESIDE / 2, ONE[n], TWELVE, draws=200).roc_auc,
    "correlation": lambda n: correlation_estimates(
        ONE[n].astype(float), ROUGH + BESIDE / 2, TWELVE, draws=200
    )["pearson"],
    "ratio": lambda n: prediction_powered_ratio(
        shares(ONE[n]), shares(ROUGH), shares(BESIDE), resamples=200
    ),
    "tokens": lambda n: token_alpha(spans_of(n), WORDS, np.arange(12), draws=200),
    "unitising": lambda n: binary_unitising_alpha(spans_of(n), [12] * 12, np.arange(12), draws=200),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_below_five_informative_queries_there_is_no_interval(name):
    made = STATISTICS[name](4)
    assert made.value is not None
    assert (made.low, made.high) == (None, None)
    assert "no interval: 4 of 12 queries hold enough of the rarer labels" in made.method
    assert STATISTICS[name](5).low is not None


@pytest.mark.parametrize("name", STATISTICS)
def test_the_method_says_how_many_queries_are_informative(name):
    assert "queries, 7 of them informative" in STATISTICS[name](7).method


def test_the_level_is_expanded_by_the_number_of_informative_queries():
    drawn = Resamples.draw(TWELVE, 3000, 0)
    made = pair_estimates(ONE[7], ROUGH, TWELVE, 2, names=["percent"], draws=drawn)["percent"]
    equal = np.bincount(TWELVE, ONE[7] == ROUGH)
    resampled, left_out = drawn.draws @ equal / 48, (equal.sum() - equal) / 44
    expected = bca_interval(equal.sum() / 48, resampled, left_out, level=expanded_level(7))
    assert interval(made) == pytest.approx(expected)


def test_several_numbers_each_have_their_own_informative_queries():
    values = np.random.default_rng(0).random((12, 2))
    bootstrap = Bootstrap(Tally.of_sums(values, np.arange(12)), draws=2000)
    wide, none = bootstrap.estimates(lambda w: w / 12, 12, "mean", informative=[6, 4])
    usual, _ = bootstrap.estimates(lambda w: w / 12, 12, "mean")
    assert none.low is None
    assert "6 of them informative" in wide.method
    low, high = interval(wide)
    assert (low < interval(usual)[0], high > interval(usual)[1]) == (True, True)


class TestMeansOverCategories:
    """The judge finds every yes, so that its recall of yes varies in no resample."""

    def judged(self, people):
        judge = people.copy()
        judge[2::5] = 1
        return alignment_estimates(people, judge, TWELVE, 2, draws=300)

    def test_a_mean_has_no_interval_if_a_category_has_none(self):
        made = self.judged(ONE[7])
        assert (made.classes["recall"][1].value, made.classes["recall"][1].low) == (1, None)
        assert made.classes["recall"][0].low is not None
        assert made.overall["balanced_accuracy"].low is None
        method = "balanced accuracy; no interval: that of a category has none"
        assert made.overall["balanced_accuracy"].method == method
        assert made.overall["macro_f1"].low is not None
        assert made.overall["accuracy"].low is not None

    def test_a_mean_keeps_its_interval_if_all_queries_are_informative(self):
        made = self.judged(BESIDE)
        assert made.classes["recall"][1].low is None
        assert made.overall["balanced_accuracy"].low is not None
