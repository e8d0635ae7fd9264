"""Measures over several queries stay within their bounds, and options within their limits."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tandem.scores import MEASURES
from tandem.scores.agreement import (
    EQUAL,
    Labelled,
    orderings,
    powered_pairs,
    settings,
)
from tandem.scores.answers import (
    Preferences,
    Texts,
    length,
    recall_of,
    rouge_l_to_passage,
    unanswerable_accuracy,
    win_rate,
)
from tandem.scores.answers.refusals import refusal_list, refusal_lists
from tandem.scores.base import (
    Pooled,
    both,
    estimate,
    every,
    grounding_quality,
    known_labels,
    share,
)
from tandem.scores.contexts import (
    Contexts,
    Ratings,
    answerable,
    answers,
    as_context,
    members,
    required_grades,
    required_subset,
    sampled_contexts,
    sizes_of,
)
from tandem.scores.coverage import (
    ReportQuestions,
    alpha_ndcg,
    cov,
    cut_ratings,
    den,
    ideal_gains,
    report_coverage,
    tokens,
)
from tandem.scores.grounding import Citations, Deflections, macro
from tandem.scores.ir_measures import checked
from tandem.scores.key_points import Failures, cuts
from tandem.scores.options import Options, tokenizer
from tandem.scores.retrieval import Ranked, average_precision, ndcg, recall
from tandem.statistics import Floats, prediction_powered_mean

pytestmark = pytest.mark.every_case

DEFAULT, AS_ZERO = Options(), Options(missing="zero")
NAN = float("nan")


def same(found: Floats, *expected: float) -> bool:
    return found.tolist() == pytest.approx(expected, nan_ok=True)


class TestBounds:
    """A mean of values that lie within bounds lies within them, and so does its interval."""

    def ends(self, name: str, values: Floats) -> tuple[float, float]:
        made = estimate(MEASURES[name], values, np.arange(len(values)))
        assert made.low is not None
        assert made.high is not None
        return made.low, made.high

    ALL = set(MEASURES)
    AMOUNTS = {"Den", "Den(y)", "Tokens", "Length"}
    GRADED = {"Faithful", "Appropriate", "Natural", "F+A"}

    def test_only_lengths_and_density_may_exceed_one_and_grades_go_from_one_to_four(self) -> None:
        of = {name: measure.bounds for name, measure in MEASURES.items()}
        assert {name for name, bounds in of.items() if bounds == (0.0, inf)} == self.AMOUNTS
        assert {name for name, bounds in of.items() if bounds == (1.0, 4.0)} == self.GRADED
        shares = {name for name, bounds in of.items() if bounds == (0.0, 1.0)}
        assert shares == self.ALL - self.AMOUNTS - self.GRADED

    def test_the_interval_of_a_share_reaches_an_end_only_if_all_values_lie_there(self) -> None:
        high = np.array([1.0] * 11 + [0.0])
        assert 0 < self.ends("Cov", 1 - high)[0] < self.ends("Cov", high)[1] < 1
        assert self.ends("Cov", np.ones(12))[1] == 1.0
        assert self.ends("Cov", np.zeros(12))[0] == 0.0

    def test_the_interval_of_an_amount_is_cut_at_zero_only(self) -> None:
        low, high = self.ends("Tokens", np.array([30.0] + [0.0] * 11))
        assert low == 0.0
        assert high > 5

    def test_the_interval_of_a_grade_is_that_of_a_share_mapped_to_one_to_four(self) -> None:
        for values in (np.array([1.0] * 11 + [0.0]), np.zeros(12)):
            share = np.array(self.ends("Cov", values))
            assert self.ends("Faithful", 1 + 3 * values) == pytest.approx(tuple(1 + 3 * share))

    def test_an_interval_reaches_observed_values_beyond_the_bounds(self) -> None:
        low, high = self.ends("alpha_nDCG", np.array([1.02] * 11 + [0.98]))
        assert low < (1.02 * 11 + 0.98) / 12 < high < 1.02

    def test_rows_whose_sums_are_zero_are_not_counted(self) -> None:
        measure, sums = MEASURES["Retention-micro"], np.array([[1.0, 2], [0, 0], [3, 4]])
        pooled = Pooled(sums, lambda totals: totals[..., 0] / totals[..., 1])
        made = estimate(measure, pooled, np.arange(3))
        assert (made.value, made.n) == (pytest.approx(4 / 6), 2)
        nothing = estimate(measure, Pooled(np.zeros((3, 2)), pooled.of), np.arange(3))
        assert (nothing.value, nothing.n, nothing.reason) == (None, 0, "no key point was verified")

    def test_there_are_two_thousand_resamples_by_default(self) -> None:
        measure, sums = MEASURES["Retention-micro"], np.ones((40, 2))
        sums[::3, 0] = 0
        pooled = Pooled(sums, lambda totals: totals[..., 0] / totals[..., 1])
        method = estimate(measure, pooled, np.arange(40)).method
        assert method.endswith("BCa bootstrap of 40 queries, 2000 resamples")
        assert "20 resamples" in estimate(measure, pooled, np.arange(40), 20).method
        (order,) = orderings(
            {"a": np.arange(120.0).reshape(40, 3), "b": np.sin(np.arange(120.0).reshape(40, 3))}
        )
        assert order.kendall.method.endswith("2000 resamples")
        (cut,) = cuts(np.full(40, 0.9), np.arange(40) % 2, np.arange(40), [0.7])
        assert cut.false_discovery.method.endswith("2000 resamples")

    def test_an_undefined_value_has_the_measures_reason(self) -> None:
        made = estimate(MEASURES["Cov"], np.array([NAN]), np.arange(1))
        assert (made.value, made.n, made.reason) == (None, 0, MEASURES["Cov"].undefined)


def two_queries(*ranked: list[int], depth: int = 2, there: bool = True) -> Contexts:
    """In the first query p0 answers q0, and p1 answers q0 and q1; in the second p2 answers q1.

    The oracle has p0 and p1 in the first query, and p2 in the second.
    """
    values = np.zeros((2, 3, 2))
    values[0, 0, 0] = values[0, 1, 0] = values[0, 1, 1] = values[1, 2, 1] = 3
    passages = np.array([[True, True, False], [True, True, True]])
    found = answers(Ratings(values, passages, np.ones((2, 2), bool)), DEFAULT)
    oracle = np.array([[0, 1], [2, -1]])
    return Contexts(
        found,
        np.array(ranked),
        oracle,
        answerable(found, members(oracle, 3), DEFAULT),
        np.array([[4.0, 6, NAN], [5, 5, 2]]),
        np.full(2, depth),
        np.array([True, there]),
    )


class TestTwoQueries:
    def test_coverage_counts_each_querys_own_questions(self) -> None:
        # The first query counts q0 and q1, of which p0 answers one; the second only q1.
        of = two_queries([0, -1], [2, 0])
        assert of.counted.tolist() == [[True, True], [False, True]]
        assert same(cov(of), 1 / 2, 1)
        assert same(cov(two_queries([0, 1], [0, 1])), 1, 0)
        assert same(cov(two_queries([0, 1], [0, 1], there=False)), 1, NAN)

    def test_a_cut_takes_the_first_passages_or_as_many_as_the_oracle_has(self) -> None:
        of = two_queries([0, 1], [0, 2])
        assert of.cut(1).ranked.tolist() == [[0, -1], [0, -1]]
        assert of.cut(None).ranked.tolist() == [[0, 1], [0, -1]]
        assert of.cut(None).depth.tolist() == [2, 1]
        assert sizes_of(of.ranked).tolist() == [2, 2]

    def test_density_is_computed_for_each_query(self) -> None:
        # 1/2 in 4 words against 1 in 10: (0.125 / 0.1)^0.5; 1 in 7 against 1 in 2: (2/7)^0.5.
        of = two_queries([0, -1], [2, 0])
        assert same(tokens(of, DEFAULT), 4, 7)
        assert same(den(of, DEFAULT), 1.25**0.5, (2 / 7) ** 0.5)
        assert same(tokens(two_queries([0, 1], [0, 1], there=False), DEFAULT), 10, NAN)

    def test_ranked_coverage_is_computed_for_each_query(self) -> None:
        # p0 then p1 gain 1 + (1/2 + 1)/log2 3; the best order gains 2 + (1/2)/log2 3. The second
        # query finds its only answer at rank two.
        of = two_queries([0, 1], [0, 2])
        discount = 1 / np.log2(3)
        assert same(alpha_ndcg(of, DEFAULT), (1 + 1.5 * discount) / (2 + 0.5 * discount), discount)
        assert same(alpha_ndcg(of.cut(1), DEFAULT), 1 / 2, 0)
        without = two_queries([0, 1], [0, 2], there=False)
        assert same(alpha_ndcg(without, DEFAULT)[1:], NAN)

    def test_each_querys_best_order_ends_at_the_requested_depth(self) -> None:
        yes = two_queries([0, 1], [0, 2]).answers.yes
        assert ideal_gains(yes, 0.5, 3).tolist() == [[2, 0.5, 0], [1, 0, 0]]
        assert ideal_gains(yes, 0.5, 1).tolist() == [[2], [1]]
        assert ideal_gains(yes, 0.5, 9).shape == (2, 3)

    def test_each_querys_required_passages_become_a_context(self) -> None:
        of = two_queries([0, 1], [0, 2])
        oracle = members(of.oracle, 3)
        kept = required_subset(of.answers, oracle)
        assert kept.tolist() == [[False, True, False], [False, False, True]]
        assert as_context(kept).tolist() == [[1], [2]]
        uneven = np.array([[True, False, True], [False, True, False]])
        assert as_context(uneven).tolist() == [[0, 2], [1, -1]]
        assert as_context(np.zeros((0, 3), bool)).shape == (0, 0)
        values = np.zeros((2, 3, 2))
        values[0, :2, 0], values[0, 1, 1], values[1, 2, 1] = (5, 3), 3, 3
        ratings = Ratings(values, of.answers.passages, of.answers.questions)
        assert required_grades(ratings, of.answers, oracle).tolist() == [[2, 3, 0], [0, 0, 3]]

    def test_a_rating_of_exactly_eta_counts_as_answered(self) -> None:
        assert cut_ratings(np.array([2.9, 3.0, NAN, 5]), 3.0).tolist() == [0, 1, -1, 1]

    def test_the_coverage_of_a_report_is_a_share_of_the_questions_that_count(self) -> None:
        # The first report has a yes, a no, a yes that does not count, and a missing label; the
        # second only a yes that does not count; the third nothing.
        of = ReportQuestions(
            np.array([1, 0, 1, -1, 1]),
            np.array([0, 0, 0, 0, 1]),
            3,
            np.array([True, True, False, True, False]),
        )
        assert same(report_coverage(of, DEFAULT), 1 / 2, NAN, NAN)
        assert same(report_coverage(of, AS_ZERO), 1 / 3, NAN, NAN)

    def test_a_figure_of_ir_measures_may_differ_by_a_hundred_thousandth(self) -> None:
        ours = np.array([0.5, NAN])
        assert same(checked(ours, np.array([0.500009, NAN])), 0.500009, NAN)
        with pytest.raises(ValueError, match=r"is 0\.500020 where ours is 0\.500000"):
            checked(ours, np.array([0.50002, NAN]))

    def test_measures_of_rankings_match_the_sums_by_hand(self) -> None:
        # First query: 0 and 2 are relevant, found at ranks 2 and 3. Second: 1, at rank 1. The third
        # was not ranked.
        of = Ranked(
            np.array([[2.0, 0, 1], [0, 1, 0], [1, 1, 1]]),
            np.array([[1, 0, 2], [1, -1, -1], [0, 1, 2]]),
            np.full(3, 3),
            np.array([True, True, False]),
        )
        assert same(average_precision(of), (1 / 2 + 2 / 3) / 2, 1, NAN)
        assert same(recall(of), 1, 1, NAN)
        ideal = 2 + 1 / np.log2(3)
        assert same(ndcg(of), (2 / np.log2(3) + 1 / 2) / ideal, 1, NAN)
        two = replace(of, depth=np.full(3, 2))
        assert same(average_precision(two), (1 / 2) / 2, 1, NAN)
        assert same(recall(two), 1 / 2, 1, NAN)
        assert same(ndcg(two), (2 / np.log2(3)) / ideal, 1, NAN)

    def test_sampled_contexts_are_as_many_as_asked_for_and_vary(self) -> None:
        there = np.array([[True] * 6, [True, False, False, False, False, True]])
        made = sampled_contexts(there, np.array([3, 3]), 30, seed=1)
        assert len(made) == 30
        assert all(ranked.shape == (2, 3) for ranked in made)
        assert all(ranked[1].tolist()[2] == -1 for ranked in made)
        assert {int(ranked[0, 0]) for ranked in made} == set(range(6))


class TestShares:
    def test_every_is_one_only_if_all_units_of_the_row_are_yes(self) -> None:
        labels, row = np.array([1, 1, 1, 0, -1, 1]), np.array([0, 0, 1, 1, 2, 2])
        assert same(every(labels, row, 4), 1, 0, NAN, NAN)
        assert same(every(labels, row, 4, "zero"), 1, 0, 0, NAN)
        assert same(share(labels, row, 4), 1, 1 / 2, 1, NAN)
        assert same(share(labels, row, 4, "zero"), 1, 1 / 2, 1 / 2, NAN)

    def test_both_is_one_only_if_both_values_are(self) -> None:
        one, other = np.array([1.0, 1, 0, NAN, 0]), np.array([1.0, 0, 1, 1, NAN])
        assert same(both(one, other).astype(float), 1, 0, 0, NAN, NAN)

    def test_a_missing_label_counts_as_no_only_if_it_was_asked_for(self) -> None:
        labels, asked = np.array([1, 0, -1, -1]), np.array([True, True, True, False])
        assert same(known_labels(labels, asked), 1, 0, NAN, NAN)
        assert same(known_labels(labels, asked, "zero"), 1, 0, 0, NAN)


class TestGroundedResponses:
    def test_an_uncited_answer_is_penalised_only_if_people_cited_something(self) -> None:
        of = Citations([frozenset(), frozenset()], [[frozenset()], [frozenset("a")]])
        assert same(macro(of, Options(uncited="zero"), "P"), NAN, 0)
        assert same(macro(of, Options(uncited="zero"), "R"), NAN, 0)
        assert same(macro(of, Options(uncited="zero"), "F1"), NAN, 0)

    def test_the_best_human_answer_is_the_one_with_the_highest_f1(self) -> None:
        # One shared citation each: of 2 and 2 with {a, b}, F1 1/2; of 2 and 1 with {a}, F1 2/3.
        of = Citations([frozenset("ax")], [[frozenset("ab"), frozenset("a"), frozenset("b")]])
        best = Options(cited_by="best")
        assert same(macro(of, best, "F1"), 2 / 3)
        assert same(macro(of, best, "R"), 1)
        assert same(macro(of, best, "P"), 1 / 2)
        assert same(macro(of, DEFAULT, "R"), 1 / 2)

    def test_a_human_answer_with_citations_is_preferred_to_one_without(self) -> None:
        of = Citations([frozenset()], [[frozenset("a"), frozenset()]])
        assert same(macro(of, Options(cited_by="best"), "F1"), 0)

    def test_a_response_without_a_human_answer_is_undefined(self) -> None:
        assert same(macro(Citations([frozenset("a")], [[]]), DEFAULT, "P"), NAN)

    def test_a_question_without_peoples_label_has_no_deflection_rate(self) -> None:
        of = Deflections(np.array([1, 1, 0]), np.array([1, 0, -1]), np.ones(3, bool))
        assert same(MEASURES["Deflection:TP"].of(of, DEFAULT), 1, NAN, NAN)  # type: ignore[arg-type]
        assert same(MEASURES["Deflection:FP"].of(of, DEFAULT), NAN, 1, NAN)  # type: ignore[arg-type]

    def test_quality_is_medium_from_33_up_to_66_percent(self) -> None:
        shares = np.array([0.33 - 1e-9, 0.33, 0.66, 0.66 + 1e-9, 1.0])
        assert grounding_quality(shares) == ["low", "medium", "medium", "high", "high"]


class TestKeyPoints:
    def test_shares_are_computed_for_each_resample(self) -> None:
        of = Failures(np.array([0, 1, 2, 2, 0]), np.array([0, 0, 0, 1, 1]), 2)
        pooled = MEASURES["Failure:incomplete"].of(of, DEFAULT)
        assert isinstance(pooled, Pooled)
        assert pooled.sums.tolist() == [[1, 1, 1], [1, 0, 1]]
        assert same(np.asarray(pooled.of(np.array([[1.0, 1, 2], [2, 0, 0]]))), 1 / 4, 1)

    def test_a_cut_of_points_without_scores_keeps_nothing(self) -> None:
        (cut,) = cuts(np.array([NAN]), np.array([1]), np.arange(1), [0.7])
        assert (cut.kept, cut.share, cut.threshold) == (0, 0.0, 0.7)
        assert cut.false_positive.reason == "people call no point not key"

    def test_each_threshold_has_a_cut(self) -> None:
        scores, verdicts = np.array([0.9, 0.5, 0.5, 0.1]), np.array([1, 0, -1, 0])
        low, middle = cuts(scores, verdicts, np.arange(4), [0.1, 0.5])
        assert (low.kept, low.share, low.false_discovery.n, low.false_positive.n) == (4, 1, 3, 2)
        assert (middle.kept, middle.share) == (3, 3 / 4)
        assert middle.false_discovery.value == pytest.approx(1 / 2)
        assert middle.false_positive.value == pytest.approx(1 / 2)


class TestAnswers:
    @pytest.mark.parametrize("rule", ["half", "good", "none"])
    def test_the_preferred_answer_wins_under_every_rule_for_ties(self, rule: str) -> None:
        options = Options(ties=rule)
        first = Preferences(np.array([0]), np.array([1]), np.array([0]), 2)
        assert same(win_rate(first, options), 1, 0)
        assert same(win_rate(replace(first, verdict=np.array([1])), options), 0, 1)
        assert same(win_rate(replace(first, verdict=np.array([-1])), options), NAN, NAN)

    def test_an_empty_passage_counts_as_no_passage(self) -> None:
        of = Texts(["a b", "a b"], [[], []], [None, ""], np.ones(2, bool))
        assert same(rouge_l_to_passage(of, DEFAULT), NAN, NAN)

    def test_recall_of_an_empty_reference_is_zero(self) -> None:
        of = Texts(["a b"], [[""]], [None], np.ones(1, bool))
        assert same(recall_of(of, DEFAULT), 0)
        assert same(length(of, DEFAULT), 3)

    def test_a_blank_answer_is_a_refusal_and_phrases_are_normalised(self, tmp_path: Path) -> None:
        assert refusal_list("plain-1").refuses(" \n")
        path = tmp_path / "own.toml"
        path.write_text('about = "ours"\nphrases = ["No   IDEA"]\n', "utf-8")
        own = refusal_list(f"file:{path}")
        assert own.phrases == ("no idea",)
        assert own.about == "ours"
        assert own.refuses("Well: no\nidea.")
        assert not own.refuses("No good idea.")
        assert "plain-1" in refusal_lists()

    def test_without_named_systems_all_answers_share_one_list(self) -> None:
        of = Texts(["I do not know", "In 1990."], [[], []], [None, None], np.zeros(2, bool))
        assert same(unanswerable_accuracy(of, DEFAULT), 1, 0)


class TestAgreeing:
    def test_two_systems_have_no_tau_and_a_reason(self) -> None:
        (made,) = orderings({"a": np.ones((12, 2)), "b": np.ones((12, 2))})
        assert (made.kendall.value, made.kendall.reason) == (None, "fewer than three systems")
        assert orderings({"a": np.ones((12, 3))}) == []

    def test_tau_of_three_systems_matches_the_count_by_hand(self) -> None:
        # Means 1 2 3 against 1 3 2: two pairs are ordered alike, one is reversed. Against 1 2 2,
        # where one pair is tied: 2 / root(3 * 2). Against the reverse order: -1.
        def table(*means: float) -> Floats:
            return np.tile(np.array(means), (12, 1))

        found = orderings(
            {"x": table(1, 2, 3), "y": table(1, 3, 2), "z": table(1, 2, 2), "w": table(3, 2, 1)},
            draws=20,
        )
        of = {(each.a, each.b): each.kendall.value for each in found}
        assert list(of) == [(a, b) for n, a in enumerate("xyzw") for b in "xyzw"[n + 1 :]]
        assert of["x", "y"] == pytest.approx(1 / 3)
        assert of["x", "z"] == pytest.approx(2 / 6**0.5)
        assert of["x", "w"] == pytest.approx(-1)
        assert of["y", "z"] == pytest.approx(2 / 6**0.5)

    def test_tau_is_null_with_a_reason_for_equal_systems_and_missing_scores(self) -> None:
        level, rising = np.ones((12, 3)), np.tile(np.arange(3.0), (12, 1))
        without = rising.copy()
        without[:, 1] = NAN
        for other in (level, without):
            (made,) = orderings({"a": rising, "b": other}, draws=20)
            assert (made.kendall.value, made.kendall.reason) == (None, EQUAL)

    def test_pairs_without_a_test_are_left_out_of_the_adjustment(self) -> None:
        rising = np.arange(12.0)
        made = settings({"a": rising, "b": rising, "c": rising - 1 - rising / 12})
        ab, ac, bc = made
        assert [(each.a, each.b) for each in made] == [("a", "b"), ("a", "c"), ("b", "c")]
        assert (ab.test.p_value, ab.adjusted_p_value) == (None, None)
        assert ac.test.difference.value is not None
        assert ac.test.difference.value > 0
        assert ac.test.p_value == pytest.approx(2 / 2**12)
        assert ac.adjusted_p_value == bc.adjusted_p_value == pytest.approx(4 / 2**12)


class TestPeopleAndJudge:
    def labelled(self, human: Floats, judge: Floats, asked: int) -> Labelled:
        queries = len(judge)
        there = np.arange(queries) < asked
        return Labelled(
            np.where(there[:, None], human, NAN), judge, there, np.full(queries, asked / queries)
        )

    def test_the_p_value_is_a_t_test_on_the_standard_error_of_the_difference(self) -> None:
        rng = np.random.default_rng(3)
        human = rng.random((30, 2)) + np.array([0.3, 0])
        judge = human + 0.1 * rng.random((30, 2))
        (pair,) = powered_pairs(self.labelled(human, judge, 12), ["a", "b"])
        a_less_b = [each[:, 0] - each[:, 1] for each in (human[:12], judge[:12], judge[12:])]
        made = prediction_powered_mean(*a_less_b)
        assert pair.test.difference == made
        assert made.value is not None
        assert made.high is not None
        error = (made.high - made.value) / stats.t.ppf(0.975, 11)
        assert pair.test.p_value == pytest.approx(2 * stats.t.sf(made.value / error, 11))
        assert pair.adjusted_p_value == pair.test.p_value

    def test_differences_that_do_not_vary_are_not_tested(self) -> None:
        human = np.tile(np.array([0.5, 0.25]), (24, 1))
        (pair,) = powered_pairs(self.labelled(human, human, 12), ["a", "b"])
        assert pair.test.p_value is None
        assert (pair.test.reason or "").startswith("people and judge differ on 0 of 12 queries")
        assert pair.test.difference.value == 0.25


class TestOptions:
    @pytest.mark.parametrize(
        "given",
        [
            {"alpha": 0.0},
            {"alpha": 1.0},
            {"weight": 0.0},
            {"weight": 10.0},
            {"cuts": (1,)},
            {"cuts": ()},
            {"samples": 0},
        ],
    )
    def test_the_limits_of_each_option_are_accepted(self, given: dict[str, float]) -> None:
        assert vars(Options(**given)).items() >= given.items()  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({"alpha": -0.001}, "alpha is -0.001; it is from 0 to 1"),
            ({"alpha": 1.001}, "alpha is 1.001; it is from 0 to 1"),
            ({"weight": -0.001}, "weight is -0.001; it is from 0 to 10"),
            ({"weight": 10.001}, "weight is 10.001; it is from 0 to 10"),
            ({"cuts": (10, 0)}, "a cut is at least 1"),
            ({"samples": -1}, "samples is -1; it is at least 0"),
            ({"eta": inf}, "eta is inf; it is a finite number"),
        ],
    )
    def test_values_beyond_the_limits_are_refused(self, given: dict[str, float], says: str) -> None:
        with pytest.raises(ValueError, match=says):
            Options(**given)  # type: ignore[arg-type]

    def test_texts_are_parsed_to_the_type_of_each_option(self) -> None:
        found = Options().changed(
            {
                "cuts": "1,5,",
                "samples": "7",
                "eta": "4.5",
                "filtered": "no",
                "keep_neutral": "yes",
                "ties": "good",
                "missing": "zero",
            }
        )
        expected = Options(
            cuts=(1, 5), samples=7, eta=4.5, filtered=False, keep_neutral=True, ties="good",
            missing="zero",
        )  # fmt: skip
        assert found == expected
        assert type(found.samples) is int


def test_tokens_are_split_at_whitespace_and_an_unknown_tokenizer_is_refused() -> None:
    counted = tokenizer("whitespace")
    assert (counted.name, counted.count(" a  b\nc ")) == ("whitespace", 3)
    with pytest.raises(ValueError, match="no tokenizer is called 'bpe'"):
        tokenizer("bpe")
