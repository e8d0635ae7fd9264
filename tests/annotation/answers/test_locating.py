"""Locating an answer's quotes in the texts of its item, without a database."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from annotation.answers.evidence import (
    LocatedQuote,
    _exact,
    _uncertainty,
    fields_for,
    locate,
    remarks,
)
from annotation.answers.misplaced import MisplacedEvidence, locate_quote, locate_rationale
from tandem.protocols.base import ItemSpec, Text, UnitSpec
from tandem.protocols.points import Point, Quote
from tandem.protocols.validation import Entry, Prose, RefusedError

BRIDGE = "The bridge opened. It opened in 1901 by hand."
RIVER = "The river is wide. It opened in the south."
UNIT = UnitSpec("question", "q", "When?")
SPEC = ItemSpec("i", (UNIT,), (Text("passage:p", BRIDGE), Text("passage:r", RIVER)))
KEY = ("q", "answerable")


def quoted(words: str, start: int | None = None, field: str = "passage") -> Entry:
    return Entry("q", UNIT, {}, evidence=(Quote("answerable", field, words, start),))


def spans(entry: Entry, channel: Any = "judge") -> list[tuple[Any, ...]]:
    found, _ = locate([entry], SPEC, channel)
    return [(each.field, each.start, each.end, each.method) for each in found[KEY]]


def refused(*entries: Entry) -> list[str]:
    with pytest.raises(RefusedError) as error:
        locate(list(entries), SPEC, "api")
    said = [str(problem) for problem in error.value.problems]
    assert [str(each) for each in locate(list(entries), SPEC, "judge")[1]] == said
    return said


def test_a_persons_quote_is_located_exactly_or_at_its_first_occurrence() -> None:
    for channel in ("page", "api"):
        assert spans(quoted("opened", 22), channel) == [("passage:p", 22, 28, "exact")]
        assert spans(quoted("opened"), channel) == [("passage:p", 11, 17, "exact")]
        assert spans(quoted("The", 0), channel) == [("passage:p", 0, 3, "exact")]
        assert spans(quoted("river", 4), channel) == [("passage:r", 4, 9, "exact")]
        assert spans(quoted("opened", None, "passage:r"), channel) == [
            ("passage:r", 22, 28, "exact")
        ]
        with pytest.raises(RefusedError, match="'opened' was not found in the passage"):
            locate([quoted("opened", 12)], SPEC, channel)
        with pytest.raises(RefusedError, match="'OPENED' was not found in the passage:r"):
            locate([quoted("OPENED", None, "passage:r")], SPEC, channel)
    assert _exact(Quote("v", "f", "x", 0), "f", "") is None
    assert _exact(Quote("v", "f", "y", -1), "f", "xy") is None


def test_quotes_of_judges_and_files_are_searched_in_the_best_text() -> None:
    for channel in ("judge", "parser", "import"):
        assert spans(quoted("THE RIVER", 0), channel) == [("passage:r", 0, 9, "folded")]
        assert spans(quoted("It opened in the"), channel) == [("passage:r", 19, 35, "exact")]
        assert spans(quoted("opened", 22), channel) == [("passage:p", 22, 28, "exact")]
        assert spans(quoted("no such words"), channel) == [("passage", None, None, "none")]
        assert spans(quoted("no such words", None, "passage:p"), channel) == [
            ("passage:p", None, None, "none")
        ]
    partly = quoted("The bridge opened. It opened in 1901 zebra zebra")
    assert spans(partly) == [("passage:p", 0, 36, "joined"), ("passage:p", None, None, "none")]
    assert len(locate([partly], SPEC, "judge")[1]) == 1
    assert spans(quoted("river", None, "")) == [("passage:p", None, None, "none")]


def test_several_quotes_keep_their_order_and_each_problem_is_reported() -> None:
    first, second = Quote("answerable", "passage", "opened", 11), Quote("rating", "passage", "It")
    entry = Entry("q", UNIT, {}, evidence=(first, second, first))
    found, problems = locate([entry, quoted("river")], SPEC, "page")
    assert problems == []
    assert [each.quote for each in found[KEY]] == ["opened", "opened", "river"]
    assert [each.start for each in found["q", "rating"]] == [19]
    long = "x" * 61
    assert refused(quoted("y" * 60), quoted(long), quoted("It", None, "report")) == [
        f"unit 'q' evidence: '{'y' * 60}' was not found in the passage",
        f"unit 'q' evidence: '{'x' * 57}…' was not found in the passage",
        "unit 'q' evidence: 'report' is not a text of this item",
    ]


def test_citations_and_quotes_of_points_must_be_texts_of_the_item() -> None:
    cites = Entry("q", UNIT, {}, written=Prose("In 1901.", ("p", "x", "r", "passage:p")))
    there, lost = Quote("points", "passage", "opened", 11), Quote("points", "passage", "zebra")
    points = Entry("q", UNIT, {}, points=(Point("One.", (there,)), Point("Two.", (there, lost))))
    assert refused(cites, points) == [
        "unit 'q' citations: 'x' is not a passage of this item",
        "unit 'q' citations: 'passage:p' is not a passage of this item",
        "unit 'q' points: point 2: 'zebra' was not found in the passage",
    ]
    assert locate([Entry("q", UNIT, {})], SPEC, "page") == ({}, [])


def test_a_field_name_means_one_text_or_all_texts_of_its_kind() -> None:
    texts = {"passage:p": "", "passage:r": "", "passages": "", "report": ""}
    assert fields_for("passage", texts) == ["passage:p", "passage:r"]
    assert fields_for("report", texts) == ["report"]
    assert fields_for("passage:r", texts) == ["passage:r"]
    assert fields_for("x", texts) == []


def test_the_best_location_is_the_found_one_with_the_surest_method() -> None:
    def parts(*methods: str) -> list[LocatedQuote]:
        return [LocatedQuote("f", None if m == "none" else 0, 1, "x", m) for m in methods]

    order = [("exact",), ("folded",), ("joined", "exact"), ("fuzzy",), ("exact", "none")]
    mixed = [order[n] for n in (3, 0, 4, 2, 1)]
    assert sorted(mixed, key=lambda each: _uncertainty(parts(*each))) == order
    assert _uncertainty(parts("joined", "none")) == (True, 4)
    assert _uncertainty(parts("exact", "folded")) == (False, 1)


def test_evidence_is_misplaced_only_if_another_text_contains_it_exactly() -> None:
    others = [("report", "It fell  in\nspring."), ("passage", "It fell in spring. By night.")]
    for quote, found in (
        ("It held.", "here"), (" ", "here"), ("It  held.\n", "here"), ("fell in spring", "report"),
        ("By night", "passage"), ("it fell", "nowhere"),
    ):  # fmt: skip
        assert locate_quote(quote, "So. It held. Yes.", others) == found
    judged = "It held."
    assert locate_rationale([], judged, others) == "here"
    assert locate_rationale(["By night", "held"], judged, others) == "here"
    assert locate_rationale(["zebra", "By night", "fell"], judged, others) == "passage"
    assert locate_rationale(["zebra"], judged, others) == "nowhere"


def test_misplaced_evidence_names_the_texts_that_it_is_from() -> None:
    one = MisplacedEvidence("ada", "human", "rating", 5, Counter(report=1))
    assert str(one) == (
        "rater 'ada': of 5 rationales for rating, 1 quotes another text than the one being judged, "
        "word for word (1 in a report of the same query); check whether the right text was judged"
    )
    two = MisplacedEvidence("ada", "human", "rating", 5, Counter(report=1, passage=2))
    assert two.total == 3
    assert ", 3 quote another text" in str(two)
    assert two.texts_in_words == (
        "1 in a report of the same query and 2 in another passage of the same query"
    )


FOR = Text("passage:a", "Use it only For cats or dogs.")
FOREST = Text("passage:b", "A forest of cats.")


def placed(texts: tuple[Text, ...], quote: Quote, channel: Any) -> tuple[Any, ...]:
    entry = Entry("q", UNIT, {}, evidence=(quote,))
    found, lost = locate([entry], ItemSpec("i", (UNIT,), texts), channel)
    assert not lost
    (span,) = found[KEY]
    return span.field, span.start, [str(each.message) for each in remarks(found)]


@pytest.mark.parametrize("channel", ["api", "judge", "import"])
def test_a_word_in_a_later_text_comes_before_a_part_of_a_word_in_the_first(channel: Any) -> None:
    quote = Quote("answerable", "passage", "or")
    assert placed((FOREST, FOR), quote, channel) == ("passage:a", 21, [])


@pytest.mark.parametrize("channel", ["api", "judge", "import"])
def test_equal_occurrences_in_all_texts_are_counted(channel: Any) -> None:
    quote = Quote("answerable", "passage", "cats")
    said = ["'cats' occurs 2 times in the passage:b; the first was used"]
    assert placed((FOREST, FOR), quote, channel) == ("passage:b", 12, said)


def test_a_start_selects_among_texts() -> None:
    quote = Quote("answerable", "passage", "cats", 16)
    assert placed((FOREST, FOR), quote, "judge") == ("passage:a", 16, [])


def test_a_quote_between_two_equal_occurrences_gets_a_remark() -> None:
    text = Text("passage:a", "is, so is")
    quote = Quote("answerable", "passage", "is", 3)
    said = ["'is' is not at 3 of the passage:a; the nearest, at 0, was used"]
    assert placed((text,), quote, "judge") == ("passage:a", 0, said)
    even = Text("passage:a", "is, see is")
    said = ["'is' occurs 2 times equally near to 4; the first was used"]
    assert placed((even,), replace(quote, start=4), "judge") == ("passage:a", 0, said)


def test_blanks_before_a_quote_do_not_make_its_start_wrong() -> None:
    text = Text("passage:a", "Cats  or  dogs")
    assert placed((text,), Quote("answerable", "passage", " or dogs", 5), "judge")[1:] == (6, [])


def test_the_start_of_a_quote_in_several_parts_is_that_of_the_first() -> None:
    parts = "One two three four five.", "Red green blue black white."
    text = Text("passage:a", f"{parts[0]} Between. {parts[1]}")
    entry = Entry("q", UNIT, {}, evidence=(Quote("answerable", "passage", " ".join(parts), 0),))
    found, lost = locate([entry], ItemSpec("i", (UNIT,), (text,)), "judge")
    assert [each.start for each in found[KEY]] == [0, 34]
    assert (lost, remarks(found)) == ([], [])
