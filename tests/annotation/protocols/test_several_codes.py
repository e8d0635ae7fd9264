"""Values of variables that take several codes, or a number on a scale."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from tandem.protocols.base import (
    Declaration,
    Scale,
    UnitSpec,
    Variable,
    in_answer,
    join_codes,
    names_code,
    split_codes,
)
from tandem.protocols.schema import Schema
from tandem.protocols.validation import RefusedError, check, read_code
from tests.several_cast import HARM, ISSUES, PROTOCOL

SCHEMA = Schema.of(PROTOCOL)
UNITS = {"q": UnitSpec("question", "q", "Who?")}
QUOTE = {"quote": "Anna", "start": 0}
BOAT = "verdreht–ö 🛶"


def checked(issues: Any, harm: Any = None, evidence: Any = (), channel: Any = "page") -> Any:
    answer = {"issues": issues, "harm": harm, "evidence": list(evidence)}
    (entry,), warnings = check(SCHEMA, UNITS, {"q": answer}, channel)
    return entry.values, warnings


def test_a_set_is_one_value_in_declared_order_however_it_is_sent():
    one, _ = checked([BOAT, "left-out"], "5")
    other, _ = checked(["left-out", BOAT], 5)
    assert one == other == {"issues": f'["left-out", "{BOAT}"]', "harm": "5"}
    assert in_answer(ISSUES, one["issues"]) == ["left-out", BOAT]


def test_no_code_is_an_answer_and_null_is_none():
    assert checked([])[0] == {"issues": "[]"}
    with pytest.raises(RefusedError, match="issues: has no answer; give a list of any of made-up"):
        checked(None)


def test_an_escape_stands_alone():
    assert checked("cannot-tell")[0] == {"issues": "cannot-tell"}
    for wrong in (["cannot-tell"], ["made-up", "cannot-tell"], "made-up", '["made-up"]'):
        with pytest.raises(RefusedError, match="is not a list of codes, each once"):
            checked(wrong)


@pytest.mark.parametrize(
    "wrong",
    [["made-up", "made-up"], ["other"], [["made-up"]], [None], [True], {"made-up": True}, 3, ""],
)
def test_what_is_no_set_of_codes_is_refused(wrong):
    with pytest.raises(RefusedError, match="is not a list of codes, each once"):
        checked(wrong)


def test_a_condition_holds_if_one_of_its_codes_is_named():
    assert checked([BOAT], "100")[0]["harm"] == "100"
    with pytest.raises(RefusedError, match="harm: has no answer; give a number from 0 to 100 in"):
        checked([BOAT, "left-out"])
    with pytest.raises(RefusedError, match="harm: is asked only if issues is made-up or verdreht"):
        checked(["left-out"], "5")


def test_evidence_is_owed_if_the_set_has_the_code():
    with pytest.raises(RefusedError, match="issues is made-up: quote the report for it"):
        checked(["left-out", "made-up"], "5")
    assert checked(["left-out", "made-up"], "5", [QUOTE])[0]["harm"] == "5"
    assert checked(["left-out"])[0] == {"issues": '["left-out"]'}


@pytest.mark.parametrize(
    ("sent", "stored"),
    [(50, "50"), (50.0, "50"), ("50", "50"), ("50.0", "50"), ("+5", "5"), ("-0", "0"), (0, "0")],
)
def test_a_number_on_the_scale_is_stored_in_one_form(sent, stored):
    assert read_code(HARM, sent) == stored


@pytest.mark.parametrize(
    "wrong", [52, -5, 105, 1e300, float("nan"), True, "fifty", "5e1", "1" * 5000, [50], {}]
)
def test_what_is_not_on_the_scale_is_refused(wrong):
    assert read_code(HARM, wrong) is None
    with pytest.raises(RefusedError, match="is not on the scale; give a number from 0 to 100"):
        checked([BOAT], wrong)


def test_a_scale_of_fractions_has_no_rounding_errors():
    scale = Scale(Decimal("-0.3"), Decimal("0.3"), Decimal("0.1"))
    steps = Variable("v", "item", "How much?", scale.codes, level="interval", scale=scale)
    assert scale.codes == ("-0.3", "-0.2", "-0.1", "0", "0.1", "0.2", "0.3")
    assert [read_code(steps, each) for each in (0.1, "0.30", -0.2)] == ["0.1", "0.3", "-0.2"]
    assert steps.word("-0.3") == "-0.3"


def test_the_schema_asks_for_a_list_without_duplicates():
    found = SCHEMA.unit_schema("question")["properties"]
    codes, escapes = found["issues"]["anyOf"]
    assert codes["type"] == "array"
    assert codes["uniqueItems"] is True
    assert codes["items"]["enum"] == list(ISSUES.codes)
    assert escapes["enum"] == ["cannot-tell"]
    assert found["harm"]["anyOf"][1] == {"type": "null"}


def test_a_conditional_set_may_be_null():
    later = Variable("more", "question", "What?", ("a",), several=True, asked_if={"harm": ("0",)})
    declared = Declaration(
        name="issues", version="1", title="Issues", variables=(ISSUES, HARM, later)
    )
    found = Schema.of(declared).unit_schema("question")["properties"]["more"]["anyOf"]
    assert [each["type"] for each in found] == ["array", "null"]


def test_values_have_the_words_of_their_codes():
    assert ISSUES.word(join_codes(ISSUES, [BOAT, "made-up"])) == "Made up, Twisted 🛶"
    assert (ISSUES.word("[]"), ISSUES.word("cannot-tell")) == ("None of these", "Cannot tell")
    assert (HARM.word("0"), HARM.word("55")) == ("Harmless", "55")


def test_only_values_in_their_one_form_are_labels():
    assert all(map(ISSUES.takes, ("[]", "cannot-tell", '["made-up", "left-out"]')))
    wrong = ("made-up", '["left-out", "made-up"]', '["made-up","left-out"]', '["x"]', "[[]]", "")
    assert not any(map(ISSUES.takes, wrong))


def test_hostile_values_are_no_sets():
    assert [split_codes(each) for each in ("[" * 100_000, "[1]", "[", "made-up")] == [None] * 4
    assert not any(names_code(each, ("a",)) for each in (None, "[", ["b"], "[]"))
    assert all(names_code(each, ("a",)) for each in ("a", ["b", "a"], json.dumps(["a"])))
