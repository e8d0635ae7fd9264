import json

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from tandem.statistics import alt_test, epsilon_curve
from tandem.statistics.alternative import benjamini_yekutieli, markov, p_below, queries_needed
from tests.statistics.cast import number

pytestmark = pytest.mark.every_case

ONE_EACH = np.arange(4)
# Two people and a judge that sides with one or the other where they differ.
PEOPLE = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
JUDGE = np.array([0, 0, 1, 0])


def three_people(seed, units=120, accuracy=0.85):
    """Three people and a judge, all equally good, over three categories."""
    rng = np.random.default_rng(seed)
    truth, noise = rng.integers(0, 3, (units, 1)), rng.integers(0, 3, (units, 4))
    codes = np.where(rng.random((units, 4)) < accuracy, truth, noise)
    return codes[:, :3], codes[:, 3]


def naive(human, judge, score, epsilon):
    """Mean win of the judge and the differences, item by item, for each annotator."""
    results = []
    for j in range(human.shape[1]):
        wins, differences = [], []
        for labels, f in zip(human, judge, strict=True):
            others = [h for i, h in enumerate(labels) if i != j and h >= 0]
            if labels[j] < 0 or not others:
                continue
            s_f, s_h = score(f, others), score(labels[j], others)
            wins.append(s_f >= s_h)
            differences.append(float(s_h >= s_f) - float(s_f >= s_h))
        results.append((np.mean(wins), p_below(np.array(differences), epsilon), len(wins)))
    return results


def test_the_test_of_a_small_table_matches_the_calculation_by_hand():
    # First person set aside: the judge agrees with the second on items 1, 3, 4, the first on 1, 3.
    # So the judge ties on items 1 to 3 and wins item 4: d = 0 0 0 -1, mean -1/4, s = 1/2.
    # t = (-0.25 - 0.2) / (0.5 / 2) = -1.8 with 3 degrees of freedom: p = 0.0848. The second person
    # set aside gives the same.
    test = alt_test(PEOPLE, JUDGE, ONE_EACH, level="nominal", epsilon=0.2, minimum=1)
    assert [a.p_value for a in test.annotators] == pytest.approx([0.0848, 0.0848], abs=1e-4)
    assert (test.winning_rate, test.advantage_probability) == (0, 1)
    assert [a.n for a in test.annotators] == [4, 4]


def test_the_p_value_of_a_t_test_matches_the_calculation_by_hand():
    # Differences 0 0 1 -1: mean 0, s^2 = 2/3, error root(1/6) = 0.408248.
    # t = -0.2/0.408248 = -0.489898; with 3 degrees of freedom
    # p = 1/2 - (0.282843/1.08 + arctan 0.282843)/pi = 1/2 - (0.261892 + 0.275643)/pi = 0.3289.
    assert p_below(np.array([0.0, 0, 1, -1]), 0.2) == pytest.approx(0.3289, abs=1e-4)


def test_without_variance_the_mean_alone_decides():
    assert p_below(np.full(40, -1.0), 0.2) == 0
    assert p_below(np.zeros(40), 0.2) == 0
    assert p_below(np.zeros(40), 0.0) == 1
    assert p_below(np.ones(40), 0.2) == 1


def test_a_single_difference_is_never_significant():
    assert p_below(np.array([-1.0]), 0.2) == 1


@pytest.mark.parametrize("seed", range(5))
def test_rejections_agree_with_statsmodels(seed):
    p_values = np.random.default_rng(seed).random(9) ** 4
    expected = multipletests(p_values, alpha=0.05, method="fdr_by")[0]
    assert (benjamini_yekutieli(p_values) == expected).all()


@pytest.mark.parametrize(("p", "rejected"), [(0.0166, 1), (0.0168, 0)])
def test_with_two_annotators_the_smaller_p_value_must_be_below_one_sixtieth(p, rejected):
    # q / (m * (1 + 1/2)) = 0.05 / 3 = 0.01667.
    assert benjamini_yekutieli(np.array([p, 0.9])).sum() == rejected


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("level", "score"),
    [
        ("nominal", lambda f, others: np.mean([f == o for o in others])),
        ("ordinal", lambda f, others: -np.sqrt(np.mean([(f - o) ** 2 for o in others]))),
        ("interval", lambda f, others: -np.sqrt(np.mean([(f - o) ** 2 for o in others]))),
    ],
)
def test_the_test_agrees_with_its_definition_written_out(seed, level, score):
    human, judge = three_people(seed)
    human = np.where(np.random.default_rng(seed).random(human.shape) < 0.3, -1, human)
    test = alt_test(human, judge, np.arange(120), level=level, epsilon=0.2)
    found = [(a.advantage_probability, a.p_value, a.n) for a in test.annotators]
    for ours, expected in zip(found, naive(human, judge, score, 0.2), strict=True):
        assert ours == pytest.approx(expected)


