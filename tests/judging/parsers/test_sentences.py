"""Labels of an array belong to the units that its elements name, never to those beside them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from judging.backends.base import Answer, AskedUnit, AskedVariable
from judging.judge_file.document import read_file
from judging.judge_file.fixtures import failures, readings
from judging.judge_file.template import FileError
from judging.parsers.base import ExpectedAnswer, Reading, UnreadError
from judging.parsers.codes import Verdicts
from judging.parsers.json_path import JsonParser, read_path
from judging.parsers.sentences import match_units, sentence_key

CODES = ("supported", "unsupported", "contradictory", "no-rad")
SUPPORT = AskedVariable("support", CODES, "nominal")
TEXTS = ("The bridge opened in 1901.", "Anna Lee built it.", "It is made of steel.")
PARSER = JsonParser(
    {"support": read_path("$.label")},
    read_path("$.grounding_quality"),
    Verdicts({"support": {"no_rad": "no-rad", **{code: code for code in CODES[:3]}}}),
    read_path("$.sentence"),
)


def units(*texts: str) -> tuple[AskedUnit, ...]:
    return tuple(
        AskedUnit(f"sentence {n}", "sentence", text, (SUPPORT,), about=1)
        for n, text in enumerate(texts, start=1)
    )


def reply(*pairs: tuple[str | None, str]) -> str:
    elements: list[dict[str, Any]] = [
        {"label": label} if sentence is None else {"sentence": sentence, "label": label}
        for sentence, label in pairs
    ]
    return json.dumps({"grounding_quality": elements})


def read(text: str, *texts: str, by_unit: bool = False) -> Reading:
    return PARSER.read(Answer(text), ExpectedAnswer(units(*(texts or TEXTS)), by_unit))


def labels(reading: Reading) -> list[str]:
    """The code of each unit, or why it is missing."""
    return [
        entry.get("support") or reading.missing[name, "support"]
        for name, entry in reading.units.items()
    ]


def test_the_labels_of_a_reply_in_another_order_are_those_of_its_sentences() -> None:
    text = reply((TEXTS[2], "unsupported"), (TEXTS[0], "supported"), (TEXTS[1], "no_rad"))
    assert labels(read(text)) == ["supported", "no-rad", "unsupported"]


def test_a_judge_that_joins_two_and_splits_another_puts_no_label_on_a_wrong_sentence() -> None:
    """By position, the count would agree, and all three labels would be on wrong sentences."""
    text = reply(
        ("The bridge opened in 1901. Anna Lee built it.", "supported"),
        ("It is made of", "no_rad"),
        ("steel.", "unsupported"),
    )
    four = (*TEXTS, "The sea is near.")
    whole = reply(
        ("The bridge opened in 1901. Anna Lee built it.", "supported"),
        ("It is made of", "no_rad"),
        ("steel.", "unsupported"),
        ("The sea is near.", "contradictory"),
    )
    assert labels(read(whole, *four)) == ["unmatched", "unmatched", "unmatched", "contradictory"]
    with pytest.raises(UnreadError) as raised:
        read(text)
    assert raised.value.fault == "unmatched"


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ("The bridge opened in 1901.", "the  bridge\nopened in 1901"),
        ("The bridge opened in 1901.", "The bridge opened in 1901. [1]"),
        ("The bridge opened in 1901 [1][2].", "The bridge opened in 1901."),
        ("The bridge opened in 1901.[1, 2]", "The bridge opened in 1901 %[1]%."),
        ("The bridge opened in 1901 【3†source】.", "“The bridge opened in 1901.”"),
        ("The bridge opened in 1901.¹²", "The bridge opened in 1901."),
        ("It’s Anna’s “bridge” – hers…", "It's Anna's \"bridge\" - hers..."),
        ("Café Lée opened.", "CAFE\u0301 LE\u0301E OPENED"),
        ("**The bridge** is steel.", "The bridge** is steel"),
        ("\u200bThe bridge\u00a0opened.", "THE BRIDGE OPENED"),
        ("橋は一九〇一年に開通した。", "橋は一九〇一年に開通した"),
        ("Did it open? [4]", "Did it open?"),
        ("It opened [Source 3].", "It opened."),
        ("It opened [1-3].", "It opened [1–3]"),
    ],
)  # fmt: skip
def test_sentences_are_equal_but_for_dress_and_the_marks_of_citations(unit: str, said: str) -> None:
    assert sentence_key(unit) == sentence_key(said) != ""
    assert labels(read(reply((said, "supported")), unit)) == ["supported"]


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ("The bridge opened in 1901.", "The bridge opened in 1902."),
        ("The bridge opened in 1901.", "The bridge did not open in 1901."),
        ("The bridge opened in 1901.", "The bridge opened in 1901. Anna Lee built it."),
        ("The bridge opened in 1901.", "The bridge opened"),
        ("It fell by 5 degrees.", "It fell by -5 degrees."),
        ("He said [no].", "He said."),
        ("It covers 12 m².", "It covers 12 m³."),
        ("It costs 5%.", "It costs 5."),
        ("The bridge opened in 1901.", ""),
        ("The bridge opened in 1901.", "..."),
        ("...", "..."),
        ("", "."),
    ],
)
def test_other_sentences_are_not_equal(unit: str, said: str) -> None:
    with pytest.raises(UnreadError) as raised:
        read(reply((said, "supported")), unit)
    assert raised.value.fault == "unmatched"


def test_two_elements_with_different_verdicts_on_one_sentence_are_ambiguous() -> None:
    text = reply((TEXTS[0], "supported"), (f"{TEXTS[0]} [1]", "unsupported"), (TEXTS[1], "no_rad"))
    assert labels(read(text)) == ["ambiguous", "no-rad", "unmatched"]
    same = reply((TEXTS[0], "supported"), (TEXTS[0].upper(), "supported"), (TEXTS[1], "no_rad"))
    assert labels(read(same)) == ["supported", "no-rad", "unmatched"]


def test_equal_sentences_of_an_answer_take_as_many_equal_elements_in_order() -> None:
    equal = ("Yes.", "It is steel.", "Yes.")
    text = reply(("Yes.", "no_rad"), ("It is steel.", "supported"), ("Yes!", "contradictory"))
    assert labels(read(text, *equal)) == ["no-rad", "supported", "contradictory"]
    one = reply(("Yes.", "no_rad"), ("It is steel.", "supported"))
    assert labels(read(one, *equal)) == ["no-rad", "supported", "no-rad"]
    three = reply(("Yes.", "no_rad"), ("Yes.", "no_rad"), ("Yes.", "supported"))
    with pytest.raises(UnreadError):
        read(three, "Yes.", "Yes.")


def test_an_unreadable_verdict_on_one_sentence_leaves_the_others() -> None:
    text = reply((TEXTS[0], "perhaps"), (TEXTS[1], "supported"), (None, "supported"))
    assert labels(read(text)) == ["unreadable", "supported", "unmatched"]


@pytest.mark.parametrize("odd", [7, None, ["a"], {"text": "a"}])
def test_an_element_whose_sentence_is_no_text_names_no_unit(odd: Any) -> None:
    element = {"sentence": odd, "label": "supported"}
    elements = [element, {"sentence": TEXTS[1], "label": "no_rad"}, "odd"]
    found = read(json.dumps({"grounding_quality": elements}))
    assert labels(found) == ["unmatched", "no-rad", "unmatched"]


def test_the_verdicts_on_the_judges_own_sentences_are_counted() -> None:
    joined = reply(("The bridge opened in 1901. Anna Lee built it.", "supported"),
                   (TEXTS[2], "no_rad"), ("More.", "supported"))  # fmt: skip
    assert read(joined).own == {"support": {"supported": 2, "no-rad": 1}}
    unreadable = reply(("Other.", "perhaps"), (TEXTS[2], "no_rad"))
    assert read(unreadable).own == {}, "one verdict is unknown, so the whole answer's is"


def test_own_sentences_are_counted_only_if_the_request_is_about_one_text() -> None:
    text = reply((TEXTS[0], "supported"))
    assert read(text, TEXTS[0], by_unit=True).own == {}
    two = (units(TEXTS[0])[0], replace(units(TEXTS[1])[0], name="sentence 2", about=2))
    assert PARSER.read(Answer(text), ExpectedAnswer(two)).own == {}


def test_without_a_match_labels_are_taken_by_position_as_before() -> None:
    parser = replace(PARSER, match=None)
    text = reply((TEXTS[2], "unsupported"), (TEXTS[0], "supported"), (TEXTS[1], "no_rad"))
    found = parser.read(Answer(text), ExpectedAnswer(units(*TEXTS)))
    assert labels(found) == ["unsupported", "supported", "no-rad"]
    assert (found.missing, found.own) == ({}, {})
    with pytest.raises(UnreadError, match="2 elements for 3 units"):
        parser.read(Answer(reply(("a", "supported"), ("b", "supported"))),
                    ExpectedAnswer(units(*TEXTS)))  # fmt: skip


def test_many_long_sentences_and_marks_are_read_quickly() -> None:
    texts = [f"Sentence {n} of this answer {'says nothing new ' * 20}[{n}]." for n in range(300)]
    found = match_units(units(*texts), list(reversed(texts)))
    assert found["sentence 1"] == (299,)
    assert sentence_key("a" + " [1]" * 20) == "a"
    assert sentence_key("a" + " [1]" * 500_000).startswith("a [1]")


HEAD = """
[judge]
protocol = "answer-rating"
isolate = "response"

