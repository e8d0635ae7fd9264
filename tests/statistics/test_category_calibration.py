import numpy as np
import pytest

from tandem.statistics import category_calibration
from tests.statistics.cast import number

# Three categories, four units; people chose 0, 1, 2, 1.
P = np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.5, 0.3, 0.2], [0.0, 1.0, 0.0]])
PEOPLE = np.array([0, 1, 2, 1])
OWN = np.arange(4)


def test_the_brier_score_sums_over_categories():
    # .04+.01+.01 = .06; .04+.16+.04 = .24; .25+.09+.64 = .98; 0. Their mean is .32.
    assert category_calibration(P, PEOPLE, OWN).brier.value == pytest.approx(0.32)


def test_the_ranked_probability_score_compares_cumulative_shares():
    # Cumulative less people's, without the last: (-.2, -.1); (.2, -.2); (.5, .8); (0, 0).
    # Squares .05, .08, .89, 0, halved for K - 1 = 2; the mean of .025 .04 .445 0 is .1275.
    made = category_calibration(P, PEOPLE, OWN, ordered=True)
    assert made.ranked_probability_score is not None
    assert made.ranked_probability_score.value == pytest.approx(0.1275)
    assert category_calibration(P, PEOPLE, OWN).ranked_probability_score is None


def test_on_an_ordered_scale_a_near_miss_scores_better_than_a_far_one():
    sure = np.array([[1.0, 0.0, 0.0]])
    near, far = (
        category_calibration(sure, np.array([code]), np.zeros(1, int), ordered=True)
        for code in (1, 2)
    )
    assert near.brier.value == far.brier.value == 2
    assert near.ranked_probability_score is not None
    assert far.ranked_probability_score is not None
    assert (near.ranked_probability_score.value, far.ranked_probability_score.value) == (0.5, 1)


def test_reliability_is_that_of_the_most_probable_category():
    # Most probable: .8 right, .6 right, .5 wrong, 1.0 right; two bins {.5, .6} and {.8, 1}.
    # |.55 - .5| and |.9 - 1| on half of the units each: .075.
    made = category_calibration(P, PEOPLE, OWN, bins=2)
    assert [(b.units, b.probability, b.share.value) for b in made.reliability] == [
        (2, pytest.approx(0.55), 0.5),
        (2, pytest.approx(0.9), 1.0),
    ]
    assert made.expected_calibration_error.value == pytest.approx(0.075)


def test_units_without_probabilities_or_a_label_are_left_out():
    p = np.vstack([P, [np.nan] * 3, [0.2, 0.3, 0.5]])
    made = category_calibration(p, np.array([*PEOPLE, 1, -1]), np.arange(6))
    assert (made.brier.value, made.brier.n) == (pytest.approx(0.32), 4)
    assert sum(b.units for b in made.reliability) == 4


def test_two_categories_give_twice_the_binary_score():
    rng = np.random.default_rng(0)
    yes = rng.random(60)
    people = (rng.random(60) < yes).astype(int)
    made = category_calibration(np.stack([1 - yes, yes], axis=1), people, np.arange(60))
    assert number(made.brier.value) == pytest.approx(2 * float(((yes - people) ** 2).mean()))


def test_intervals_are_computed_over_queries():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1, 1, 1], 400)
    people = np.array([rng.choice(3, p=row) for row in p])
    made = category_calibration(p, people, np.arange(400) // 20, ordered=True, draws=300)
    assert "20 queries" in made.brier.method
    assert made.brier.low is not None
    assert all(b.share.low is not None for b in made.reliability[2:-2])
    few = category_calibration(p[:60], people[:60], np.arange(60) // 20, draws=50)
    assert few.brier.low is None


def test_without_any_unit_every_figure_is_undefined():
    made = category_calibration(np.full((2, 3), np.nan), np.array([0, 1]), np.arange(2))
    assert (made.brier.reason, made.reliability) == ("no values", [])


@pytest.mark.parametrize("row", [[0.5, 0.2, 0.2], [1.2, -0.1, -0.1], [0.5, 0.5, 0.5]])
def test_probabilities_that_do_not_sum_to_one_are_refused(row):
    with pytest.raises(ValueError, match="their sum is 1"):
        category_calibration(np.array([row]), np.array([0]), np.zeros(1, int))


@pytest.mark.parametrize("seed", range(3))
def test_the_brier_score_agrees_with_scikit_learn(seed):
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    rng = np.random.default_rng(seed)
    p, people = rng.dirichlet([1, 2, 1, 1], 80), rng.integers(0, 4, 80)
    theirs = metrics.brier_score_loss(people, p, labels=range(4), scale_by_half=False)
    assert category_calibration(p, people, np.arange(80)).brier.value == pytest.approx(theirs)
