"""The form of a protocol: what it writes, what it can be filled in from, and where errors stand."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import QueryDict

from analysis.protocol_maker.forms import START, Filled, filled_from
from tandem.files.toml import read_toml
from tandem.protocols.file_structure import ProtocolFileError, write_protocol
from tandem.protocols.protocol_file import read_protocol
from tests.docs.markdown import blocks, written

EVERYTHING: dict[str, Any] = {
    **START,
    "item": {"each": "report", "shows": ["report", "cited"], "shuffled": True},
    "variable": [
        {
            "name": "support",
            "unit": "sentence-citation",
            "question": 'Is it "supported" \\ so?',
            "codes": ["none", "full"],
            "words": {"full": "All of it: yes"},
            "level": "ordinal",
            "escapes": ["cannot-tell"],
        },
        {
            "name": "errors",
            "unit": "sentence",
            "question": "Which?",
            "codes": ["a", "b"],
            "several": True,
        },
        {
            "name": "grade",
            "unit": "report",
            "question": "How good?",
            "scale": {"from": 0, "to": 1, "step": 0.1},
            "words": {"0": "useless", "1": "perfect"},
        },
    ],
    "evidence": [
        {"variable": "support", "in": "sentence"},
        {"variable": "support", "in": "passage", "owed_if": ["full"]},
    ],
    "guideline": {"en": 'Two quotes: """ and \\.\n\nSo "it" ends "'},
}


def sent(filled: Filled) -> QueryDict:
    """Return what a browser sends for a filled form."""
    data = QueryDict(mutable=True)
    forms = [filled.once, filled.questions.management_form, *filled.questions]
    for form in forms:
        for field in form:
            value = field.value()
            values = value if isinstance(value, list) else [value]
            data.setlist(field.html_name, [str(each) for each in values if each not in (None, "")])
    return data


def test_a_written_file_is_read_as_the_same_tables() -> None:
    assert read_toml(write_protocol(EVERYTHING)) == EVERYTHING


def test_from_the_file_to_the_form_and_back_nothing_changes() -> None:
    file = read_protocol(write_protocol(EVERYTHING), "own.toml")
    filled = filled_from(file, EVERYTHING)
    again = read_protocol(Filled(sent(filled)).text(), "own.toml")
    assert again.declaration == file.declaration
    assert again.guidelines == file.guidelines


@pytest.mark.parametrize(
    ("table", "more", "named"),
    [
        ("item", {"sampled": True}, "sampled"),
        ("variable", {"asked_if": {"support": ["full"]}}, "asked_if"),
        ("variable", {"meanings": {"none": "Nothing."}}, "meanings"),
        ("guideline", {"de": "Lesen."}, "de"),
        ("written", {"question": "Why?"}, "written"),
        ("german", {"Helpfulness": "Nutzen"}, "german"),
    ],
)
def test_a_file_with_more_than_the_form_stays_a_file(
    table: str, more: dict[str, Any], named: str
) -> None:
    document = {**EVERYTHING}
    if table == "variable":
        first = EVERYTHING["variable"][0]
        other = {**first, "name": "other", **more}
        document["variable"] = [*EVERYTHING["variable"], other]
    else:
        document[table] = {**EVERYTHING.get(table, {}), **more}
    file = read_protocol(write_protocol(document), "own.toml")
    with pytest.raises(ValueError, match=f"more than the form: .*{named}"):
        filled_from(file, document)


def test_the_examples_of_the_documentation_have_more_than_the_form() -> None:
    for text in blocks(written()["how-to/own-task.md"], "toml"):
        with pytest.raises(ValueError, match="more than the form"):
            filled_from(read_protocol(text, "own.toml"), read_toml(text))


@pytest.mark.parametrize(
    ("field", "value", "place"),
    [
        ("name", "Two words", ("once", "name")),
        ("version", "", ("once", "version")),
        ("guideline", "", ("once", "guideline")),
        ("q-0-codes", "one", ("question", "codes")),
        ("q-0-codes", "yes\nyes", ("question", "codes")),
        ("q-0-unit", "nugget", ("question", "unit")),
        ("q-0-question", "", ("question", "question")),
        ("about", "nothing", ("once", "about")),
        ("second_if", "much", ("once", "second_if")),
        ("shows", "pair", ("once", "shows")),
    ],
)
def test_an_error_stands_at_its_field(field: str, value: str, place: tuple[str, str]) -> None:
    data = sent(Filled(initial=EVERYTHING))
    data[field] = value
    filled = Filled(data)
    text = filled.text()
    if field == "shows":
        text = text.replace('shows = ["report", "cited"]', 'shows = ["passage"]')
    with pytest.raises(ProtocolFileError) as refused:
        read_protocol(text, "own.toml")
    others = filled.place(text, refused.value.problems)
    form = filled.once if place[0] == "once" else filled.questions.forms[0]
    assert place[1] in form.errors, (form.errors, others)
