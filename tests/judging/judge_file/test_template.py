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


WIDE = "x" * 200_000
HOSTILE = {
    "a chain of ~": "{{ " + " ~ ".join(["query.text"] * 500) + " }}",
    "~ that is thrown away": "{{ (" + " ~ ".join(["query.text"] * 500) + ") | length }}",
    "~ in a condition": "{% if " + " ~ ".join(["query.text"] * 500) + " %}a{% endif %}",
    "doubled by loop variables": (
        "{% for a in [query.text ~ query.text] %}{% for b in [a ~ a ~ a ~ a] %}"
        "{% for c in [b ~ b ~ b ~ b] %}{{ c | length }}{% endfor %}{% endfor %}{% endfor %}"
    ),
    "nested numbered": "{{ " + "[" * 30 + "query.text" + ", query.text] | numbered" * 30 + " }}",
    "numbered of many": "{{ [" + ", ".join(["query.text"] * 500) + "] | numbered | length }}",
    "cited of many": "{{ [" + ", ".join(["query.text"] * 500) + "] | cited | length }}",
    "join of many": "{{ [" + ", ".join(["query.text"] * 500) + "] | join | length }}",
    "join with a long text": "{{ [" + "1, " * 500 + "] | join(query.text) | length }}",
    "tojson of many": "{{ [" + ", ".join(["query.text"] * 500) + "] | tojson | length }}",
    "tojson of tojson": "{{ '\"\\\\' " + "| tojson " * 60 + "| length }}",
    "a list printed": "{{ [" + ", ".join(["query.text"] * 500) + "] }}",
    "a list of lists printed": "{{ [" * 2 + ", ".join(["query.text"] * 500) + "]" * 2 + " }}",
    "upper of many": "".join("{% if query.text | upper %}{% endif %}" for _ in range(500)),
    "a loop over letters": (
        "{% for a in query.text %}{% for b in query.text %}{% for c in query.text %}"
        "{% endfor %}{% endfor %}{% endfor %}"
    ),
    "a loop over literals": (
        "{% for a in [" + "1, " * 1000 + "] %}{% for b in [" + "1, " * 1000 + "] %}"
        "{% endfor %}{% endfor %}"
    ),
    "deep lists": "{{ " + "[" * 5000 + "]" * 5000 + " }}",
    "deep parentheses": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "deep conditions": "{% if query.text %}" * 400 + "{% endif %}" * 400,
    "deep not": "{{ " + "not " * 5000 + "1 }}",
    "deep attributes": "{{ query" + ".text" * 5000 + " }}",
    "a long chain of filters": "{{ query.text" + " | trim" * 5000 + " }}",
    "a number of many digits": "{{ " + "9" * 5000 + " }}",
    "a number of many hex digits": "{{ 0x" + "f" * 9000 + " }}",
    "a number too large for a slice": "{{ query.text[" + "9" * 40 + "] }}",
    "a huge float": "{{ 1e999999 | truncate_tokens('a') }}",
    "division by zero": "{{ 1 is divisibleby 0 }}",
    "an unknown test": "{{ query.text is nowhere }}",
    "half a surrogate pair": "{{ '\ud800' ~ query }}{{ query.nowhere }}",
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_template_is_refused_in_little_time_and_memory(source: str) -> None:
    import time
    import tracemalloc

    before = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises(FileError):
            render(source, query={"text": WIDE, "asked_at": ""})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.process_time() - before < 20
    assert peak < 300 * 1024**2


def test_what_is_created_counts_even_if_it_is_not_printed() -> None:
    source = "".join("{% if query.text ~ 'a' %}{% endif %}" for _ in range(99))
    assert render(source, query={"text": WIDE, "asked_at": ""}) == ""
    with pytest.raises(FileError, match="creates texts of over 20,000,000 characters"):
        render(source * 2, query={"text": WIDE, "asked_at": ""})


def test_a_template_that_takes_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judging.judge_file.template.MAX_SECONDS", -1.0)
    with pytest.raises(FileError, match="takes longer than"):
        render("{{ query.text }}")


def test_an_ordinary_long_prompt_stays_within_the_budget() -> None:
    passages = [{"number": n, "text": "word " * 4_000, "title": "T"} for n in range(50)]
    source = "{{ passages | cited }}{% for p in passages %}{{ p.title ~ ': ' }}{% endfor %}"
    assert len(render(source, passages=Steps.of(passages, [1000]))) > 1_000_000
