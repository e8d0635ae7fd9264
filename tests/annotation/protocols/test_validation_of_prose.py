"""Checking written answers: prose with citations, required where an answer is possible."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import schema_of
from tandem.protocols.base import UnitSpec
from tandem.protocols.validation import Prose
from tests.annotation.checks import STRICT, entry, refused

ANSWERS = schema_of(PROTOCOLS["grounded-answer"])
SECOND_ROUND = schema_of(
    PROTOCOLS["grounded-answer"], ["descriptor", "deflected", "action", "selected"]
)
TASK = {"q": UnitSpec("query", "q", "How?")}


def written(text: Any, descriptor: str = "complete", deflected: str = "no") -> dict[str, Any]:
    return {"descriptor": descriptor, "deflected": deflected, "written": text}


PROSE = {"text": "In a pit. [1]", "citations": ["p#1", "p/2"]}


def test_a_written_answer_is_stored_as_prose_and_not_as_a_label():
    found = entry(ANSWERS, TASK, written(PROSE))
    assert found.values == {"descriptor": "complete", "deflected": "no"}
    assert found.written == Prose("In a pit. [1]", ("p#1", "p/2"))


@pytest.mark.every_case
@pytest.mark.parametrize("door", STRICT)
@pytest.mark.parametrize(
    ("descriptor", "deflected"), [("complete", "yes"), ("no-answer", "no"), ("ill-formed", "yes")]
)
def test_no_text_is_accepted_if_the_passages_do_not_suffice(door, descriptor, deflected):
    assert entry(ANSWERS, TASK, written(None, descriptor, deflected), door).written is None
    problems = refused(ANSWERS, TASK, written(PROSE, descriptor, deflected), door)
    assert problems == ["unit 'q' written: is not asked here; give null"]


@pytest.mark.parametrize("door", STRICT)
def test_a_written_answer_is_required_if_it_is_asked(door):
    problems = refused(ANSWERS, TASK, written(None, "partial"), door)
    assert problems == ["unit 'q' written: has no text; write one"]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("prose", "message"),
    [
        ("In a pit.", "is not {text, citations}"),
        ({"text": "In a pit."}, "is not {text, citations}"),
        ({**PROSE, "more": 1}, "is not {text, citations}"),
        ({"text": " \n", "citations": []}, "has no text; write one"),
        ({"text": 5, "citations": []}, "has no text; write one"),
        ({"text": "x\0", "citations": []}, "contains a character that cannot be stored; remove it"),
        ({"text": "x", "citations": "p"}, "cites something that is not a passage id"),
        ({"text": "x", "citations": ["p", 1]}, "cites something that is not a passage id"),
        ({"text": "x", "citations": [""]}, "cites something that is not a passage id"),
    ],
)
def test_a_malformed_written_answer_is_refused(prose, message):
    assert refused(ANSWERS, TASK, written(prose)) == [f"unit 'q' written: {message}"]


@pytest.mark.parametrize("door", STRICT)
def test_a_written_answer_is_limited_in_characters_and_citations(door):
    def prose(characters: int, citations: int) -> dict[str, Any]:
        return {"text": "x" * characters, "citations": ["p"] * citations}

    assert entry(ANSWERS, TASK, written(prose(50_000, 200)), door).written is not None
    long, often = prose(50_001, 0), prose(1, 201)
    found = [refused(ANSWERS, TASK, written(each), door) for each in (long, often)]
    assert found == [
        ["unit 'q' written: is longer than 50,000 characters; shorten it"],
        ["unit 'q' written: contains more than 200 citations; keep the most important"],
    ]
    assert entry(ANSWERS, TASK, written(often), "import").written is not None


@pytest.mark.parametrize(("action", "asked"), [("keep", True), ("modify", True), ("skip", False)])
def test_a_second_round_requires_text_unless_it_skips(action, asked):
    answer = {**written(PROSE), "action": action}
    empty = {**written(None), "action": action}
    right, wrong = (answer, empty) if asked else (empty, answer)
    assert entry(SECOND_ROUND, TASK, right).values["action"] == action
    assert len(refused(SECOND_ROUND, TASK, wrong)) == 1
