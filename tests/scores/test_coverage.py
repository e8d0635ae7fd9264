"""CRUX's measures of contexts, on the worked example; see the table in the cast."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from analysis.evaluation.methods import describe_ties
from tandem.scores import MEASURES
from tandem.scores.base import MeasureEstimate, estimate
from tandem.scores.contexts import (
    Contexts,
    Ratings,
    answerable,
    answers,
    as_context,
    at_ranks,
    members,
    required_grades,
    required_subset,
    sampled_contexts,
)
from tandem.scores.coverage import (
    ALPHA_NDCG,
    NOTHING,
    RatedReports,
    alpha_ndcg,
    cov,
    den,
    ideal_gains,
    ranked_coverage,
    threshold_table,
    tokens,
)
from tandem.scores.options import Options
from tests.scores.cast import P1, P2, P3, PASSAGES, QUESTIONS, context_of, example_ratings

DEFAULT, AS_ZERO = Options(), Options(missing="zero")
ORACLE = np.ones((1, PASSAGES), bool)


class TestAnswerability:
    def test_a_rating_of_at_least_eta_answers_the_question(self) -> None:
        found = answers(example_ratings(), DEFAULT)
        assert found.yes[0, P1].nonzero()[0].tolist() == [0, 1, 2, 3, 7]

    def test_with_a_higher_eta_fewer_questions_are_answered(self) -> None:
        found = answers(example_ratings(), Options(eta=5))
        assert found.yes[0, P2].nonzero()[0].tolist() == [2, 6]

    def test_questions_that_no_oracle_passage_answers_are_dropped(self) -> None:
        kept = answerable(answers(example_ratings(), DEFAULT), ORACLE, DEFAULT)
        assert kept[0].tolist() == [True] * 8 + [False] * 2

    def test_the_filter_can_be_switched_off(self) -> None:
        off = Options(filtered=False)
        assert answerable(answers(example_ratings(), off), ORACLE, off).all()

    def test_only_oracle_passages_make_a_question_answerable(self) -> None:
        only_p3 = np.array([[False, False, True]])
        kept = answerable(answers(example_ratings(), DEFAULT), only_p3, DEFAULT)
        assert kept[0].nonzero()[0].tolist() == [0, 4]

    def test_padding_does_not_count_as_a_question(self) -> None:
        rated = example_ratings()
        seven = np.arange(QUESTIONS)[None] < 7
        found = answers(Ratings(rated.values, rated.passages, seven), DEFAULT)
        assert not found.yes[..., 7].any()


class TestCoverage:
    def test_it_is_the_share_of_answerable_questions(self) -> None:
        assert cov(context_of(P3)) == pytest.approx([2 / 8])
        assert cov(context_of(P3, P1)) == pytest.approx([6 / 8])

    def test_the_oracle_covers_everything(self) -> None:
        assert cov(context_of(P3, P1).as_oracle()) == pytest.approx([1.0])

    def test_an_empty_context_covers_nothing(self) -> None:
        assert cov(context_of()) == pytest.approx([0.0])

    def test_it_is_undefined_without_an_answerable_question(self) -> None:
        nothing = Ratings(np.zeros((1, 3, 10)), np.ones((1, 3), bool), np.ones((1, 10), bool))
        assert np.isnan(cov(context_of(P1, ratings=nothing)))

    def test_it_is_undefined_for_a_query_without_an_answer_of_the_system(self) -> None:
        assert np.isnan(cov(replace(context_of(P1), present=np.zeros(1, bool))))

    def test_a_question_with_a_missing_rating_is_left_out(self) -> None:
        # p3 has no rating for q4, so seven questions count: p3 and p1 cover q0 q1 q2 q3 q7.
        rated = example_ratings(failed=[(P3, 4)])
        assert cov(context_of(P3, P1, ratings=rated)) == pytest.approx([5 / 7])

    def test_such_a_question_is_left_out_even_if_another_passage_answers_it(self) -> None:
        rated = example_ratings(failed=[(P3, 0)])
        assert cov(context_of(P3, P1, ratings=rated)) == pytest.approx([5 / 7])

    def test_a_missing_rating_can_count_as_zero_as_in_the_paper(self) -> None:
        rated = example_ratings(failed=[(P3, 4)])
        found = cov(context_of(P3, P1, ratings=rated, options=AS_ZERO))
        assert found == pytest.approx([5 / 8])

    def test_a_context_can_be_cut_at_a_rank_or_at_the_size_of_the_oracle(self) -> None:
        whole = context_of(P3, P1, P2)
        assert cov(whole.cut(1)) == pytest.approx([2 / 8])
        assert cov(whole.cut(None)) == pytest.approx([1.0])


class TestAlphaNdcg:
    def test_it_matches_the_sum_by_hand(self) -> None:
        # p3 answers q0 q4: 2. p1 answers q1 q2 q3 q7 and q0 again: 4.5.
        # Best: p1 or p2 with 5, then the other with three new ones and q2 q3 again: 4.
        gain, ideal = 2 + 4.5 / np.log2(3), 5 + 4 / np.log2(3)
        assert alpha_ndcg(context_of(P3, P1), DEFAULT) == pytest.approx([gain / ideal])

    def test_with_alpha_0_every_answer_counts_again(self) -> None:
        gain, ideal = 2 + 5 / np.log2(3), 5 + 5 / np.log2(3)
        found = alpha_ndcg(context_of(P3, P1), Options(alpha=0.0))
        assert found == pytest.approx([gain / ideal])

    def test_with_alpha_1_only_new_answers_count(self) -> None:
        gain, ideal = 2 + 4 / np.log2(3), 5 + 3 / np.log2(3)
        found = alpha_ndcg(context_of(P3, P1), Options(alpha=1.0))
        assert found == pytest.approx([gain / ideal])

    def test_the_best_order_scores_1(self) -> None:
        assert alpha_ndcg(context_of(P2, P1, P3), DEFAULT) == pytest.approx([1.0])
        assert alpha_ndcg(context_of(P1, P2, P3), DEFAULT) == pytest.approx([1.0])

    def test_the_best_order_puts_the_last_identifier_first_among_equal_passages(self) -> None:
        # a answers q0 q1, b q1 q2, c q2 q3, and alpha is 1: c leads with 2, and a adds 2 more. If b
        # led, a and c would add 1 each.
        values = np.zeros((1, 3, 4))
        for passage, questions in enumerate(([0, 1], [1, 2], [2, 3])):
            values[0, passage, questions] = 5
        yes = answers(Ratings(values, np.ones((1, 3), bool), np.ones((1, 4), bool)), DEFAULT).yes
        assert ideal_gains(yes, 1.0, 3).tolist() == [[2.0, 2.0, 0.0]]
        assert ideal_gains(yes[:, [2, 0, 1]], 1.0, 3).tolist() == [[2.0, 1.0, 1.0]]

    def test_the_figure_says_how_much_the_order_of_tied_passages_changes_it(self) -> None:
        # The pool of the test above. The ranking a b gains 2 + 1 / log2(3). The best order gains
        # 2 + 2 / log2(3) if a or c leads, and only 2 + 1 / log2(3) if b leads.
        values = np.zeros((1, 3, 4))
        for passage, questions in enumerate(([1, 2], [0, 1], [2, 3])):
            values[0, passage, questions] = 5
        rated = Ratings(values, np.ones((1, 3), bool), np.ones((1, 4), bool))
        chosen = Options(alpha=1.0)
        context = replace(
            context_of(1, 0, options=chosen),
            answers=answers(rated, chosen),
            counted=np.ones((1, 4), bool),
        )
        made = estimate(ALPHA_NDCG, ranked_coverage(context, chosen), np.arange(1))
        assert isinstance(made, MeasureEstimate)
        gain, ideal = 2 + 1 / np.log2(3), 2 + 2 / np.log2(3)
        assert made.value == pytest.approx(gain / ideal)
        assert made.as_json()["ties"] == pytest.approx([gain / ideal, 1.0])
        systems = {"bm25": {"people": made.as_json(), "texts": None, "raters": {}}}
        said = describe_ties({"measures": {"alpha_nDCG": {"systems": systems}}})
        assert said.endswith("the value of a system differs by at most alpha_nDCG 0.19.")

    def test_without_ties_that_matter_there_is_nothing_to_say(self) -> None:
        made = estimate(ALPHA_NDCG, ranked_coverage(context_of(P3, P1), DEFAULT), np.arange(1))
        assert "ties" not in made.as_json()

    def test_the_greedy_order_stays_close_to_the_exact_best_order(self) -> None:
        rng = np.random.default_rng(0)
        pools = rng.random((60, 5, 5)) < 0.4
        orders = [list(order) for order in permutations(range(5))]
        discount = 1 / np.log2(np.arange(2, 7))
        shares = []
        for pool in pools:
            if not pool.any():
                continue
            ordered = pool[orders]
            above = np.cumsum(ordered, axis=1) - ordered
            exact = ((ordered * 0.5**above).sum(axis=2) @ discount).max()
            for order in (orders[0], orders[-1], orders[40]):
                greedy = float(ideal_gains(pool[None, order], 0.5, 5)[0] @ discount)
                assert greedy <= exact + 1e-12
                shares.append(greedy / exact)
        # The guarantee of greedy choice is 1 - 1/e; by far the most orders are exact.
        assert min(shares) > 0.95
        assert np.mean(np.array(shares) > 1 - 1e-9) > 0.8

    def test_an_empty_context_gains_nothing(self) -> None:
        assert alpha_ndcg(context_of(), DEFAULT) == pytest.approx([0.0])
        assert alpha_ndcg(context_of().cut(10), DEFAULT) == pytest.approx([0.0])

    def test_the_ideal_is_taken_up_to_a_cut_beyond_the_end_of_the_context(self) -> None:
        ideal = 5 + 4 / np.log2(3) + 1 / np.log2(4)
        assert alpha_ndcg(context_of(P3).cut(10), DEFAULT) == pytest.approx([2 / ideal])

    def test_it_is_undefined_if_no_passage_answers_a_question(self) -> None:
        nothing = Ratings(np.zeros((1, 3, 10)), np.ones((1, 3), bool), np.ones((1, 10), bool))
        assert np.isnan(alpha_ndcg(context_of(P1, ratings=nothing), DEFAULT))


class TestDensity:
    def test_it_matches_the_quotient_by_hand(self) -> None:
        # Cov 6/8 in 15 words, the oracle 1 in 25: (0.05 / 0.04) ** 0.5.
        assert den(context_of(P3, P1), DEFAULT) == pytest.approx([1.25**0.5])

    def test_the_length_that_density_divides_by_is_a_measure_too(self) -> None:
        assert tokens(context_of(P3, P1), DEFAULT) == pytest.approx([15])

    def test_it_is_undefined_if_a_passage_has_no_known_length(self) -> None:
        of = replace(context_of(P3, P1), tokens=np.array([[10, np.nan, 5]]))
        # Only the oracle context has p2, whose text is missing.
        assert tokens(of, DEFAULT) == pytest.approx([15])
        assert np.isnan(den(of, DEFAULT))
        assert np.isnan(tokens(of.as_oracle(), DEFAULT))

    def test_the_exponent_is_an_option(self) -> None:
        assert den(context_of(P3, P1), Options(weight=1.0)) == pytest.approx([1.25])

    def test_a_context_that_covers_nothing_has_density_0(self) -> None:
        assert den(context_of(), DEFAULT) == pytest.approx([0.0])

    def test_it_is_undefined_if_the_oracle_covers_nothing(self) -> None:
        # Without the filter there are questions, and the oracle answers none.
        nothing = Ratings(np.zeros((1, 3, 10)), np.ones((1, 3), bool), np.ones((1, 10), bool))
        off = Options(filtered=False)
        assert np.isnan(den(context_of(P1, ratings=nothing, options=off), off))


class TestRequiredSubset:
    def test_it_keeps_passages_that_answer_a_new_question(self) -> None:
        found = required_subset(answers(example_ratings(), DEFAULT), ORACLE)
        assert found[0].tolist() == [True, True, False]

    def test_at_another_eta_another_subset_is_required(self) -> None:
        found = required_subset(answers(example_ratings(), Options(eta=5)), ORACLE)
        assert found[0].all()

    def test_it_covers_what_the_oracle_covers(self) -> None:
        kept = required_subset(answers(example_ratings(), DEFAULT), ORACLE)
        required = replace(context_of(), ranked=as_context(kept))
        assert required.ranked.tolist() == [[P1, P2]]
        assert cov(required) == pytest.approx([1.0])

    def test_grades_distinguish_chosen_better_rated_and_redundant_passages(self) -> None:
        # p3 has a 5 for q4, and the chosen passages at most a 3: grade 2. With a 3 for q4 it
        # exceeds the chosen passages nowhere: grade 1.
        rated = example_ratings()
        found = answers(rated, DEFAULT)
        assert required_grades(rated, found, ORACLE).tolist() == [[3, 3, 2]]
        rated.values[0, P3, 4] = 3
        assert required_grades(rated, found, ORACLE).tolist() == [[3, 3, 1]]

    def test_a_passage_outside_the_oracle_has_no_grade(self) -> None:
        oracle = np.array([[True, False, True]])
        rated = example_ratings()
        assert required_grades(rated, answers(rated, DEFAULT), oracle).tolist() == [[3, 0, 3]]

    def test_passages_are_chosen_by_how_many_questions_they_answer_in_all(self) -> None:
        # a answers q0 q1 q2, b q0 q1 q3, c q3 q4. By all answers b comes before c, and both are
        # kept; by new answers c would come before b, which would then add nothing.
        values = np.zeros((1, 3, 5))
        for passage, questions in enumerate(([0, 1, 2], [0, 1, 3], [3, 4])):
            values[0, passage, questions] = 4
        rated = Ratings(values, np.ones((1, 3), bool), np.ones((1, 5), bool))
        found = answers(rated, DEFAULT)
        assert required_subset(found, ORACLE)[0].tolist() == [True, True, True]
        assert required_grades(rated, found, ORACLE).tolist() == [[3, 1, 3]]


class TestSampledContexts:
    def test_sampled_contexts_hold_distinct_passages_of_their_own_query(self) -> None:
        there = np.array([[True, True, False, True], [True, False, False, False]])
        made = sampled_contexts(there, np.array([2, 2]), 20, seed=0)
        for ranked in made:
            assert members(ranked, 4).sum(axis=1).tolist() == [2, 1]
            assert not (members(ranked, 4) & ~there).any()

    def test_equal_seeds_give_equal_contexts_and_other_seeds_others(self) -> None:
        there, sizes = np.ones((1, 50), bool), np.array([5])
        one, same, other = (sampled_contexts(there, sizes, 1, seed)[0] for seed in (1, 1, 2))
        assert one.tolist() == same.tolist()
        assert one.tolist() != other.tolist()


def rated(*ratings: float, asked: int = QUESTIONS) -> RatedReports:
    """A report's ratings; the first `asked` of them were asked for."""
    return RatedReports(np.array([ratings], float), np.arange(QUESTIONS)[None] < asked)


