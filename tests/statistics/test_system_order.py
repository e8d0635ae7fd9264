"""Pairs of systems within queries, and tau_AP, match calculations by hand and by enumeration."""

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from scipy import stats

from tandem.statistics import (
    correlation,
    correlation_within_queries,
    order_agreement,
    order_chance,
    order_gap,
    ordered_pairs,
    system_order,
    system_rank_correlation,
    tau_ap,
)
from tests.statistics.cast import number

pytestmark = pytest.mark.every_case

NONE = np.nan


def scores(queries=20, systems=5, seed=0, levels=4, missing=0.1):
    rng = np.random.default_rng(seed)
    made = [rng.integers(0, levels, (queries, systems)) / 3 for _ in range(3)]
    for each in made:
        each[rng.random(each.shape) < missing] = np.nan
    return made


class TestPairsWithinQueries:
    PEOPLE = np.array([[0.1, 0.2, 0.3], [0.5, 0.5, 0.9], [0.4, 0.4, 0.4], [0.1, 0.9, NONE]])
    JUDGE = np.array([[0.3, 0.2, 0.9], [0.2, 0.1, 0.2], [0.1, 0.2, 0.3], [0.4, NONE, 0.2]])

    def test_pairs_match_the_count_by_hand(self):
        # Query 1 orders ab, ac, bc: the judge has ab opposite, the others alike. Query 2 orders ac
        # and bc, not the tie ab: ac is tied, bc alike. Query 3 orders none. Query 4 orders ab, of
        # which the judge scored only one.
        (found,) = ordered_pairs(self.PEOPLE, self.JUDGE)
        assert found.ordered.tolist() == [3, 2, 0, 1]
        assert found.scored.tolist() == [3, 2, 0, 0]
        assert found.alike.tolist() == [2, 1, 0, 0]
        assert found.tied.tolist() == [0, 1, 0, 0]
        assert found.opposite.tolist() == [1, 0, 0, 0]
        assert found.shares == pytest.approx([2 / 3, 0.75, np.nan, np.nan], nan_ok=True)

    def test_the_share_is_the_mean_of_the_queries_with_a_pair(self):
        made = order_agreement(*ordered_pairs(self.PEOPLE, self.JUDGE))
        assert (number(made.value), made.n) == (pytest.approx((2 / 3 + 0.75) / 2), 5)
        assert "2 queries" in made.method

    @pytest.mark.parametrize("seed", range(4))
    def test_the_share_of_a_query_is_kendalls_tau_without_the_references_ties(self, seed):
        people, judge, _ = scores(seed=seed, missing=0)
        (found,) = ordered_pairs(people, judge)
        for share, x, y in zip(found.shares, people, judge, strict=True):
            taus = [
                np.sign(x[a] - x[b]) * np.sign(y[a] - y[b])
                for a, b in combinations(range(5), 2)
                if x[a] != x[b]
            ]
            assert share == pytest.approx((1 + np.mean(taus)) / 2)

    def test_raters_are_compared_on_the_pairs_that_all_of_them_scored(self):
        people, judge, other = scores()
        both = ordered_pairs(people, judge, other)
        assert both[0].scored.tolist() == both[1].scored.tolist()
        masked = np.where(np.isfinite(judge), other, np.nan)
        assert (both[1].alike == ordered_pairs(people, masked)[0].alike).all()
        assert both[0].scored.sum() < ordered_pairs(people, judge)[0].scored.sum()

    def test_the_block_size_does_not_change_the_counts(self, monkeypatch):
        people, judge, other = scores(queries=23)
        whole = ordered_pairs(people, judge, other)
        monkeypatch.setattr(system_order, "BLOCK", 30)
        for one, again in zip(whole, ordered_pairs(people, judge, other), strict=True):
            for name in ("ordered", "scored", "alike", "tied"):
                assert (getattr(one, name) == getattr(again, name)).all()

    def test_the_difficulty_of_queries_does_not_change_the_counts(self):
        people, judge, _ = scores()
        harder = np.arange(len(people))[:, None] * 0.7
        one, again = ordered_pairs(people, judge)[0], ordered_pairs(people, judge + harder)[0]
        assert order_agreement(one) == order_agreement(again)

    def test_pairs_of_two_references_are_added(self):
        people, judge, other = scores()
        one, two = ordered_pairs(people, judge)[0], ordered_pairs(other, judge)[0]
        assert ((one + two).alike == one.alike + two.alike).all()
        assert ((one + two).ordered == one.ordered + two.ordered).all()

    @pytest.mark.parametrize(
        ("judge", "share"), [(1.0, 1.0), (-1.0, 0.0), (0.0, 0.5)], ids=["alike", "reverse", "tied"]
    )
    def test_a_judge_that_copies_has_1_one_that_reverses_0_and_a_constant_one_half(
        self, judge, share
    ):
        people = scores(missing=0)[0]
        made = order_agreement(*ordered_pairs(people, judge * people))
        assert made.value == share

    def test_sums_of_fractions_are_tied_to_twelve_decimals(self):
        (found,) = ordered_pairs(np.array([[0.1, 0.2]]), np.array([[0.1 + 0.2, 0.3]]))
        assert found.tied.tolist() == [1]

    def test_without_an_ordered_pair_the_share_is_undefined_with_the_reason(self):
        equal, one = np.ones((12, 3)), np.arange(12.0)[:, None]
        for people in (equal, one):
            made = order_agreement(*ordered_pairs(people, people))
            assert (made.value, made.n) == (None, 0)
            assert made.reason == "no query has two systems that people's scores order"
        judge = np.full((12, 3), NONE)
        made = order_agreement(*ordered_pairs(np.tile([1.0, 2, 3], (12, 1)), judge))
        assert made.reason == (
            "no query has two systems that people order and that have both scores to compare"
        )

    def test_below_ten_queries_there_is_no_interval(self):
        people, judge, _ = scores(queries=9, missing=0)
        made = order_agreement(*ordered_pairs(people, judge))
        assert made.value is not None
        assert made.low is None

    def test_the_gap_is_the_mean_difference_of_the_queries_with_its_t_test(self):
        people, judge, other = scores(queries=40)
        one, two = ordered_pairs(people, judge, other)
        test = order_gap(one, two)
        apart = (one.shares - two.shares)[np.isfinite(one.shares)]
        assert test.difference.value == pytest.approx(apart.mean())
        assert test.p_value == pytest.approx(stats.ttest_1samp(apart, 0).pvalue)
        assert test.difference.n == len(apart)

    def test_a_gap_without_pairs_is_undefined_with_the_reason(self):
        none = np.full((12, 2), NONE)
        test = order_gap(*ordered_pairs(np.tile([1.0, 2], (12, 1)), none, none))
        assert (test.p_value, test.difference.value) == (None, None)
        assert test.reason == test.difference.reason

    def test_chance_is_one_half(self):
        people, judge, _ = scores(queries=40)
        (found,) = ordered_pairs(people, judge)
        shares = found.shares[np.isfinite(found.shares)]
        assert order_chance(found).p_value == pytest.approx(stats.ttest_1samp(shares, 0.5).pvalue)


