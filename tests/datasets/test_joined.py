"""Quotes joined from several stretches of text: where they are cut, and how short they may be."""

from __future__ import annotations

import pytest

from datasets.quotes import (
    Occurrence,
    Piece,
    _cuts,
    _fill_gaps,
    _has_enough_words,
    _is_long,
    _longest,
    _place,
    _skip,
    fold,
    pieces,
)

TEXT = "One two three four five. Six seven eight nine ten. Red green blue black white."


def words(quote: str, text: str = TEXT) -> list[tuple[str, str | None]]:
    """Each piece of the quote, and the text at its location."""
    return [
        (quote[piece.begin : piece.end], text[slice(*piece.place)] if piece.place else None)
        for piece in pieces(text, quote)
    ]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("quote", "cuts"),
    [
        ("", [0]),
        ("ab", [0, 2]),
        ("ab cd", [0, 2, 5]),
        (" ab ", [1, 3]),
        ("ab. cd", [0, 3, 6]),
        ("ab.cd", [0, 3, 5]),
        ("ab-cd", [0, 5]),
        ("a.b!c?d,e;f:g)h]i", [0, 2, 4, 6, 8, 10, 12, 14, 16, 17]),
        ("a..b", [0, 3, 4]),
    ],
)
def test_a_piece_can_end_before_whitespace_or_after_a_full_stop(
    quote: str, cuts: list[int]
) -> None:
    assert _cuts(quote) == cuts


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("part", "is_long"),
    [
        ("", False),
        ("a b", False),
        ("ab cd efghij", True),
        ("ab cd efghi", False),
        ("abcdefg hijklmnop", False),
        ("a b c d e f g", True),
        ("a b c d e f", False),
        ("a b c d e f g h", True),
        ("桥梁开放于十九", False),
        ("桥梁开放于十九八", True),
    ],
)
def test_a_stretch_needs_three_words_and_twelve_characters_or_eight_short_words(
    part: str, is_long: bool
) -> None:
    assert _is_long(part) is is_long


@pytest.mark.every_case
@pytest.mark.parametrize(("part", "stands_out"), [("a b c d e", True), ("a b c d", False)])
def test_next_to_unmatched_text_a_stretch_needs_five_words(part: str, stands_out: bool) -> None:
    assert _has_enough_words(part) is stands_out


def test_whitespace_before_a_piece_is_skipped() -> None:
    assert [_skip("a b", at) for at in (0, 1, 2, 3)] == [0, 2, 2, 3]


def test_a_match_after_the_last_piece_is_preferred_to_one_elsewhere() -> None:
    there = fold("ab cd ab", True)
    assert _place(there, "ab", 0, None) == Occurrence(0, 2, equal=2)
    assert _place(there, "ab", 1, None) == Occurrence(6, 8)
    assert _place(there, "cd", 4, None) == Occurrence(3, 5)
    assert _place(there, "x", 0, None) is None


def test_the_first_piece_is_the_one_nearest_to_the_start() -> None:
    there = fold("ab cd ab", True)
    assert _place(there, "ab", 0, 5) == Occurrence(6, 8)


def test_the_longest_stretch_is_found_from_each_cut() -> None:
    there, quoted = fold(TEXT, True), fold("One two three four red", True).text
    cuts = _cuts(quoted)
    assert _longest(there, quoted, cuts, 0) == 4
    assert _longest(there, quoted, cuts, 3) is None
    assert _longest(there, "one two three", _cuts("one two three"), 0) == 3
    assert _longest(there, "six two three", _cuts("six two three"), 0) is None


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("One two three four five.", ["One two three four five."]),
        (
            "One two three four five. Red green blue black white.",
            ["One two three four five.", "Red green blue black white."],
        ),
        (
            "Red green blue black white. One two three four five.",
            ["Red green blue black white.", "One two three four five."],
        ),
        (
            "One two three four five.Red green blue black white.",
            ["One two three four five.", "Red green blue black white."],
        ),
    ],
)
def test_stretches_are_returned_in_the_order_of_the_quote(quote: str, found: list[str]) -> None:
    assert words(quote) == [(each, each) for each in found]


