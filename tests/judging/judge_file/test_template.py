"""Templates of judge files: what they may contain, and that rendering ends."""

from __future__ import annotations

from typing import Any

import pytest

from judging.judge_file.context import FIELDS
from judging.judge_file.template import FileError, MessageTemplate, Steps

MAX_OUTPUT = 2_000_000

PASSAGES = [
    {"number": 1, "text": "One {{ query.text }}.", "title": "T"},
    {"number": 2, "text": "Two", "title": ""},
]


def render(source: str, **values: Any) -> str:
    template = MessageTemplate(source)
    template.check(FIELDS)
    given = {"query": {"text": "Who?", "asked_at": ""}, "passages": Steps.of(PASSAGES, [100])}
    return template.render(given | values)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Query: {{ query.text }}\n", "Query: Who?\n"),
        (
            "{% for p in passages %}[{{ loop.index }}] {{ p.text }} {% endfor %}",
            "[1] One {{ query.text }}. [2] Two ",
        ),
        ("{{ passages | numbered }}", "1. One {{ query.text }}.\n2. Two"),
        ("{{ passages | cited }}", "[1] T\nOne {{ query.text }}.\n\n[2] Two"),
        ("{{ query.text | truncate_tokens(1) }}", "Who"),
        ("{{ passages[1].text | upper }}", "TWO"),
        ("{% if query.asked_at %}asked{% else %}undated{% endif %}", "undated"),
        ("{{ passages | join(' / ') }}", "One {{ query.text }}. / Two"),
        ("{{ query.text ~ '!' }} & <b>", "Who?! & <b>"),
    ],
)
def test_texts_are_inserted_literally(source: str, text: str) -> None:
    assert render(source) == text


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("{{ system }}", "'system' is not a name of a template"),
        ("{{ passage.system }}", "passage has no 'system'"),
        ("{% for p in passages %}{{ p.id }}{% endfor %}", "p has no 'id'"),
        ("{{ query.text", "cannot be read"),
        ("{% set x = 1 %}", "cannot contain set"),
        ("{% macro f() %}{% endmacro %}", "cannot contain macro"),
        ("{% include 'x' %}", "cannot contain include"),
        ("{{ range(9) }}", "cannot contain a call"),
        ("{{ 'a' * 9 }}", r"cannot contain \*"),
        ("{{ query.text.format(1) }}", "cannot contain a call"),
        ("{{ query.text | replace('a', 'b') }}", "cannot be read|is not a filter"),
        ("{{ query.__class__ }}", "query has no '__class__'"),
        ("{% for a in passages recursive %}{% endfor %}", "does not call itself"),
    ],
)
def test_unknown_names_and_forbidden_operations_are_refused(source: str, wrong: str) -> None:
    with pytest.raises(FileError, match=wrong):
        render(source)


def test_an_error_names_its_line() -> None:
    with pytest.raises(FileError) as raised:
        render("one\ntwo\n{{ nobody }}")
    assert raised.value.line == 3


def test_loops_and_output_are_limited() -> None:
    many = Steps.of(PASSAGES * 30, [1_000])
    nested = "{% for a in passages %}{% for b in passages %}{{ b.text }}{% endfor %}{% endfor %}"
    with pytest.raises(FileError, match="loops more than"):
        render(nested, passages=many)
    long = [{"text": "x" * (MAX_OUTPUT // 2), "title": ""}] * 3
    with pytest.raises(FileError, match="has over"):
        render("{% for p in passages %}{{ p.text }}{% endfor %}", passages=Steps.of(long, [9]))


def test_a_part_that_the_item_lacks_is_an_error_and_not_an_empty_text() -> None:
    with pytest.raises(FileError, match="cannot be filled in"):
        render("{{ report.text }}")
