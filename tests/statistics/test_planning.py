import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.statistics import Plan, mean_by_cluster, more_queries, more_raters
from tests.statistics.cast import width


def test_half_the_width_takes_about_four_times_the_queries():
    # t(19)/root(20) = 0.46802, of which half is 0.23401; t(72)/root(73) = 0.23332 is below it,
    # t(71)/root(72) = 0.23499 is too wide.
    assert more_queries(0.2, 20, 0.1) == Plan(73, 53)


def test_if_the_collection_is_too_small_there_is_no_plan_and_a_reason():
    plan = more_queries(0.2, 20, 0.1, available=60)
    assert (plan.needed, plan.more) == (None, None)
    assert plan.reason == "all 60 queries would leave it wider"
    assert more_queries(0.2, 20, 0.1, available=73).needed == 73


def test_more_than_a_million_queries_are_not_planned():
    assert "more than 1,000,000 queries" in str(more_queries(1.0, 20, 1e-4).reason)


def test_too_few_queries_give_no_plan():
    assert "too few to plan from" in str(more_queries(0.2, 9, 0.1).reason)


def test_the_number_of_raters_needed_matches_the_calculation_by_hand():
    # width^2 = 0.01 + 0.06/r: 0.04 with two, 0.03 with three; 0.02 takes six, 0.01 no number.
    widths = {2: 0.2, 3: np.sqrt(0.03)}
    assert more_raters(widths, np.sqrt(0.02)) == Plan(6, 3)
    plan = more_raters(widths, 0.0999)
    assert (plan.needed, plan.reason) == (
        None,
        "no number of raters: the queries alone leave a width of 0.100",
    )


def test_if_more_raters_would_not_help_the_reason_says_so():
    assert "the queries differ" in str(more_raters({2: 0.2, 3: 0.2}, 0.1).reason)


def test_the_width_at_one_number_of_raters_gives_no_plan():
    assert "cannot tell" in str(more_raters({3: 0.2}, 0.1).reason)


@given(st.integers(10, 300), st.floats(0.05, 0.95))
def test_a_plan_is_the_smallest_number_of_queries_that_is_enough(queries, share):
    needed = more_queries(1.0, queries, share).needed
    assert needed is not None
    assert more_queries(1.0, queries, share, available=needed).needed == needed
    assert needed == queries or more_queries(1.0, queries, share, needed - 1).needed is None


def test_the_planned_number_of_queries_reaches_the_width():
    rng = np.random.default_rng(0)

    def drawn(queries):
        values = rng.normal(0, 1, (queries, 1)) + rng.normal(0, 1, (queries, 4))
        return mean_by_cluster(values.ravel(), np.repeat(np.arange(queries), 4))

    now = np.mean([width(drawn(30)) for _ in range(100)])
    needed = more_queries(float(now), 30, 0.4).needed
    assert np.mean([width(drawn(needed)) for _ in range(100)]) == pytest.approx(0.4, rel=0.03)


def test_the_planned_number_of_raters_reaches_the_width():
    rng = np.random.default_rng(1)

    def drawn(raters):
        values = rng.normal(0, 0.5, (50, 1)) + rng.normal(0, 1, (50, raters))
        return width(mean_by_cluster(values.mean(axis=1), np.arange(50)))

    widths = {r: float(np.mean([drawn(r) for _ in range(400)])) for r in (2, 3)}
    needed = more_raters(widths, 0.36).needed
    assert needed is not None
    assert np.mean([drawn(needed) for _ in range(400)]) <= 0.36 * 1.03
    assert np.mean([drawn(needed - 1) for _ in range(400)]) >= 0.36 * 0.97
