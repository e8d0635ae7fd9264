"""Reading judge files: a published judge as it was written, and errors that name their line."""

from __future__ import annotations

import pytest

from judging.judge_file.document import JudgeFile, read_file
from judging.judge_file.fixtures import failures
from judging.judge_file.template import FileError

GRADED = '''[judge]
title = "graded relevance, four levels"
source = "a paper"
protocol = "grounding-relevance"
isolate = "unit"

[[messages]]
role = "user"
text = """
{{ guideline }}
Query: {{ query.text }}
Passage: {{ passage.text }}
"""

[answer]
parser = "regex"
pattern = '(?i)final score:\\s*([0-3])'
marker = "final score:"
take = "last"
refusal = ['(?i)cannot assess']

[answer.map.relevant]
"0" = "no"
"1" = "no"
"2" = "yes"
"3" = "yes"

[params]
temperature = 0
max_tokens = 256

[extra_body]
top_k = 1

[[fixture]]
completion = "… final score: 2"
labels = { relevant = "yes" }

[[fixture]]
completion = "I cannot assess that."
fault = "refused"
'''


def wrong(text: str) -> FileError:
    with pytest.raises(FileError) as raised:
        read_file(text)
    return raised.value


def test_a_published_judge_is_read() -> None:
    file = read_file(GRADED)
    assert isinstance(file, JudgeFile)
    assert (file.title, file.protocol.name, file.isolate) == (
        "graded relevance, four levels",
        "grounding-relevance",
        "unit",
    )
    assert file.parser.reads == ("relevant",)
    assert file.params == {"temperature": 0, "max_tokens": 256}
    assert file.extra_body == {"top_k": 1}
    assert len(file.sha256) == 64


def test_the_fixtures_of_a_published_judge_are_read_as_expected() -> None:
    assert list(failures(read_file(GRADED))) == []


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('relevant = "yes" }', 'relevant = "no" }', "is read as relevant = yes and not as"),
        ("final score: 2", "score: 2", "cannot be read"),
        ("I cannot assess that.", "final score: 1", "is read as relevant = no and not refused"),
        (
            'labels = { relevant = "yes" }',
            'labels = { relevant = "yes" }\nstep = "fence"',
            "is read after as-is and not fence",
        ),
    ],
)
def test_a_fixture_that_is_read_differently_is_reported(old: str, new: str, message: str) -> None:
    (line,) = failures(read_file(GRADED.replace(old, new)))
    assert message in line


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("title =", "titel =", 2, "'titel' is not a key of [judge]"),
        ('"grounding-relevance"', '"relevance"', 4, "'relevance' is not a protocol"),
        ('isolate = "unit"', 'isolate = "units"', 5, "give one of unit, item"),
        ('role = "user"', 'role = "human"', 8, "role is 'human'"),
        ('role = "user"', 'role = "system"', 8, "the last message is of the system"),
        ("{{ query.text }}", "{{ query.txt }}", 11, "query has no 'txt'; it has"),
        ("{{ passage.text }}", "{{ passage.text", 12, "cannot be read"),
        ("{{ guideline }}", "{{ setting }}", 10, "'setting' is not a name"),
        ("{{ guideline }}", "{{ question.text }}", 10, "'question' is not a name"),
        ('parser = "regex"', 'parser = "regexp"', 16, "'regexp' is not a parser"),
        ('parser = "regex"', 'parser = ["regex"]', 16, "['regex'] is not a parser"),
        ('"3" = "yes"', '"3" = ["yes"]', 26, "is not a code of grounding-relevance"),
        ("take = ", "takes = ", 19, "'takes' is not a key of the parser regex"),
        ("([0-3])", "(?=[0-3])", 17, "linear time"),
        (r"final score:\s*([0-3])", r"(final) score:\s*([0-3])", 17, "pattern has 2 groups"),
        ('"3" = "yes"', '"3" = "maybe"', 26, "is not a code of grounding-relevance"),
        ("[answer.map.relevant]", "[answer.map.useful]", 22, "'useful' is not a variable"),
        ("[extra_body]", "[extra]", 32, "'extra' is not a table"),
        ("temperature = 0", "temperature = ", 29, "it is not TOML"),
        ('fault = "refused"', 'fault = "tired"', 41, "fault is 'tired'; give one of"),
        ('fault = "refused"', "", 39, "either labels or a fault"),
        ("[params]", '[examples]\nk = "3"\n\n[params]', 29, "k is '3'; give a whole number"),
        ("[params]", "[examples]\nk = true\n\n[params]", 29, "k is True; give a whole number"),
        ("[params]", "[examples]\nk = 51\n\n[params]", 29, "k is 51; give a whole number up to 50"),
    ],
)
def test_an_error_names_its_line_and_the_remedy(
    old: str, new: str, line: int, message: str
) -> None:
    error = wrong(GRADED.replace(old, new, 1))
    assert message in str(error)
    assert error.line == line