[[messages]]
role = "user"
text = "{{ report.text }}"

[answer]
parser = "json"
path = "$.label"
each = "$.grounding_quality"
variable = "support"
"""
FIXTURE = """
[[fixture]]
units = ["The bridge opened in 1901.", "Anna Lee built it."]
labels = [{ support = "supported" }, {}]
completion = '''{"grounding_quality": [
{"sentence": "The bridge opened in 1901", "label": "supported"},
{"sentence": "Lee built it", "label": "unsupported"}]}'''
"""


def test_a_fixture_gives_the_texts_that_its_sentences_should_match() -> None:
    file = read_file(f'{HEAD}match = "$.sentence"\n{FIXTURE}')
    assert list(failures(file)) == []
    (found,) = readings(file)
    assert found.labels == [{"support": "supported"}, {}]
    wrong = FIXTURE.replace("{}]", '{ support = "unsupported" }]')
    (line,) = failures(read_file(f'{HEAD}match = "$.sentence"\n{wrong}'))
    assert "is read as support = supported and not as" in line


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ('match = "sentence"', "match is 'sentence'; give the path"),
        ('match = "$.a b"', "match is '.* b'; give the path"),
        ("match = 3", "match is 3; give the path"),
        ("match = true", "match is True; give the path"),
    ],
)
def test_a_match_is_a_path_or_the_position(table: str, wrong: str) -> None:
    with pytest.raises(FileError, match=wrong) as raised:
        read_file(f"{HEAD}{table}\n")
    assert raised.value.line == HEAD.count("\n") + 1


def test_a_match_without_an_array_is_refused() -> None:
    with pytest.raises(FileError, match="match is for an array") as raised:
        read_file(HEAD.replace('each = "$.grounding_quality"\n', 'match = "$.s"\n'))
    assert raised.value.line == 13


def test_a_fixture_without_units_is_refused_where_sentences_are_matched() -> None:
    bare = FIXTURE.replace('units = ["The bridge opened in 1901.", "Anna Lee built it."]\n', "")
    with pytest.raises(FileError, match="the fixture has no units"):
        read_file(f'{HEAD}match = "$.sentence"\n{bare}')
    with pytest.raises(FileError, match="units is not a list of texts"):
        read_file(f'{HEAD}match = "$.sentence"\n{FIXTURE.replace("units = [", "units = [1, ")}')


def test_a_new_file_says_whether_elements_are_matched_by_sentence_or_position() -> None:
    (unsaid,) = read_file(HEAD).shortcomings
    assert "the file does not say which" in str(unsaid)
    assert "match = '$.sentence'" in str(unsaid)
    assert "match = 'position'" in str(unsaid)
    assert unsaid.line == 13
    for said in ('match = "$.sentence"', 'match = "position"'):
        assert read_file(f"{HEAD}{said}\n").shortcomings == ()
    published = read_file(f"{HEAD}as_published = true\n")
    assert [str(each) for each in published.shortcomings] == [str(unsaid)]


def test_the_position_is_the_rule_of_a_file_that_says_so_and_of_one_that_says_nothing() -> None:
    silent, said = read_file(HEAD).parser, read_file(f'{HEAD}match = "position"\n').parser
    assert silent == said
    assert isinstance(said, JsonParser)
    assert said.match is None
