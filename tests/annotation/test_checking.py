"""Checking one answer: what each door takes, what it refuses and how it says so."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.protocols import PROTOCOLS
from annotation.protocols.base import Protocol, UnitSpec, Variable, name_units
from annotation.protocols.checking import (
    Door,
    Entry,
    Problem,
    Prose,
    Quote,
    RefusedError,
    check,
    coerce,
    storable,
)
from annotation.protocols.schema import Schema, schema_of

STRICT: tuple[Door, ...] = ("page", "api", "judge")
COVERAGE = schema_of(PROTOCOLS["report-coverage"])
RATED = schema_of(PROTOCOLS["report-coverage"], ["answerable", "rating"])
POINTS = schema_of(PROTOCOLS["key-point-verification"])
ANSWERS = schema_of(PROTOCOLS["grounded-answer"])
SECOND_ROUND = schema_of(
    PROTOCOLS["grounded-answer"], ["descriptor", "deflected", "action", "selected"]
)
QUESTION = {"q1": UnitSpec("question", "q1", "When?")}
POINT = {"k1": UnitSpec("key-point", "k1", "It opened in 1901.")}
TASK = {"q": UnitSpec("query", "q", "How?")}
QUOTES = [{"quote": "in 1901", "start": 7}]


def entry(schema: Schema, units: dict[str, UnitSpec], answer: Any, door: Door = "api") -> Entry:
    name = next(iter(units))
    entries, warnings = check(schema, units, {name: answer}, door)
    assert warnings == []
    return entries[0]


def refused(
    schema: Schema, units: dict[str, UnitSpec], answer: Any, door: Door = "api"
) -> list[str]:
    name = next(iter(units))
    with pytest.raises(RefusedError) as error:
        check(schema, units, {name: answer}, door)
    return [str(p) for p in error.value.problems]


def lenient(
    schema: Schema, units: dict[str, UnitSpec], answer: Any
) -> tuple[list[Entry], list[str]]:
    entries, warnings = check(schema, units, answer, "import")
    return entries, [str(w) for w in warnings]


def test_a_checked_entry_holds_codes_and_quotes():
    found = entry(COVERAGE, QUESTION, {"evidence": QUOTES, "answerable": "yes"})
    assert found.values == {"answerable": "yes"}
    assert found.evidence == (Quote("answerable", "report", "in 1901", 7),)
    assert found.written is None


def test_an_escape_is_an_answer_that_owes_nothing():
    found = entry(COVERAGE, QUESTION, {"evidence": [], "answerable": "invalid"})
    assert found.values == {"answerable": "invalid"}


@pytest.mark.parametrize(
    ("value", "code"),
    [("3", "3"), (3, "3"), (3.0, "3"), (True, None), (False, None), (3.5, None), (None, None)],
)
def test_a_code_is_text_or_a_whole_number_and_never_a_boolean(value, code):
    assert coerce(value) == code


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [], {}, ["3"]])
def test_what_is_no_scalar_is_no_code(value):
    assert coerce(value) is None


def test_a_number_stands_for_its_code():
    answer = {"evidence": [], "answerable": "no", "rating": 0}
    assert entry(RATED, QUESTION, answer).values == {"answerable": "no", "rating": "0"}


@pytest.mark.parametrize("value", ["Yes", " yes", "yes ", "ja", "", 1, 6, "06"])
def test_a_code_is_not_guessed(value):
    problems = refused(COVERAGE, QUESTION, {"evidence": [], "answerable": value})
    shown = f"unit 'q1' answerable: {value!r} is no code; give one of yes, no, invalid"
    assert problems == [shown]


def test_a_boolean_is_refused_in_words():
    problems = refused(COVERAGE, QUESTION, {"evidence": QUOTES, "answerable": True})
    assert problems == [
        "unit 'q1' answerable: a boolean is not a code; give one of yes, no, invalid"
    ]


def test_all_problems_are_told_at_once_in_the_order_of_the_units():
    units = {name: UnitSpec("question", name, name) for name in ("b", "a", "c")}
    answer = {"z": {}, "c": {"evidence": []}, "b": 5, "y": {}}
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


@pytest.mark.parametrize("door", [*STRICT, "import"])
@pytest.mark.parametrize("answer", [None, [], "yes", 3])
def test_an_answer_is_an_object(answer, door):
    with pytest.raises(RefusedError, match="one entry per unit"):
        check(COVERAGE, QUESTION, answer, door)


@pytest.mark.parametrize("answer", [None, [], "yes", 3, True])
def test_the_answer_to_a_unit_is_an_object(answer):
    assert refused(COVERAGE, QUESTION, answer) == ["unit 'q1': its answer is not an object"]


@pytest.mark.parametrize("door", STRICT)
def test_a_condition_that_holds_wants_a_code(door):
    problems = refused(POINTS, POINT, {"evidence": [], "grounded": "yes", "key": None}, door)
    assert problems == ["unit 'k1' key: has no answer; give one of agree, neutral, disagree"]


@pytest.mark.parametrize("door", STRICT)
def test_a_condition_that_fails_wants_null(door):
    problems = refused(POINTS, POINT, {"evidence": [], "grounded": "no", "key": "agree"}, door)
    assert problems == ["unit 'k1' key: is asked only if grounded is yes; give null"]
    answer = {"evidence": [], "grounded": "no", "key": None}
    assert entry(POINTS, POINT, answer, door).values == {"grounded": "no"}


def test_a_condition_on_what_is_not_asked_counts_as_met():
    alone = schema_of(PROTOCOLS["key-point-verification"], ["key"])
    assert entry(alone, POINT, {"key": "agree"}).values == {"key": "agree"}
    assert refused(alone, POINT, {"key": None}) == [
        "unit 'k1' key: has no answer; give one of agree, neutral, disagree"
    ]


def test_evidence_goes_with_its_variable():
    only_rating = schema_of(PROTOCOLS["report-coverage"], ["rating"])
    assert only_rating.keys("question") == ("rating",)
    assert RATED.keys("question") == ("evidence", "answerable", "rating")


@pytest.mark.parametrize("door", STRICT)
def test_a_yes_owes_its_quote(door):
    problems = refused(COVERAGE, QUESTION, {"evidence": [], "answerable": "yes"}, door)
    assert problems == ["unit 'q1' evidence: answerable is yes: quote the report for it"]


def test_optional_evidence_may_be_empty_or_given():
    rubric = schema_of(PROTOCOLS["rubric-passage"])
    assert entry(rubric, QUESTION, {"evidence": [], "rating": "5"}).evidence == ()
    given = entry(rubric, QUESTION, {"evidence": QUOTES, "rating": "0"}).evidence
    assert given == (Quote("rating", "passage", "in 1901", 7),)


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
def test_a_quote_is_words_and_a_start(quote):
    problems = refused(COVERAGE, QUESTION, {"evidence": [quote], "answerable": "no"})
    assert problems == ["unit 'q1' evidence: holds something that is not {quote, start}"]


@pytest.mark.parametrize("evidence", [None, "in 1901", {"quote": "in 1901"}, 0])
def test_evidence_is_a_list(evidence):
    problems = refused(COVERAGE, QUESTION, {"evidence": evidence, "answerable": "no"})
    assert problems == ["unit 'q1' evidence: is not a list of quotes"]


def test_a_missing_key_is_told_once_by_its_name():
    assert refused(COVERAGE, QUESTION, {"answerable": "no"}) == [
        "unit 'q1' evidence: is missing; give null where nothing is asked"
    ]


def test_a_quote_is_kept_verbatim():
    words = "  e\u0301 שלום 🌉\r\n"
    answer = {"evidence": [{"quote": words, "start": None}], "answerable": "yes"}
    assert entry(COVERAGE, QUESTION, answer).evidence[0].quote == words


def test_a_foreign_name_is_shown_so_that_it_can_be_printed():
    answer = {"evidence": [], "answerable": "no", "\ud800\n": 1}
    (problem,) = refused(COVERAGE, QUESTION, answer)
    assert problem.encode() == b"unit 'q1' '\\ud800\\n': is not a key of this unit"


@pytest.mark.parametrize(("text", "kept"), [("a🌉\r\n", True), ("a\0", False), ("\udc00", False)])
def test_what_no_database_can_hold_is_not_storable(text, kept):
    assert storable(text) is kept


def written(text: Any, descriptor: str = "complete", deflected: str = "no") -> dict[str, Any]:
    return {"descriptor": descriptor, "deflected": deflected, "written": text}


PROSE = {"text": "In a pit. [1]", "citations": ["p#1", "p/2"]}


def test_a_written_answer_is_prose_and_no_label():
    found = entry(ANSWERS, TASK, written(PROSE))
    assert found.values == {"descriptor": "complete", "deflected": "no"}
    assert found.written == Prose("In a pit. [1]", ("p#1", "p/2"))


@pytest.mark.parametrize("door", STRICT)
@pytest.mark.parametrize(
    ("descriptor", "deflected"), [("complete", "yes"), ("no-answer", "no"), ("ill-formed", "yes")]
)
def test_nothing_is_written_where_there_is_too_little(door, descriptor, deflected):
    assert entry(ANSWERS, TASK, written(None, descriptor, deflected), door).written is None
    problems = refused(ANSWERS, TASK, written(PROSE, descriptor, deflected), door)
    assert problems == ["unit 'q' written: is not asked here; give null"]


@pytest.mark.parametrize("door", STRICT)
def test_a_written_answer_is_owed_where_it_is_asked(door):
    problems = refused(ANSWERS, TASK, written(None, "partial"), door)
    assert problems == ["unit 'q' written: has no text; write one"]


@pytest.mark.parametrize(
    ("prose", "message"),
    [
        ("In a pit.", "is not {text, citations}"),
        ({"text": "In a pit."}, "is not {text, citations}"),
        ({**PROSE, "more": 1}, "is not {text, citations}"),
        ({"text": " \n", "citations": []}, "has no text; write one"),
        ({"text": 5, "citations": []}, "has no text; write one"),
        ({"text": "x\0", "citations": []}, "holds a character that no text may hold; take it out"),
        ({"text": "x", "citations": "p"}, "cites something that is no passage id"),
        ({"text": "x", "citations": [1]}, "cites something that is no passage id"),
        ({"text": "x", "citations": [""]}, "cites something that is no passage id"),
    ],
)
def test_a_written_answer_is_text_with_citations(prose, message):
    assert refused(ANSWERS, TASK, written(prose)) == [f"unit 'q' written: {message}"]


@pytest.mark.parametrize(("action", "asked"), [("keep", True), ("modify", True), ("skip", False)])
def test_a_second_round_writes_unless_it_skips(action, asked):
    answer = {**written(PROSE), "action": action}
    empty = {**written(None), "action": action}
    right, wrong = (answer, empty) if asked else (empty, answer)
    assert entry(SECOND_ROUND, TASK, right).values["action"] == action
    assert len(refused(SECOND_ROUND, TASK, wrong)) == 1


def test_the_same_variable_stands_on_two_kinds_of_unit():
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


def test_conditions_on_one_kind_do_not_reach_the_same_variable_on_another():
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


def test_import_takes_a_part_of_an_item_and_of_a_unit():
    units = {**QUESTION, "q2": UnitSpec("question", "q2", "Who?")}
    entries, warnings = lenient(RATED, units, {"q2": {"rating": "4"}})
    assert [(e.name, e.values) for e in entries] == [("q2", {"rating": "4"})]
    assert warnings == []


def test_import_keeps_a_yes_without_its_quote_and_warns():
    entries, warnings = lenient(COVERAGE, QUESTION, {"q1": {"answerable": "yes"}})
    assert entries[0].values == {"answerable": "yes"}
    assert warnings == ["unit 'q1' evidence: answerable is yes without its quote"]


def test_import_takes_evidence_where_the_protocol_asks_for_none():
    relevance = schema_of(PROTOCOLS["grounding-relevance"])
    units = {"q/p": UnitSpec("passage", "q/p", "P")}
    quote = {"quote": "clay", "start": None, "field": "passage:p", "variable": "relevant"}
    answer = {"q/p": {"relevant": "no", "evidence": [quote]}}
    entries, warnings = lenient(relevance, units, answer)
    assert entries[0].evidence == (Quote("relevant", "passage:p", "clay"),)
    assert warnings == []


@pytest.mark.parametrize("key", ["field", "variable"])
def test_import_wants_names_for_the_place_of_a_quote(key):
    answer = {"answerable": "yes", "evidence": [{"quote": "x", "start": 0, key: 5}]}
    assert refused(COVERAGE, QUESTION, answer, "import") == [
        "unit 'q1' evidence: holds something that is not {quote, start}"
    ]


def test_import_leaves_out_a_label_whose_condition_fails_and_warns():
    entries, warnings = lenient(POINTS, POINT, {"k1": {"grounded": "no", "key": "agree"}})
    assert entries[0].values == {"grounded": "no"}
    assert warnings == ["unit 'k1' key: is asked only if grounded is yes; its label was left out"]


def test_import_keeps_a_label_whose_condition_it_does_not_hold():
    entries, warnings = lenient(POINTS, POINT, {"k1": {"key": "agree"}})
    assert entries[0].values == {"key": "agree"}
    assert warnings == []


@pytest.mark.parametrize(
    "answer",
    [
        {"q9": {"answerable": "no"}},
        {"q1": {"beauty": "no"}},
        {"q1": {"answerable": "perhaps"}},
        {"q1": {"answerable": True}},
        {"q1": {"rating": "3"}},
    ],
    ids=["unit", "variable", "code", "boolean", "variable of another campaign"],
)
def test_import_refuses_what_it_does_not_know(answer):
    with pytest.raises(RefusedError):
        check(COVERAGE, QUESTION, answer, "import")


def test_a_problem_says_its_place_only_where_it_has_one():
    assert str(Problem("", "", "is empty")) == "is empty"
    assert str(Problem("", "comment", "is no text")) == "comment: is no text"
    assert str(Problem("q1", "", "was not asked")) == "unit 'q1': was not asked"


def test_a_unit_keeps_its_plain_name_beside_a_doubled_one():
    units = [UnitSpec("report", "r#1", "R"), UnitSpec("sentence", "r#1", "S")]
    assert list(name_units([*units, UnitSpec("report", "s", "T")])) == [
        "report:r#1",
        "sentence:r#1",
        "s",
    ]
