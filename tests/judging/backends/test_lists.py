"""Lists of points from the lexical baseline, and the instructions that a judge gets."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import schema_of
from judging.backends.base import AskedUnit, AskedVariable, Facts, Request, Setup
from judging.backends.lexical import Lexical, list_points, match_lists
from judging.prompts.template import describe_answer

TEXT = "It rained. The ferry sank in March. All slept. The harbour was closed."
HOLDS = AskedVariable("holds_points", ("yes", "no"), "nominal")
MATCHED = AskedVariable("matched", ("yes", "no"), "nominal")
MATCHES = ("matches", "matched", "yes")


def split(text: str) -> list[tuple[int, int]]:
    ends = [n + 1 for n, sign in enumerate(text) if sign == "."]
    return list(zip([0, *ends[:-1]], ends, strict=True))


def passage(**more: Any) -> AskedUnit:
    listed: Any = {"listed": "points", "listed_if": {"holds_points": ("yes",)}} | more
    return AskedUnit("q/p", "passage", "A passage", (HOLDS,), **listed)


def point(name: str, text: str) -> AskedUnit:
    return AskedUnit(name, "key-point", text, (MATCHED,), matches=MATCHES)


def answers(query: str, *units: AskedUnit, unit_by_unit: bool = False) -> dict[str, Any]:
    facts = Facts(query, (TEXT,), units, unit_by_unit)
    backend = Lexical(Setup(split_sentences=split))
    found: dict[str, Any] = json.loads(asyncio.run(backend.ask(Request((), {}, facts))).text)
    return found


def test_listed_points_are_the_sentences_of_the_text() -> None:
    points = list_points("When did the ferry sink?", [["It rained.", " The ferry sank in March."]])
    assert points[1] == {
        "text": "The ferry sank in March.",
        "evidence": [{"quote": "The ferry sank in March.", "start": None}],
    }


def test_a_long_text_gives_the_sentences_nearest_to_the_query_in_reading_order() -> None:
    sentences = [f"Line {n} of nothing." for n in range(20)] + ["The ferry sank.", "A ferry."]
    points = list_points("ferry sank", [sentences])
    assert len(points) == 5
    assert [each["text"] for each in points[-2:]] == ["The ferry sank.", "A ferry."]


def test_extracted_points_are_matched_to_the_list_by_number() -> None:
    units = (
        passage(listed_if={}),
        point("k1", "The ferry sank in March."),
        point("k2", "Nobody paid taxes."),
    )
    found = answers("When did the ferry sink?", *units)
    texts = [each["text"] for each in found["q/p"]["points"]]
    assert found["k1"] == {
        "matched": "yes",
        "matches": [texts.index("The ferry sank in March.") + 1],
    }
    assert found["k2"] == {"matched": "no", "matches": []}


def test_nothing_is_matched_if_nothing_is_listed() -> None:
    gate = {"holds_points": ("perhaps",)}
    found = answers("ferry", passage(listed_if=gate), point("k1", "The ferry sank in March."))
    assert found["q/p"]["points"] is None
    assert found["k1"] == {"matched": "no", "matches": []}


def test_unit_by_unit_a_point_is_compared_with_the_text_itself() -> None:
    found = answers("ferry", point("k1", "The ferry sank in March."), unit_by_unit=True)
    assert found == {"matched": "yes", "matches": []}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("listed", "matches"),
    [
        ("Ferry, March, storm.", [1]),
        ("Ferry, harbour, March, storm.", [1]),
        ("Ferry, March.", []),
        ("Ferry ferry ferry.", []),
        ("", []),
    ],
)
def test_a_point_matches_with_three_fifths_of_its_words(listed: str, matches: list[int]) -> None:
    unit = point("k1", "Ferry, harbour, March, storm, captain.")
    given: dict[str, Any] = {"q/p": {"points": [{"text": listed}]}, "k1": {"matched": "yes"}}
    match_lists([passage(), unit], given)
    assert given["k1"] == {"matched": "yes" if matches else "no", "matches": matches}


def test_a_point_without_words_matches_nothing() -> None:
    given: dict[str, Any] = {"q/p": {"points": [{"text": "..."}]}, "k1": {"matched": "yes"}}
    match_lists([passage(), point("k1", "...")], given)
    assert given["k1"] == {"matched": "no", "matches": []}


def test_an_unmatched_point_changes_only_the_code_of_the_matching_variable() -> None:
    variables = (AskedVariable("weight", ("vital", "okay"), "nominal"), MATCHED)
    unit = AskedUnit("k1", "key-point", "A storm.", variables, matches=MATCHES)
    given: dict[str, Any] = {"q/p": {"points": None}, "k1": {"matched": "yes"}}
    match_lists([passage(), unit], given)
    assert given["k1"] == {"matched": "no", "matches": []}


@pytest.mark.parametrize("unit_by_unit", [True, False])
def test_a_judge_is_told_to_write_its_list_before_it_looks(unit_by_unit: bool) -> None:
    schema = schema_of(PROTOCOLS["key-point-writing"])
    units = (passage(), point("k1", "It sank."))
    said = describe_answer(schema, units, unit_by_unit)
    assert "write it before you look at any key-point; null unless `holds_points` is yes" in said
    assert "empty unless `matched` is yes" in said
