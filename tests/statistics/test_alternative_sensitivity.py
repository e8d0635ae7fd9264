import numpy as np
import pytest
from scipy import stats

from tandem.statistics import alt_test, alt_test_sensitivity, effective_items
from tandem.statistics.alternative_power import multiplicative, signed_rank

# Two people and a judge over four items; see `test_alternative` for the wins.
PEOPLE = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
JUDGE = np.array([0, 0, 1, 0])


def study(seed=0, units=120, accuracy=0.85):
    rng = np.random.default_rng(seed)
    truth, noise = rng.integers(0, 3, (units, 1)), rng.integers(0, 3, (units, 4))
    codes = np.where(rng.random((units, 4)) < accuracy, truth, noise)
    return codes[:, :3], codes[:, 3], np.arange(units) // 2


def rules(people, judge, clusters, **more):
    return alt_test_sensitivity(people, judge, clusters, level="nominal", epsilon=0.2, **more)


def test_the_multiplicative_form_matches_the_calculation_by_hand():
    # Annotator's wins 1 1 1 0, judge's 1 1 1 1, epsilon 0.2: d = W_h - W_f / 0.8 = -0.25 three
    # times and -1.25: mean -0.5, s = 0.5, t = -0.5 / (0.5 / 2) = -2 with 3 degrees of freedom.
    found = multiplicative(np.ones(4), np.array([1.0, 1, 1, 0]), 0.2)
    assert found == pytest.approx(stats.t.cdf(-2, 3))
    test = rules(PEOPLE, JUDGE, np.arange(4), minimum=1)["multiplicative"]
    assert [a.p_value for a in test.annotators] == pytest.approx([found, found])


def test_the_multiplicative_form_is_defined_for_every_epsilon():
    assert multiplicative(np.ones(4), np.ones(4), 1.0) == 0
    assert multiplicative(np.ones(4), np.ones(4), 0.0) == 1


def test_signed_ranks_match_the_calculation_by_hand():
    # d - 0.2 = -0.2 -0.2 -0.2 -1.2: no positive rank, one arrangement of 2^4.
    assert signed_rank(np.ones(4), np.array([1.0, 1, 1, 0]), 0.2) == pytest.approx(1 / 16)


def test_dropping_missing_answers_gives_the_test_of_the_other_items():
    people, judge, clusters = study()
    judge[:40] = -1
    dropped = rules(people, judge, clusters)["missing_dropped"]
    rest = alt_test(people[40:], judge[40:], clusters[40:], level="nominal", epsilon=0.2)
    assert dropped == rest
    lost = alt_test(people, judge, clusters, level="nominal", epsilon=0.2)
    assert lost.advantage_probability < dropped.advantage_probability


def test_missing_values_are_dropped_like_missing_codes():
    people, judge, clusters = study()
    judge[:40] = -1
    values = np.where(judge < 0, np.nan, judge)
    by_codes, by_values = rules(people, judge, clusters), rules(people * 1.0, values, clusters)
    assert by_codes["missing_dropped"] == by_values["missing_dropped"]


def test_only_applicable_variants_are_shown():
    people, judge, clusters = study()
    assert list(rules(people, judge, clusters)) == ["multiplicative"]
    assert "wilcoxon" in rules(people, judge, clusters // 5)


def test_signed_ranks_are_computed_even_if_the_t_test_has_too_few_items():
    people, judge, _ = study(units=20, accuracy=0.95)
    test = alt_test(people, judge, np.arange(20), level="nominal", epsilon=0.2)
    found = rules(people, judge, np.arange(20))
    assert test.reason
    assert found["multiplicative"].reason == test.reason
    assert [a.n for a in found["wilcoxon"].annotators] == [20, 20, 20]


def test_identical_items_of_a_query_count_as_one_effective_item():
    people, judge, _ = study(units=40)
    repeated = [np.repeat(each, 5, axis=0) for each in (people, judge, np.arange(40))]
    assert effective_items(*repeated, level="nominal") == pytest.approx(40, rel=0.05)
    assert effective_items(people, judge, np.arange(40), level="nominal") == pytest.approx(40)


def test_independent_items_all_count_as_effective_items():
    people, judge, clusters = study(units=2000)
    assert (effective_items(people, judge, clusters, level="nominal") or 0) > 1600
    assert effective_items(people[:20], judge[:20], clusters[:20], level="nominal") is None


def test_an_annotator_with_exactly_the_minimum_of_items_is_tested():
    people, judge, _ = study(units=40)
    assert effective_items(people, judge, np.arange(40), level="nominal", minimum=40) is not None
    assert effective_items(people, judge, np.arange(40), level="nominal", minimum=41) is None


def test_signed_ranks_are_computed_for_a_single_item_too():
    found = rules(PEOPLE[:1], JUDGE[:1], np.arange(1))
    assert found["wilcoxon"].reason is None
    assert [a.n for a in found["wilcoxon"].items.annotators] == [1, 1]


def test_signed_ranks_are_left_out_from_thirty_items_on():
    for units, shown in ((29, True), (30, False)):
        people, judge, _ = study(units=units)
        made = rules(people, judge, np.arange(units), minimum=5)
        assert ("wilcoxon" in made) is shown
