"""Checking one answer: what each channel accepts and refuses, and with which message."""

from __future__ import annotations

import time
from typing import Any

import pytest

from annotation.protocols import PROTOCOLS
from annotation.protocols.base import Protocol
from annotation.protocols.schema import schema_of
from tandem.messages import Message
from tandem.protocols.base import UnitSpec, Variable, name_units
from tandem.protocols.points import Quote, is_storable
from tandem.protocols.validation import Problem, RefusedError, _safe_name, check, coerce
from tests.annotation.checks import STRICT, entry, refused

COVERAGE = schema_of(PROTOCOLS["report-coverage"])
RATED = schema_of(PROTOCOLS["report-coverage"], ["answerable", "rating"])
POINTS = schema_of(PROTOCOLS["key-point-verification"])
ANSWERS = schema_of(PROTOCOLS["grounded-answer"])
QUESTION = {"q1": UnitSpec("question", "q1", "When?")}
POINT = {"k1": UnitSpec("key-point", "k1", "It opened in 1901.")}
QUOTES = [{"quote": "in 1901", "start": 7}]


def test_a_checked_entry_has_codes_and_quotes():
    found = entry(COVERAGE, QUESTION, {"evidence": QUOTES, "answerable": "yes"})
    assert found.values == {"answerable": "yes"}
    assert found.evidence == (Quote("answerable", "report", "in 1901", 7),)
    assert found.written is None


def test_an_escape_requires_no_evidence():
    found = entry(COVERAGE, QUESTION, {"evidence": [], "answerable": "invalid"})
    assert found.values == {"answerable": "invalid"}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("value", "code"),
    [("3", "3"), (3, "3"), (3.0, "3"), (True, None), (False, None), (3.5, None), (None, None)],
)
def test_a_code_is_text_or_a_whole_number_and_never_a_boolean(value, code):
    assert coerce(value) == code


@pytest.mark.every_case
@pytest.mark.parametrize("value", [float("nan"), float("inf"), [], {}, ["3"]])
def test_a_value_that_is_no_scalar_is_not_a_code(value):
    assert coerce(value) is None


def test_a_number_is_accepted_as_its_code():
    answer = {"evidence": [], "answerable": "no", "rating": 0}
    assert entry(RATED, QUESTION, answer).values == {"answerable": "no", "rating": "0"}


@pytest.mark.every_case
@pytest.mark.parametrize("value", ["Yes", " yes", "yes ", "ja", "", 1, 6, "06"])
def test_a_misspelt_code_is_refused_and_not_guessed(value):
    problems = refused(COVERAGE, QUESTION, {"evidence": [], "answerable": value})
    shown = f"unit 'q1' answerable: {value!r} is not a code; give one of yes, no, invalid"
    assert problems == [shown]


def test_a_boolean_is_refused_with_a_message():
    problems = refused(COVERAGE, QUESTION, {"evidence": QUOTES, "answerable": True})
    assert problems == [
        "unit 'q1' answerable: a boolean is not a code; give one of yes, no, invalid"
    ]


def test_all_problems_are_reported_together_in_unit_order():
    units = {name: UnitSpec("question", name, name) for name in ("b", "a", "c")}
    answer: dict[str, Any] = {"z": {}, "c": {"evidence": []}, "b": 5, "y": {}}
    with pytest.raises(RefusedError) as error:
        check(COVERAGE, units, answer, "api")
    assert [(p.unit, p.key) for p in error.value.problems] == [
        ("b", ""),
        ("c", "answerable"),
        ("z", ""),
        ("y", ""),
        ("a", ""),
    ]
    assert "unit 'a': has no answer" in str(error.value)


@pytest.mark.every_case
@pytest.mark.parametrize("door", [*STRICT, "import"])
@pytest.mark.parametrize("answer", [None, [], "yes", 3])
def test_an_answer_is_an_object(answer, door):
    with pytest.raises(RefusedError, match="one entry per unit"):
        check(COVERAGE, QUESTION, answer, door)


