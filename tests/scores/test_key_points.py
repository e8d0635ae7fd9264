"""Long2RAG's measures match cases worked by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tandem.scores import MEASURES
from tandem.scores.base import MeasureEstimate, estimate, values_of
from tandem.scores.key_points import (
    AnswerPoints,
    Both,
    Failures,
    Points,
    Verified,
    cuts,
    key_point_f,
    key_point_precision,
    key_point_recall,
    points_from_context,
    retained_points,
    retention,
)
from tandem.scores.options import Options

AGREE = 0
DISAGREE = 2
NEUTRAL = 1

DEFAULT, AS_ZERO = Options(), Options(missing="zero")


def points(*answers: str, retrieved: str = "") -> Points:
    """Answers with a key point per letter: y, n, or ? if missing. `retrieved` has one letter per
    point too; by default all are y."""
    codes = {"y": 1, "n": 0, "?": -1}
    expressed = [codes[letter] for answer in answers for letter in answer]
    row = [n for n, answer in enumerate(answers) for _ in answer]
    checked = [codes[letter] for letter in retrieved or "y" * len(expressed)]
    codes_of, held_of, row_of = (
        np.array(values, dtype=np.int64) for values in (expressed, checked, row)
    )
    return Points(codes_of, held_of, row_of, len(answers))


class TestRecall:
    def test_it_is_the_share_of_points_entailed(self) -> None:
        assert values_of(key_point_recall(points("yynn", "ynn"), DEFAULT)) == pytest.approx(
            [1 / 2, 1 / 3]
        )

    def test_a_missing_label_is_left_out_or_counts_as_a_no(self) -> None:
        assert values_of(key_point_recall(points("y?n"), DEFAULT)) == pytest.approx([1 / 2])
        assert values_of(key_point_recall(points("y?n"), AS_ZERO)) == pytest.approx([1 / 3])

    def test_it_is_undefined_without_key_points(self) -> None:
        assert np.isnan(values_of(key_point_recall(points(""), DEFAULT)))


def of_answers(*answers: str | None) -> AnswerPoints:
    """Answers with a point of their own per letter: y, n, or ? if missing.

    None is an answer from which no points were extracted; "" is an answer without points."""
    codes = {"y": 1, "n": 0, "?": -1}
    labels = [codes[letter] for answer in answers for letter in answer or ""]
    row = [n for n, answer in enumerate(answers) for _ in answer or ""]
    silent = np.array([answer == "" for answer in answers])
    return AnswerPoints(np.array(labels, np.int64), np.array(row, np.int64), len(answers), silent)


class TestPrecision:
    def test_it_is_the_share_of_the_answers_own_points_that_its_context_supports(self) -> None:
        assert values_of(key_point_precision(of_answers("yyn", "n"), DEFAULT)) == pytest.approx(
            [2 / 3, 0]
        )

    def test_a_missing_label_is_left_out_or_counts_as_a_no(self) -> None:
        assert values_of(key_point_precision(of_answers("y?n"), DEFAULT)) == pytest.approx([1 / 2])
        assert values_of(key_point_precision(of_answers("y?n"), AS_ZERO)) == pytest.approx([1 / 3])

    def test_the_precision_of_an_answer_without_points_is_undefined_or_0_by_option(self) -> None:
        found = of_answers("", None)
        assert np.isnan(values_of(key_point_precision(found, DEFAULT))).all()
        zero = values_of(key_point_precision(found, Options(unexpressed="zero")))
        assert zero.tolist() == pytest.approx([0.0, np.nan], nan_ok=True)

    def test_without_labels_it_is_null_and_the_reason_says_what_to_label(self) -> None:
        measure = MEASURES["KPP"]
        found = estimate(measure, measure.of(of_answers(None), DEFAULT), np.arange(1))
        assert found.value is None
        assert "key-point-verification with points=answers" in (found.reason or "")


class TestPointsFromContext:
    def test_it_is_the_share_of_expressed_points_that_were_retrieved(self) -> None:
        found = values_of(points_from_context(points("yyyn", retrieved="yyny"), DEFAULT))
        assert found == pytest.approx([2 / 3])

    def test_points_of_the_retrieved_documents_make_it_1_whatever_the_answer_claims(self) -> None:
        """So this is not the paper's precision."""
        assert values_of(points_from_context(points("yn"), DEFAULT)) == pytest.approx([1.0])

    def test_an_answer_that_expresses_no_point_is_undefined_or_0_by_option(self) -> None:
        assert np.isnan(values_of(points_from_context(points("nn"), DEFAULT)))
        assert values_of(points_from_context(points("nn"), Options(unexpressed="zero"))) == [0.0]

    def test_without_a_known_context_it_is_undefined(self) -> None:
        unknown = points("yn", retrieved="??")
        assert np.isnan(values_of(points_from_context(unknown, DEFAULT)))
        assert np.isnan(values_of(points_from_context(unknown, Options(unexpressed="zero"))))

    def test_an_answer_without_any_label_is_undefined(self) -> None:
        silent = Options(unexpressed="zero")
        found = values_of(points_from_context(points("??", "?n", "nn", "?y"), silent))
        assert found.tolist() == pytest.approx([np.nan, 0.0, 0.0, 1.0], nan_ok=True)
        as_zero = Options(unexpressed="zero", missing="zero")
        assert values_of(points_from_context(points("??", "?n"), as_zero)).tolist() == [0.0, 0.0]


