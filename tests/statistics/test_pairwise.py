"""A crowd's agreement equals that computed pair by pair, and figures worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.statistics import (
    Ints,
    cohen_kappa,
    confirm_far_off,
    confusion,
    crowd_ceiling_estimates,
    each_with_others,
    far_off,
    pair_counts,
    percent_with_others,
    tabulate_against,
)
from tandem.statistics.pairwise import NO_PAIR, _kappa, _percent
from tests.statistics.cast import interval


def crowd_of(
    units: int, people: int, labels: int, k: int = 3, careless: int = 0, seed: int = 0
) -> Ints:
    """Codes (U, R): each unit has `labels` labels, mostly right; `careless` people guess."""
    generator = np.random.default_rng(seed)
    codes = np.full((units, people), -1)
    for unit in range(units):
        for person in generator.choice(people, labels, replace=False):
            right = person >= careless and generator.random() < 0.8
            codes[unit, person] = unit % k if right else generator.integers(k)
    return codes


def test_each_pair_matches_its_own_confusion_table():
    codes = crowd_of(60, 9, 4)
    found = pair_counts(codes, 3)
    assert len(found.units) == 36
    for n, (a, b) in enumerate(zip(found.one, found.other, strict=True)):
        table = confusion(codes[:, a], codes[:, b], 3)
        assert found.units[n] == table.sum()
        assert found.percent[n] == pytest.approx(np.trace(table) / table.sum())
        assert found.kappa[n] == pytest.approx(cohen_kappa(table), nan_ok=True)


def test_pairs_without_a_shared_unit_are_never_formed():
    codes = np.full((40, 2000), -1)
    for unit in range(40):
        codes[unit, [2 * unit, 2 * unit + 1]] = 0, unit % 2
    found = pair_counts(codes, 2)
    assert list(zip(found.one, found.other, strict=True)) == [(2 * n, 2 * n + 1) for n in range(40)]
    assert set(found.units) == {1}


def test_agreement_of_each_rater_with_all_others_matches_the_calculation_by_hand():
    # Units: a b | a a b | b b. Ada, Bram and Chidi in columns; Ada's pairs: a-b, a-a, a-b, b-b.
    codes = np.array([[0, 1, -1], [0, 0, 1], [1, 1, -1]])
    found = each_with_others(codes, np.arange(3), 2)
    assert found.units.tolist() == [3, 3, 1]
    assert found.percent == pytest.approx([(0 + 1 / 2 + 1) / 3, (0 + 1 / 2 + 1) / 3, 0])
    # Ada's table: (a,a) 1, (a,b) 2, (b,b) 1: agreement 1/2, chance 3/4 * 1/4 + 1/4 * 3/4 = 3/8.
    assert found.kappa[0] == pytest.approx((1 / 2 - 3 / 8) / (5 / 8))
    # Without Chidi the others have a-b, a-a, b-b, each in both orders: agreement 2/3, chance 1/2.
    assert found.others[2] == pytest.approx((2 / 3 - 1 / 2) / (1 / 2))
    units, percent = percent_with_others(codes)
    assert (units.tolist(), percent.tolist()) == (found.units.tolist(), found.percent.tolist())


def test_excluded_raters_are_compared_with_the_others_but_nobody_with_them():
    codes = crowd_of(60, 6, 3)
    found = each_with_others(codes, np.arange(60), 3, out=[1, 4])
    for rater in range(6):
        alone = codes.copy()
        alone[:, [each for each in (1, 4) if each != rater]] = -1
        expected = each_with_others(alone, np.arange(60), 3)
        for name in ("units", "percent", "kappa", "others", "p_value"):
            made, should_be = getattr(found, name)[rater], getattr(expected, name)[rater]
            assert made == pytest.approx(should_be), (name, rater)


def test_a_rater_is_not_flagged_for_disagreeing_with_careless_raters():
    # 0 is careless. 1 shares units only with 0; 2 and 3 share all of theirs with everybody.
    far = {(): {0, 1}, (0, 1): {0}, (0,): {0}}
    assert confirm_far_off([0, 1], lambda out: far[tuple(sorted(out))]) == {0}
    # These two share units with nobody else.
    assert confirm_far_off([0, 1], lambda out: set() if out else {0, 1}) == {0, 1}
    # Even when it is not compared with the two who are confirmed, 2 is far off.
    far = {(0, 1, 2): {0, 1}, (0, 1): {0, 1, 2}}
    assert confirm_far_off([0, 1, 2], lambda out: far[tuple(sorted(out))]) == {0, 1, 2}
    assert confirm_far_off([5], lambda out: set()) == {5}
    assert confirm_far_off([], lambda out: set()) == set()


def test_one_judge_has_a_table_with_each_rater():
    codes, judge = crowd_of(30, 5, 2), np.arange(30) % 3
    for n, table in enumerate(tabulate_against(codes, judge, 3)):
        assert table.tolist() == confusion(codes[:, n], judge, 3).tolist()


def test_only_raters_who_guess_are_flagged():
    codes = crowd_of(900, 45, 3, careless=2)
    assert far_off(each_with_others(codes, np.arange(900) // 9, 3), 0.2, 30).tolist() == [0, 1]


@pytest.mark.parametrize("seed", range(4))
def test_in_a_crowd_of_equal_raters_nobody_is_flagged(seed):
    codes = crowd_of(800, 80, 3, seed=seed)
    assert far_off(each_with_others(codes, np.arange(800) // 8, 3), 0.2, 30).tolist() == []


def test_a_rater_with_few_units_is_not_flagged():
    codes = crowd_of(900, 45, 3, careless=1)
    codes[np.flatnonzero(codes[:, 0] >= 0)[20:], 0] = -1
    assert far_off(each_with_others(codes, np.arange(900) // 9, 3), 0.2, 30).tolist() == []


class TestCeiling:
    def test_it_is_the_mean_over_pairs_weighted_by_their_units(self):
        codes = crowd_of(120, 6, 4)
        found = pair_counts(codes, 3).least(30)
        made = crowd_ceiling_estimates(codes, np.arange(120), 3, draws=50)
        assert len(found.units) > 5
        for name, of in (("cohen_kappa", found.kappa), ("percent", found.percent)):
            assert made[name].value == pytest.approx(np.average(of, weights=found.units))

    def test_pairs_count_from_thirty_shared_units_on(self):
        codes = np.repeat(np.arange(30)[:, None] // 10, 2, axis=1)
        of = crowd_ceiling_estimates(codes, np.arange(30), 3, draws=50)
        assert of["cohen_kappa"].value == of["percent"].value == 1
        codes[29, 1] = -1
        of = crowd_ceiling_estimates(codes, np.arange(30), 3, draws=50)
        assert {each.value for each in of.values()} == {None}

    @pytest.mark.parametrize("mean_of", [_kappa, _percent])
    def test_slopes_of_the_ceiling_match_counting_a_unit_more_often(self, mean_of):
        codes = crowd_of(40, 5, 3)
        value, slopes, _ = mean_of(pair_counts(codes, 3), codes)
        assert slopes.sum() == pytest.approx(0, abs=1e-12)
        often = 400
        for unit in (0, 7, 39):
            more = np.concatenate([np.repeat(codes, often, axis=0), codes[[unit]]])
            changed, *_ = mean_of(pair_counts(more, 3), more)
            assert (changed - value) * often == pytest.approx(slopes[unit], rel=0.01, abs=1e-6)

    def test_the_interval_of_the_ceiling_matches_resampling_the_units(self):
        codes = crowd_of(200, 8, 5)
        low, high = interval(crowd_ceiling_estimates(codes, np.arange(200), 3)["cohen_kappa"])
        generator = np.random.default_rng(1)
        resampled = []
        for _ in range(300):
            drawn = codes[generator.integers(0, 200, 200)]
            found = pair_counts(drawn, 3)
            resampled.append(np.average(found.kappa, weights=found.units))
        assert [low, high] == pytest.approx(np.quantile(resampled, [0.025, 0.975]), abs=0.02)

    def test_without_a_pair_with_enough_shared_units_it_is_null_with_a_reason(self):
        made = crowd_ceiling_estimates(crowd_of(60, 40, 3), np.arange(60), 3)["cohen_kappa"]
        assert (made.value, made.reason) == (None, NO_PAIR)

    def test_it_counts_only_units_shared_by_its_pairs(self):
        # Two people share four units; a third has three units alone.
        codes = np.array([[0, 0, -1], [1, 1, -1], [0, 1, -1], [1, 1, -1], *[[-1, -1, 0]] * 3])
        clusters = np.array([0, 0, 1, 1, 2, 2, 2])
        made = crowd_ceiling_estimates(codes, clusters, 2, fewest=4)
        for name in ("cohen_kappa", "percent"):
            assert made[name].n == 4, name
        assert crowd_ceiling_estimates(codes, clusters, 2, fewest=5)["percent"].reason == NO_PAIR