def test_codes_and_values_give_the_same_test():
    human, judge = three_people(1)
    human[::7, 0] = -1
    values = np.where(human < 0, np.nan, human.astype(float))
    codes = alt_test(human, judge, np.arange(120), level="ordinal", epsilon=0.2)
    assert codes == alt_test(values, judge * 1.0, np.arange(120), level="ordinal", epsilon=0.2)


def test_minus_one_is_a_value_if_missing_labels_are_nan():
    human, judge = three_people(1)
    shifted = alt_test(human - 1.0, judge - 1.0, np.arange(120), level="interval", epsilon=0.2)
    assert shifted == alt_test(human, judge, np.arange(120), level="interval", epsilon=0.2)


def test_fractions_that_are_equal_on_paper_are_a_tie():
    # 0.3 - 0.2 and 0.2 - 0.1 differ in the last bit.
    human, judge = np.array([[0.3, 0.2]] * 3), np.full(3, 0.1)
    test = alt_test(human, judge, np.arange(3), level="interval", epsilon=0.2, minimum=1)
    assert test.annotators[0].advantage_probability == 1
    assert test.annotators[0].p_value == 0
    # The other way round the annotator must not lose by the last bit: all differences are 0.
    people, turned = np.array([[0.1, 0.2]] * 3), np.full(3, 0.3)
    test = alt_test(people, turned, np.arange(3), level="interval", epsilon=0.0, minimum=1)
    assert test.annotators[0].p_value == 1


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_a_judge_that_never_answers_never_wins(level):
    human, _ = three_people(2)
    test = alt_test(human, np.full(120, -1), np.arange(120), level=level, epsilon=0.95)
    assert [a.p_value for a in test.annotators] == [1, 1, 1]
    assert (test.advantage_probability, test.winning_rate, test.passed) == (0, 0, False)


def test_a_missing_answer_of_the_judge_is_a_loss():
    human, judge = three_people(2)
    silent = np.where(np.arange(120) < 60, -1, judge)
    test = alt_test(human, silent, np.arange(120), level="nominal", epsilon=0.2)
    assert all(a.n == 120 for a in test.annotators)
    assert number(test.advantage_probability) <= 0.5


def test_a_judge_that_copies_an_annotator_passes():
    human, _ = three_people(3)
    test = alt_test(human, human[:, 0], np.arange(120), level="nominal", epsilon=0.2)
    assert test.passed
    assert test.annotators[0].advantage_probability == 1
    assert test.annotators[0].wins


def test_renaming_nominal_categories_does_not_matter():
    human, judge = three_people(4)
    renamed = np.array([2, 0, 1])
    test = alt_test(human, judge, np.arange(120), level="nominal", epsilon=0.2)
    again = alt_test(renamed[human], renamed[judge], np.arange(120), level="nominal", epsilon=0.2)
    assert test == again


def test_annotators_with_fewer_than_thirty_shared_items_are_dropped():
    human, judge = three_people(5)
    human[29:, 2] = -1
    test = alt_test(
        human, judge, np.arange(120), level="nominal", epsilon=0.2, names=["ada", "bo", "cy"]
    )
    assert [a.name for a in test.annotators] == ["ada", "bo"]
    human[29, 2] = 0
    again = alt_test(human, judge, np.arange(120), level="nominal", epsilon=0.2)
    assert [a.n for a in again.annotators] == [120, 120, 30]


def test_items_that_nobody_else_labelled_do_not_count():
    human, judge = three_people(5)
    human[60:, 1:] = -1
    test = alt_test(human, judge, np.arange(120), level="nominal", epsilon=0.2)
    assert [a.n for a in test.annotators] == [60, 60, 60]


