"""The score of one variable from its codes' probabilities, and where its codes are located."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from annotation.models import Assignment
from judging.answers.logprobs import score_variable
from judging.backends.base import Answer, AskedUnit, AskedVariable, Facts, Request
from judging.backends.logprobs import STORED_KEY, Likelihoods, NoLikelihoodError
from judging.prompts.request import Prepared
from tandem.protocols.base import ItemSpec, UnitSpec
from tests.judging.answers.test_logprobs import (
    GROUNDED,
    KEY,
    SCHEMA,
    logprobs_of,
    prepared,
    scores,
    selected,
)

pytestmark = pytest.mark.every_case


def rating(*codes: str, escapes: tuple[str, ...] = ()) -> AskedVariable:
    return AskedVariable("rating", codes, "ordinal", {}, escapes)


@pytest.mark.parametrize(
    ("codes", "given", "score", "variance"),
    [
        (("2", "4", "6"), {"2": 0.25, "4": 0.25, "6": 0.0}, 3.0, 1.0),
        (("low", "high"), {"low": 0.25, "high": 0.75}, 0.75, 0.1875),
        (("1", "two"), {"1": 0.5, "two": 0.5}, 0.5, 0.25),
        # Digits of another script are words.
        (("٣", "٥"), {"٣": 0.5, "٥": 0.5}, 0.5, 0.25),
        (("1", "3", "invalid"), {"1": 0.125, "3": 0.125, "invalid": 0.75}, 2.0, 1.0),
        (("1", "3", "invalid"), {"invalid": 0.75}, None, None),
        (("0", "1"), {"0": 0.5, "1": 0.25}, 0.333333333, 0.222222222),
    ],
)
def test_a_ratings_score_is_the_expectation_over_numbers_or_ranks_without_escapes(
    codes: tuple[str, ...], given: Mapping[str, float], score: float | None, variance: float | None
) -> None:
    found = score_variable(rating(*codes, escapes=("invalid",)), Likelihoods(given))
    assert found.score == score
    assert (found.meta or {}).get("variance") == variance


@pytest.mark.parametrize(
    ("codes", "given", "score"),
    [
        (("yes", "no"), {"yes": 0.5, "no": 0.25}, 0.666666667),
        (("yes", "no", "invalid"), {"yes": 0.125, "no": 0.375, "invalid": 0.5}, 0.25),
        (("yes", "no", "invalid"), {"invalid": 0.5}, None),
        (("first", "second"), {"first": 0.5, "second": 0.25}, None),
    ],
)
def test_the_score_of_nominal_codes_is_the_probability_of_yes(
    codes: tuple[str, ...], given: Mapping[str, float], score: float | None
) -> None:
    asked = AskedVariable("v", codes, "nominal", {}, ("invalid",))
    found = score_variable(asked, Likelihoods(given))
    assert found.score == score
    assert found.meta is not None
    assert "variance" not in found.meta
    whole = sum(given.values())
    assert found.meta["probabilities"] == {
        code: round(share / whole, 9) for code, share in given.items()
    }


@pytest.mark.parametrize(
    ("known", "joint", "is_scored"),
    [
        (0.99, 0.01, True),
        (0.985, 0.015, False),
        (0.49, 0.01, False),
        (0.499, 0.001, True),
    ],
)
def test_codes_that_begin_alike_are_ignored_up_to_one_per_cent(
    known: float, joint: float, is_scored: bool
) -> None:
    together = {frozenset({"10", "11"}): joint}
    found = score_variable(rating("1", "10", "11"), Likelihoods({"1": known}, joint=together))
    assert found.meta is not None
    assert found.score == (1.0 if is_scored else None)
    assert found.meta["probabilities"] == {"1": 1.0}
    assert found.meta.get("unscored") == (None if is_scored else "10, 11 begin alike")
    assert found.meta["mass"] == round(known + joint, 9)


def test_a_swapped_pair_has_its_scores_swapped() -> None:
    asked = AskedVariable("preferred", ("first", "second", "tie"), "nominal")
    turned = {"first": "second", "second": "first"}
    likely = Likelihoods({"first": 0.75, "second": 0.125, "tie": 0.125}, frozenset({"second"}))
    found, straight = score_variable(asked, likely, turned), score_variable(asked, likely)
    assert found.meta == {
        "mass": 0.875, "bounded": ["first"],
        "probabilities": {"second": 0.75, "first": 0.125, "tie": 0.125},
    }  # fmt: skip
    assert straight.meta == {
        "mass": 0.875, "bounded": ["second"],
        "probabilities": {"first": 0.75, "second": 0.125, "tie": 0.125},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "masked", "expected"),
    [
        ({"yes": 0.25, "no": 0.25}, False, {"mass": 0.5}),
        ({"yes": 0.25, "no": 0.24}, False, {"mass": 0.49, "low_mass": True}),
        ({"yes": 0.25, "no": 0.24}, True,
         {"mass": None, "mass_unknown": "the server gives only the probabilities of the codes"}),
    ],
)  # fmt: skip
def test_a_label_mass_below_one_half_is_low(
    given: Mapping[str, float], masked: bool, expected: Mapping[str, Any]
) -> None:
    found = score_variable(GROUNDED, Likelihoods(given, masked=masked))
    assert {name: value for name, value in (found.meta or {}).items() if "mass" in name} == expected


def test_without_a_possible_code_there_is_no_score() -> None:
    with pytest.raises(NoLikelihoodError, match="no code has any probability"):
        score_variable(GROUNDED, Likelihoods({"yes": 0.0, "no": 0.0}))


def places(text: str, *variables: AskedVariable) -> set[str]:
    """Which variables are located in an answer, scored or not."""
    answer = Answer(text, logprobs=logprobs_of(text))
    return {name for _, name in scores(prepared(*variables), answer)}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"grounded": "yes", "key": "agree"}', {"grounded", "key"}),
        ('{"grounded": "yes"}', {"grounded"}),
        ('{"key": "agree" ,\n"grounded":"yes" }', {"grounded", "key"}),
        ('\t\r\n {"grounded" : "yes"}', {"grounded"}),
        ('{"grounded": {"key": "agree"}, "key": 3}', {"key"}),
        ('{"grounded": null, "key": ["agree"]}', set()),
        ('{"grounded": true}', set()),
        ("{}", set()),
        ('["grounded": "yes"}', set()),
        ('x{"grounded": "yes"}', set()),
        ('{"grounded": "yes"', set()),
        ('{"grounded": "yes" "key": "agree"}', {"grounded", "key"}),
        ("", set()),
        (" ", set()),
    ],
)
def test_a_label_is_located_as_a_plain_value_under_its_own_key(text: str, found: set[str]) -> None:
    assert places(text, GROUNDED, KEY) == found


def whole(*names: str) -> Prepared:
    asked = tuple(AskedUnit(name, "question", "?", (GROUNDED,)) for name in names)
    units = {name: UnitSpec("question", name, "?") for name in names}
    facts = Facts("", (), asked, unit_by_unit=False)
    spec = ItemSpec("i", tuple(units.values()), ())
    return Prepared(Assignment(shown=[]), spec, units, {}, Request((), {}, facts), "", SCHEMA)


def test_a_unit_without_an_answer_does_not_affect_the_others() -> None:
    text = ' {"a": "yes", "b": {"grounded": "yes"}, "c": {}, "other": {"grounded": "no"}}'
    answer = Answer(text, logprobs=logprobs_of(text))
    asked = whole("a", "b", "c")
    assert list(scores(asked, answer)) == [("b", "grounded")]
    assert selected(asked, answer)["tokens"] == 1


def test_tokens_are_stored_for_the_answered_one_of_two_variables() -> None:
    pieces = ('{"grounded": "', ("yes", {"yes": 0.5, "no": 0.25}), '"}')
    answer = Answer('{"grounded": "yes"}', logprobs=logprobs_of(*pieces))
    kept = selected(prepared(KEY, GROUNDED), answer)
    assert [entry["token"] for entry in kept[STORED_KEY]] == ["yes"]
    assert kept["tokens"] == 3