@pytest.mark.every_case
@pytest.mark.parametrize("answer", [None, [], "yes", 3, True])
def test_the_answer_to_a_unit_is_an_object(answer):
    assert refused(COVERAGE, QUESTION, answer) == ["unit 'q1': its answer is not an object"]


@pytest.mark.parametrize("door", STRICT)
def test_a_fulfilled_condition_requires_a_code(door):
    problems = refused(POINTS, POINT, {"evidence": [], "grounded": "yes", "key": None}, door)
    assert problems == ["unit 'k1' key: has no answer; give one of agree, neutral, disagree"]


@pytest.mark.parametrize("door", STRICT)
def test_an_unfulfilled_condition_requires_null(door):
    problems = refused(POINTS, POINT, {"evidence": [], "grounded": "no", "key": "agree"}, door)
    assert problems == ["unit 'k1' key: is asked only if grounded is yes; give null"]
    answer: dict[str, Any] = {"evidence": [], "grounded": "no", "key": None}
    assert entry(POINTS, POINT, answer, door).values == {"grounded": "no"}


def test_a_condition_on_an_unasked_variable_counts_as_fulfilled():
    alone = schema_of(PROTOCOLS["key-point-verification"], ["key"])
    assert entry(alone, POINT, {"key": "agree"}).values == {"key": "agree"}
    assert refused(alone, POINT, {"key": None}) == [
        "unit 'k1' key: has no answer; give one of agree, neutral, disagree"
    ]


def test_evidence_is_asked_only_with_its_variable():
    only_rating = schema_of(PROTOCOLS["report-coverage"], ["rating"])
    assert only_rating.keys("question") == ("rating",)
    assert RATED.keys("question") == ("evidence", "answerable", "rating")


@pytest.mark.parametrize("door", STRICT)
def test_a_yes_requires_a_quote(door):
    problems = refused(COVERAGE, QUESTION, {"evidence": [], "answerable": "yes"}, door)
    assert problems == ["unit 'q1' evidence: answerable is yes: quote the report for it"]


def test_optional_evidence_may_be_empty_or_given():
    rubric = schema_of(PROTOCOLS["rubric-passage"])
    assert entry(rubric, QUESTION, {"evidence": [], "rating": "5"}).evidence == ()
    given = entry(rubric, QUESTION, {"evidence": QUOTES, "rating": "0"}).evidence
    assert given == (Quote("rating", "passage", "in 1901", 7),)


@pytest.mark.every_case
@pytest.mark.parametrize(
    "quote",
    [
        "in 1901",
        None,
        {"quote": ""},
        {"quote": " \n"},
        {"quote": 5, "start": None},
        {"start": 0},
        {"quote": "x", "start": -1},
        {"quote": "x", "start": True},
        {"quote": "x", "start": 1.0},
        {"quote": "x", "start": "1"},
        {"quote": "x", "start": None, "end": 2},
        {"quote": "x\0", "start": None},
        {"quote": "\ud83c", "start": None},
    ],
)
def test_a_malformed_quote_is_refused(quote):
    problems = refused(COVERAGE, QUESTION, {"evidence": [quote], "answerable": "no"})
    assert problems == ["unit 'q1' evidence: contains something that is not {quote, start}"]


@pytest.mark.every_case
@pytest.mark.parametrize("evidence", [None, "in 1901", {"quote": "in 1901"}, 0])
def test_evidence_that_is_no_list_is_refused(evidence):
    problems = refused(COVERAGE, QUESTION, {"evidence": evidence, "answerable": "no"})
    assert problems == ["unit 'q1' evidence: is not a list of quotes"]


def test_a_missing_key_is_reported_once_by_name():
    assert refused(COVERAGE, QUESTION, {"answerable": "no"}) == [
        "unit 'q1' evidence: is missing; give null where nothing is asked"
    ]


def test_a_quote_is_kept_verbatim():
    words = "  e\u0301 שלום 🌉\r\n"
    answer = {"evidence": [{"quote": words, "start": None}], "answerable": "yes"}
    assert entry(COVERAGE, QUESTION, answer).evidence[0].quote == words