def many(of: Contexts, times: int) -> Contexts:
    """The same context, repeated for `times` identical queries."""
    found = replace(
        of.answers,
        **{
            name: np.repeat(getattr(of.answers, name), times, axis=0)
            for name in (
                "yes",
                "settled",
                "passages",
                "questions",
                "open",
                "rated",
                "scope",
                "never",
                "sampled",
            )
        },
        bests={},
    )
    arrays = ("ranked", "oracle", "counted", "tokens", "depth", "present")
    rest = {name: np.repeat(getattr(of, name), times, axis=0) for name in arrays}
    return Contexts(found, **rest)


class TestThresholdTable:
    def test_each_threshold_has_its_own_questions_and_means(self) -> None:
        # The report's ratings: at 3 it answers q0 to q4 of eight, at 5 q0 and q4 of five.
        report = rated(5, 3, 4, 3, 5, 0, 0, 0, 5, np.nan)
        rows = threshold_table(example_ratings(), [context_of(P3, P1)], [report], (3, 5), AS_ZERO)
        assert [(row.eta, row.questions) for row in rows] == [(3, 8), (5, 5)]
        assert [row.context.value for row in rows] == pytest.approx([6 / 8, 3 / 5])
        assert [row.report.value for row in rows] == pytest.approx([5 / 8, 2 / 5])
        assert {row.tau.reason for row in rows} == {"fewer than two units have both scores"}

    def test_tau_compares_the_coverage_of_contexts_and_of_reports(self) -> None:
        contexts = [context_of(P3), context_of(P3, P1), context_of(P1, P2)]
        reports = [rated(*[3.0] * n, *[0.0] * (10 - n)) for n in (1, 4, 2)]
        (row,) = threshold_table(example_ratings(), contexts, reports, (3,), DEFAULT)
        # Cov(Z) 2/8 < 6/8 < 1 and Cov(y) 1/8, 4/8, 2/8: two pairs agree, one does not.
        assert row.tau.value == pytest.approx(1 / 3)

    def test_a_report_that_nobody_was_asked_about_is_left_out_of_the_mean(self) -> None:
        contexts = [context_of(P3), context_of(P3, P1)]
        nothing = [np.nan] * QUESTIONS
        reports = [rated(*nothing, asked=0), rated(*[3.0] * 4, *nothing[4:], asked=QUESTIONS)]
        (row,) = threshold_table(example_ratings(), contexts, reports, (3,), AS_ZERO)
        # By the paper's convention the second report's failed ratings are zeros: four of eight.
        assert row.report.value == pytest.approx(4 / 8)
        (row,) = threshold_table(example_ratings(), contexts, reports, (3,), DEFAULT)
        assert row.report.value == pytest.approx(4 / 4)

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("unrated", "questions", "covered"),
        [("condensed", 6, 6 / 6), ("zero", 7, 6 / 7), ("refuse", None, None)],
    )
    def test_an_unrated_cell_counts_as_the_option_says(
        self, unrated: str, questions: int | None, covered: float | None
    ) -> None:
        # Nobody was asked whether p2 answers q5. Without p2 nothing answers q5 or q6; if the cell
        # counts as 0, only q5 is dropped.
        ratings, options = example_ratings(unrated=[(P2, 5)]), Options(unrated=unrated)
        context = context_of(P3, P1, ratings=ratings, options=options)
        report = rated(*[3.0] * 5, *[0.0] * 5)
        (row,) = threshold_table(ratings, [context], [report], (3,), options)
        assert row.questions == questions
        assert row.context.value == (covered and pytest.approx(covered))
        assert (row.report.value is None) == (questions is None)

    def test_from_ten_queries_on_the_table_has_intervals(self) -> None:
        # The example twelve times; in every second query the reports rank the other way round.
        one, times = example_ratings(), 12
        ratings = Ratings(*(np.repeat(each, times, axis=0) for each in vars(one).values()))
        contexts = [many(context_of(*ranked), times) for ranked in ((P3, P1), (P1, P2))]
        low, high = (np.array([[3.0] * n + [0.0] * (10 - n)] * times) for n in (2, 6))
        high[::2], low[::2] = low[::2].copy(), high[::2].copy()
        reports = [RatedReports(each, np.ones(each.shape, bool)) for each in (low, high)]
        (row,) = threshold_table(ratings, contexts, reports, (3,), DEFAULT, draws=200)
        assert (row.context.value, row.report.value) == pytest.approx((7 / 8, 4 / 8))
        for each in (row.context, row.report, row.tau):
            assert each.low is not None
            assert each.high is not None
        assert (row.tau.low or 0) < (row.tau.value or 0) < (row.tau.high or 0)


