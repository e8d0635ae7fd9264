"""Decision models' replies are read in each of their three forms."""

from __future__ import annotations

import math
from typing import Any

import pytest

from judging.backends.base import TransientError
from judging.backends.decision_forms import FORMS, Dialect, Sheet, _alternatives, _level
from judging.backends.decision_questions import (
    Decision,
    NoLabelError,
    Question,
    join_decisions,
    kind_of,
    label_of,
    probabilities_of,
    probability,
    split_question,
)
from judging.backends.decisions import _counts, _usage
from tests.judging.backends.test_decisions import ANSWERABLE, RATING, RELEVANT, USE

YES_NO = Question(
    "u", "relevant", "predicate", "Is it relevant?", (("yes", "it helps"), ("no", ""))
)
CHOICE = Question("u", "use", "choice", "What for?", (("answer", "an answer"), ("related", "")))
GRADES = Question("u", "rating", "score", "How well?", (("0", ""), ("1", "well")))
WORDS = Question("u", "trust", "score", "How much?", (("low", ""), ("high", "much of it")))


def read(form: str, reply: dict[str, Any], question: Question) -> Decision:
    (found,) = FORMS[form].read(reply, [question])
    return found


class TestDecisions:
    def answers(self, **answer: Any) -> dict[str, Any]:
        return {"answers": [{"name": "q1", **answer}]}

    def test_levels_are_read_by_label_or_by_position(self) -> None:
        def found(*rows: dict[str, Any]) -> dict[str, float]:
            reply = self.answers(probabilities=list(rows))
            return dict(read("decisions", reply, WORDS).probabilities)

        by_label = {"label": "high", "probability": 0.75}
        assert found(by_label) == {"high": 0.75}
        places = [{"value": n, "probability": p} for n, p in ((0, 0.25), (1, 0.75))]
        assert found(*places) == {"low": 0.25, "high": 0.75}
        for wrong in (2, -1, True, 1.0, None):
            assert found({"value": wrong, "probability": 0.9}) == {}

    def test_a_choice_is_read_by_value_and_the_models_pick_is_kept(self) -> None:
        rows = [{"value": "related", "probability": 0.6}, {"label": "answer", "probability": 1}]
        reply = self.answers(
            probabilities=rows, choice="answer", confidence=0.5, diagnostics={"label_mass": 0.9}
        )
        expected = Decision({"related": 0.6}, 0.9, 0.5, "answer")
        assert read("decisions", reply, CHOICE) == expected
        assert read("decisions", self.answers(choice="other"), CHOICE) == Decision()

    def test_a_predicate_has_one_probability_and_a_refusal_has_none(self) -> None:
        assert read("decisions", self.answers(probability=0.25), YES_NO).probabilities == {
            "yes": 0.25,
            "no": 0.75,
        }
        assert read("decisions", self.answers(), YES_NO).probabilities == {}
        refused = self.answers(type="refusal", probability=0.25)
        assert read("decisions", refused, YES_NO) == Decision(refused=True)

    def test_unnamed_answers_are_read_in_the_order_of_the_questions(self) -> None:
        rows = [{"probability": 0.1}, {"probability": 0.9}]
        found = FORMS["decisions"].read({"answers": rows}, [YES_NO, YES_NO])
        assert [each.probabilities["yes"] for each in found] == [0.1, 0.9]
        found = FORMS["decisions"].read({"answers": rows[:1]}, [YES_NO, YES_NO])
        assert found == [Decision(), Decision()], "it may be the answer to either"
        with pytest.raises(TransientError, match="no answers"):
            FORMS["decisions"].read({"answers": {}}, [YES_NO])

    def test_questions_describe_the_meaning_of_each_answer(self) -> None:
        sheet = Sheet("m", "Judge.", "A state.")
        asked = FORMS["decisions"].body(sheet, [YES_NO, CHOICE, WORDS], Dialect())
        assert asked["input"] == "Judge.\n\nA state."
        assert [each["type"] for each in asked["questions"]] == ["predicate", "choice", "score"]
        assert asked["questions"][0]["instructions"] == "Is it relevant?\nyes: it helps"
        choices = [{"value": "answer", "description": "an answer"}, {"value": "related"}]
        assert asked["questions"][1]["choices"] == choices
        levels = [{"label": "low"}, {"label": "high", "description": "much of it"}]
        assert asked["questions"][2]["levels"] == levels


