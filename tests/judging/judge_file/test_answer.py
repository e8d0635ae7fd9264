"""The parsers that a judge file may name, built from its tables, and errors in these."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.protocols import PROTOCOLS
from judging.judge_file.answer import build
from judging.judge_file.completions import completion_for
from judging.judge_file.document import read_file
from judging.judge_file.fixtures import readings
from judging.judge_file.template import FileError, truncate_tokens
from judging.parsers.first_token import FirstTokenParser
from judging.parsers.json_path import JsonParser
from judging.parsers.tags import TagsParser
from tests.judging.judge_file.test_document import GRADED, wrong

PROTOCOL = PROTOCOLS["grounding-relevance"]


def test_a_parser_is_built_from_its_table() -> None:
    table = {"parser": "first-token", "variable": "relevant", "mass_floor": 1}
    first = build(table, PROTOCOL)
    assert isinstance(first, FirstTokenParser)
    assert (first.variable, first.floor, first.reads) == ("relevant", 1.0, ("relevant",))
    assert build({**table, "mass_floor": 0}, PROTOCOL).floor == 0  # type: ignore[attr-defined]
    level = build({"parser": "expected", "variable": "rating"}, PROTOCOLS["rubric-passage"])
    assert isinstance(level, FirstTokenParser)
    assert level.floor == 0.5
    tags = build({"parser": "tags", "variable": "relevant", "tag": "v"}, PROTOCOL)
    assert isinstance(tags, TagsParser)
    assert tags.marks == {"relevant": ("<v>", "</v>")}
    marks = build({"parser": "tags", "tag": {"use": ["[[", "]]"]}}, PROTOCOL)
    assert marks.marks == {"use": ("[[", "]]")}  # type: ignore[attr-defined]
    path = build({"parser": "json", "variable": "relevant", "path": "$.s", "each": "$"}, PROTOCOL)
    assert isinstance(path, JsonParser)
    assert (path.paths, path.each, path.several) == ({"relevant": ("s",)}, (), True)


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"parser": "expected"}, "has no order", ""),
    ({"parser": "first-token", "variable": "useful"}, "'useful' is not a variable", "variable"),
    ({"parser": "tags", "tag": ["[[", ""]}, "neither a name nor two marks", "tag"),
    ({"parser": "tags", "tag": ["[["]}, "neither a name nor two marks", "tag"),
    ({"parser": "tags", "tag": "a b"}, "neither a name nor two marks", "tag"),
    ({"parser": "tags", "tag": 3}, "tag is a name such as", "tag"),
    ({"parser": "tags", "tag": {}}, "tag is a name such as", "tag"),
    ({"parser": "json"}, "path is missing", "path"),
    ({"parser": "json", "path": {}}, "path is missing", "path"),
    ({"parser": "json", "path": "score"}, "is not a path such as", "path"),
    ({"parser": "json", "path": "$.s", "each": "s"}, "is not a path such as", "path"),
    ({"parser": "json", "path": {"useful": "$.s"}}, "is not a variable", "path"),
    ({"parser": "lines", "separator": 3}, "separator is not a text", "separator"),
    ({"parser": "letter", "take": "any"}, "take is 'any'", "take"),
    ({"parser": "letter", "refusal": "no"}, "refusal is not a list", "refusal"),
    ({"parser": "letter", "refusal": [3]}, "refusal is not a list", "refusal"),
    ({"parser": "letter", "refusal": [""]}, "refusal is not a pattern", "refusal"),
    ({"parser": "letter", "map": {"relevant": "yes"}}, "map has a table", "map"),
    ({"parser": "regex", "pattern": "(" + "a" * 2000 + ")"}, "over 2,000", "pattern"),
    ({"parser": "letter", "variable": ""}, "has several variables", ""),
]
WRONG += [
    ({"parser": "first-token", "mass_floor": floor}, "give a share from 0 to 1", "mass_floor")
    for floor in (-0.1, 1.1, True, "0.5")
]


def test_an_invalid_table_is_refused_with_its_key() -> None:
    for table, message, key in WRONG:
        with pytest.raises(FileError, match=message) as raised:
            build({"variable": "relevant", **table}, PROTOCOL)
        assert (raised.value.path or ("",))[0] == key, table


def test_a_pattern_may_have_two_thousand_characters() -> None:
    pattern = "(" + "a" * 1998 + ")"
    assert build({"parser": "regex", "variable": "relevant", "pattern": pattern}, PROTOCOL)


def file_with(parser: str, fixtures: str = "") -> str:
    head = GRADED[: GRADED.index("[answer]")]
    return f"{head}[answer]\n{parser}\n{fixtures}"


def test_a_scripted_judge_writes_json_at_the_files_paths() -> None:
    text = 'parser = "json"\npath = { relevant = "$.result.score", use = "$.use" }\n'
    file = read_file(
        file_with(text + '[answer.map.relevant]\n"0" = "no"\n"1" = "yes"\n"2" = "yes"')
    )
    labels = {"relevant": "yes", "use": "answer-the-question", "other": "x"}
    written = completion_for(file, labels, {"relevant": "2"})
    assert json.loads(written) == {"result": {"score": "2"}, "use": "answer-the-question"}
    assert json.loads(completion_for(file, {"relevant": "no"}, {"relevant": "2"})) == {
        "result": {"score": "0"}
    }
    several = file_with('parser = "json"\npath = "$.s"\nvariable = "relevant"\neach = "$"')
    with pytest.raises(
        FileError, match="Tandem cannot write a completion that its parser reads as relevant"
    ):
        completion_for(read_file(several), {"relevant": "yes"}, {})


def test_fixtures_are_described_in_words() -> None:
    first, second = readings(read_file(GRADED))
    assert (first.number, first.labels_text, first.wrong) == (1, "relevant = yes", "")
    assert (second.labels_text, second.fault) == ("nothing", "refused")


def test_a_section_with_wrong_brackets_is_refused() -> None:
    assert "messages is not written as [[messages]]" in str(
        wrong(GRADED.replace("[[messages]]", "[messages]"))
    )
    assert "params is not written as [params]" in str(
        wrong(GRADED.replace("[params]", "[[params]]"))
    )
    labels = 'labels = { relevant = "yes" }'
    assert "labels are a table such as" in str(wrong(GRADED.replace(labels, 'labels = ["yes"]')))
    assert "step has values other than" in str(
        wrong(GRADED.replace(labels, labels + '\nstep = "fence+magic"'))
    )


def test_a_parser_of_probabilities_requires_log_probabilities() -> None:
    text = file_with('parser = "first-token"\nvariable = "relevant"')
    assert "first-token needs log probabilities" in str(wrong(text))
    assert read_file(text + "[params]\nlogprobs = 20\n").parser_name == "first-token"


def test_a_text_is_truncated_after_a_number_of_words_and_marks() -> None:
    assert truncate_tokens("One, two. ", 3) == "One, two"
    assert truncate_tokens("One, two.", 4) == "One, two."
    assert truncate_tokens("One", 0) == ""