def test_a_missing_rating_counted_as_zero_does_not_answer_at_eta_1() -> None:
    ratings = Ratings(
        np.array([[[np.nan, 1.0, 0.5]]]),
        np.ones((1, 1), bool),
        np.ones((1, 3), bool),
        np.array([[[True, False, False]]]),
    )
    as_zero = answers(ratings, Options(missing="zero", eta=1))
    assert as_zero.yes.tolist() == [[[False, True, False]]]
    assert as_zero.settled.tolist() == [[[True, True, True]]]
    assert not as_zero.gaps
    none_needed = answers(ratings, Options(missing="zero", eta=0))
    assert none_needed.yes.all()
    left_out = answers(ratings, Options(eta=1))
    assert left_out.settled.tolist() == [[[False, True, True]]]
    assert left_out.gaps


def test_without_any_passage_no_question_is_answered_at_any_rank() -> None:
    found = at_ranks(np.zeros((2, 0, 4), bool), np.full((2, 3), -1))
    assert found.shape == (2, 3, 4)
    assert not found.any()


def test_if_no_passage_is_chosen_any_rating_above_zero_exceeds_the_chosen() -> None:
    # Both passages are below eta: none is chosen, and the highest rating among none is 0.
    ratings = Ratings(np.array([[[0.5], [0.0]]]), np.ones((1, 2), bool), np.ones((1, 1), bool))
    found = answers(ratings, Options(eta=3))
    grades = required_grades(ratings, found, np.ones((1, 2), bool))
    assert grades.tolist() == [[2, 1]]


