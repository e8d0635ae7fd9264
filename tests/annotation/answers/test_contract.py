"""Page, API and judge follow one contract, for every protocol.

Equal answers give equal entries, and each channel refuses the same mistakes and names the unit.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.http import QueryDict

from annotation.answers.payloads import from_api, from_form
from annotation.protocols import PROTOCOLS
from tandem.protocols.schema import EVIDENCE_KEY
from tandem.protocols.validation import Entry, RefusedError, check
from tests.annotation.door_cast import (
    CASES,
    EACH_CASE,
    OWING,
    QUOTE,
    Answers,
    Case,
    first_of_each_kind,
)

JSON_KEYS = (EVIDENCE_KEY, "points", "matches")
NO_LABELS = (EVIDENCE_KEY, "written", "points", "matches")
WHOLE = ("page", "api", "judge")


def form_of(answers: Answers) -> QueryDict:
    """The form that the page would send for these answers, over the wire and back."""
    pairs: list[tuple[str, str]] = [("csrfmiddlewaretoken", "x"), ("comment", "")]
    for number, (name, answer) in enumerate(answers.items()):
        pairs.append((f"unit-{number}", name))
        for key, value in answer.items():
            pairs += field_of(f"unit-{number}-", key, value)
    return QueryDict(urlencode(pairs))


def field_of(prefix: str, key: str, value: Any) -> list[tuple[str, str]]:
    if value is None:
        return []
    if key in JSON_KEYS:
        return [(prefix + key, json.dumps(value))]
    if key == "written":
        cited = [(prefix + "citations", passage) for passage in value["citations"]]
        return [(prefix + "answer", value["text"]), *cited]
    return [(prefix + key, str(value))]


def through_page(case: Case, answers: Answers) -> list[Entry]:
    payload = from_form(case.schema, case.units, form_of(answers))
    return check(case.schema, case.units, payload["units"], "page")[0]


def through_api(case: Case, answers: Answers) -> list[Entry]:
    payload = from_api(json.loads(json.dumps({"units": answers})))
    return check(case.schema, case.units, payload["units"], "api")[0]


def through_judge(case: Case, answers: Answers) -> list[Entry]:
    return check(case.schema, case.units, json.loads(json.dumps(answers)), "judge")[0]


def through_judge_by_units(case: Case, answers: Answers) -> list[Entry]:
    entries = []
    for name, unit in case.units.items():
        asked = {name: unit}
        entries += check(case.schema, asked, {name: answers[name]}, "judge")[0]
    return entries


Through = Callable[[Case, Answers], list[Entry]]
DOORS: dict[str, Through] = {
    "page": through_page,
    "api": through_api,
    "judge": through_judge,
    "judge by units": through_judge_by_units,
}
EACH_DOOR = pytest.mark.parametrize("door", list(DOORS))
EACH_WHOLE_DOOR = pytest.mark.parametrize("door", WHOLE)


def names_its_unit(door: str, case: Case, answers: Answers, unit: str, key: str = "") -> bool:
    """Whether the channel refuses these answers and names unit and key."""
    with pytest.raises(RefusedError) as error:
        DOORS[door](case, answers)
    return any(p.unit == unit and key in (p.key, "") for p in error.value.problems)


def test_every_protocol_is_covered_by_the_contract():
    assert {case.protocol for case in CASES} == set(PROTOCOLS)
    for case in CASES:
        assert {unit.kind for unit in case.units.values()} == set(case.good)
    asked = {(c.protocol, v.kind, v.name) for c in CASES for v in c.schema.variables}
    assert asked == {(p.name, v.kind, v.name) for p in PROTOCOLS.values() for v in p.variables}


@pytest.mark.every_case
@EACH_CASE
def test_the_same_answers_give_equal_entries_through_every_channel(case):
    found = {door: through(case, case.answers()) for door, through in DOORS.items()}
    assert [e.name for e in found["api"]] == list(case.units)
    for entry in found["api"]:
        codes = case.good[entry.unit.kind].items()
        assert entry.values == {k: v for k, v in codes if k not in NO_LABELS}
    assert found["page"] == found["api"] == found["judge"] == found["judge by units"]


@pytest.mark.every_case
@EACH_WHOLE_DOOR
@EACH_CASE
def test_a_unit_without_an_answer_is_refused(case, door):
    last = list(case.units)[-1]
    answers = case.answers()
    del answers[last]
    assert names_its_unit(door, case, answers, last)


@pytest.mark.every_case
@EACH_WHOLE_DOOR
@EACH_CASE
def test_a_unit_that_was_not_asked_is_refused(case, door):
    answers = case.answers()
    answers["another/🌉#1"] = next(iter(case.answers().values()))
    assert names_its_unit(door, case, answers, "another/🌉#1")


@pytest.mark.every_case
@EACH_DOOR
@EACH_CASE
def test_a_missing_key_is_refused(case, door):
    for kind, name in first_of_each_kind(case).items():
        for variable in case.schema.variables_of(kind):
            answers = case.answers()
            del answers[name][variable.name]
            assert names_its_unit(door, case, answers, name, variable.name)


@pytest.mark.every_case
@EACH_DOOR
@EACH_CASE
def test_an_extra_key_is_refused(case, door):
    for name in first_of_each_kind(case).values():
        answers = case.answers()
        answers[name]["surprise"] = "yes"
        assert names_its_unit(door, case, answers, name, "surprise")


@pytest.mark.every_case
@EACH_DOOR
@EACH_CASE
def test_an_unknown_code_is_refused(case, door):
    for kind, name in first_of_each_kind(case).items():
        for variable in case.schema.variables_of(kind):
            for wrong in ("perhaps", variable.codes[0].upper() + " ", 7):
                answers = case.answers()
                answers[name][variable.name] = wrong
                assert names_its_unit(door, case, answers, name, variable.name)


@pytest.mark.every_case
@EACH_DOOR
@EACH_CASE
def test_a_boolean_is_not_accepted_as_a_code(case, door):
    for kind, name in first_of_each_kind(case).items():
        for variable in case.schema.variables_of(kind):
            for wrong in (True, False):
                answers = case.answers()
                answers[name][variable.name] = wrong
                assert names_its_unit(door, case, answers, name, variable.name)


def conditional_keys(case: Case) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """Unit name, key, the variable that it depends on, and that variable's other codes."""
    found = []
    for kind, name in first_of_each_kind(case).items():
        written = case.schema.written(kind)
        rules = [(v.name, v.asked_if) for v in case.schema.variables_of(kind)]
        rules += [(written.name, written.asked_if)] if written else []
        listed = case.schema.listed(kind)
        rules += [(listed.name, listed.asked_if)] if listed else []
        for key, asked_if in rules:
            for gate, codes in asked_if.items():
                if variable := case.schema.variable(gate, kind):
                    others = tuple(c for c in variable.answers if c not in codes)
                    found.append((name, key, gate, others))
    return found


