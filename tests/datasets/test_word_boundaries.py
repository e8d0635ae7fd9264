"""Whether an offset is inside a word, in many scripts."""

from __future__ import annotations

import pytest

from tandem.labels.word_boundaries import is_inside_word, is_whole


def marked(text: str) -> tuple[str, int]:
    """Return a text without its bar, and the offset of the bar."""
    return text.replace("|", ""), text.index("|")


@pytest.mark.parametrize(
    "text",
    [
        "F|or", "b|1", "1|2", "snake|_case", "snake_|case", "a_|1", "Stra|ße",
        "3|.5", "3.|5", "1,|000",
        "don|'t", "don’|t", "don'|t", "they|’re", "Anna|'s", "l|'homme",
        "co|\u00adoperate", "co\u00ad|operate", "می|\u200cخواهم", "می\u200c|خواهم",
        "cafe|\u0301", "नम|\u0938\u094d\u0924\u0947", "नमस|\u094dते", "שָׁ|לוֹם", "ש|ָׁלום", "مرح|با",
        "צה|\"ל", "צה\"|ל", "צה״|ל", "ג|׳ורג׳",
        "👩|\u200d👩", "👩\u200d|👧", "👍|🏽", "❤|\ufe0f", "🇩|🇪", "🇩🇪🇫|🇷", "1|\ufe0f\u20e3",
        "한|국어", "กำ|\u0e31", "ก|\u0e33", "col·|lecció", "がん|\u3099",
    ],
)  # fmt: skip
def test_an_offset_within_a_word_or_a_visible_character_is_inside(text: str) -> None:
    assert is_inside_word(*marked(text))


@pytest.mark.parametrize(
    "text",
    [
        "|word", "word|", "a| b", "a |b", "a|\r\nb", "a\r\n|b", "a\r|\nb", "a|\u2028b",
        "end|.", "end.|Next", "end.|", "(|a", "“|a", "a|”", "dogs|' bowl", "'|tis", "|'tis",
        "_|then_ x", "_then|_ x", "**|then**", "well|-known", "well-|known",
        "non\u2011|stop", "l'|homme", "aujourd’|hui",
        "3|%", "$|5", "a|/b", "50|€", "x|=1", "0|–1", ".|5",
        "日|本", "日本|語", "AI|技術", "技術|AI", "です|。", "コン|ピュータ",
        "ภาษา|ไทย", "မြန်|မာ", "ភាសា|ខ្មែរ",
        "😀|😀", "a|😀", "😀|a", "🇩🇪|🇫🇷", "👩\u200d👧|👩", "👍🏽|👍",
        "שלום|\u200f.", "שלום\u200f|.", "a|\u200bb", "a\u200b|b", "قال|: نعم", "نعم|؟",
    ],
)  # fmt: skip
def test_an_offset_between_words_is_not_inside(text: str) -> None:
    assert not is_inside_word(*marked(text))


@pytest.mark.parametrize("at", [-3, -1, 0, 4, 5, 99])
def test_an_offset_outside_of_the_text_is_not_inside_a_word(at: int) -> None:
    assert not is_inside_word("word", at)


def test_a_range_is_whole_if_neither_end_is_inside_a_word() -> None:
    text = "Use it only For cats or dogs."
    assert is_whole(text, 21, 23)
    assert not is_whole(text, 13, 15)
    assert not is_whole(text, 12, 14)
