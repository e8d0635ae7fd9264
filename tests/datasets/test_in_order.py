"""Parts of a text are located in order, with the gaps between them."""

from __future__ import annotations

import pytest

from datasets.text import Gap, find_in_order, gaps, sentences
from tests.datasets.test_text import TEXT


def places(text: str, *parts: str) -> list[tuple[int | None, int | None]]:
    return [(each.start, each.end) for each in find_in_order(text, parts)]


def left(text: str, *parts: str) -> list[Gap]:
    return list(gaps(text, find_in_order(text, parts)))


def test_each_part_is_searched_after_the_one_before_it() -> None:
    text = "No. It sank. No."
    assert places(text, "No.", "It sank.", "No.") == [(0, 3), (4, 12), (13, 16)]
    assert places(text, "It sank.", "No.", "No.") == [(4, 12), (13, 16), (None, None)]
    assert places(text, "No. It", "It sank.") == [(0, 6), (None, None)]


def test_the_nearest_match_is_taken_even_if_a_later_one_is_spelled_identically() -> None:
    text = "It’s so. Why? It's so."
    assert places(text, "It's so.", "Why?", "It’s so.") == [(0, 8), (9, 13), (14, 22)]


def test_a_part_with_small_changes_is_found_in_the_wording_of_the_text() -> None:
    text = "Zoe\u0308  said\r\n“no”…  THE END."
    found = find_in_order(text, ['Zoë said "no"...', "The end."])
    assert [each.quote for each in found] == ["Zoe\u0308  said\r\n“no”…", "THE END."]
    assert [each.method for each in found] == ["folded", "folded"]
    assert left(text, 'Zoë said "no"...', "The end.") == []


@pytest.mark.every_case
@pytest.mark.parametrize("other", ["It sunk.", "sank It.", "", " ", "\u200f"])
def test_other_words_are_not_found(other: str) -> None:
    assert places("It sank.", other) == [(None, None)]


def test_gaps_are_returned_with_the_parts_around_them() -> None:
    text = "Well, it sank. Off Tarn. In 1954! 🌊"
    assert left(text, "it sank.", "It burnt.", "In 1954!") == [
        Gap("Well,", None, 1),
        Gap("Off Tarn.", 1, 3),
        Gap("🌊", 3, None),
    ]
    assert left(text, "It burnt.") == [Gap(text, None, None)]
    assert left(" \r\n ") == []


def test_a_combining_mark_left_over_counts_as_a_gap() -> None:
    assert left("Cafe\u0301. So.", "Cafe", "So.") == [Gap("\u0301.", 1, 2)]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("text", "parts", "quotes"),
    [
        ("שלום.\u200f مرحبا؟", ("שלום.", "مرحبا؟"), ["שלום.\u200f", "مرحبا؟"]),
        ("a. \u200fb. \u200f c.", ("a.", "b.", "c."), ["a.", "\u200fb.", "c."]),
        ("I ❤️ it. ❤️", ("I ❤ it.", "❤"), ["I ❤️ it.", "❤️"]),
        ("\ufeffOne. Two.\u200b", ("One.", "Two."), ["\ufeffOne.", "Two.\u200b"]),
        ("\u200f", (), []),
    ],
)
def test_invisible_characters_belong_to_the_part_that_they_touch(
    text: str, parts: tuple[str, ...], quotes: list[str]
) -> None:
    assert [each.quote for each in find_in_order(text, parts)] == quotes
    assert left(text, *parts) == []


@pytest.mark.every_case
@pytest.mark.parametrize(
    "text", [TEXT, "👩‍👩‍👧 שלום.\r\n\r\nZoe\u0308! 東京です。次は？", "", "  "]
)
def test_the_sentences_of_a_text_leave_no_gap(text: str) -> None:
    spans = sentences(text)
    parts = [text[start:end] for start, end in spans]
    assert places(text, *parts) == spans
    assert left(text, *parts) == []
