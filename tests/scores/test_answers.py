"""CLAPnq's measures match cases worked by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tandem.scores import MEASURES
from tandem.scores.answers import (
    Grades,
    Preferences,
    Texts,
    faithful_and_appropriate,
    length,
    recall_of,
    rouge_1_recall,
    rouge_l_of,
    rouge_l_of_answered,
    rouge_l_to_passage,
    unanswerable_accuracy,
    win_rate,
)
from tandem.scores.answers.refusals import refusal_list
from tandem.scores.base import estimate
from tandem.scores.options import PRESETS, Options

FIRST = 0
MISSING = -1
SECOND = 1
TIE_BAD = 3
TIE_GOOD = 2

pytestmark = pytest.mark.every_case

DEFAULT = Options()


def texts(answer: str, *references: str, passage: str | None = None, ok: bool = True) -> Texts:
    return Texts([answer], [references], [passage], np.array([ok]))


class TestTexts:
    def test_the_score_is_the_best_or_the_mean_over_several_references(self) -> None:
        # The answer has all three words of the second reference in order: F1 1. It shares one word
        # with the first: F1 2/5.
        of = texts("the cat sat", "a cat", "the cat sat")
        assert rouge_l_of(of, DEFAULT) == pytest.approx([1.0])
        assert rouge_l_of(of, Options(references="mean")) == pytest.approx([(2 / 5 + 1) / 2])
        assert rouge_l_of(of, Options(references="first")) == pytest.approx([2 / 5])

    def test_clapnqs_recall_is_that_of_the_first_reference(self) -> None:
        of = texts("the cat sat", "a cat", "the cat sat")
        assert recall_of(of, DEFAULT) == pytest.approx([1])
        assert recall_of(of, PRESETS["clapnq"]) == pytest.approx([1 / 2])

    def test_answers_that_refuse_are_left_out_of_the_rouge_of_the_answered(self) -> None:
        answers = ["the cat", "I do not know", "the cat"]
        of = Texts(answers, [["the cat sat"]] * 3, [None] * 3, np.array([True, True, False]))
        found = rouge_l_of_answered(of, DEFAULT)
        assert found == pytest.approx([4 / 5, np.nan, np.nan], nan_ok=True)

    def test_recall_counts_repeated_words_each_time(self) -> None:
        assert rouge_1_recall("the the cat", "the cat the dog the") == pytest.approx(3 / 5)
        assert recall_of(texts("the cat", "the cat sat"), DEFAULT) == pytest.approx([2 / 3])

    def test_copying_is_measured_against_the_passage(self) -> None:
        # Two of the answer's two words and of the passage's six: P 1, R 1/3.
        of = texts("big cat", passage="the big cat sat down here")
        assert rouge_l_to_passage(of, DEFAULT) == pytest.approx([1 / 2])

    def test_length_counts_code_points(self) -> None:
        assert length(texts("né 😀"), DEFAULT) == pytest.approx([4])

    @pytest.mark.parametrize("measure", [rouge_l_of, recall_of, rouge_l_to_passage, length])
    def test_unanswerable_questions_are_not_scored_by_words(self, measure: object) -> None:
        assert callable(measure)
        assert np.isnan(measure(texts("a", "a", passage="a", ok=False), DEFAULT)).all()

    def test_without_a_reference_there_is_no_score(self) -> None:
        assert np.isnan(rouge_l_of(texts("a"), DEFAULT)).all()

    def test_an_empty_answer_recalls_nothing(self) -> None:
        assert recall_of(texts("", "a"), DEFAULT) == pytest.approx([0.0])


class TestUnanswerable:
    @pytest.mark.parametrize(
        ("answer", "refuses"),
        [
            ("I don\N{RIGHT SINGLE QUOTATION MARK}t  know.", 1),
            ("The passage does not mention it.", 1),
            ("", 1),
            ("It opened in 1990.", 0),
        ],
    )
    def test_an_answer_with_a_phrase_of_the_list_is_a_refusal(
        self, answer: str, refuses: int
    ) -> None:
        assert unanswerable_accuracy(texts(answer, ok=False), DEFAULT) == [refuses]

    def test_answerable_questions_are_not_counted(self) -> None:
        assert np.isnan(unanswerable_accuracy(texts("I do not know"), DEFAULT))

    OWN = """