def enumerated(reference, ranking):
    """Return tau_AP over all orders of the ranking's ties, as its definition reads."""
    size, agree, places = len(reference), 0.0, 0
    for order in permutations(range(size)):
        if any(ranking[a] < ranking[b] for a, b in pairwise(order)):
            continue
        for place in range(1, size):
            own = reference[order[place]]
            above = [reference[each] for each in order[:place] if reference[each] != own]
            if above:
                agree += np.mean([each > own for each in above])
                places += 1
    return 2 * agree / places - 1 if places else np.nan


class TestTauAp:
    def test_it_matches_the_calculation_by_hand(self):
        # True order abcd, ranking cabd. Above a: c, wrong. Above b: c wrong, a right. Above d: all
        # three right. p = (0 + 1/2 + 1) / 3 = 1/2.
        assert tau_ap(np.array([4.0, 3, 2, 1]), np.array([3.0, 2, 4, 1])) == pytest.approx(0)
        # Ranking abdc: 1, 1, then above c: a, b right, d wrong. p = (1 + 1 + 2/3) / 3.
        made = tau_ap(np.array([4.0, 3, 2, 1]), np.array([4.0, 3, 1, 2]))
        assert made == pytest.approx(2 * (8 / 3) / 3 - 1)

    def test_a_mistake_at_the_top_weighs_more_than_one_at_the_bottom(self):
        truth = np.arange(8.0)
        top, bottom = truth.copy(), truth.copy()
        top[[6, 7]], bottom[[0, 1]] = truth[[7, 6]], truth[[1, 0]]
        assert tau_ap(truth, top) < tau_ap(truth, bottom)
        kendall = [stats.kendalltau(truth, each).statistic for each in (top, bottom)]
        assert kendall[0] == pytest.approx(kendall[1])

    @pytest.mark.parametrize("seed", range(40))
    def test_with_ties_it_is_the_mean_over_all_orders(self, seed):
        rng = np.random.default_rng(seed)
        truth, own = rng.integers(0, 1 + seed % 5, (2, 2 + seed % 5)).astype(float)
        assert tau_ap(truth, own) == pytest.approx(enumerated(truth, own), nan_ok=True)

    def test_the_order_itself_has_1_its_reverse_minus_1_and_no_order_0(self):
        truth = np.array([0.3, 0.1, 0.2, 0.9, 0.5, 0.7])
        assert (tau_ap(truth, 2 * truth), tau_ap(truth, -truth)) == (1, -1)
        assert str(tau_ap(truth, np.ones(6))) == "0.0"

    def test_the_same_ties_in_both_are_perfect_agreement(self):
        tied = np.array([1.0, 1, 2, 2, 3])
        assert tau_ap(tied, tied) == pytest.approx(1)

    def test_it_is_undefined_if_people_tie_all_systems_or_a_score_is_missing(self):
        assert np.isnan(tau_ap(np.ones(4), np.arange(4.0)))
        assert np.isnan(tau_ap(np.array([1, 2, NONE]), np.arange(3.0)))
        assert np.isnan(tau_ap(np.arange(3.0), np.array([1, 2, NONE])))

    def test_rows_and_blocks_of_rows_give_the_same(self, monkeypatch):
        truth, own = np.random.default_rng(1).integers(0, 4, (2, 30, 6)).astype(float)
        each = [tau_ap(x, y) for x, y in zip(truth, own, strict=True)]
        assert tau_ap(truth, own) == pytest.approx(each)
        monkeypatch.setattr(correlation, "BLOCK", 100)
        assert tau_ap(truth, own) == pytest.approx(each)
        assert tau_ap(truth[0], own) == pytest.approx([tau_ap(truth[0], y) for y in own])

    def test_of_systems_people_are_the_reference(self):
        people, judge, _ = scores(queries=30, systems=6, levels=20)
        made = system_rank_correlation(people, judge, "tau_ap", draws=50)
        means = [np.nanmean(each, axis=0) for each in (people, judge)]
        assert number(made.value) == pytest.approx(enumerated(*means))
        assert made.method.startswith("tau_AP, with people's order as the reference,")
        assert system_rank_correlation(judge, people, "tau_ap", draws=0).value != made.value