class TestFirstToken:
    def reply(self, *words: tuple[str, float], **choice: Any) -> dict[str, Any]:
        listed = [{"token": word, "logprob": math.log(p)} for word, p in words]
        content = [{**listed[0], "top_logprobs": listed}] if listed else []
        return {"choices": [{"logprobs": {"content": content}, **choice}]}

    def words(self, question: Question) -> list[str]:
        form = FORMS["first-token"]
        asked = form.body(Sheet("m", "", "A state."), [question], Dialect(top=5))
        assert (asked["max_tokens"], asked["logprobs"], asked["top_logprobs"]) == (1, True, 5)
        (message,) = asked["messages"]
        return str(message["content"]).split("\n")[3:]

    def test_each_kind_of_question_names_its_options(self) -> None:
        assert self.words(YES_NO)[:2] == ["yes: it helps", "no"]
        assert self.words(CHOICE)[:2] == ["A: answer (an answer)", "B: related"]
        assert self.words(GRADES)[:2] == ["0", "1: well"]
        assert self.words(WORDS) == [
            "0: low", "1: high: much of it",
            "Answer with the number of one level, and nothing else.",
        ]  # fmt: skip

    def test_the_tokens_of_one_option_are_summed(self) -> None:
        found = read("first-token", self.reply((" Yes", 0.5), ("yes", 0.2), ("No", 0.1)), YES_NO)
        assert found.probabilities == pytest.approx({"yes": 0.875, "no": 0.125})
        assert found.mass == pytest.approx(0.8)
        assert found.confidence == pytest.approx(0.7)
        assert found.bounded == ()

    def test_letters_are_case_sensitive_and_levels_are_read_by_number(self) -> None:
        found = read("first-token", self.reply(("A", 0.6), ("b", 0.2)), CHOICE)
        assert found.probabilities == {"answer": 1.0, "related": 0.0}
        assert found.bounded == ("related",)
        assert read("first-token", self.reply(("1", 0.9)), WORDS).probabilities["high"] == 1

    def test_a_token_that_is_no_option_gives_zero_mass_and_no_token_gives_nothing(self) -> None:
        assert read("first-token", self.reply(("maybe", 0.9)), YES_NO) == Decision(mass=0.0)
        assert read("first-token", self.reply(), YES_NO) == Decision()
        for refused in ({"finish_reason": "content_filter"}, {"message": {"refusal": "No."}}):
            found = read("first-token", self.reply(("yes", 0.9), **refused), YES_NO)
            assert found == Decision(refused=True)
        with pytest.raises(TransientError, match="no choices"):
            FORMS["first-token"].read({"choices": []}, [YES_NO])

    def test_each_alternative_token_counts_once_and_at_most_as_1(self) -> None:
        rows = [{"token": "a", "logprob": 0.5}, {"token": "a", "logprob": -9.0},
                {"token": 3, "logprob": 0}, {"token": "b", "logprob": float("nan")}]  # fmt: skip
        assert _alternatives({"top_logprobs": rows, "token": "a", "logprob": -1}) == [("a", 1.0)]


class TestSystemOne:
    def test_a_legend_maps_numbers_to_levels(self) -> None:
        def found(**answer: Any) -> dict[str, float]:
            reply = {"answers": {"q1": answer}, "diagnostics": {"q1": {"label_mass": 0.9}}}
            return dict(read("systemone", reply, WORDS).probabilities)

        assert found(probabilities={"0": 0.3, "1": 0.7}) == {"low": 0.3, "high": 0.7}
        legend = {"1": "low", "2": "high: much of it"}
        listed = {"1": 0.3, "2": 0.7}
        assert found(probabilities=listed, legend=legend) == {"low": 0.3, "high": 0.7}
        assert found(probabilities={"low": 0.3, "high: much of it": 0.7}) == {
            "low": 0.3,
            "high": 0.7,
        }

    def test_one_probability_is_enough_for_yes_and_no(self) -> None:
        one = read("systemone", {"answers": {"q1": {"noul": 0.75}}}, YES_NO)
        assert one.probabilities == {"yes": 0.75, "no": 0.25}
        listed = {"answers": {"q1": {"probabilities": {"yes": 0.6}}}}
        assert read("systemone", listed, YES_NO).probabilities == {"yes": 0.6}


