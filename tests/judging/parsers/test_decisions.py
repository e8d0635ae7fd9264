"""A decision model's probabilities give labels, or the reason why they give none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from judging.backends.base import Answer, AskedUnit, AskedVariable
from judging.parsers.base import ExpectedAnswer, Reading, UnreadError
from judging.parsers.decisions import DecisionsParser

RELEVANT = AskedVariable("relevant", ("yes", "no"), "nominal")
USE = AskedVariable("use", ("answer", "related"), "nominal", {"relevant": ("yes",)})
ANSWERABLE = AskedVariable("answerable", ("yes", "no", "invalid"), "nominal", {}, ("invalid",))
GRADE = AskedVariable("grade", ("1", "2", "3", "4"), "ordinal")
KEY = AskedVariable("key", ("agree", "neutral", "disagree"), "ordinal")


def decided(mass: float | None = 0.95, **probabilities: float) -> dict[str, Any]:
    shares = {code.removeprefix("_"): p for code, p in probabilities.items()}
    return {"probabilities": shares, "mass": mass, "confidence": 0.8, "refused": False}


REFUSED = decided() | {"refused": True}
YES, NO = decided(yes=0.7, no=0.3), decided(yes=0.2, no=0.8)


def read(variables: tuple[AskedVariable, ...], floor: float = 0.5, **units: Any) -> Reading:
    owed = ExpectedAnswer(tuple(AskedUnit(name, "passage", name, variables) for name in units))
    text = json.dumps({"form": "systemone", "answers": units})
    return DecisionsParser(floor).read(Answer(text), owed)


def fault(**found: Any) -> str:
    """The one reason in an answer whose other unit has a label."""
    reading = read((RELEVANT,), good={"relevant": YES}, bad={"relevant": decided() | found})
    assert reading.units == {"good": {"relevant": "yes"}, "bad": {}}
    ((place, reason),) = reading.missing.items()
    assert place == ("bad", "relevant")
    return reason


def test_every_unit_has_its_label_with_the_probability_of_yes():
    reading = read((RELEVANT,), a={"relevant": YES}, b={"relevant": NO})
    assert reading.units == {"a": {"relevant": "yes"}, "b": {"relevant": "no"}}
    assert {place: score.value for place, score in reading.scores.items()} == {
        ("a", "relevant"): 0.7, ("b", "relevant"): 0.2
    }  # fmt: skip
    assert reading.scores["a", "relevant"].meta == {
        "mass": 0.95, "probabilities": {"yes": 0.7, "no": 0.3}, "confidence": 0.8
    }  # fmt: skip
    assert not reading.missing


def test_a_grade_is_the_most_probable_level_and_its_score_the_expected_one():
    # 1 * .1 + 2 * .2 + 3 * .3 + 4 * .4 = 3; the variance is 4*.1 + 1*.2 + 0*.3 + 1*.4 = 1.
    reading = read((GRADE,), a={"grade": decided(_1=0.1, _2=0.2, _3=0.3, _4=0.4)})
    score = reading.scores["a", "grade"]
    assert (reading.units["a"]["grade"], score.value, score.meta["variance"]) == ("4", 3, 1)


def test_levels_without_numbers_count_from_zero():
    reading = read((KEY,), a={"key": decided(agree=0.5, neutral=0.2, disagree=0.3)})
    assert reading.scores["a", "key"].value == pytest.approx(0.8)


def test_an_escape_can_be_the_label_and_is_left_out_of_the_score():
    reading = read((ANSWERABLE,), a={"answerable": decided(yes=0.3, no=0.1, invalid=0.6)})
    assert reading.units["a"]["answerable"] == "invalid"
    assert reading.scores["a", "answerable"].value == 0.75


def test_a_variable_that_was_not_asked_is_neither_a_label_nor_missing():
    reading = read(
        (RELEVANT, USE), a={"relevant": NO}, b={"relevant": YES, "use": decided(answer=1)}
    )
    assert reading.units == {"a": {"relevant": "no"}, "b": {"relevant": "yes", "use": "answer"}}
    assert not reading.missing


def test_a_low_label_mass_is_off_label_and_never_a_guess():
    assert fault(mass=1.8e-10, probabilities={"yes": 0.504, "no": 0.496}) == "off-label"
    assert fault(mass=0.499, probabilities={"yes": 1.0}) == "off-label"


def test_the_minimum_label_mass_can_be_set_by_the_judge():
    assert read((RELEVANT,), 0.2, a={"relevant": YES | {"mass": 0.2}}).units["a"]
    with pytest.raises(UnreadError):
        read((RELEVANT,), 0.99, a={"relevant": YES})


def test_an_unreported_mass_does_not_prevent_the_label():
    meta = read((RELEVANT,), a={"relevant": decided(None, yes=0.9, no=0.1)}).scores["a", "relevant"]
    assert (meta.meta["mass"], "does not report" in meta.meta["mass_unknown"]) == (None, True)


def test_a_refused_question_is_missing_as_refused():
    assert fault(refused=True) == "refused"


def test_two_equal_probabilities_are_ambiguous():
    assert fault(probabilities={"yes": 0.5, "no": 0.5}) == "ambiguous"


@pytest.mark.every_case
@pytest.mark.parametrize(
    "found",
    [
        {"probabilities": {}},
        {"probabilities": {"maybe": 1.0}},
        {"probabilities": {"yes": "0.9"}},
        {"probabilities": {"yes": float("nan")}},
        {"probabilities": {"yes": -1.0}},
        {"probabilities": None},
        {"probabilities": {"yes": 0.0, "no": 0.0}},
    ],
)
def test_values_that_are_no_probabilities_of_codes_are_unreadable(found: dict[str, Any]):
    assert fault(**found) == "unreadable"


def test_a_choice_without_probabilities_is_a_label_without_a_score():
    reading = read((USE,), a={"use": {"probabilities": {}, "choice": "related", "mass": None}})
    assert reading.units["a"]["use"] == "related"
    assert reading.scores["a", "use"].value is None


def test_an_answer_without_any_label_has_the_common_reason_of_its_questions():
    with pytest.raises(UnreadError) as caught:
        read((RELEVANT,), a={"relevant": REFUSED}, b={"relevant": REFUSED})
    assert caught.value.fault == "refused"
    mixed = read((RELEVANT,), a={"relevant": REFUSED}, b={"relevant": decided(0.1, yes=1.0)})
    assert set(mixed.missing.values()) == {"refused", "off-label"}


@pytest.mark.every_case
@pytest.mark.parametrize(
    "text", ["", "yes", "[]", '{"answers": []}', '{"answers": {}}', "[" * 10**5]
)
def test_other_text_is_unreadable_as_a_decision(text: str):
    owed = ExpectedAnswer((AskedUnit("a", "passage", "a", (RELEVANT,)),))
    with pytest.raises(UnreadError) as caught:
        DecisionsParser().read(Answer(text), owed)
    assert caught.value.fault == "unreadable"