def test_a_missing_rating_exceeds_no_other_rating() -> None:
    values = np.array([[[4.0, 0.0], [np.nan, 0.0], [4.0, 0.5]]])
    ratings = Ratings(values, np.ones((1, 3), bool), np.ones((1, 2), bool))
    found = answers(ratings, Options(eta=3))
    grades = required_grades(ratings, found, np.array([[True, True, True]]))
    assert grades.tolist() == [[3, 1, 2]]
    fewer = required_grades(ratings, found, np.array([[True, True, False]]))
    assert fewer.tolist() == [[3, 1, 0]]


def test_without_any_passage_there_is_no_grade() -> None:
    ratings = Ratings(np.zeros((2, 0, 3)), np.ones((2, 0), bool), np.ones((2, 3), bool))
    found = answers(ratings, DEFAULT)
    assert required_grades(ratings, found, np.ones((2, 0), bool)).shape == (2, 0)


def test_a_threshold_without_any_context_or_report_gives_a_reason() -> None:
    (row,) = threshold_table(example_ratings(), [], [], (3,), DEFAULT)
    for made, name in ((row.context, "Cov(Z)"), (row.report, "Cov(y)")):
        assert (made.value, made.n, made.reason) == (None, 0, NOTHING)
        assert made.method == f"mean of {name}"


def test_adjusted_factuality_is_described_as_a_share_of_eligible_responses() -> None:
    said = {name: MEASURES[name].summary for name in ("Factuality", "RAF", "uFactuality", "uRAF")}
    eligible = {name for name, words in said.items() if words.startswith("Share of eligible")}
    assert eligible == {"Factuality", "RAF"}
