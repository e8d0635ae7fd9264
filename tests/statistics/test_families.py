import numpy as np
import pytest

from tandem.statistics import family_differences
from tandem.statistics.alignment import NO_OTHERS, NO_OWN
from tests.statistics.cast import covers, number

OWN, OTHER, NOBODY = 1, 0, -1


def differences(judge, people, whose, clusters=None):
    whose = np.array(whose)
    clusters = np.arange(len(whose)) if clusters is None else clusters
    return family_differences(
        np.array(judge, float),
        np.array(people, float),
        whose == OWN,
        whose == OTHER,
        clusters,
        draws=500,
    )


def test_the_preference_is_the_difference_of_the_two_mean_deviations():
    # Own: 4 - 3, 4 - 3.5 and 2 - 2, mean 0.5. Others: 3 - 3 and 1 - 2, mean -0.5.
    made = differences([4, 4, 2, 3, 1], [3, 3.5, 2, 3, 2], [OWN, OWN, OWN, OTHER, OTHER])
    assert (made.own.value, made.own.n) == (pytest.approx(0.5), 3)
    assert (made.others.value, made.others.n) == (pytest.approx(-0.5), 2)
    assert (made.preference.value, made.preference.n) == (pytest.approx(1.0), 5)


def test_a_judge_that_is_equally_lenient_to_all_has_no_preference():
    people = np.resize([1, 2, 3], 60).astype(float)
    made = differences(people + 1, people, np.resize([OWN, OTHER], 60))
    assert number(made.own.value) == number(made.others.value) == pytest.approx(1)
    assert number(made.preference.value) == pytest.approx(0)


def test_units_of_no_named_family_or_without_a_label_do_not_count():
    made = differences([4, 4, 9, np.nan, 5], [3, 3, 1, 3, np.nan], [OWN, OTHER, NOBODY, OWN, OTHER])
    assert (made.own.n, made.others.n) == (1, 1)
    assert number(made.preference.value) == pytest.approx(0)


def test_without_answers_on_one_side_the_preference_is_null_with_a_reason():
    alone = differences([1, 2], [1, 2], [OWN, OWN])
    assert alone.others.reason == alone.preference.reason == NO_OTHERS
    strangers = differences([1, 2], [1, 2], [OTHER, OTHER])
    assert strangers.own.reason == strangers.preference.reason == NO_OWN


def test_the_interval_over_queries_covers_a_planted_preference():
    generator = np.random.default_rng(4)
    queries = 80
    clusters = np.repeat(np.arange(queries), 6)
    whose = np.tile([OWN, OWN, OTHER, OTHER, OTHER, NOBODY], queries)
    people = generator.normal(3, 1, len(whose))
    lenient = generator.normal(0.3, 0.3, queries)[clusters]
    judge = people + lenient + 0.5 * (whose == OWN) + generator.normal(0, 0.5, len(whose))
    made = differences(judge, people, whose, clusters)
    assert covers(made.preference, 0.5)
    assert "80 queries" in made.preference.method
    assert not covers(made.preference, 0)


def test_below_ten_queries_there_is_no_interval():
    made = differences([4, 4, 2, 3], [3, 3, 2, 3], [OWN, OTHER, OWN, OTHER])
    assert made.own.low is None
    assert made.preference.low is None
