import numpy as np
import pytest

from tandem.statistics import error_correlations
from tandem.statistics.errors import NO_UNITS, NO_VARIATION, ONE
from tests.statistics.cast import covers, interval, number

YES, NO = 1, 0
#: Eight units of people's yes and four of their no, and where each of two judges errs.
PEOPLE = np.array([YES] * 8 + [NO] * 4)
ADA_ERRS = np.array([1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0])
BO_ERRS = np.array([1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0])


def labels(people, *errors):
    """Labels of judges, (U, m), in two categories, given where each judge errs."""
    return np.stack([np.where(wrong, 1 - people, people) for wrong in errors], axis=1)


def alone(units):
    return np.arange(units)


def correlated(judges, people, clusters=None, **asked):
    clusters = alone(len(people)) if clusters is None else clusters
    return error_correlations(judges, people, clusters, **{"draws": 500, **asked})


def study(queries, items, rates, shared=0.0, seed=1):
    """Judges with these rates of errors; a share of their errors copies one common judge's."""
    generator = np.random.default_rng(seed)
    units = queries * items
    people = generator.integers(0, 2, units)
    common = generator.random(units)
    errors = [
        np.where(generator.random(units) < shared, common, generator.random(units)) < rate
        for rate in rates
    ]
    return labels(people, *errors), people, np.repeat(np.arange(queries), items)


def test_the_correlation_of_errors_is_pooled_within_peoples_labels():
    # Among the eight yes: Ada errs on 4, Bo on 3, both on 2.
    #   8 * covariance = 2 - 4 * 3 / 8 = 0.5; 8 * variances = 4 - 16/8 = 2 and 3 - 9/8 = 1.875
    # Among the four no: both err on the same one.
    #   4 * covariance = 1 - 1/4 = 0.75; 4 * variances = 0.75 and 0.75
    # (0.5 + 0.75) / root((2 + 0.75) * (1.875 + 0.75)) = 1.25 / root(7.21875) = 0.465242
    made = correlated(labels(PEOPLE, ADA_ERRS, BO_ERRS), PEOPLE)
    assert number(made.matrix[0][1].value) == pytest.approx(1.25 / np.sqrt(7.21875))
    assert made.matrix[1][0] == made.matrix[0][1]
    assert made.matrix[0][0].value == made.matrix[1][1].value == 1
    assert number(made.effective.value) == pytest.approx(2 / (1 + 0.465242), abs=1e-6)
    assert [number(each.value) for each in made.rates] == [
        pytest.approx(5 / 12),
        pytest.approx(1 / 3),
    ]
    assert made.units == 12


def test_the_correlation_matches_the_partial_correlation_given_the_label_by_numpy():
    judges, people, _ = study(60, 5, (0.2, 0.3, 0.4), shared=0.5)
    made = correlated(judges, people)
    wrong = (judges != people[:, None]).astype(float)
    # The indicators less their means within each label.
    for label in (YES, NO):
        wrong[people == label] -= wrong[people == label].mean(axis=0)
    expected = np.corrcoef(wrong.T)
    values = [[number(each.value) for each in row] for row in made.matrix]
    np.testing.assert_allclose(values, expected)
    assert number(made.mean.value) == pytest.approx(expected[np.triu_indices(3, 1)].mean())


def test_judges_with_independent_errors_count_fully():
    judges, people, clusters = study(400, 10, (0.2, 0.3, 0.25))
    made = correlated(judges, people, clusters)
    assert covers(made.mean, 0)
    assert covers(made.effective, 3)
    low, high = interval(made.effective)
    assert 2.7 < low < high < 3.4


def test_judges_with_identical_labels_count_as_one():
    people = np.resize([YES, NO, NO], 60)
    errs = np.resize([1, 0, 0, 0, 1], 60)
    made = correlated(labels(people, errs, errs, errs), people, np.repeat(np.arange(20), 3))
    assert number(made.mean.value) == pytest.approx(1)
    assert number(made.effective.value) == pytest.approx(1)


def test_a_label_that_is_hard_for_all_judges_causes_no_correlation():
    """The judges' errors are independent, but occur on half of the yes and on none of the no."""
    people = np.resize([YES] * 4 + [NO] * 4, 800)
    first = np.resize([1, 1, 0, 0, 0, 0, 0, 0], 800)
    second = np.resize([1, 0, 1, 0, 0, 0, 0, 0], 800)
    made = correlated(labels(people, first, second), people)
    assert number(made.matrix[0][1].value) == pytest.approx(0)
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(1 / 3)


def test_negatively_correlated_errors_give_more_effective_judges_than_judges():
    people = np.full(40, YES)
    first, second = np.resize([1, 0, 0, 0], 40), np.resize([0, 1, 0, 0], 40)
    made = correlated(labels(people, first, second), people)
    assert number(made.mean.value) == pytest.approx(-1 / 3)
    assert number(made.effective.value) == pytest.approx(3)


def test_if_errors_cancel_out_the_effective_number_is_undefined():
    people = np.full(40, YES)
    first = np.resize([1, 0], 40)
    made = correlated(labels(people, first, 1 - first), people)
    assert number(made.mean.value) == pytest.approx(-1)
    assert made.effective.value is None
    assert "cancel" in str(made.effective.reason)


def test_the_correlation_with_a_judge_without_errors_is_undefined():
    made = correlated(labels(PEOPLE, ADA_ERRS, np.zeros(12, int)), PEOPLE)
    assert made.matrix[0][1].reason == made.mean.reason == NO_VARIATION
    assert made.effective.reason == NO_VARIATION
    assert made.rates[1].value == 0


def test_units_without_a_label_from_people_or_a_judge_do_not_count():
    judges = labels(PEOPLE, ADA_ERRS, BO_ERRS)
    more = np.vstack([judges, [[-1, 1], [1, -1], [0, 1]]])
    people = np.append(PEOPLE, [YES, YES, -1])
    made, alike = correlated(more, people), correlated(judges, PEOPLE)
    assert made.units == 12
    assert made.matrix[0][1].value == alike.matrix[0][1].value


def test_one_judge_alone_or_no_units_give_no_correlation():
    assert correlated(labels(PEOPLE, ADA_ERRS), PEOPLE).effective.reason == ONE
    nobody = np.full(12, -1)
    assert correlated(labels(PEOPLE, ADA_ERRS, BO_ERRS), nobody).effective.reason == NO_UNITS


def test_below_ten_queries_there_is_no_interval():
    judges, people, clusters = study(9, 20, (0.3, 0.3), shared=0.5)
    made = correlated(judges, people, clusters)
    assert made.effective.value is not None
    assert made.effective.low is None
    assert "9 queries" in made.effective.method


def test_equal_seeds_give_equal_intervals_and_the_truth_lies_within():
    judges, people, clusters = study(150, 8, (0.3, 0.3), shared=0.6)
    made = correlated(judges, people, clusters, seed=3)
    assert made == correlated(judges, people, clusters, seed=3)
    # Both judges copy the common one on .36 of the units, and their rates are equal.
    assert covers(made.mean, 0.36)