def test_unmatched_text_is_returned_as_pieces_of_its_own() -> None:
    assert words("Nobody knows. One two three four five. Nor why") == [
        ("Nobody knows.", None),
        ("One two three four five.", "One two three four five."),
        ("Nor why", None),
    ]
    assert words("zebra zebra") == [("zebra zebra", None)]


def test_a_short_stretch_counts_only_if_most_of_the_quote_is_found() -> None:
    lost = "Zebras graze where nobody ever looks for them, they say, at noon. "
    assert words(f"{lost}two three four five.") == [(f"{lost}two three four five.", None)]
    assert words(f"{lost}One two three four five.")[1][1] == "One two three four five."
    assert words("Zebras two three four five.") == [
        ("Zebras", None), ("two three four five.", "two three four five."),
    ]  # fmt: skip


def test_the_first_words_of_a_piece_are_not_given_to_the_one_before() -> None:
    """The words "He said" also follow the first piece, but belong to the second."""
    text = "The bridge was opened early. He said nothing more. Then he left. He said that it fell."
    quote = "The bridge was opened early. He said that it fell."
    assert words(quote, text) == [
        ("The bridge was opened early.", "The bridge was opened early."),
        ("He said that it fell.", "He said that it fell."),
    ]


@pytest.mark.parametrize("stops", [".!?;:"])
def test_up_to_three_words_after_a_full_stop_are_kept_with_the_next_piece(stops: str) -> None:
    for stop in stops:
        first, second = f"The bridge was opened early{stop}", "He said so it fell down."
        text = f"{first} He said so much. Then he left. {second}"
        assert words(f"{first} {second}", text) == [(first, first), (second, second)]
    first, second = "The bridge was opened early.", "He said so that it fell down."
    text = f"{first} He said so that all knew. Then he left. {second}"
    assert words(f"{first} {second}", text)[0][0] == f"{first} He said so that"


def test_words_are_kept_with_the_next_piece_only_if_that_makes_it_longer() -> None:
    first, second = "The bridge was opened early.", "He whispered so much."
    text = f"{first} He whispered so then. All left. {second} Then he left home."
    assert words(f"{first} {second}", text) == [(first, first), (second, second)]
    assert words(f"Then he left {first} {second}", text) == [
        (each, each) for each in ("Then he left", first, second)
    ]
    whole = f"{first} He whispered so"
    assert words(f"{whole} zebra", text) == [(whole, whole), ("zebra", None)]


def test_the_search_ends_after_two_hundred_unmatched_words() -> None:
    found = "One two three four five."
    assert words(f"{'z ' * 199}{found}")[-1] == (found, found)
    assert words(f"{'z ' * 200}{found}") == [(f"{'z ' * 200}{found}", None)]


def test_a_stretch_of_four_words_counts_if_it_is_half_of_the_quote() -> None:
    found = "two three four five."
    half, less = "Zebras graze there,", "Zebras graze here always"
    assert len(f"{half} ") == len(found) < len(f"{less} ")
    assert words(f"{half} {found}") == [(half, None), (found, found)]
    assert words(f"{less} {found}") == [(f"{less} {found}", None)]


def test_trailing_whitespace_does_not_count_as_unmatched_text() -> None:
    assert words("One two three" + " " * 30) == [("One two three", "One two three")]


def test_the_first_stretch_is_searched_from_the_beginning() -> None:
    (piece,) = pieces(f"{TEXT} {TEXT}", "One two three four five.")
    assert piece.place == (0, 24)


def test_the_last_stretch_may_be_in_a_script_without_spaces() -> None:
    first, last = "One two three four five.", "桥梁开放于十九八"
    assert words(f"{first} {last}", f"{last}, {TEXT}") == [(first, first), (last, last)]


def test_unmatched_text_is_returned_without_surrounding_whitespace() -> None:
    found = [Piece(4, 6, (0, 2)), Piece(6, 8, None), Piece(8, 9, (3, 4))]
    quote = " a  bbccd ee "
    assert list(_fill_gaps(found, quote)) == [
        Piece(1, 2, None), Piece(4, 6, (0, 2)), Piece(8, 9, (3, 4)), Piece(10, 12, None),
    ]  # fmt: skip
    assert list(_fill_gaps([], "  ")) == []
