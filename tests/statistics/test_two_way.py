import numpy as np
import pytest

from tandem.statistics import (
    Bootstrap,
    Resamples,
    Tally,
    ceiling_estimates,
    cohen_kappa,
    confusion,
    counts_of,
    fleiss_kappa,
    fleiss_kappa_pooled,
    gap_estimates,
    gwet_ac,
    kinds_of,
    krippendorff_alpha,
    majority,
    percent_agreement,
    randolph_kappa,
    two_way,
)
from tandem.statistics.two_way import (
    TwoWay,
    sample_kinds_and_raters,
    sample_raters,
    two_way_pairs,
)
from tests.statistics.cast import random_codes

pytestmark = pytest.mark.every_case

QUERIES = np.arange(60) % 15
CODES = random_codes(3, units=60, raters=4)
LEVELS = ("nominal", "ordinal", "interval")
VALUES = np.array([0.0, 1.0, 2.0, 5.0])


def of_counts(level, weights=None):
    """The coefficients as the library computes them without drawing raters."""
    counts = counts_of(CODES, 4)
    return {
        "percent": percent_agreement(counts, weights),
        "fleiss_kappa": fleiss_kappa(counts, weights),
        "fleiss_kappa_pooled": fleiss_kappa_pooled(counts, weights),
        "randolph_kappa": randolph_kappa(counts, 4, weights),
        "krippendorff_alpha": krippendorff_alpha(counts, level, VALUES, weights),
        "gwet_ac": gwet_ac(counts, level, VALUES, weights),
    }


@pytest.fixture
def everybody(monkeypatch):
    """Draw each rater once in every resample."""
    monkeypatch.setattr(two_way, "sample_raters", lambda raters, n, seed: np.ones((n, raters)))


@pytest.mark.parametrize("level", LEVELS)
def test_if_each_rater_is_drawn_once_only_queries_vary(level, everybody):
    drawn = Resamples.draw(QUERIES, 30, 1)
    made = TwoWay(CODES, QUERIES, 4, level, VALUES, drawn, 1).of_people()
    expected = of_counts(level, drawn.weights())
    assert set(made) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(made[name], values, err_msg=name)


def test_if_each_rater_is_drawn_once_the_judge_is_compared_with_the_majority(everybody):
    drawn, judge = Resamples.draw(QUERIES, 30, 1), random_codes(9, units=60, raters=1)[:, 0]
    made = TwoWay(CODES, QUERIES, 4, "ordinal", VALUES, drawn, 1, judge).of_judge()
    table = confusion(majority(CODES)[0], judge, 4, drawn.weights())
    np.testing.assert_allclose(made["cohen_kappa"], cohen_kappa(table))
    quadratic = cohen_kappa(table, "quadratic", VALUES)
    np.testing.assert_allclose(made["cohen_kappa_quadratic"], quadratic)


def test_if_each_rater_is_drawn_once_ceiling_and_gap_match_resampling_queries(everybody):
    codes, queries = random_codes(3, units=240, raters=4), np.arange(240) % 15
    judge, drawn = random_codes(9, units=240, raters=1)[:, 0], Resamples.draw(queries, 200, 1)
    ceiling, gap, raters = two_way_pairs(judge, codes, queries, 4, drawn, 1)
    assert raters == 4
    held = np.where(judge[:, None] >= 0, codes, -1)
    alone = ceiling_estimates(held, queries, 4, draws=drawn, interval="percentile")
    beside = gap_estimates(judge, codes, queries, 4, draws=drawn, interval="percentile")
    for found, expected in ((ceiling, alone), (gap, beside)):
        for name in ("percent", "cohen_kappa"):
            ends = np.quantile(found[name], [0.025, 0.975])
            assert (expected[name].low, expected[name].high) == pytest.approx(ends)


def test_a_rater_drawn_twice_does_not_form_a_pair_with_themselves(monkeypatch):
    # Ada twice and Bram once: their pair is the only one, weighs 2, and agrees on 1 of 2 units.
    monkeypatch.setattr(two_way, "sample_raters", lambda *_: np.array([[2.0, 1.0, 0.0]]))
    codes = np.array([[0, 0, 1], [1, 0, 1]])
    once, query = Resamples(np.ones((1, 1)), np.zeros(2, int)), np.zeros(2, int)
    made = TwoWay(codes, query, 2, "nominal", None, once, 0).of_people()
    assert made["percent"] == pytest.approx([1 / 2])
    # By weight four of the six labels are 0 and two are 1: chance is 5/9.
    assert made["fleiss_kappa"] == pytest.approx([(1 / 2 - 5 / 9) / (1 - 5 / 9)])


