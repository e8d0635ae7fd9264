"""Lists of points that a rater writes, and their matches, through every channel."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from annotation.answers.drafts import check_draft
from annotation.answers.evidence import locate
from annotation.answers.payloads import from_form
from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import schema_of
from tandem.messages import Word
from tandem.protocols.base import ItemSpec, Text, UnitSpec, name_units
from tandem.protocols.points import draft_list_problem, match_problem
from tandem.protocols.validation import Channel, RefusedError, check
from tests.annotation.protocol_cast import QUERY

MAX_POINT = 2000
MAX_POINTS = 100
MAX_QUOTES = 200

SCHEMA = schema_of(PROTOCOLS["key-point-writing"])
TEXT = "Zoe\u0308 🛶 crossed at dawn.\r\nשלום said 👩‍👩‍👧. It held."
UNITS = {
    "q/p": UnitSpec("passage", "q/p", "A passage"),
    "k1": UnitSpec("key-point", "k1", "Zoe crossed."),
    "k2": UnitSpec("key-point", "k2", "It sank."),
}
SPEC = ItemSpec("q/p", tuple(UNITS.values()), (Text("passage", TEXT),), passage="p")
GOOD: dict[str, Any] = {
    "q/p": {
        "holds_points": "yes",
        "points": [
            {"text": "Zoë crossed.", "evidence": [{"quote": "🛶 crossed", "start": 5}]},
            {"text": "It held.", "evidence": [{"quote": "שלום", "start": 25}]},
        ],
    },
    "k1": {"matched": "yes", "matches": [1, 2]},
    "k2": {"matched": "no", "matches": []},
}
STRICT: tuple[Channel, ...] = ("page", "api", "judge")


def changed(unit: str, **keys: Any) -> dict[str, Any]:
    answer = deepcopy(GOOD)
    answer[unit] |= keys
    return answer


def problems(answer: dict[str, Any], door: Channel = "api") -> list[str]:
    try:
        entries, warnings = check(SCHEMA, UNITS, answer, door)
        _, doubts = locate(entries, SPEC, door)
    except RefusedError as error:
        return [str(each) for each in error.problems]
    return [str(each) for each in (*warnings, *doubts)]


@pytest.mark.every_case
@pytest.mark.parametrize("door", [*STRICT, "import"])
def test_a_valid_list_passes_every_channel(door: Channel) -> None:
    assert problems(GOOD, door) == []
    entries, _ = check(SCHEMA, UNITS, GOOD, door)
    assert [point.text for point in entries[0].points] == ["Zoë crossed.", "It held."]
    assert entries[1].matches == (1, 2)


@pytest.mark.parametrize("door", ["page", "api"])
def test_a_point_must_quote_the_text_where_it_says_in_code_points(door: Channel) -> None:
    points = deepcopy(GOOD["q/p"]["points"])
    points[1]["evidence"] = [{"quote": "שלום", "start": 26}]
    assert problems(changed("q/p", points=points), door) == [
        "unit 'q/p' points: point 2: 'שלום' was not found in the passage"
    ]


def test_an_unfound_quote_of_a_judge_gives_a_warning() -> None:
    points = [{"text": "It held.", "evidence": [{"quote": "absent words", "start": None}]}]
    answer = changed("q/p", points=points) | {"k1": {"matched": "yes", "matches": [1]}}
    assert len(problems(answer, "judge")) == 1
    assert check(SCHEMA, UNITS, answer, "judge")[0][0].points[0].text == "It held."


QUOTED = [{"quote": "It held", "start": None}]
WRONG_LISTS: list[tuple[Any, str]] = [
    ([], "has no point; write one"),
    (None, "has no point; write one"),
    ("1. It held", "is not a list of {text, evidence}"),
    ([{"text": "x"}], "is not a list of {text, evidence}"),
    ([{"text": 3, "evidence": QUOTED}], "is not a list of {text, evidence}"),
    ([{"text": "x", "evidence": QUOTED, "more": 1}], "is not a list of {text, evidence}"),
    ([{"text": " \n", "evidence": QUOTED}], "point 1 has no words"),
    ([{"text": "a\0", "evidence": QUOTED}], "point 1 has no words"),
    ([{"text": "x", "evidence": []}], "point 1 has no quote of the passage"),
    (
        [{"text": "x", "evidence": ["It held"]}],
        "point 1 contains something that is not {quote, start}",
    ),
    ([{"text": "x", "evidence": [{"quote": "It", "start": True}]}], "is not {quote, start}"),
    ([{"text": "x" * (MAX_POINT + 1), "evidence": QUOTED}], "is longer than"),
    ([{"text": "x", "evidence": QUOTED}] * (MAX_POINTS + 1), "contains more than"),
    ([{"text": "x", "evidence": QUOTED * (MAX_QUOTES + 1)}], "contains more than"),
]


@pytest.mark.every_case
@pytest.mark.parametrize("door", STRICT)
@pytest.mark.parametrize(("points", "wrong"), WRONG_LISTS)
def test_a_wrong_list_is_refused_and_says_why(points: Any, wrong: str, door: Channel) -> None:
    found = problems(changed("q/p", points=points), door)
    assert any(wrong in message for message in found)


def test_a_list_is_refused_where_the_text_holds_no_point() -> None:
    none = {"q/p": {"holds_points": "no", "points": None}}
    unmatched = {"k1": {"matched": "no", "matches": []}, "k2": {"matched": "no", "matches": []}}
    assert problems(none | unmatched) == []
    none["q/p"]["points"] = GOOD["q/p"]["points"]
    assert problems(none | unmatched) == ["unit 'q/p' points: is not asked here; give null"]


WRONG_MATCHES: list[tuple[str, Any, str]] = [
    ("yes", [], "is empty though matched is yes"),
    ("yes", [3], "names point 3, but the list has 2"),
    ("yes", [1, 1], "names a point twice"),
    ("no", [1], "is given without matched yes"),
    ("yes", [0], "is not a list of numbers"),
    ("yes", [True], "is not a list of numbers"),
    ("yes", ["1"], "is not a list of numbers"),
    ("yes", 1, "is not a list of numbers"),
    ("yes", None, "is not a list of numbers"),
]


@pytest.mark.every_case
@pytest.mark.parametrize("door", STRICT)
@pytest.mark.parametrize(("code", "matches", "wrong"), WRONG_MATCHES)
def test_wrong_matches_are_refused_and_say_why(
    code: str, matches: Any, wrong: str, door: Channel
) -> None:
    (found,) = problems(changed("k1", matched=code, matches=matches), door)
    assert found.startswith("unit 'k1' matches: ")
    assert wrong in found


def test_an_import_keeps_incomplete_lists_with_a_warning() -> None:
    (found,) = problems(changed("k1", matches=[7]), "import")
    assert "names point 7" in found
    bare = changed("q/p", points=[{"text": "Old.", "evidence": []}, {"text": "B", "evidence": []}])
    assert problems(bare, "import") == []
    part = {"k1": {"matched": "yes"}}
    assert problems(part, "import") == []


def test_a_judge_asked_by_unit_owes_no_matches_to_an_unseen_list() -> None:
    asked = {"k1": UNITS["k1"]}
    entries, warnings = check(SCHEMA, asked, {"k1": {"matched": "yes", "matches": []}}, "judge")
    assert (entries[0].values, warnings) == ({"matched": "yes"}, [])


def test_matches_are_not_asked_for_without_a_list() -> None:
    alone = schema_of(PROTOCOLS["key-point-writing"], ["matched"])
    assert alone.keys("key-point") == ("matched",)
    assert alone.unit_schema("key-point")["required"] == ["matched"]
    listing = schema_of(PROTOCOLS["key-point-writing"], ["holds_points"])
    assert listing.keys("passage") == ("holds_points", "points")
    assert listing.free_keys("key-point") == ()


DRAFTS: list[tuple[Any, bool]] = [
    ([{"text": "", "evidence": []}], True),
    ([{"text": "half", "evidence": [{"quote": "It", "start": 3}]}], True),
    ([2, 1], True),
    ([{"text": "a\0", "evidence": []}], False),
    ([{"text": "x", "evidence": [{"quote": "\ud800", "start": 3}]}], False),
    ([{"text": "x", "evidence": [{"quote": "It", "start": 2**31}]}], False),
    ([{"text": "x" * (MAX_POINT + 1), "evidence": []}], False),
    ([{"text": "x", "evidence": []}] * (MAX_POINTS + 1), False),
    ([{"other": 1}], False),
    ([[1]], False),
    ([1] * (MAX_POINTS + 1), False),
]


@pytest.mark.every_case
@pytest.mark.parametrize(("value", "kept"), DRAFTS)
def test_a_draft_keeps_unfinished_points_and_nothing_else(value: Any, kept: bool) -> None:
    payload = {"units": {"q/p": {"holds_points": None, "points": value}}, "comment": None}
    if kept:
        check_draft(payload)
    else:
        with pytest.raises(RefusedError):
            check_draft(payload)


def point(words: str = "x", *quotes: dict[str, Any]) -> dict[str, Any]:
    return {"text": words, "evidence": [*quotes]}


def quoting(words: str = "It", **more: Any) -> dict[str, Any]:
    return point("x", {"quote": words, **more})


NO_LIST = "is not a list of {text, evidence}"
NO_QUOTE = "contains something that is not {quote, start}"


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([1] * 100, None),
        ([1] * 101, "contains more than 100 numbers; keep the most important"),
        ([1, 2**31 - 1], None),
        ([1, 2**31], NO_LIST),
        ([1, 0], NO_LIST),
        ([1, True], NO_LIST),
        ([point()] * 100, None),
        ([point()] * 101, "contains more than 100 points; keep the most important"),
        ([point(), 1], NO_LIST),
        ([point("x" * 2000)], None),
        ([point(), point("x" * 2001)], "is longer than 2,000 characters; shorten it"),
        ([point("\0")], "contains a character that cannot be stored; remove it"),
        ([point("x", *[{"quote": "It"}] * 200)], None),
        (
            [point("x", *[{"quote": "It"}] * 201)],
            "contains more than 200 quotes; keep the most important",
        ),
        ([quoting("x" * 200_000)], None),
        ([quoting("x" * 200_001)], NO_QUOTE),
        ([quoting(start=0)], None),
        ([quoting(start=None)], None),
        ([quoting(start=2**31 - 1)], None),
        ([quoting(start=2**31)], NO_QUOTE),
        ([quoting(" ")], NO_QUOTE),
        ([quoting(field="f")], NO_QUOTE),
        ([quoting(variable="v")], NO_QUOTE),
        ([point("x", {"quote": "It"}, {"start": 1})], NO_QUOTE),
    ],
)
def test_a_draft_list_must_have_the_form_that_pages_send(value: Any, said: str | None) -> None:
    message = draft_list_problem(value)
    assert (None if message is None else str(message)) == said


@pytest.mark.every_case
@pytest.mark.parametrize("door", STRICT)
def test_a_list_is_accepted_up_to_its_limits(door: Channel) -> None:
    full = [{"text": "x" * MAX_POINT, "evidence": QUOTED * MAX_QUOTES}]
    assert problems(changed("q/p", points=full * MAX_POINTS), door) == []


def test_the_first_number_beyond_the_list_is_named() -> None:
    named = (Word("matched", "?"), Word("yes", "Yes"))
    message = match_problem(named, "yes", [1, 9, 7], 2)
    assert str(message) == "names point 9, but the list has 2; correct the number"
    assert match_problem(named, "yes", [2, 1], 2) is None
    assert match_problem(named, None, [], 0) is None


def test_a_form_with_a_malformed_list_is_refused() -> None:
    form = FormOf({"unit-0": "q/p", "unit-0-points": "[{"})
    with pytest.raises(RefusedError, match="unit 'q/p' points: is not JSON"):
        from_form(SCHEMA, UNITS, form)


def test_an_empty_list_in_a_form_counts_as_no_list() -> None:
    form = FormOf({"unit-0": "q/p", "unit-0-points": "[]", "unit-1": "k1"})
    assert from_form(SCHEMA, UNITS, form)["units"] == {
        "q/p": {"holds_points": None, "points": None},
        "k1": {"matched": None, "matches": []},
    }


class FormOf(dict[str, str]):
    def getlist(self, key: str) -> list[str]:
        return [self[key]] if key in self else []


def test_each_passage_is_an_item_with_its_extracted_points() -> None:
    items = list(SCHEMA.protocol.make_items(QUERY, SCHEMA.variables))
    found = {item.key: list(name_units(item.units)) for item in items}
    assert found == {"q/1/p": ["q/1/p", "k/1"], "q/1/p#1": ["q/1/p#1", "k#2"]}
    assert [item.texts[0].suggested for item in items] == [(), ()]


def test_a_passage_without_extracted_points_asks_only_for_the_list() -> None:
    bare = replace(QUERY, key_points=())
    items = list(SCHEMA.protocol.make_items(bare, SCHEMA.variables))
    assert [[unit.kind for unit in item.units] for item in items] == [["passage"], ["passage"]]
    matching = [v for v in SCHEMA.variables if v.name == "matched"]
    assert list(SCHEMA.protocol.make_items(bare, matching)) == []