PARTLY = replace(of_answers("y?", "n"), unasked=np.array([False, True, False]))
"""An answer with a point that is supported and one that nobody was asked about, and another."""


def estimated(name: str, of: Any, **options: Any) -> tuple[Any, ...]:
    """The value, the share of points with labels, the bounds if any, and the reason if any."""
    chosen = Options(**options)
    found = MEASURES[name].of(of, chosen)
    made = estimate(MEASURES[name], found, np.arange(len(values_of(found))))
    assert isinstance(made, MeasureEstimate)
    return made.value, made.judged, made.bounds, made.reason


class TestUnasked:
    def test_a_point_that_nobody_was_asked_about_makes_the_figure_null(self) -> None:
        reason = (
            "33 % of the key points were never rated; choose unrated=bounds, unrated=condensed or "
            "unrated=zero"
        )
        assert estimated("KPP", PARTLY) == (None, pytest.approx(2 / 3), None, reason)
        asked = replace(points("y?", "n"), unasked=PARTLY.unasked)
        assert estimated("KPR", asked) == (None, pytest.approx(2 / 3), None, reason)
        assert estimated("Points-from-context", asked)[0] is None

    def test_the_bounds_take_it_as_no_and_as_yes(self) -> None:
        # Answers with 1/2 or 2/2, and 0.
        value, _, bounds, reason = estimated("KPP", PARTLY, unrated="bounds")
        assert (value, bounds) == (None, pytest.approx((1 / 4, 1 / 2)))
        assert "all are yes" in reason

    @pytest.mark.parametrize(("unrated", "expected"), [("condensed", 1 / 2), ("zero", 1 / 4)])
    def test_it_is_left_out_or_a_no_by_option(self, unrated: str, expected: float) -> None:
        assert estimated("KPP", PARTLY, unrated=unrated)[0] == pytest.approx(expected)

    def test_a_failed_judgement_is_not_an_unasked_point(self) -> None:
        both = replace(of_answers("y??"), unasked=np.array([False, False, True]))
        assert estimated("KPP", both, unrated="zero")[0] == pytest.approx(1 / 2)
        assert estimated("KPP", both, unrated="zero", missing="zero")[0] == pytest.approx(1 / 3)
        assert estimated("KPP", both, unrated="condensed")[0] == 1
        assert estimated("KPP", both)[1] == pytest.approx(1 / 3)

    def test_an_answer_of_which_nothing_was_asked_was_not_sampled(self) -> None:
        apart = replace(of_answers("yn", "??"), unasked=np.array([False, False, True, True]))
        for unrated in ("refuse", "bounds", "condensed", "zero"):
            assert estimated("KPP", apart, unrated=unrated)[0] == pytest.approx(1 / 2)

    def test_f_follows_recall_and_precision(self) -> None:
        both = Both(points("yn", "yy"), PARTLY)
        value, _, bounds, _ = estimated("KPF", both, unrated="bounds")
        # Recall 1/2 and 1; precision 1/2 or 1, and 0. F is 1/2 or 2/3, and 0.
        assert (value, bounds) == (None, pytest.approx((1 / 4, 1 / 3)))
        assert estimated("KPF", both, unrated="zero")[0] == pytest.approx(1 / 4)
        assert estimated("KPF", both)[0] is None


class TestF:
    def test_it_is_the_harmonic_mean_for_each_answer(self) -> None:
        # KPR 3/4, KPP 2/3: 2 * 1/2 / (17/12) = 12/17.
        found = values_of(key_point_f(Both(points("yyyn"), of_answers("yyn")), DEFAULT))
        assert found == pytest.approx([12 / 17])

    def test_it_is_0_if_recall_and_precision_are_0_or_the_answer_makes_no_point(self) -> None:
        of = Both(points("nn", "nn", "yn"), of_answers("n", "", "nn"))
        assert values_of(key_point_f(of, DEFAULT)) == pytest.approx([0.0, 0.0, 0.0])

    def test_it_is_undefined_if_recall_or_precision_is(self) -> None:
        of = Both(points("??", "yn", "yn"), of_answers("y", None, "?"))
        assert np.isnan(values_of(key_point_f(of, DEFAULT))).all()
        # By the paper's convention what failed is a no; what was never asked is still unknown.
        assert values_of(key_point_f(of, AS_ZERO)).tolist() == pytest.approx(
            [0.0, np.nan, 0.0], nan_ok=True
        )

    def test_its_mean_is_not_the_harmonic_mean_of_the_means(self) -> None:
        recalled, own = points("yyyn", "ynnn"), of_answers("ynn", "y")
        values = values_of(key_point_f(Both(recalled, own), DEFAULT))
        p, r = (
            values_of(key_point_precision(own, DEFAULT)).mean(),
            values_of(key_point_recall(recalled, DEFAULT)).mean(),
        )
        assert values.mean() == pytest.approx((6 / 13 + 2 / 5) / 2)
        assert values.mean() != pytest.approx(2 * p * r / (p + r))


