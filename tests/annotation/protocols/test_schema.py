"""The JSON schema of an answer is closed and complete, with exactly the codes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import schema_of
from tandem.protocols.base import Variable
from tests.annotation.door_cast import EACH_CASE, first_of_each_kind


def fits(schema: Mapping[str, Any], value: Any) -> bool:
    """A validator for the part of JSON Schema that the response schemas use."""
    if "anyOf" in schema:
        return any(fits(one, value) for one in schema["anyOf"])
    kind = schema["type"]
    if kind == "object":
        return isinstance(value, dict) and value.keys() == schema["properties"].keys() and all(
            fits(schema["properties"][key], part) for key, part in value.items()
        )  # fmt: skip
    if kind == "array":
        return isinstance(value, list) and all(fits(schema["items"], one) for one in value)
    if kind == "integer":
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and value >= schema["minimum"]
    if kind == "string":
        return isinstance(value, str) and value in schema.get("enum", [value])
    return kind == "null" and value is None


def objects_in(schema: Any) -> list[dict[str, Any]]:
    found = [schema] if isinstance(schema, dict) and schema.get("type") == "object" else []
    parts = schema.values() if isinstance(schema, dict) else schema
    for part in parts if isinstance(schema, dict | list) else ():
        found += objects_in(part)
    return found


@EACH_CASE
def test_the_json_schema_requires_every_key_and_allows_no_others(case):
    schema = case.schema.item_schema(case.units)
    assert list(schema["properties"]) == list(case.units)
    for one in objects_in(schema):
        assert one["additionalProperties"] is False
        assert one["required"] == list(one["properties"])
    assert json.loads(json.dumps(schema)) == schema


@EACH_CASE
def test_the_json_schema_lists_codes_and_null_for_conditional_variables(case):
    for kind in case.good:
        properties = case.schema.unit_schema(kind)["properties"]
        assert tuple(properties) == case.schema.keys(kind) == tuple(case.good[kind])
        for variable in case.schema.variables_of(kind):
            codes = {"type": "string", "enum": [*variable.codes, *variable.escapes]}
            nullable = {"anyOf": [codes, {"type": "null"}]}
            assert properties[variable.name] == (nullable if variable.asked_if else codes)


@EACH_CASE
def test_the_json_schema_accepts_valid_answers_only(case):
    schema = case.schema.item_schema(case.units)
    assert fits(schema, case.answers())
    for kind, name in first_of_each_kind(case).items():
        for variable in case.schema.variables_of(kind):
            for wrong in ("perhaps", True, 3, "" if variable.asked_if else None):
                answers = case.answers()
                answers[name][variable.name] = wrong
                assert not fits(schema, answers)
        if "evidence" in case.good[kind]:
            for no_list in (None, [{"quote": "x"}], [{"quote": "x", "start": True}], ["x"]):
                answers = case.answers()
                answers[name]["evidence"] = no_list
                assert not fits(schema, answers)


def test_null_is_not_offered_if_the_condition_is_not_asked():
    alone = schema_of(PROTOCOLS["key-point-verification"], ["key"])
    assert alone.unit_schema("key-point")["properties"]["key"] == {
        "type": "string",
        "enum": ["agree", "neutral", "disagree"],
    }


PAIR = (
    Variable("size", "box", "How big?", ("s", "l"), words={"s": "Small"}),
    Variable("size", "bag", "How wide?", ("l", "xl"), escapes=("odd",), words={"l": "Wide"}),
)
SIZES = replace(schema_of(PROTOCOLS["report-coverage"]), variables=PAIR)


def test_a_variable_is_shown_in_the_words_of_its_kind_of_unit():
    nouns = {kind: SIZES.named("size", kind) for kind in ("box", "bag", "other")}
    assert set(nouns.values()) == {"size"}
    assert {kind: str(word.word) for kind, word in nouns.items()} == {
        "box": "“How big?”", "bag": "“How wide?”", "other": "“How big?”",
    }  # fmt: skip
    codes = {kind: SIZES.coded("size", "l", kind) for kind in ("box", "bag", "other")}
    assert {kind: (str(word), word.word) for kind, word in codes.items()} == {
        "box": ("l", "L"), "bag": ("l", "Wide"), "other": ("l", "L"),
    }  # fmt: skip
    for unknown in (SIZES.named("age", "box"), SIZES.coded("age", "age", "box")):
        assert (str(unknown), unknown.word) == ("age", "age")


def test_words_of_a_variable_of_two_kinds_are_merged_with_the_first_kind_preferred():
    assert SIZES.words() == {"size": {"s": "Small", "l": "L", "xl": "Xl", "odd": "Odd"}}


def test_a_schema_with_codes_only_is_closed():
    for protocol, closed in (("report-coverage", True), ("grounded-answer", False),
                             ("key-point-writing", False)):  # fmt: skip
        assert schema_of(PROTOCOLS[protocol]).is_closed is closed
    assert schema_of(PROTOCOLS["grounded-answer"], ["selected"]).is_closed


def test_lookups_by_kind_of_unit_are_cached():
    asked = schema_of(PROTOCOLS["key-point-writing"])
    names = ("variables_of", "evidence", "written", "listed", "matching", "free_keys", "keys",
             "criteria")  # fmt: skip
    for name in names:
        found = {kind: getattr(asked, name)(kind) for kind in ("passage", "key-point")}
        known = vars(asked)[f"_{name}"]
        assert all(known[kind] is of_kind for kind, of_kind in found.items())
