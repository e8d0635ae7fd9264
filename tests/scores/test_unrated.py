"""Cells without a rating: never asked, failed and no are three different things."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.messages import percent
from tandem.scores import MEASURES
from tandem.scores.base import MeasureEstimate, estimate, rows_of
from tandem.scores.contexts import Contexts, Ratings, answerable, answers
from tandem.scores.options import Options
from tandem.statistics import Estimate
from tests.scores.cast import P1, P2, P3, PASSAGES, context_of, example_ratings

LOG3 = np.log2(3)
ONE = example_ratings(unrated=[(P3, 4)])
"""Nobody was asked whether p3 answers q4; p2 answers it."""
HIDING = example_ratings(unrated=[(P2, 8)])
"""Nobody was asked whether p2 answers q8; neither p1 nor p3 answers it."""


def found(name: str, *passages: int, of: Ratings = ONE, **options: object) -> Estimate:
    """Compute a measure of a context of the example, with default options unless given."""
    chosen = Options(**options)  # type: ignore[arg-type]
    contexts = context_of(*passages, options=chosen, ratings=of)
    return measured(name, contexts, chosen)


def measured(name: str, contexts: Contexts, options: Options) -> Estimate:
    measure = MEASURES[name]
    return estimate(measure, measure.of(contexts, options), np.arange(1))


def judged(made: Estimate) -> float | None:
    assert isinstance(made, MeasureEstimate)
    return made.judged


def bounds(made: Estimate) -> tuple[float | None, float | None]:
    assert isinstance(made, MeasureEstimate)
    assert made.bounds
    return made.bounds


class TestRefuse:
    @pytest.mark.parametrize("name", ["Cov", "alpha_nDCG", "Den"])
    def test_a_cell_that_nobody_was_asked_about_makes_the_figure_null(self, name: str) -> None:
        # One cell of sixteen: two passages by eight questions that count.
        made = found(name, P3, P1)
        assert (made.value, judged(made)) == (None, 15 / 16)
        assert made.reason == (
            "6 % of the cells within the cut were never rated; choose unrated=bounds, "
            "unrated=condensed or unrated=zero"
        )

    def test_coverage_depends_on_the_cells_of_its_own_context(self) -> None:
        made = found("Cov", P1)
        assert (made.value, judged(made)) == (5 / 8, 1)

    @pytest.mark.parametrize("name", ["alpha_nDCG", "Den"])
    def test_the_best_order_and_density_depend_on_cells_outside_the_context(
        self, name: str
    ) -> None:
        # One cell of 24: three passages by eight questions. Den's oracle context has all three.
        made = found(name, P1)
        assert (made.value, judged(made)) == (None, 1)
        assert (made.reason or "").startswith("4 % of the cells by which the best order is found")

    def test_which_questions_count_depends_on_the_oracles_cells(self) -> None:
        made = found("Cov", P3, P1, of=HIDING)
        assert made.value is None
        assert "or the questions that count" in (made.reason or "")
        assert found("Cov", P3, P1, of=HIDING, filtered=False).value == pytest.approx(6 / 10)

    def test_cells_of_a_question_that_does_not_count_need_no_rating(self) -> None:
        # The oracle is p1 and p2, neither of which answers q8.
        chosen = Options()
        ratings = example_ratings(unrated=[(P3, 8)])
        whole = context_of(P3, P1, ratings=ratings)
        contexts = replace(whole, oracle=np.array([[P1, P2]])).with_answers(
            answers(ratings, chosen), chosen
        )
        assert measured("Cov", contexts, chosen).value == pytest.approx(6 / 8)
        assert measured("alpha_nDCG", contexts, chosen).value is not None

    def test_one_query_with_an_unrated_cell_makes_the_mean_over_queries_null(self) -> None:
        parts = ("values", "passages", "questions")
        both = [np.concatenate([getattr(of, n) for of in (ONE, example_ratings())]) for n in parts]
        chosen = Options()
        answered = answers(Ratings(*both), chosen)
        contexts = Contexts(
            answered,
            np.array([[P3, P1]] * 2),
            np.array([[P1, P2, P3]] * 2),
            answerable(answered, np.ones((2, PASSAGES), bool), chosen),
            np.ones((2, PASSAGES)),
            np.array([2, 2]),
            np.ones(2, bool),
        )
        made = MEASURES["Cov"].of(contexts, chosen)
        whole = estimate(MEASURES["Cov"], made, np.arange(2))
        assert whole.value is None
        assert (whole.reason or "").startswith("3 % of the cells within the cut")
        alone = rows_of(made, np.array([False, True]))
        assert estimate(MEASURES["Cov"], alone, np.arange(1)).value == 6 / 8

    def test_a_percentage_is_not_rounded_to_0_or_100(self) -> None:
        assert [percent(x) for x in (0.0, 0.001, 0.37, 0.999, 1.0)] == [
            "0 %",
            "less than 1 %",
            "37 %",
            "more than 99 %",
            "100 %",
        ]


class TestBounds:
    def test_the_bounds_take_all_unrated_cells_as_no_and_as_yes(self) -> None:
        made = found("Cov", P3, P1, unrated="bounds")
        assert made.value is None
        assert bounds(made) == pytest.approx((5 / 8, 6 / 8))
        # p3 answers q0 and perhaps q4; p1 answers four new questions and q0 again.
        ideal = 5 + 4 / LOG3
        ranked = found("alpha_nDCG", P3, P1, unrated="bounds")
        assert bounds(ranked) == pytest.approx(((1 + 4.5 / LOG3) / ideal, (2 + 4.5 / LOG3) / ideal))
        assert "all are yes" in (ranked.reason or "")

    def test_another_question_that_may_count_lowers_the_upper_bound(self) -> None:
        # If p2 answers q8 there are nine questions, of which p3 and p1 cover six.
        made = found("Cov", P3, P1, of=HIDING, unrated="bounds")
        assert bounds(made) == pytest.approx((6 / 8, 6 / 9))

    def test_with_all_cells_rated_both_bounds_are_the_figure(self) -> None:
        made = found("Cov", P1, unrated="bounds")
        assert (made.value, bounds(made)) == (5 / 8, (5 / 8, 5 / 8))


class TestCondensed:
    def test_an_unrated_passage_is_dropped_from_ranking_oracle_and_best_order(self) -> None:
        def condensed(name: str) -> float | None:
            return found(name, P3, P1, unrated="condensed").value

        assert condensed("Cov") == pytest.approx(5 / 8)
        assert condensed("alpha_nDCG") == pytest.approx(1)
        # 5/8 in ten words; p1 and p2 cover all eight in twenty.
        assert condensed("Den") == pytest.approx(1.25**0.5)

    def test_the_next_passages_move_up_before_the_cut(self) -> None:
        chosen = Options(unrated="condensed")
        contexts = context_of(P3, P1, P2, options=chosen, ratings=ONE).cut(2)
        assert measured("Cov", contexts, chosen).value == pytest.approx(1)
        # The share of rated cells is over the two passages that were within the cut before.
        assert judged(measured("Cov", contexts, chosen)) == 15 / 16

    def test_a_context_of_unrated_passages_only_is_undefined(self) -> None:
        made = found("Cov", P3, unrated="condensed")
        assert made.value is None
        assert found("Cov", unrated="condensed").value == 0


class TestZero:
    def test_unrated_cells_count_as_no(self) -> None:
        made = found("Cov", P3, P1, unrated="zero")
        assert (made.value, judged(made)) == (5 / 8, 15 / 16)

    def test_the_share_of_rated_cells_is_the_same_under_every_option(self) -> None:
        shares = {
            judged(found("Cov", P3, P1, of=HIDING, unrated=each))
            for each in ("refuse", "bounds", "condensed", "zero")
        }
        assert len(shares) == 1

    def test_a_failed_judgement_is_not_an_unrated_cell(self) -> None:
        failed = example_ratings(failed=[(P3, 4)])
        for unrated in ("refuse", "zero"):
            made = found("Cov", P3, P1, of=failed, unrated=unrated)
            assert (made.value, judged(made)) == (5 / 7, 15 / 16)
        assert found("Cov", P3, P1, missing="zero").value is None


class TestScope:
    def outside(self, *, marked: bool) -> Ratings:
        """p3 without ratings: the batch marks it irrelevant, or it is not one of the query's."""
        rated = example_ratings()
        rated.values[0, P3] = np.nan
        where = np.arange(PASSAGES)[None] == P3
        return replace(rated, **{"outside" if marked else "unlisted": where})

    def test_a_passage_marked_irrelevant_counts_as_no_and_keeps_its_rank(self) -> None:
        made = found("alpha_nDCG", P3, P1, of=self.outside(marked=True))
        assert made.value == pytest.approx((5 / LOG3) / (5 + 4 / LOG3))
        assert judged(made) == 1

    def test_a_passage_of_another_query_counts_as_no_only_with_scope_listed(self) -> None:
        assert found("Cov", P3, P1, of=self.outside(marked=False)).value is None
        made = found("Cov", P3, P1, of=self.outside(marked=False), scope="listed")
        assert (made.value, judged(made)) == (5 / 8, 1)

    def test_a_rating_overrides_the_mark_and_a_failed_judgement_does_not(self) -> None:
        marked = np.arange(PASSAGES)[None] == P3
        rated = replace(example_ratings(), outside=marked)
        assert found("Cov", P3, P1, of=rated).value == pytest.approx(6 / 8)
        failed = replace(example_ratings(failed=[(P3, 4)]), outside=marked)
        assert found("Cov", P3, P1, of=failed).value == pytest.approx(5 / 8)


def test_a_query_that_nobody_was_asked_about_is_left_out() -> None:
    blank = example_ratings()
    blank.values[:] = np.nan
    for unrated in ("refuse", "bounds", "condensed", "zero"):
        made = found("Cov", P3, P1, of=blank, unrated=unrated, filtered=False)
        assert (made.value, made.reason) == (None, MEASURES["Cov"].undefined)


def test_a_question_with_a_failed_judgement_is_left_out_of_ranking_and_best_order() -> None:
    # Without q4, p3 answers q0, and p1 four new questions and q0 again. Best: p1 with five, then p2
    # with q5, q6, and q2, q3 again.
    failed = example_ratings(failed=[(P1, 4)])
    made = found("alpha_nDCG", P3, P1, of=failed)
    assert made.value == pytest.approx((1 + 4.5 / LOG3) / (5 + 3 / LOG3))
    zero = found("alpha_nDCG", P3, P1, of=failed, missing="zero")
    assert zero.value == pytest.approx((2 + 4.5 / LOG3) / (5 + 4 / LOG3))
