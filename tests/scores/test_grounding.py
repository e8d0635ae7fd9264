"""GaRAGe's measures match cases worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.scores import MEASURES
from tandem.scores.base import Measure, estimate, grounding_quality
from tandem.scores.grounding import (
    Citations,
    Deflections,
    Responses,
    eligibility,
    f1_of_means,
    factuality,
    macro,
    unadjusted_factuality,
)
from tandem.scores.options import Options

DEFAULT, AS_ZERO = Options(), Options(missing="zero")


def responses(eligible: list[int], *sentences: str, asked: list[bool] | None = None) -> Responses:
    """Responses with one letter per sentence: y supported, n not supported, ? missing."""
    codes = {"y": 1, "n": 0, "?": -1}
    borne = [codes[letter] for each in sentences for letter in each]
    row = [n for n, each in enumerate(sentences) for _ in each]
    every = [True] * len(eligible) if asked is None else asked
    codes_of = (np.array(x, dtype=np.int64) for x in (borne, row))
    return Responses(np.array(eligible, np.int64), np.array(every, bool), *codes_of)


class TestFactuality:
    def test_every_sentence_must_be_supported(self) -> None:
        of = responses([1, 1, 1], "yyy", "yny", "n")
        assert unadjusted_factuality(of, DEFAULT) == pytest.approx([1, 0, 0])

    def test_adjusted_factuality_also_needs_eligibility(self) -> None:
        of = responses([1, 0, 1], "y", "y", "n")
        assert factuality(of, DEFAULT) == pytest.approx([1, 0, 0])

    def test_a_response_without_sentences_has_no_factuality(self) -> None:
        assert np.isnan(unadjusted_factuality(responses([1], ""), DEFAULT))

    def test_a_sentence_without_a_label_leaves_the_response_out(self) -> None:
        found = unadjusted_factuality(responses([1, 1], "y?", "n?"), DEFAULT)
        assert np.isnan(found).all()

    def test_a_sentence_without_a_label_can_count_as_unsupported(self) -> None:
        found = unadjusted_factuality(responses([1, 1], "y?", "y"), AS_ZERO)
        assert found == pytest.approx([0, 1])

    def test_missing_eligibility_leaves_the_response_out(self) -> None:
        assert np.isnan(factuality(responses([-1], "y"), DEFAULT))
        assert eligibility(responses([-1, 1], "y", "y"), AS_ZERO) == pytest.approx([0, 1])

    def test_eligibility_that_nobody_was_asked_about_is_not_counted_as_zero(self) -> None:
        """Of two missing judgements one was never requested, so it is not taken as zero."""
        of = responses([-1, -1, 1], "y", "y", "y", asked=[True, False, True])
        nan = float("nan")
        assert eligibility(of, DEFAULT) == pytest.approx([nan, nan, 1], nan_ok=True)
        assert eligibility(of, AS_ZERO) == pytest.approx([0, nan, 1], nan_ok=True)
        assert factuality(of, AS_ZERO) == pytest.approx([0, nan, 1], nan_ok=True)


class TestDeflection:
    #: People deflected the first two questions; the system the first and the third.
    #: Its judge failed on the last but one, and was never asked about the last.
    OF = Deflections(
        np.array([1, 0, 1, 0, 0, -1, -1]),
        np.array([1, 1, 0, 0, 0, 0, 0]),
        np.array([True] * 6 + [False]),
    )

    def rate(self, name: str, options: Options) -> float | None:
        measure = MEASURES[f"Deflection:{name}"]
        return estimate(measure, measure.of(self.OF, options), np.arange(7)).value

    def test_true_positives_are_a_share_of_the_questions_that_people_deflected(self) -> None:
        assert self.rate("TP", DEFAULT) == pytest.approx(1 / 2)

    def test_false_positives_are_a_share_of_the_other_questions(self) -> None:
        assert self.rate("FP", DEFAULT) == pytest.approx(1 / 3)
        assert self.rate("FP", AS_ZERO) == pytest.approx(1 / 4)

    def test_if_people_deflected_no_question_the_rate_is_null_with_a_reason(self) -> None:
        measure = MEASURES["Deflection:TP"]
        of = Deflections(np.array([1]), np.array([0]), np.array([True]))
        found = estimate(measure, measure.of(of, DEFAULT), np.arange(1))
        assert found.value is None
        assert found.reason == "people deflected none of these questions"


def cites(*passages: str) -> frozenset[str]:
    return frozenset(passages)


class TestAttribution:
    #: Two of three citations are right, two of four are found; nothing is cited; the one citation
    #: is right and found; there is no response.
    OF = Citations(
        [cites("a", "b", "x"), cites(), cites("a"), None],
        [[cites("a", "b", "c", "d")], [cites("a")], [cites("a")], [cites("a")]],
    )

    def values(self, name: str, options: Options = DEFAULT) -> list[float]:
        found = self.measure(name).of(self.OF, options)
        assert isinstance(found, np.ndarray)
        return [float(value) for value in found]

    @staticmethod
    def measure(name: str) -> Measure:
        return MEASURES[f"Attribution:{name}"]

    def test_each_response_has_its_own_precision_recall_and_f1(self) -> None:
        nan = float("nan")
        assert self.values("P") == pytest.approx([2 / 3, nan, 1, nan], nan_ok=True)
        assert self.values("R") == pytest.approx([2 / 4, 0, 1, nan], nan_ok=True)
        assert self.values("F1") == pytest.approx([4 / 7, 0, 1, nan], nan_ok=True)

    def test_citing_nothing_can_cost_precision(self) -> None:
        found = self.values("P", Options(uncited="zero"))
        assert found == pytest.approx([2 / 3, 0, 1, float("nan")], nan_ok=True)

    def test_micro_figures_pool_the_citations_of_all_responses(self) -> None:
        # Cited 3 + 0 + 1, people's 4 + 1 + 1, both 2 + 0 + 1.
        names = ("P-micro", "R-micro", "F1-micro")
        found = [
            estimate(self.measure(n), self.measure(n).of(self.OF, DEFAULT), np.arange(4)).value
            for n in names
        ]
        assert found == pytest.approx([3 / 4, 3 / 6, 6 / 10])

    def test_several_human_answers_are_pooled_or_the_best_one_is_taken(self) -> None:
        of = Citations([cites("a", "b")], [[cites("a"), cites("b", "c")]])
        recall = self.measure("R")
        assert recall.of(of, DEFAULT) == pytest.approx([2 / 3])
        assert recall.of(of, Options(cited_by="best")) == pytest.approx([1.0])

    def test_if_nobody_cites_anything_all_three_are_undefined(self) -> None:
        of = Citations([cites()], [[cites()]])
        found = [macro(of, DEFAULT, name) for name in ("P", "R", "F1")]
        assert np.isnan(np.concatenate(found)).all()


def test_the_f1_of_table_4_is_that_of_the_mean_precision_and_recall() -> None:
    # P is 1 and 1/2, R is 1/2 and 1: 3/4 each, where the mean of the responses' F1 is 2/3.
    of = Citations([cites("a"), cites("a", "b")], [[cites("a", "b")], [cites("a")]])
    pooled = f1_of_means(of, DEFAULT)
    assert pooled.of(pooled.sums.sum(axis=0)) == pytest.approx(3 / 4)
    assert macro(of, DEFAULT, "F1").mean() == pytest.approx(2 / 3)


def test_quality_is_binned_at_33_and_66_percent() -> None:
    shares = np.array([0.0, 0.32, 0.33, 0.5, 0.66, 10 / 15, np.nan])
    assert grounding_quality(shares) == ["low", "low", "medium", "medium", "medium", "high", None]