class TestScore:
    def test_a_cut_has_its_rates_of_false_discoveries_and_false_positives(self) -> None:
        # Three points are kept, of which one is not key. Of two that are not key, one is kept.
        scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5, np.nan])
        verdicts = np.array([1, 0, 1, 0, 1, 1])
        (cut,) = cuts(scores, verdicts, np.arange(6), [0.7])
        assert (cut.kept, cut.share) == (3, pytest.approx(3 / 5))
        assert cut.false_discovery.value == pytest.approx(1 / 3)
        assert cut.false_positive.value == pytest.approx(1 / 2)

    def test_a_point_without_a_verdict_is_kept_but_not_counted_as_a_discovery(self) -> None:
        (cut,) = cuts(np.array([0.9, 0.8]), np.array([-1, 0]), np.arange(2), [0.7])
        assert (cut.kept, cut.false_discovery.n, cut.false_discovery.value) == (2, 1, 1.0)

    def test_the_rate_of_a_cut_that_keeps_nothing_is_null_with_a_reason(self) -> None:
        (cut,) = cuts(np.array([0.1]), np.array([1]), np.arange(1), [0.7])
        assert cut.false_discovery.value is None
        assert cut.false_discovery.reason == "no point that is kept has a verdict"

    def test_with_enough_queries_each_rate_has_an_interval(self) -> None:
        scores, verdicts = np.tile([0.9, 0.8, 0.4], 40), np.tile([1, 0, 0, 1, 1, 1], 20)
        (cut,) = cuts(scores, verdicts, np.arange(120) // 3, [0.7], draws=200)
        assert cut.false_discovery.low is not None
        assert cut.false_discovery.low < 1 / 4 < (cut.false_discovery.high or 0)


class TestRetention:
    OF = Verified(
        np.array([1, 1, 1, 0, 1, -1]),
        np.array([AGREE, NEUTRAL, DISAGREE, -1, -1, -1]),
        np.zeros(6, np.int64),
        1,
    )

    def test_only_points_that_are_grounded_and_key_are_kept(self) -> None:
        assert retained_points(self.OF, DEFAULT).tolist() == [1, 0, 0, 0, -1, -1]
        assert retention(self.OF, DEFAULT) == pytest.approx([1 / 4])

    def test_in_the_micro_mean_queries_with_many_points_weigh_more(self) -> None:
        # One of one point is kept; then one of three, and a fourth has no label.
        of = Verified(
            np.array([1, 1, 0, 0, -1]),
            np.array([AGREE, AGREE, -1, -1, -1]),
            np.array([0, 1, 1, 1, 1]),
            2,
        )
        micro = MEASURES["Retention-micro"]

        def rate(options: Options) -> float | None:
            return estimate(micro, micro.of(of, options), np.arange(2)).value

        assert retention(of, DEFAULT) == pytest.approx([1, 1 / 3])
        assert rate(DEFAULT) == pytest.approx(2 / 4)
        assert rate(AS_ZERO) == pytest.approx(2 / 5)

    def test_neutral_points_are_kept_if_the_option_says_so(self) -> None:
        found = retention(self.OF, Options(keep_neutral=True))
        assert found == pytest.approx([2 / 4])


class TestFailures:
    def test_each_kind_has_its_share_of_the_failures_with_a_kind(self) -> None:
        of = Failures(np.array([0, 2, 2, 1, -1, 2]), np.array([0, 0, 1, 1, 1, 1]), 2)
        measures = [MEASURES[f"Failure:{kind}"] for kind in ("incomplete", "general", "missing")]
        found = [estimate(m, m.of(of, DEFAULT), np.arange(2)).value for m in measures]
        assert found == pytest.approx([1 / 5, 1 / 5, 3 / 5])

    def test_without_failures_the_share_is_null_with_a_reason(self) -> None:
        measure = MEASURES["Failure:general"]
        of = Failures(np.array([-1]), np.array([0]), 1)
        found = estimate(measure, measure.of(of, DEFAULT), np.arange(1))
        assert (found.value, found.reason) == (None, "no failure has a kind")
