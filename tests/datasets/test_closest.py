"""The part of a text most similar to a quote is found, after folding."""

from __future__ import annotations

import pytest

from datasets.quotes import (
    _common_characters,
    _ratio,
    _trimmed,
    _weight,
    _windows,
    closest,
    fold,
    tokens,
)

MOST_TOKENS = 2000


@pytest.mark.parametrize(
    "pairs",
    [
        [
            ("a \u00a0\n b", "a b"), ("a—–-b", "a-b"), ("“a” ‘b’ ´", "\"a\" 'b' '"), ("…", "..."),
            ("a\u00adb\u200dc", "abc"), ("\u2764\ufe0f", "\u2764"), ("ﬁn", "fin"), ("é", "e\u0301"),
        ]
    ],
)  # fmt: skip
def test_folding_unifies_typography(pairs: list[tuple[str, str]]) -> None:
    for text, plain in pairs:
        assert fold(text).text == plain
    assert (fold("Straße").text, fold("Straße", True).text) == ("Straße", "strasse")


def test_a_match_begins_and_ends_between_whole_characters() -> None:
    text = fold("a ﬁn e\u0301 e 🌉\ufe0f.")

    def find(part: str, begin: int = 0) -> list[tuple[int, int]]:
        return [text.span(*place) for place in text.places(part, begin)]

    assert find("f") == find("i") == find("in") == []
    assert find("fi") == [(2, 3)]
    assert find("e") == [(8, 9)], "not the letter without its accent"
    assert find("🌉") == [(10, 12)]
    assert (find("a"), find("a "), find("a", 1)) == ([(0, 1)], [(0, 2)], [])
    assert list(fold("ﬁ").places("fi")) == [(0, 2)]
    assert list(fold("ﬁi").places("i")) == [(2, 3)]
    assert list(fold("a =\u0338 b").places("=")) == []
    assert fold("¨").text == "\u0308", "without the blank that its decomposition begins with"


def test_tokens_are_words_or_single_characters_in_scripts_without_spaces() -> None:
    found = tokens("so, it is so.")
    assert found.words == ("so", "it", "is", "so")
    assert found.at["so"] == [0, 3]
    assert found.ends[1] == (4, 6)
    assert tokens("日本 กข ab1").words == ("日", "本", "ก", "ข", "ab1")


TEXT = "The bridge was opened in 1901 by Anna Lee. Nobody knows who paid for its two towers."


@pytest.mark.parametrize(
    "quotes",
    [
        [
            ("The bridge was opened in 1902 by Anna Lee", TEXT[:41]),
            ("bridge WAS opened, in 1901", "bridge was opened in 1901"),
            ("Nobody knows who had paid for its two towers",
             "Nobody knows who paid for its two towers"),
            ("The bridge was closed long after the last war", None),
            ("opened in 1901 by", None),
            ("opened in 1901 by A", None),
            ("opened in 1901 by Anna", "opened in 1901 by Anna"),
            ("1901xxxxxxxxxxxxxxxxxxxx by Anna", None),
        ]
    ],
)  # fmt: skip
def test_the_part_most_similar_to_a_quote_is_found(quotes: list[tuple[str, str | None]]) -> None:
    for quote, found in quotes:
        place = closest(TEXT, quote)
        assert (None if place is None else TEXT[slice(*place)]) == found, quote


def test_the_more_similar_of_two_parts_is_found() -> None:
    same = "one two three four five six seven eight"
    near = f"{same}h"
    filler = " ".join(f"w{n}" for n in range(60))
    for text in (f"{near}. {filler}. {same}.", f"{same}. {filler}. {near}."):
        place = closest(text, same)
        assert place is not None
        assert text[slice(*place)] == same


def test_the_first_of_two_equally_similar_parts_is_found() -> None:
    near, filler = "one two three four five sixth", " ".join(f"w{n}" for n in range(60))
    assert closest(f"{near}. {filler}. {near}.", "one two three four five sixt") == (0, len(near))


def test_a_quote_must_have_at_least_twenty_characters_in_four_words() -> None:
    text = "so alpha bravo delta in it, so longer words than these"
    assert closest(text, "alpha bravo delta in") == (3, 23)
    assert closest(text, "so alpha bravo delta") == (0, 20)
    assert closest(text, "alpha bravo delta i") is None
    assert closest(text, "longer, words, than...") is None


