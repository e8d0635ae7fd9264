"""How each channel reads what it receives, before anything is checked."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
from django.http import QueryDict

from annotation.answers.payloads import from_api, from_form
from tandem.protocols.base import Payload
from tandem.protocols.validation import RefusedError
from tests.annotation.door_cast import CASES

COVERAGE = CASES[0]
FIRST = next(iter(COVERAGE.units))


def form_refusal(body: str) -> list[tuple[str, str]]:
    with pytest.raises(RefusedError) as error:
        from_form(COVERAGE.schema, COVERAGE.units, QueryDict(body))
    return [(p.unit, p.key) for p in error.value.problems]


def test_a_form_keeps_its_comment_and_only_its_own_fields():
    body = urlencode({"comment": " Fine. ", "version": "3", "unit-0": FIRST})
    payload: Payload = from_form(COVERAGE.schema, COVERAGE.units, QueryDict(body))
    assert payload == {
        "units": {FIRST: {"answerable": None, "evidence": []}},
        "comment": " Fine. ",
    }


def test_a_form_that_answers_a_unit_twice_is_refused():
    assert form_refusal(urlencode({"unit-0": FIRST, "unit-1": FIRST})) == [(FIRST, "")]


@pytest.mark.every_case
@pytest.mark.parametrize("field", ["unit-1-answerable", "unit-9", "unit-", "unit-x-answerable"])
def test_a_field_of_no_unit_is_refused(field):
    assert form_refusal(urlencode({"unit-0": FIRST, field: "yes"})) == [("", field)]


def test_malformed_evidence_is_reported_with_its_unit():
    body = urlencode({"unit-0": FIRST, "unit-0-evidence": "[{"})
    assert form_refusal(body) == [(FIRST, "evidence")]


def test_a_blank_written_answer_counts_as_none():
    case = next(c for c in CASES if c.protocol == "grounded-answer" and not c.variables)
    body = urlencode({"unit-0": "q/1", "unit-0-answer": " \r\n", "unit-0-citations": "p"})
    payload = from_form(case.schema, case.units, QueryDict(body))
    assert payload["units"]["q/1"]["written"] is None


@pytest.mark.every_case
@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"units": []},
        {"units": {}, "comment": 5},
        {"units": {}, "rater": "me"},
        {"units": {}, "comment": "\0"},
    ],
)
def test_an_api_body_is_units_and_a_comment(body):
    with pytest.raises(RefusedError):
        from_api(body)


def test_a_form_is_read_field_by_field():
    case = next(c for c in CASES if c.protocol == "grounded-answer" and not c.variables)
    fields = [
        ("unit-0", "q/1"), ("unit-0-descriptor", "complete"), ("unit-0-deflected", ""),
        ("unit-0-answer", " In 1901. "), ("unit-0-citations", "p"), ("unit-0-citations", "r"),
        ("unit-1", "unasked"), ("unit-1-x", "1"),
    ]  # fmt: skip
    payload = from_form(case.schema, case.units, QueryDict(urlencode(fields)))
    given = payload["units"].pop("q/1")
    assert payload == {"units": {"unasked": {}}, "comment": None}
    assert (given["descriptor"], given["deflected"]) == ("complete", None)
    assert given["written"] == {"text": " In 1901. ", "citations": ["p", "r"]}
    quotes = [{"quote": "x", "start": 3}]
    body = urlencode({"unit-0": FIRST, "unit-0-evidence": json.dumps(quotes)})
    found = from_form(COVERAGE.schema, COVERAGE.units, QueryDict(body))["units"][FIRST]
    assert found == {"answerable": None, "evidence": quotes}


def test_points_and_matches_must_be_lists():
    case = next(c for c in CASES if any(c.schema.listed(u.kind) for u in c.units.values()))
    names = {bool(case.schema.listed(unit.kind)): name for name, unit in case.units.items()}
    listed = case.schema.listed(case.units[names[True]].kind)
    assert listed is not None

    def read(text):
        body = urlencode({"unit-0": names[True], f"unit-0-{listed.name}": text})
        found = from_form(case.schema, case.units, QueryDict(body))["units"]
        return found[names[True]][listed.name]

    points = [{"text": "It opened.", "evidence": []}]
    assert read(json.dumps(points)) == points
    assert [read(text) for text in ("", "[]", "null")] == [None] * 3
    for text in ("{}", "5", '"x"'):
        with pytest.raises(RefusedError, match="is not a list"):
            read(text)


def test_a_field_that_a_unit_does_not_have_is_refused():
    assert form_refusal(urlencode({"unit-0": FIRST, "unit-0-rating": "1"})) == [(FIRST, "rating")]


def test_an_invalid_body_is_explained():
    def said(body):
        with pytest.raises(RefusedError) as error:
            from_api(body)
        return str(error.value)

    assert from_api({"units": {}, "comment": "x" * 10_000}) == {
        "units": {}, "comment": "x" * 10_000,
    }  # fmt: skip
    assert said({"units": {}, "comment": "x" * 10_001}) == (
        "comment: is longer than 10,000 characters; shorten it"
    )
    assert said({"units": {}, "z": 1, "a": 1}) == "a: is not a key of a response"
    assert said({"units": {}, "comment": 5}) == "comment: is not a text"
    assert said([]) == said({"units": []}) == "send an object with units and comment"
    assert "cannot be stored" in said({"units": {}, "comment": "\0"})


def test_a_blank_comment_counts_as_none():
    assert from_api({"units": {}, "comment": " \n"})["comment"] is None
    assert from_api({"units": {}, "comment": "Hm."})["comment"] == "Hm."
