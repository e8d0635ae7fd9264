"""Checking imported labels: lenient where history cannot be changed, and only there."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import schema_of
from tandem.protocols.base import UnitSpec
from tandem.protocols.points import Quote
from tandem.protocols.schema import Schema
from tandem.protocols.validation import Entry, RefusedError, check
from tests.annotation.checks import refused

COVERAGE = schema_of(PROTOCOLS["report-coverage"])
RATED = schema_of(PROTOCOLS["report-coverage"], ["answerable", "rating"])
POINTS = schema_of(PROTOCOLS["key-point-verification"])
QUESTION = {"q1": UnitSpec("question", "q1", "When?")}
POINT = {"k1": UnitSpec("key-point", "k1", "It opened in 1901.")}


def lenient(
    schema: Schema, units: dict[str, UnitSpec], answer: Any
) -> tuple[list[Entry], list[str]]:
    entries, warnings = check(schema, units, answer, "import")
    return entries, [str(w) for w in warnings]


def test_import_accepts_a_part_of_an_item_and_of_a_unit():
    units = {**QUESTION, "q2": UnitSpec("question", "q2", "Who?")}
    entries, warnings = lenient(RATED, units, {"q2": {"rating": "4"}})
    assert [(e.name, e.values) for e in entries] == [("q2", {"rating": "4"})]
    assert warnings == []


def test_import_keeps_a_yes_without_its_quote_and_warns():
    entries, warnings = lenient(COVERAGE, QUESTION, {"q1": {"answerable": "yes"}})
    assert entries[0].values == {"answerable": "yes"}
    assert warnings == ["unit 'q1' evidence: answerable is yes without its quote"]


def test_import_accepts_evidence_the_protocol_does_not_ask_for():
    relevance = schema_of(PROTOCOLS["grounding-relevance"])
    units = {"q/p": UnitSpec("passage", "q/p", "P")}
    quote = {"quote": "clay", "start": None, "field": "passage:p", "variable": "relevant"}
    answer = {"q/p": {"relevant": "no", "evidence": [quote]}}
    entries, warnings = lenient(relevance, units, answer)
    assert entries[0].evidence == (Quote("relevant", "passage:p", "clay"),)
    assert warnings == []


@pytest.mark.parametrize("key", ["field", "variable"])
def test_import_requires_text_for_field_and_variable_of_a_quote(key):
    answer = {"answerable": "yes", "evidence": [{"quote": "x", "start": 0, key: 5}]}
    assert refused(COVERAGE, QUESTION, answer, "import") == [
        "unit 'q1' evidence: contains something that is not {quote, start}"
    ]


def test_import_leaves_out_a_label_whose_condition_fails_and_warns():
    entries, warnings = lenient(POINTS, POINT, {"k1": {"grounded": "no", "key": "agree"}})
    assert entries[0].values == {"grounded": "no"}
    assert warnings == ["unit 'k1' key: is asked only if grounded is yes; its label was skipped"]


def test_import_keeps_a_label_whose_condition_is_not_in_the_file():
    entries, warnings = lenient(POINTS, POINT, {"k1": {"key": "agree"}})
    assert entries[0].values == {"key": "agree"}
    assert warnings == []


@pytest.mark.every_case
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
def test_import_refuses_unknown_units_keys_and_codes(answer):
    with pytest.raises(RefusedError):
        check(COVERAGE, QUESTION, answer, "import")