phrases = ["no idea"]
[systems.terse]
phrases = ["Nope."]
"""

    def test_a_list_may_have_phrases_for_single_systems(self, tmp_path: Path) -> None:
        (tmp_path / "own.toml").write_text(self.OWN, "utf-8")
        answers = ["No  idea, sorry", "nope.", "nope.", "no idea"]
        systems = ["plain", "plain", "terse", "terse"]
        of = Texts(answers, [[]] * 4, [None] * 4, np.zeros(4, bool), systems)
        options = Options(refusals=f"file:{tmp_path}/own.toml")
        assert unanswerable_accuracy(of, options).tolist() == [1, 0, 1, 0]

    def test_a_custom_list_is_named_by_its_content_and_not_by_its_path(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "own.toml"
        path.write_text(self.OWN, "utf-8")
        before = refusal_list(f"file:{path}").name
        assert before.startswith("own.toml (sha256 ")
        path.write_text(self.OWN.replace("idea", "clue"), "utf-8")
        assert refusal_list(f"file:{path}").name != before

    @pytest.mark.parametrize(
        "content",
        ["phrases = 'no'", "phrases = [1]", "phrases = ['']", "about = 'x'", "[[", "systems = 1",
         "phrases = ['no']\nsystems = 1", "phrases = ['no']\n[systems]\na = ['no']"],
    )  # fmt: skip
    def test_a_file_that_is_not_a_list_of_refusals_is_refused(
        self, tmp_path: Path, content: str
    ) -> None:
        (tmp_path / "own.toml").write_text(content, "utf-8")
        with pytest.raises(ValueError, match="cannot be read as a list of refusals"):
            refusal_list(f"file:{tmp_path}/own.toml")

    def test_an_unknown_list_is_refused_and_the_known_ones_are_named(self) -> None:
        with pytest.raises(ValueError, match=r"no list of refusals is called 'mine'.*plain-1"):
            refusal_list("mine")


class TestFaithfulAndAppropriate:
    #: The paper prints means of 3.0 and 3.5, and 3.0 for both together, which only a mean over
    #: items can give.
    GRADES = Grades(np.array([4.0, 2.0, np.nan]), np.array([3.0, 4.0, 4.0]), np.full(3, np.nan))

    def test_by_default_it_is_the_harmonic_mean_of_each_answers_grades(self) -> None:
        found = faithful_and_appropriate(self.GRADES, DEFAULT)
        expected = [24 / 7, 16 / 6, float("nan")]
        assert found == pytest.approx(np.array(expected), nan_ok=True)

    def test_it_can_be_the_harmonic_mean_of_the_two_means(self) -> None:
        found = faithful_and_appropriate(self.GRADES, Options(harmonic="means"))
        made = estimate(MEASURES["F+A"], found, np.arange(3))
        assert made.value == pytest.approx(2 * 3 * 3.5 / 6.5)
        assert made.n == 2


class TestWinRate:
    @staticmethod
    def verdicts(*given: tuple[int, int, int]) -> Preferences:
        """Verdicts on pairs of three answers, as (first, second, verdict)."""
        first, second, verdict = np.array(given, dtype=np.int64).T
        return Preferences(first, second, verdict, 3)

    def test_it_is_wins_divided_by_comparisons(self) -> None:
        # Two annotators, three systems: four verdicts on each answer.
        of = self.verdicts(
            (0, 1, FIRST),
            (0, 2, FIRST),
            (1, 2, SECOND),
            (0, 1, FIRST),
            (0, 2, SECOND),
            (1, 2, SECOND),
        )
        found = win_rate(of, DEFAULT)
        assert found == pytest.approx([3 / 4, 0, 3 / 4])
        assert found.sum() == pytest.approx(3 / 2)

    @pytest.mark.parametrize(
        ("rule", "rates"), [("half", (0.5, 0.5)), ("good", (0.5, 0.5)), ("none", (0, 0))]
    )
    def test_ties_count_as_the_option_says(self, rule: str, rates: tuple[float, float]) -> None:
        of = self.verdicts((0, 1, TIE_GOOD), (0, 1, TIE_BAD))
        found = win_rate(of, Options(ties=rule))
        assert found[:2] == pytest.approx(rates)

    def test_both_good_is_a_win_for_each_and_both_bad_for_none(self) -> None:
        good, bad = (self.verdicts((0, 1, tie)) for tie in (TIE_GOOD, TIE_BAD))
        assert win_rate(good, Options(ties="good"))[:2] == pytest.approx([1, 1])
        assert win_rate(bad, Options(ties="good"))[:2] == pytest.approx([0, 0])

    def test_a_missing_verdict_is_not_a_loss(self) -> None:
        of = self.verdicts((0, 1, FIRST), (0, 1, MISSING))
        assert win_rate(of, DEFAULT)[:2] == pytest.approx([1, 0])
        assert np.isnan(win_rate(of, DEFAULT)[2])