def test_an_unprintable_key_is_escaped_in_the_message():
    answer = {"evidence": [], "answerable": "no", "\ud800\n": 1}
    (problem,) = refused(COVERAGE, QUESTION, answer)
    assert problem.encode() == b"unit 'q1' '\\ud800\\n': is not a key of this unit"


@pytest.mark.parametrize(("text", "kept"), [("a🌉\r\n", True), ("a\0", False), ("\udc00", False)])
def test_text_that_no_database_can_store_is_detected(text, kept):
    assert is_storable(text) is kept


def test_foreign_text_is_shortened_in_messages():
    assert [_safe_name(name) for name in ("a" * 600, 7, "a\n")] == ["a" * 600, "7", "'a\\n'"]
    assert _safe_name("a" * 601) == "'" + "a" * 599
    answer = {"answerable": "x" * 70, "evidence": []}
    (problem,) = refused(COVERAGE, QUESTION, answer)
    assert f" '{'x' * 59} is not a code" in problem


def test_one_variable_may_belong_to_two_kinds_of_unit():
    units = {
        "q/p#1": UnitSpec("passage-sentence", "q/p#1", "In a pit."),
        "q/s": UnitSpec("passage", "q/s", "Of clay."),
    }
    answer = {"q/p#1": {"selected": "yes"}, "q/s": {"selected": "no"}}
    entries, _ = check(ANSWERS, units, answer, "judge")
    assert [e.values for e in entries] == [{"selected": "yes"}, {"selected": "no"}]
    assert ANSWERS.variable("selected", "passage") != ANSWERS.variable(
        "selected", "passage-sentence"
    )
    only = schema_of(PROTOCOLS["grounded-answer"], ["selected"])
    assert [v.kind for v in only.variables] == ["passage-sentence", "passage"]


def test_a_condition_on_one_kind_of_unit_does_not_affect_another_kind():
    def variable(kind: str, asked_if: dict[str, tuple[str, ...]]) -> Variable:
        return Variable("support", kind, "?", ("yes", "no"), asked_if=asked_if)

    protocol = Protocol(
        name="two-kinds",
        version="1",
        title="Two kinds",
        variables=(
            Variable("gate", "report", "?", ("yes", "no")),
            variable("report", {"gate": ("yes",)}),
            variable("sentence", {}),
        ),
        make_items=lambda query, variables: (),
        needs=(),
    )
    units = {"r": UnitSpec("report", "r", "R"), "r#1": UnitSpec("sentence", "r#1", "S")}
    answer = {"r": {"gate": "no", "support": None}, "r#1": {"support": "yes"}}
    entries, _ = check(schema_of(protocol), units, answer, "api")
    assert [e.values for e in entries] == [{"gate": "no"}, {"support": "yes"}]


def test_a_problem_names_unit_and_key_only_if_it_has_them():
    assert str(Problem("", "", Message("is empty"))) == "is empty"
    assert str(Problem("", "comment", Message("is not a text"))) == "comment: is not a text"
    assert str(Problem("q1", "", Message("was not asked"))) == "unit 'q1': was not asked"


def test_only_ambiguous_unit_names_get_a_prefix():
    units = [UnitSpec("report", "r#1", "R"), UnitSpec("sentence", "r#1", "S")]
    assert list(name_units([*units, UnitSpec("report", "s", "T")])) == [
        "report:r#1",
        "sentence:r#1",
        "s",
    ]


def seconds_of_check(count: int) -> float:
    support = schema_of(PROTOCOLS["answer-rating"], ["support"])
    units = {f"s{n}": UnitSpec("sentence", f"r#{n}", f"Sentence {n}.") for n in range(count)}
    answer = {name: {"support": "supported"} for name in units}
    began = time.process_time()
    entries, _ = check(support, units, answer, "page")
    assert len(entries) == count
    return time.process_time() - began


def test_the_time_of_a_check_grows_with_the_number_of_units_and_no_faster():
    few, many = (min(seconds_of_check(count) for _ in range(3)) for count in (500, 4000))
    assert many < 24 * few
