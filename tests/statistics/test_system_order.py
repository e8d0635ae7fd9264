"""Pairs of systems within queries, and tau_AP, match calculations by hand and by enumeration."""

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from scipy import stats

from tandem.statistics import (
    correlation,
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