class TestCorrelationWithinQueries:
    def test_it_is_the_mean_of_each_querys_tau_worked_by_hand(self):
        people = np.array([[1.0, 2, 3], [1, 2, 3], [5, 5, 5], [1, 2, NONE]])
        judge = np.array([[1.0, 3, 2], [1, 1, 2], [1, 2, 3], [4, 3, 9]])
        # Query 1: two of three pairs alike, 1/3. Query 2: two alike, one tied by the judge,
        # 2 / root(3 * 2). Query 3: people order nothing. Query 4: one pair, the other way round.
        made = correlation_within_queries(people, judge)
        assert made.value == pytest.approx((1 / 3 + 2 / 6**0.5 - 1) / 3)
        assert made.n == 3

    def test_tau_ap_within_queries_is_that_of_the_systems_that_both_score(self):
        people = np.array([[4.0, 3, 2, 1, NONE], [4, NONE, 3, 2, 1]])
        judge = np.array([[3.0, 2, 4, 1, 9], [4, 7, 3, 1, 2]])
        # The two rankings worked by hand above.
        made = correlation_within_queries(people, judge, "tau_ap")
        assert made.value == pytest.approx((0 + 2 * (8 / 3) / 3 - 1) / 2)

    @pytest.mark.parametrize("seed", range(20))
    def test_it_agrees_with_other_implementations_query_by_query(self, seed):
        people, judge, _ = scores(queries=12, systems=3 + seed % 4, seed=seed)
        kendall, tau_aps = [], []
        for one, other in zip(people, judge, strict=True):
            both = np.isfinite(one) & np.isfinite(other)
            if both.sum() > 1:
                kendall.append(stats.kendalltau(one[both], other[both]).statistic)
                tau_aps.append(enumerated(one[both], other[both]))
        made = [correlation_within_queries(people, judge, f).value for f in ("kendall", "tau_ap")]
        assert made == pytest.approx([np.nanmean(kendall), np.nanmean(tau_aps)])

    def test_difficulty_cancels_within_queries_and_not_between_them(self):
        rng = np.random.default_rng(0)
        people = rng.random((40, 5)) + np.arange(40)[:, None]
        judge = rng.random((40, 5)) + np.arange(40)[:, None]
        assert stats.kendalltau(people.ravel(), judge.ravel()).statistic > 0.9
        made = correlation_within_queries(people, judge)
        assert number(made.low) < 0 < number(made.high)

    def test_without_an_ordered_query_it_is_undefined_with_a_reason(self):
        for people in (np.ones((12, 4)), np.full((12, 4), NONE), np.ones((0, 4)), np.ones((12, 1))):
            made = correlation_within_queries(people, np.random.default_rng(0).random(people.shape))
            assert (made.value, made.reason) == (None, system_order.NOT_ORDERED)

    def test_blocks_give_the_same_figures(self, monkeypatch):
        people, judge, _ = scores()
        whole = correlation_within_queries(people, judge)
        monkeypatch.setattr(system_order, "BLOCK", 30)
        assert correlation_within_queries(people, judge) == whole
