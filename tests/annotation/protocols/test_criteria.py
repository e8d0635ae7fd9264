"""The description of each code, as the guideline gives it."""

from __future__ import annotations

import pytest

from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import criteria, schema_of
from tandem.protocols.base import Variable

GUIDELINE = """# A task

## Is it good?

- **yes**: it is **good**.
- **no**, a cross: it is not.

## Is it long?

- **yes**: it is long.
- **no**: it is short.

## Each sentence

- **told**: the passages say it.
- **untold**: they do not.

## Examples

- “At ten.” **told**, as the passages say: ten.
"""
GOOD = Variable("good", "text", "Is it good?", ("yes", "no"))


def test_codes_are_described_under_their_question():
    assert criteria(GOOD, GUIDELINE) == {"yes": "it is good.", "no": "it is not."}


def test_codes_in_one_section_only_are_found_under_another_heading():
    variable = Variable("told", "sentence", "Is it supported?", ("told", "untold"))
    assert criteria(variable, GUIDELINE) == {
        "told": "the passages say it.",
        "untold": "they do not.",
    }


def test_codes_that_several_sections_describe_are_not_guessed():
    assert criteria(Variable("new", "text", "Is it new?", ("yes", "no")), GUIDELINE) == {}


@pytest.mark.parametrize("guideline", ["", "Be fair.", "- **yes**: it is good.\n- **no**: not."])
def test_a_guideline_may_have_no_headings(guideline: str):
    described = {"yes": "it is good.", "no": "not."} if "**" in guideline else {}
    assert criteria(GOOD, guideline) == described


def test_without_a_description_a_codes_meaning_and_words_are_used():
    variable = Variable(
        "v", "text", "?", ("a", "b", "c"), words={"a": "A thing", "b": "B", "c": "c"},
        meanings={"b": "Something else."},
    )  # fmt: skip
    assert criteria(variable, GUIDELINE) == {"a": "A thing", "b": "Something else."}


@pytest.mark.parametrize(
    ("protocol", "variable"),
    [
        ("grounding-relevance", "relevant"),
        ("grounding-relevance", "use"),
        ("report-coverage", "answerable"),
        ("rubric-passage", "rating"),
        ("key-point-recall", "entailed"),
        ("key-point-recall", "failure"),
        ("key-point-verification", "grounded"),
        ("key-point-verification", "key"),
        ("question-typing", "sensitivity"),
        ("question-typing", "complexity"),
        ("question-typing", "popularity"),
        ("question-typing", "category"),
        ("answer-rating", "support"),
        ("answer-preference", "preferred"),
    ],
)
def test_our_guidelines_describe_every_code(protocol: str, variable: str):
    asked = schema_of(PROTOCOLS[protocol])
    (found,) = [v for v in asked.variables if v.name == variable]
    assert set(asked.criteria(found.kind)[variable]) >= set(found.answers) - {"other"}