CONDITIONAL = [pytest.param(c, id="-".join((c.protocol, *c.variables))) for c in CASES
               if conditional_keys(c)]  # fmt: skip


@pytest.mark.every_case
@EACH_DOOR
@pytest.mark.parametrize("case", CONDITIONAL)
def test_null_is_refused_where_the_condition_holds(case, door):
    for name, key, _, _ in conditional_keys(case):
        answers = case.answers()
        answers[name][key] = None
        assert names_its_unit(door, case, answers, name, key)


@pytest.mark.every_case
@EACH_DOOR
@pytest.mark.parametrize("case", CONDITIONAL)
def test_a_value_is_refused_where_the_condition_fails(case, door):
    for name, key, gate, others in conditional_keys(case):
        for other in others:
            answers = case.answers()
            answers[name][gate] = other
            answers[name]["evidence"] = [QUOTE]
            if not case.schema.evidence(case.units[name].kind):
                del answers[name]["evidence"]
            assert names_its_unit(door, case, answers, name, key)


@pytest.mark.every_case
@EACH_DOOR
@pytest.mark.parametrize("case", CONDITIONAL)
def test_null_is_accepted_where_the_condition_fails(case, door):
    for name, _, gate, others in conditional_keys(case):
        for other in others:
            answers = case.answers()
            answers[name][gate] = other
            for hanging_name, key, by, _ in conditional_keys(case):
                if (hanging_name, by) == (name, gate):
                    answers[name][key] = None
            if case.schema.evidence(case.units[name].kind):
                answers[name]["evidence"] = [QUOTE]
            entry = {e.name: e for e in DOORS[door](case, answers)}[name]
            assert entry.values[gate] == other


@pytest.mark.every_case
@EACH_DOOR
@EACH_CASE
def test_missing_owed_evidence_is_refused(case, door):
    owing = OWING.get(case.protocol)
    rule = case.schema.protocol.evidence
    assert owing == ((rule.variable, *rule.owed_if) if rule and rule.owed_if else None)
    if not owing:
        return
    variable, *_, code = owing
    name = next(iter(case.units))
    answers = case.answers()
    answers[name] |= {variable: code, EVIDENCE_KEY: []}
    answers[name] |= {"failure": None} if case.protocol == "key-point-recall" else {}
    assert names_its_unit(door, case, answers, name, EVIDENCE_KEY)
    quotes = case.answers()[name][EVIDENCE_KEY] or [QUOTE]
    answers[name] |= {EVIDENCE_KEY: quotes}
    assert DOORS[door](case, answers)[0].evidence[0].quote == quotes[0]["quote"]


@pytest.mark.every_case
@EACH_CASE
def test_import_accepts_a_partial_answer_without_evidence(case):
    name, unit = next(iter(case.units.items()))
    variable = case.schema.variables_of(unit.kind)[0].name
    answer = {name: {variable: case.good[unit.kind][variable]}}
    entries, warnings = check(case.schema, case.units, answer, "import")
    assert [(e.name, dict(e.values)) for e in entries] == [(name, answer[name])]
    owing = OWING.get(case.protocol, ("",))
    owed = owing[0] == variable and answer[name][variable] in owing[1:]
    assert [w.unit for w in warnings] == ([name] if owed else [])


@pytest.mark.every_case
@EACH_CASE
@pytest.mark.parametrize("mistake", ["unit", "variable", "code", "boolean"])
def test_import_refuses_unknown_units_and_codes(case, mistake):
    name, unit = next(iter(case.units.items()))
    variable = case.schema.variables_of(unit.kind)[0].name
    answers: dict[str, Answers] = {
        "unit": {"another/🌉#1": {variable: "yes"}},
        "variable": {name: {"surprise": "yes"}},
        "code": {name: {variable: "perhaps"}},
        "boolean": {name: {variable: True}},
    }
    answer = answers[mistake]
    with pytest.raises(RefusedError) as error:
        check(case.schema, case.units, answer, "import")
    assert [p.unit for p in error.value.problems] == [*answer]
