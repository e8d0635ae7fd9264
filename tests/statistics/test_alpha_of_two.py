import numpy as np
import pytest

from tandem.crosscheck.process import run_libraries
from tandem.statistics import agreement_estimates, alpha_of_two, krippendorff_alpha
from tests.statistics.cast import random_codes

pytestmark = pytest.mark.every_case


def test_alpha_of_two_raters_matches_the_calculation_by_hand():
    # Means 1.5 and 3, a judge's 1 and 3: d^2 = 0.25, v = 1.5 1 3 3 with sum 8.5 and squares 21.25.
    made = alpha_of_two(np.array([1.5, 3.0]), np.array([1.0, 3.0]), np.arange(2))
    assert made.value == pytest.approx(1 - 3 * 0.25 / (4 * 21.25 - 8.5**2))
    assert made.n == 2


def test_for_categories_it_equals_the_alpha_of_their_counts():
    codes = random_codes(3, units=40, raters=2)
    counts = np.stack([(codes == k).sum(axis=1) for k in range(4)], axis=1)
    x, y = np.where(codes >= 0, codes, np.nan).T
    made = alpha_of_two(x, y, np.arange(40))
    assert made.value == pytest.approx(krippendorff_alpha(counts, "interval"))


def test_for_categories_its_interval_equals_that_of_their_counts():
    codes, queries = random_codes(3, units=40, raters=2), np.arange(40) // 2
    x, y = np.where(codes >= 0, codes, np.nan).T
    made = alpha_of_two(x, y, queries, draws=200, interval="percentile")
    counted = agreement_estimates(
        codes,
        queries,
        4,
        "interval",
        names=["krippendorff_alpha"],
        draws=200,
        interval="percentile",
    )["krippendorff_alpha"]
    assert (made.low, made.high) == pytest.approx((counted.low, counted.high))


def test_it_agrees_with_the_krippendorff_library():
    x, y = np.random.default_rng(0).normal(size=(2, 30))
    # Each number is a category of its own.
    arrays = {"m/codes": np.arange(60).reshape(2, 30).T, "m/values": np.concatenate([x, x + y / 2])}
    task = {"figure": "alpha", "matrix": "m", "columns": [0, 1], "level": "interval"}
    (theirs,) = run_libraries(arrays, [task])["values"]
    assert alpha_of_two(x, x + y / 2, np.arange(30)).value == pytest.approx(theirs)


def test_adding_a_constant_to_all_ratings_does_not_matter():
    x, y = np.array([1.0, 2.5, 3.0, np.nan]), np.array([1.0, 2.0, 4.0, 1.0])
    near, far = (alpha_of_two(x + add, y + add, np.arange(4)).value for add in (0, 1e6))
    assert far == pytest.approx(near)


@pytest.mark.parametrize(
    ("x", "reason"), [([np.nan] * 3, "no unit has two labels"), ([2.0] * 3, "the same category")]
)
def test_an_undefined_alpha_has_a_reason(x, reason):
    made = alpha_of_two(np.array(x), np.full(3, 2.0), np.arange(3))
    assert made.value is None
    assert reason in str(made.reason)


def test_the_interval_is_bootstrapped_over_queries():
    clusters = np.arange(60) % 15
    x, y = np.random.default_rng(1).normal(size=(2, 60))
    made = alpha_of_two(x, x + y, clusters, draws=200)
    low, value, high = (float(end or 0) for end in (made.low, made.value, made.high))
    assert low < value < high
    assert "bootstrap of 15 queries" in made.method