@pytest.mark.parametrize("people", [1, 2])
def test_with_fewer_than_two_annotators_the_test_is_null_with_a_reason(people):
    human, judge = three_people(6, units=29 if people == 2 else 120)
    test = alt_test(human[:, :people], judge, np.arange(len(judge)), level="nominal", epsilon=0.2)
    shown = test.as_json()
    assert (shown["winning_rate"], shown["advantage_probability"]) == (None, None)
    assert (shown["annotators"], test.passed) == ([], None)
    assert "fewer than two annotators have 30 items" in str(shown["reason"])


def test_if_every_item_is_its_own_query_items_decide_and_both_readings_agree():
    human, judge = three_people(7)
    test = alt_test(human, judge, np.arange(120), level="nominal", epsilon=0.2)
    assert test.decides == "items"
    assert test.by_query == test.items


def test_if_queries_have_several_items_the_reading_by_query_decides():
    human, judge = three_people(7)
    queries = np.repeat(np.arange(12), 10)
    test = alt_test(human, judge, queries, level="nominal", epsilon=0.2)
    assert test.decides == "by_query"
    assert [a.n for a in test.by_query.annotators] == [12, 12, 12]
    assert test.by_query.advantage_probability == pytest.approx(test.advantage_probability)


def test_identical_items_of_a_query_count_once_by_query():
    human, judge = three_people(8, units=40)
    once = alt_test(human, judge, np.arange(40), level="nominal", epsilon=0.2)
    copies = [np.repeat(x, 6, axis=0) for x in (human, judge, np.arange(40))]
    repeated = alt_test(*copies, level="nominal", epsilon=0.2)
    assert repeated.by_query == once.by_query
    assert repeated.annotators[0].p_value < once.annotators[0].p_value


def test_the_deciding_reading_says_whether_the_judge_passes():
    # Ninety items of two queries: by items the judge wins; two means decide.
    human, judge = three_people(3, units=90)
    test = alt_test(human, judge, np.arange(90) % 2, level="nominal", epsilon=0.2)
    assert (test.winning_rate, test.decides) == (1, "by_query")
    assert (test.by_query.winning_rate, test.passed, test.verdict) == (0, None, "undecided")