def test_nearly_half_of_the_words_must_match_exactly_and_nine_tenths_overall() -> None:
    def written(*words: str, last: str = "") -> str:
        return " ".join(word[:-1] + (last or word[-1]) for word in words)

    ten = [letter * 10 for letter in "abcde"]
    there = f"{written(*ten[:2])} {written(*ten[2:], last='x')}"
    assert closest(there, " ".join(ten)) is None, "22 of 55 are less than 45 in a hundred"
    eighteen = ("a" * 8, "b" * 8, "c" * 10, "d" * 10)
    there = f"{written(*eighteen[:2])} {written(*eighteen[2:], last='x')}"
    assert closest(there, " ".join(eighteen)) == (0, len(there)), "18 of 40"
    assert closest("abcd efgh ijkl mnox", "abcd, efgh, ijkl, mnop") == (0, 19), "36 of 40"
    assert closest("abcd efgh ijkl mnxx", "abcd, efgh, ijkl, mnop") is None, "34 of 40"


def windows(quoted: list[str], there: dict[int, str], size: int = 40) -> list[tuple[int, int]]:
    """The windows over a text of `size` words, in which only those of `there` are in the quote."""
    text = " ".join(there.get(n, f"other{n}") for n in range(size))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("datasets.quotes._trimmed", lambda quoted, words, low, high: [(low, high)])
        return list(_windows(quoted, tokens(text)))


def test_windows_are_placed_where_most_words_are_at_the_right_distance() -> None:
    quoted = ["a", "b", "c", "d"]
    assert windows(quoted, {20: "a", 21: "b", 22: "c", 23: "d"}) == [(12, 32), (16, 36)]
    assert windows(quoted, {0: "a"}) == [(0, 12), (0, 16)]
    assert windows(quoted, {39: "d"}) == [(28, 40), (32, 40)]
    # Sorted by votes, then by position; at most four windows for three distances.
    assert windows(quoted, {20: "a", 25: "b"}) == [(16, 36), (12, 32), (20, 40)]
    assert windows(quoted, {4: "a", 21: "b", 38: "c"}) == [(0, 16), (0, 20), (12, 32), (16, 36)]
    assert windows([f"w{n}" for n in range(72)], {90: "w0"}, 200) == [(72, 180), (81, 189)]
    often = dict.fromkeys(range(501), "a")
    assert windows(["a"], often, 501) == []
    assert len(windows(["a"], often, 500)) == 4


def test_a_quote_of_more_than_two_thousand_words_is_not_searched() -> None:
    words = " ".join(f"w{n}" for n in range(MOST_TOKENS))
    assert closest(words + " end", words) == (0, len(words))
    assert closest(words + " end", words + " end") is None


def test_the_similarity_ratio_counts_common_characters() -> None:
    assert _weight(["ab", "c"]) == 5
    assert _ratio(["ab", "c"], ["ab", "c"]) == 1
    assert _ratio(["abcd"], ["abce"]) == pytest.approx(2 * 3 / 10)
    assert _ratio(["a", "bc"], ["a"]) == pytest.approx(2 * 2 / 7)
    between = ["abc", "pq", "def"], ["abc", "abcdef", "def"]
    for one, other in (between, between[::-1]):
        assert _ratio(one, other) == pytest.approx(2 * 8 / 26), "of the words that differ alone"
    assert _common_characters("a" * 200, "a" * 200) == 200
    assert _common_characters("a" * 201, "a") == _common_characters("a", "a" * 201) == 0


def test_a_window_is_trimmed_to_the_matching_words_with_and_without_context() -> None:
    quoted, words = ["a", "b", "c", "d"], ["x", "y", "b", "c", "z", "a"]
    assert list(_trimmed(quoted, words, 0, 6)) == [(2, 4), (1, 5)]
    assert list(_trimmed(quoted, words, 4, 5)) == []
    assert list(_trimmed(["b", "c"], words, 1, 6)) == [(2, 4)]
    assert list(_trimmed(["q", "x"], words, 0, 6)) == [(0, 1), (0, 1)]
