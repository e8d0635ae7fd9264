"""Which of several occurrences of a quote is meant, and how much work it takes to find it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.quotes import Occurrence, choose, occurrences
from datasets.text import find_in_order, find_quote
from tests.datasets.test_text import only

DAM = "😀😀😀 dam dam dam"
FOR = "Use it only For cats or dogs."


@given(st.text("ab", max_size=40), st.text("ab", min_size=1, max_size=8))
def test_all_occurrences_are_found_also_if_they_overlap(text: str, part: str) -> None:
    right = [at for at in range(len(text)) if text.startswith(part, at)]
    assert list(occurrences(text, part)) == right
    assert list(occurrences(text, part, 3)) == [at for at in right if at >= 3]


def test_an_empty_part_has_no_occurrence() -> None:
    assert list(occurrences("ab", "")) == []


@pytest.mark.parametrize(
    ("start", "right"), [(12, 12), (11, 12), (15, 12), (99, 12), (9, 8), (7, 8), (0, 4), (5, 4)]
)
def test_the_occurrence_nearest_to_the_start_is_meant(start: int, right: int) -> None:
    found = only(DAM, "dam", start)
    assert (found.start, found.end, found.equal) == (right, right + 3, 1)


def test_of_two_equally_near_the_first_is_meant_and_both_are_counted() -> None:
    found = only(DAM, "dam", 10)
    assert (found.start, found.equal) == (8, 2)


def test_of_two_equally_near_a_word_comes_before_a_part_of_a_word() -> None:
    found = only("xdam dam", "dam", 3)
    assert (found.start, found.equal) == (5, 1)


def test_without_a_start_a_word_comes_before_a_part_of_a_word() -> None:
    found = only(FOR, "or")
    assert (found.start, found.end, found.equal, found.method) == (21, 23, 1, "exact")


@pytest.mark.parametrize(
    ("text", "quote", "right", "equal"),
    [
        ("I can't. I can.", "can", 11, 1),
        ("dogs dog dogs dog", "dog", 5, 2),
        ("forest", "or", 1, 1),
        ("forest orb", "or", 1, 2),
        ("e\u0301 e", "e", 3, 1),
        ("👩\u200d👧 👩", "👩", 4, 1),
        ("🇩🇪🇪🇺 🇪🇺", "🇪🇺", 2, 2),
        ("🇩🇪🇩 🇪🇩", "🇪🇩", 4, 1),
        ("foobar\r\nbar\r\n", "bar", 8, 1),
        ("日本語は日本の", "日本", 0, 2),
        ("ابن وبن بن", "بن", 8, 1),
        ("baa aa aa", "aa aa", 4, 1),
        ("well-known well", "well", 0, 2),
        ("3.5 and 5", "5", 8, 1),
    ],
)
def test_of_equal_occurrences_the_first_is_meant_and_their_number_is_known(
    text: str, quote: str, right: int, equal: int
) -> None:
    found = only(text, quote)
    assert (found.start, found.equal) == (right, equal)


def test_the_rule_applies_within_folding() -> None:
    found = only("FOR cats OR dogs", "or")
    assert (found.start, found.method, found.equal) == (9, "folded", 1)
    assert only("“a”  b, “a”  b", '"a" b', 9).start == 8
    assert only("a  b c a  b", "a b").equal == 2


def test_the_start_of_a_folded_quote_is_that_of_its_blanks() -> None:
    assert only("ab  ab", "  ab ", 0).start == 0
    assert only("cd\nab. cd\tab.", " \n cd ab", 4).start == 7


def test_exact_matches_inside_a_word_come_before_folded_words() -> None:
    found = only("Use it only For cats Or dogs.", "or")
    assert (found.start, found.method) == (13, "exact")


LONG = "The bridge was opened in 1901 by Anna Lee and her two sons."


@pytest.mark.parametrize(("start", "right"), [(None, 0), (3, 0), (70, 60), (200, 120)])
def test_the_rule_applies_within_fuzzy_matching(start: int | None, right: int) -> None:
    quote = "The bridge was opend in 1901 by Anna Lee and her two sons."
    found = only(" ".join([LONG] * 3), quote, start)
    assert (found.start, found.method) == (right, "fuzzy")
    assert found.equal == (3 if start is None else 1)


def test_a_fuzzy_match_may_end_before_a_mark() -> None:
    text = "The bridge was opened in nineteen hundred one\u05b0."
    found = only(text, "The bridge was opend in nineteen hundred one")
    assert (found.start, found.end, found.method) == (0, 45, "fuzzy")


def test_the_rule_applies_to_the_first_of_several_parts() -> None:
    first, second = "One two three four five.", "Red green blue black white."
    text = f"{first} Between. {second} {first} Again. {second}"
    assert [each.start for each in find_quote(text, f"{first} {second}", 70)] == [62, 94]
    found = find_quote(text, f"{first} {second}")
    assert [(each.start, each.equal) for each in found] == [(0, 2), (34, 1)]


def test_parts_in_order_are_words_unless_they_follow_directly() -> None:
    assert [each.start for each in find_in_order(FOR, ["only", "or"])] == [7, 21]
    assert [each.start for each in find_in_order("foobar baz bar", ["foo", "bar"])] == [0, 3]
    assert [each.start for each in find_in_order("a FORest OR", ["a", "or"])] == [0, 9]
    assert [each.start for each in find_in_order("a forest", ["a", "or"])] == [0, 3]


def test_there_is_no_choice_among_nothing() -> None:
    assert choose("text", []) is None
    assert choose("text", [], 3) is None
    assert choose("text", [(0, 4)]) == Occurrence(0, 4)


class Counted(str):
    """A text that counts the characters that searches in it have passed."""

    __slots__ = ("read",)
    read: int

    def find(self, part: str, begin: int = 0) -> int:  # type: ignore[override]
        found = super().find(part, begin)
        self.read += (len(self) if found < 0 else found) - begin + len(part)
        return found

    def startswith(self, part: str, begin: int = 0) -> bool:  # type: ignore[override]
        self.read += len(part)
        return super().startswith(part, begin)


@pytest.mark.parametrize("part", ["a" * 5_000, "a" * 100_000, "ab" * 4_000, "a" * 999 + "b", "a"])
def test_the_characters_read_grow_with_the_text_only(part: str) -> None:
    text = Counted((part[-1] + part) * (200_000 // (len(part) + 1)) + "a" * 200_000)
    text.read = 0
    assert sum(1 for _ in occurrences(text, part)) > 1
    assert text.read < 12 * len(text)


def lines_run(call: Callable[[], Any]) -> int:
    """Count the lines of Python that a call runs."""
    count = 0

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return local

    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: local)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    ("unit", "quote"),
    [
        ("a cat, or catalogue. ", "cat"),
        ("A  Cat, or CATalogue. ", "a cat"),
        ("a\u200d\u0301", "\u200d"),
        ("🇩🇪", "🇩"),
    ],
)
@pytest.mark.parametrize("start", [None, 10**6])
def test_twice_the_text_with_twice_the_occurrences_takes_twice_the_work(
    unit: str, quote: str, start: int | None
) -> None:
    number = 20_000 // len(unit)
    once, twice = (
        lines_run(lambda times=times: find_quote(unit * (number * times), quote, start))  # type: ignore[misc]
        for times in (1, 2)
    )
    assert once < twice < 2.2 * once + 1000