def test_the_winning_rate_never_falls_with_a_larger_epsilon():
    human, judge = three_people(9, units=60)
    curve = epsilon_curve(human, judge, np.arange(60), level="nominal")
    assert [test.epsilon for test in curve] == [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
    rates = [number(test.winning_rate) for test in curve]
    assert rates == sorted(rates)
    assert rates[0] < rates[-1]


def test_the_result_of_the_test_is_plain_json():
    human, judge = three_people(7)
    test = alt_test(human, judge, np.repeat(np.arange(12), 10), level="nominal", epsilon=0.2)
    shown = json.loads(json.dumps(test.as_json()))
    assert {"epsilon", "winning_rate", "advantage_probability", "annotators", "by_query"} < set(
        shown
    )
    assert {"name", "n", "p_value", "wins"} <= set(shown["annotators"][0])
    assert {"winning_rate", "advantage_probability"} <= set(shown["by_query"])
    assert (shown["decides"], "reason" in shown) == ("by_query", False)


def test_testing_means_of_queries_keeps_the_error_rate_and_testing_items_does_not():
    # At the boundary mean d = epsilon, 20 queries of 10 items that resemble each other.
    rng, rejected = np.random.default_rng(10), []
    for _ in range(600):
        d = 0.2 + rng.normal(0, 0.5, (20, 1)) + rng.normal(0, 0.8, (20, 10))
        rejected.append((p_below(d.ravel(), 0.2) < 0.05, p_below(d.mean(axis=1), 0.2) < 0.05))
    by_items, by_queries = np.mean(rejected, axis=0)
    assert by_items > 0.1
    assert by_queries < 0.075


def ties(queries, broken=0):
    """Three people who always agree, and a judge that differs on `broken` of the queries."""
    size = -(-30 // queries) + 1
    index = np.repeat(np.arange(queries), size)
    return np.zeros((len(index), 3), int), np.where(index < broken, 1, 0), index


def of_ties(queries, epsilon=0.2, broken=0):
    return alt_test(*ties(queries, broken), level="nominal", epsilon=epsilon)


class TestFewQueries:
    """By query no p-value is below Markov's bound, so too few queries decide nothing."""

    def test_markovs_bound_matches_the_calculation_by_hand(self):
        # Mean -1/4: (0.8 / 1.25)^2; of differences of at most 0.8 from 0: (0.8 / 1.05)^2.
        assert markov(np.array([0.0, -0.5]), 0.2) == pytest.approx(0.4096)
        assert markov(np.array([0.0, -0.5]), 0.0, most=0.8) == pytest.approx((0.8 / 1.05) ** 2)

    def test_the_bound_is_one_if_the_mean_is_not_below_epsilon(self):
        assert markov(np.array([0.1, 0.3]), 0.2) == 1
        assert markov(np.array([1.0, 1.0]), 0.2) == 1

    @pytest.mark.parametrize("queries", [2, 10, 25])
    def test_if_every_item_is_a_tie_the_p_value_is_the_bound(self, queries):
        test = of_ties(queries)
        p_values = [a.p_value for a in test.by_query.annotators]
        assert p_values == pytest.approx([0.8**queries] * 3)
        assert [a.p_value for a in test.annotators] == [0, 0, 0], "by items, as published"

    @pytest.mark.parametrize("broken", [1, 3, 5, 6])
    def test_with_variance_the_p_value_is_the_larger_of_t_test_and_bound(self, broken):
        differences = np.array([1.0] * broken + [0.0] * (30 - broken))
        mean = broken / 30
        bound = 1.0 if mean >= 0.2 else (0.8 / (1 - mean)) ** 30
        expected = max(float(stats.ttest_1samp(differences, 0.2, alternative="less").pvalue), bound)
        test = of_ties(30, broken=broken)
        assert [a.p_value for a in test.by_query.annotators] == pytest.approx([expected] * 3)

    @pytest.mark.parametrize(
        ("annotators", "epsilon", "needed"),
        [(3, 0.2, 18), (3, 0.15, 25), (3, 0.1, 39), (2, 0.2, 19), (3, 0.0, None), (3, 1.0, 1)],
    )
    def test_the_number_of_queries_at_which_ties_pass_matches_the_calculation_by_hand(
        self, annotators, epsilon, needed
    ):
        # Two p-values of at most 2 * .05 / (3 * 11/6) = .0182; ln .0182 / ln .8 = 17.95.
        assert queries_needed(annotators, epsilon) == needed

    def test_with_one_query_fewer_than_needed_the_verdict_is_undecided(self):
        short, enough = of_ties(17), of_ties(18)
        assert (short.verdict, short.passed) == ("undecided", None)
        assert (short.queries, short.queries_needed) == (17, 18)
        assert (enough.verdict, enough.passed) == ("passes", True)

    def test_with_enough_queries_a_judge_that_does_not_pass_fails(self):
        assert of_ties(17, broken=9).verdict == "undecided"
        assert of_ties(18, broken=9).verdict == "fails"

    def test_a_judge_better_than_people_passes_with_fewer_queries(self):
        # Each person is wrong on every third item, the judge never.
        human = np.zeros((72, 3), int)
        for person in range(3):
            human[person::3, person] = 1
        index = np.repeat(np.arange(12), 6)
        test = alt_test(human, np.zeros(72, int), index, level="nominal", epsilon=0.2)
        assert (test.queries, test.queries_needed, test.verdict) == (12, 18, "passes")

    def test_with_epsilon_zero_ties_never_pass(self):
        test = of_ties(50, epsilon=0.0)
        assert (test.verdict, test.queries_needed) == ("undecided", None)

    def test_the_queries_of_the_half_of_annotators_with_most_queries_count(self):
        # Half of three are two: these have 20 queries, the third only 10.
        human, judge, index = (np.repeat(each, 2, axis=0) for each in ties(20))
        human[index >= 10, 2] = -1
        test = alt_test(human, judge, index, level="nominal", epsilon=0.2)
        assert [a.n for a in test.by_query.annotators] == [20, 20, 10]
        assert (test.queries, test.verdict) == (20, "passes")

    def test_if_items_decide_no_number_of_queries_is_given(self):
        human, judge = three_people(7)
        test = alt_test(human, judge, np.arange(120), level="nominal", epsilon=0.2)
        assert (test.decides, test.queries, test.queries_needed) == ("items", None, None)

    @pytest.mark.parametrize("queries", [10, 15, 20, 30])
    def test_a_judge_wrong_on_every_fifth_query_passes_at_most_one_time_in_twenty(self, queries):
        # Summed over the number of queries that it is wrong on, each with a chance of a fifth.
        broken = range(queries // 3 + 1)
        passes = [of_ties(queries, broken=n).passed is True for n in broken]
        assert stats.binom.pmf(broken, queries, 0.2) @ np.array(passes) <= 0.05
        assert not passes[-1]
