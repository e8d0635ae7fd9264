"""Finding the answer in what models write around it, without guessing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from judging.backends.base import Answer, AskedUnit, AskedVariable
from judging.parsers.base import ExpectedAnswer, Reading, UnreadError
from judging.parsers.schema import SCHEMA

MAX_VALUES = 100

ANSWERABLE = AskedVariable("answerable", ("yes", "no"), "nominal")
UNIT = AskedUnit("question 1", "question", "When?", (ANSWERABLE,))
YES, NO = '{"answerable": "yes"}', '{"answerable": "no"}'


def fits(answer: Any) -> bool:
    return isinstance(answer, dict) and answer.keys() == {"answerable"}


def read(text: str) -> Reading:
    return SCHEMA.read(Answer(text), ExpectedAnswer((UNIT,), by_unit=True, fits=fits))


def fault(text: str) -> str:
    with pytest.raises(UnreadError) as raised:
        read(text)
    return raised.value.fault


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (NO, "as-is"),
        (f"\n  {NO}\n", "as-is"),
        (f"```json\n{NO}\n```", "fence"),
        (f"```\n{NO}\n```\n", "fence"),
        (f"~~~json\n{NO}\n~~~", "fence"),
        (f"Here is the answer:\n```json\n{NO}\n```\nAsk me for more.", "fence+prose"),
        (f"```json\n{NO}", "prose"),
        (f"<think>It says nothing.</think>\n{NO}", "thinking"),
        (f"It says nothing.\n</think>\n{NO}", "thinking"),
        (f"<thinking>Hm: {YES}?</thinking>{NO}", "thinking"),
        (f"<think>Hm.</think>\n```json\n{NO}\n```", "thinking+fence"),
        (f"Sure! {NO}", "prose"),
        (f"{NO} as I said.", "prose"),
        (f'The user wrote "{{". {NO}', "prose"),
        (f"{NO}\n{NO}", "prose"),
        ('{"answerable": "no",}', "trailing-comma"),
        ('{"answerable": "no",\n}', "trailing-comma"),
        ('Well, {"answerable": "no", }', "prose+trailing-comma"),
        ("{“answerable”: “no”}", "smart-quotes"),
        ("{„answerable“: „no“}", "smart-quotes"),
        ("{“answerable”: “no”,}", "trailing-comma+smart-quotes"),
        ("{'answerable': 'no'}", "python"),
        ("Sure: {'answerable': 'no',}", "prose+trailing-comma+python"),
        ('{"answerable": "no" // it says nothing\n}', "comments"),
        ('{"answerable": /* hm */ "no",}', "trailing-comma+comments"),
        ('{// the 5" map\n"answerable": "no" // says nothing\n}', "comments"),
        ("<think>…</think>Sure:\n```json\n{“answerable”: “no”,}\n```",
         "thinking+fence+prose+trailing-comma+smart-quotes"),
    ],
)  # fmt: skip
def test_each_common_form_of_an_answer_is_read_with_its_steps_named(text: str, steps: str) -> None:
    reading = read(text)
    assert reading.units == {"question 1": {"answerable": "no"}}
    assert "+".join(reading.steps) == steps


@pytest.mark.every_case
@pytest.mark.parametrize(
    "text",
    [
        f"{NO}\n{YES}",
        f"It is {NO}, or rather {YES}",
        f"```json\n{NO}\n```\n\n```json\n{YES}\n```",
        f"{NO}\n```json\n{YES}\n```",
        f"<think>Hm.</think>{NO}</think>{YES}",
        '{"answerable": "no",} {"answerable": "yes"}',
    ],
)
def test_two_different_verdicts_are_ambiguous(text: str) -> None:
    assert fault(text) == "ambiguous"


@pytest.mark.every_case
@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "no",
        '"no"',
        "3",
        "null",
        "[]",
        f"[{NO}]",
        "I cannot say.",
        f"<think>{NO}",
        f"<think>{NO}</think>",
        '{"answerable": "no"',
        '{"answerable": "no" "because": 1}',
        '{"answerable": "no", "answerable": "yes"}',
        '{"verdict": {"answerable": null, "why": ""}}, no',
        "{" * 100_000,
        "[" * 100_000,
    ],
)
def test_text_without_an_answer_is_unreadable(text: str) -> None:
    assert fault(text) == "unreadable"


def test_a_plain_object_is_passed_on_to_the_schema_check() -> None:
    assert read('{"verdict": "no"}').units == {"question 1": {"verdict": "no"}}


def test_an_answer_to_an_item_has_its_units_by_name() -> None:
    owed = ExpectedAnswer((UNIT,), fits=lambda answer: "question 1" in answer)
    text = f'Of these {{"a": 1}}: {{"question 1": {NO}}}'
    assert SCHEMA.read(Answer(text), owed).units == {"question 1": {"answerable": "no"}}


@pytest.mark.every_case
@pytest.mark.parametrize("words", ["“quoted”", "a, }", "[1, ]", '\\"', "👩‍👩‍👧 \u0301 שלום", "```"])
def test_the_contents_of_strings_are_never_changed(words: str) -> None:
    inside = json.dumps({"answerable": words}, ensure_ascii=False)
    for text in (inside, f"```json\n{inside}\n```", f"Sure: {inside[:-1]},}}"):
        assert read(text).units["question 1"]["answerable"] == words


@pytest.mark.parametrize(
    "text",
    [
        f"👩‍👩‍👧 Sure:\n```\n{NO[:-1]},}}\n```",
        "É {“answerable”: “no”}",
        f"<think>é</think> {NO}",
    ],
)
def test_corrected_text_keeps_every_character_at_its_position(text: str) -> None:
    reading = read(text)
    assert len(reading.text) == len(text)
    assert reading.text[reading.start] == text[reading.start] == "{"
    assert reading.text.index("no") == text.index("no")


def test_a_text_with_too_many_objects_is_given_up() -> None:
    text = '{"a": 1} ' * (MAX_VALUES + 1) + NO
    assert fault(text) == "unreadable"


@pytest.mark.parametrize(
    "text",
    ["```x\n" * 40_000, "~~~\n```\n" * 20_000, "<think>" * 20_000, '{"' * 60_000, "{“" * 60_000,
     "{" + " " * 190_000, "{,}" * 60_000, '{"a": ' * 30_000],
)  # fmt: skip
def test_a_text_designed_to_be_slow_is_read_quickly(text: str) -> None:
    """A pattern or a search that is quadratic in these would take hours."""
    assert fault(text) == "unreadable"
