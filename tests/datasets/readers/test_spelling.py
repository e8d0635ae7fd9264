"""Which texts are probably meant to be the same, and which words mean that there is no value."""

from __future__ import annotations

import unicodedata

import pytest

from tandem.files.spelling import difference, folded, is_blank, means_missing, similar, visible

DECOMPOSED = unicodedata.normalize("NFD", "Zoë")


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ("yes", "yes ", "blanks"),
        ("yes", "yes\u00a0", "blanks"),
        ("yes", "\u200byes", "blanks"),
        ("not\u00a0sure", "not  sure", "blanks"),
        ("yes", "Yes", "case"),
        ("straße", "STRASSE", "case"),
        ("Zoë", DECOMPOSED, "Unicode form"),
        ("1", "01", "leading zeros"),
        ("rater1", "rater001", "leading zeros"),
        ("0.3", "0.30000000000000004", "how a number is written"),
        ("0.5", ".50", "how a number is written"),
        ("0.5", "0,5", "how a number is written"),
        ("0.0", "-0.0", "how a number is written"),
        ("1", "1.0", "how a number is written"),
        ("1", "+1", "how a number is written"),
        ("yes", " YES", "blanks and case"),
    ],
)
def test_similar_texts_are_found_with_their_difference(one: str, other: str, said: str) -> None:
    assert similar(["other", one, other]) == [[one, other]]
    assert difference([one, other]) == said


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("yes", "no"),
        ("0.5", "0.05"),
        ("0.3", "0.3001"),
        ("10", "1"),
        ("12345678901234567890", "12345678901234567891"),
        ("1.05", "1.5"),
        ("resume", "résumé"),
        ("a b", "ab"),
        ("-1", "1"),
    ],
)
def test_different_texts_are_not_similar(one: str, other: str) -> None:
    assert similar([one, other]) == []


def test_numbers_in_ids_keep_their_decimals() -> None:
    assert folded("3.1") != folded("3.10")


@pytest.mark.parametrize(
    "word",
    [
        "nan",
        "NaN",
        "NA",
        "N/A",
        "#N/A",
        "None",
        "null",
        "NULL",
        " nan ",
        "-",
        "–",
        "<NA>",
        "?",
        "*",
    ],
)
def test_words_for_missing_are_recognised(word: str) -> None:
    assert means_missing(word)


@pytest.mark.parametrize("word", ["no", "0", "nothing", "-1", "not applicable here", "nano"])
def test_other_words_are_values(word: str) -> None:
    assert not means_missing(word)


@pytest.mark.parametrize("text", ["", " ", "\t", "\u00a0", "\u3000", "\u200b", " \ufeff "])
def test_invisible_texts_are_blank(text: str) -> None:
    assert is_blank(text)
    assert not is_blank(f"{text}x")


def test_what_cannot_be_seen_is_shown() -> None:
    assert visible("yes\u00a0") == '"yes\\xa0"'
    assert visible(DECOMPOSED) == '"Zoe\\u0308"'