def test_for_interval_ratings_the_reference_is_the_mean_of_the_drawn_raters(monkeypatch):
    # Ada's 0 twice and Bram's 2 once: a mean of 2/3, nearest to the judge's 1.
    monkeypatch.setattr(two_way, "sample_raters", lambda *_: np.array([[2.0, 1.0]]))
    once, query = Resamples(np.ones((1, 1)), np.zeros(2, int)), np.zeros(2, int)
    codes, judge = np.array([[0, 2], [0, 0]]), np.array([1, 0])
    values = np.arange(3.0)
    made = TwoWay(codes, query, 3, "interval", values, once, 0, judge).of_judge()
    assert made["percent"] == pytest.approx([1.0])


def test_at_least_two_raters_are_drawn():
    draws = sample_raters(3, 500, 0)
    assert (draws.sum(axis=1) == 3).all()
    assert ((draws > 0).sum(axis=1) >= 2).all()
    assert (sample_raters(3, 500, 0) == draws).all()


def test_if_raters_differ_intervals_are_wider_than_over_queries_only():
    generator = np.random.default_rng(2)
    truth = generator.integers(0, 2, 300)
    slips = generator.random((300, 6)) < np.array([0.0, 0.0, 0.1, 0.2, 0.3, 0.45])
    codes, queries = np.where(slips, 1 - truth[:, None], truth[:, None]), np.arange(300) // 10
    both = TwoWay(codes, queries, 2, "nominal", None, 500, 1).of_people()["fleiss_kappa"]
    rows, kinds = kinds_of(counts_of(codes, 2))
    alone = Bootstrap(Tally.of(kinds, len(rows), queries), 500, 1).values(
        lambda weights: fleiss_kappa(rows, weights)
    )
    assert np.std(both) > 2 * np.std(alone)


def test_two_raters_are_always_both_drawn_and_of_three_at_least_two():
    assert (sample_raters(2, 100, 0) == 1).all()
    different = (sample_raters(3, 500, 0) > 0).sum(axis=1)
    assert set(different.tolist()) == {2, 3}


@pytest.mark.parametrize("draws", [50, Resamples.draw(QUERIES, 50, 7)], ids=["number", "drawn"])
def test_smaller_blocks_give_the_same_resamples(monkeypatch, draws):
    tally = Tally.of(np.arange(60), 60, QUERIES)
    ((weights, people),) = sample_kinds_and_raters(tally, 4, draws, 7, 10)
    whole = TwoWay(CODES, QUERIES, 4, "nominal", None, draws, 7).of_people()
    monkeypatch.setattr(two_way, "AT_ONCE", 200)
    blocks = list(sample_kinds_and_raters(tally, 4, draws, 7, 10))
    assert [len(some) for some, _ in blocks] == [len(some) for _, some in blocks] == [20, 20, 10]
    for column, joined in enumerate((weights, people)):
        assert np.array_equal(np.concatenate([block[column] for block in blocks]), joined)
    in_parts = TwoWay(CODES, QUERIES, 4, "nominal", None, draws, 7).of_people()
    for name, values in whole.items():
        np.testing.assert_allclose(in_parts[name], values, err_msg=name)


def test_a_block_holds_at_least_one_resample(monkeypatch):
    monkeypatch.setattr(two_way, "AT_ONCE", 1)
    blocks = list(sample_kinds_and_raters(Tally.of(np.arange(60), 60, QUERIES), 4, 5, 0, 100))
    assert [len(weights) for weights, _ in blocks] == [1] * 5


def test_without_a_unit_that_two_people_labelled_there_are_no_pairs():
    alone = np.full((60, 3), -1)
    alone[np.arange(60), np.arange(60) % 3] = 1
    assert two_way_pairs(np.ones(60, int), alone, QUERIES, 2, 20, 0) == ({}, {}, 0)