def test_a_levels_description_is_not_repeated() -> None:
    assert [_level("2", text) for text in ("", "2: good", "2 good", "good")] == [
        "2", "2: good", "2 good", "2: good",
    ]  # fmt: skip


def test_a_probability_is_a_number_from_0_to_1_within_rounding() -> None:
    good = {0: 0.0, 1: 1.0, -1e-10: 0.0, 1.0009: 1.0}
    assert {value: probability(value) for value in good} == good
    assert [probability(value) for value in (True, "1", -1e-8, 1.002, math.inf, None)] == [None] * 6
    assert probabilities_of({"a": 1.0, "b": 1.0, "c": "x"}, ("a", "b", "c")) == {"a": 0.5, "b": 0.5}
    assert probabilities_of({"a": 0.5, "b": 0.25}, ("a", "b")) == {"a": 0.5, "b": 0.25}


def test_a_label_needs_mass_and_a_most_probable_code() -> None:
    assert label_of(Decision({"a": 0.4, "b": 0.3}, 0.5), 0.5) == "a"
    assert label_of(Decision({}, None, None, "b"), 0.5) == "b"
    for decision, fault in (
        (Decision({"a": 0.9}, 0.49), "off-label"),
        (Decision({"a": 0.9}, refused=True), "refused"),
        (Decision({"a": 0.5, "b": 0.5}), "ambiguous"),
        (Decision({"a": 0.0}, None, None, "a"), "unreadable"),
        (Decision(), "unreadable"),
    ):
        with pytest.raises(NoLabelError) as raised:
            label_of(decision, 0.5)
        assert raised.value.fault == fault


def test_a_scale_is_asked_as_a_score_unless_it_has_escapes() -> None:
    assert [kind_of(each, "noul") for each in (RELEVANT, USE, RATING, ANSWERABLE)] == [
        "predicate", "choice", "score", "choice",
    ]  # fmt: skip
    assert kind_of(RELEVANT, "choice") == "choice"


def test_many_options_are_asked_in_groups_whose_probabilities_are_multiplied() -> None:
    many = Question("u", "v", "choice", "Which?", tuple((c, "") for c in "abcde"))
    assert split_question(many, 5) == [many]
    first, *rest = split_question(many, 2)
    assert [code for code, _ in first.options] == ["group 1", "group 2", "group 3"]
    assert [each.codes for each in rest] == [("a",), ("b", "c"), ("d", "e")]
    answers = [
        Decision({"group 1": 0.5, "group 2": 0.5}, 0.9),
        Decision({"a": 1.0}, 0.8),
        Decision({"b": 0.25, "c": 0.75}, 0.7, bounded=("b",)),
        Decision({"d": 1.0}, 1.0),
    ]
    found = join_decisions(many, answers)
    assert found.probabilities == {"a": 0.5, "b": 0.125, "c": 0.375, "d": 0.0}
    assert (found.mass, found.bounded, found.refused) == (0.7, ("b",), False)
    assert join_decisions(many, answers[:1]) is answers[0]
    assert join_decisions(many, [answers[0], Decision(refused=True)]).refused
    assert join_decisions(many, [answers[0], Decision({"a": 1.0})]).mass is None


def test_token_counts_are_renamed_as_in_chat_completions() -> None:
    counts = _counts(
        {"input_tokens": 7, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}
    )
    assert counts == {"prompt_tokens": 7, "completion_tokens": 2, "cached_tokens": 4}
    assert _usage(counts) == {
        "prompt_tokens": 7,
        "completion_tokens": 2,
        "total_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    assert _usage(_counts({"prompt_tokens": True, "completion_tokens": 2})) == {
        "completion_tokens": 2,
        "total_tokens": 2,
    }
    assert (_usage(_counts(None)), _usage(_counts({}))) == ({}, {})
