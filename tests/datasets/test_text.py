"""Locating quotes, splitting sentences, and offsets that count code points."""

from __future__ import annotations

import random
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from datasets.text import (
    QuoteLocation,
    find_quote,
    lines_of,
    sentences,
)
from tests.datasets.helpers import data_lines, needs_data

TEXT = (
    "The quick brown fox jumps over the lazy dog. Nobody saw it, “except” the miller’s\r\n"
    "daughter — who told\u00a0her mother… Later that year, on 3.5 acres, the fox returned twice. "
    "The lazy dog slept through all of it, as lazy dogs in that part of the country do."
)

ANY_TEXT = st.text(
    st.one_of(
        st.sampled_from("ab .,\n\r\t!?…“”’—-\u00a0\u200d\ufe0f\u0301\u0308éßİﬁ😀👩مש。"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=60,
)


def only(text: str, quote: str, start: int | None = None) -> QuoteLocation:
    (found,) = find_quote(text, quote, start)
    return found


def test_an_exact_quote_is_found_at_its_location() -> None:
    assert only(TEXT, "lazy dog") == QuoteLocation(35, 43, "lazy dog", "exact")


def test_a_correct_start_selects_among_several_occurrences() -> None:
    second = TEXT.index("lazy dog", 40)
    assert only(TEXT, "lazy dog", second).start == second


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("start", "right"), [(-8, 35), (0, 35), (36, 35), (130, 174), (180, 174), (10**9, 211)]
)
def test_a_wrong_start_gives_the_nearest_occurrence(start: int, right: int) -> None:
    assert only(TEXT, "lazy dog", start) == QuoteLocation(right, right + 8, "lazy dog", "exact")


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("quote", "words"),
    [
        ("quick  brown\nfox", "quick brown fox"),
        ('it, "except" the', "it, “except” the"),
        ("miller's daughter", "miller’s\r\ndaughter"),
        ("daughter - who told her", "daughter — who told\u00a0her"),
        ("daughter -- who", "daughter — who"),
        ("her mother... Later", "her mother… Later"),
        ("THE QUICK BROWN", "The quick brown"),
        ("  lazy dog.  ", "lazy dog."),
        ("lazy\u00addog dogs", None),
        ("l\u200bazy dogs", "lazy dogs"),
    ],
)
def test_whitespace_typography_and_case_are_folded(quote: str, words: str | None) -> None:
    found = only(TEXT, quote)
    if words is None:
        assert found.method == "none"
    else:
        assert (found.quote, found.method) == (words, "folded")
        assert found.start == TEXT.index(words)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("text", "quote", "words"),
    [
        ("a café au lait", "cafe\u0301 au", "café au"),
        ("a cafe\u0301 au lait", "café au", "cafe\u0301 au"),
        ("the ﬁnal ofﬁce", "final office", "ﬁnal ofﬁce"),
        ("die Straße dort", "STRASSE", "Straße"),
        ("ＡＢＣ １２３", "ABC 123", "ＡＢＣ １２３"),
        ("한국어 문장", unicodedata.normalize("NFD", "한국어"), "한국어"),
        ("I ❤️ it", "i ❤", "I ❤️"),
        ("family 👩\u200d👩\u200d👧 here", "family 👩👩👧", "family 👩\u200d👩\u200d👧"),
        ("قال: «مرحبا» ثم", 'قال: "مرحبا"', "قال: «مرحبا»"),
        ("אמר ״שלום״ והלך", "אמר  ״שלום״", "אמר ״שלום״"),
        ("a\u2028b\x85c", "a b c", "a\u2028b\x85c"),
    ],
)
def test_a_quote_found_by_folding_is_returned_in_the_wording_of_the_text(
    text: str, quote: str, words: str
) -> None:
    found = only(text, quote)
    assert (found.quote, found.method) == (words, "folded")


@pytest.mark.parametrize(
    ("text", "quote"), [("oﬀer", "Of"), ("Café", "cafe"), ("Cafe\u0301s", "CAFE")]
)
def test_a_part_of_a_composed_character_is_not_found(text: str, quote: str) -> None:
    assert only(text, quote).method == "none"


def test_a_match_with_the_same_case_is_preferred() -> None:
    assert only("one  TWO, One  two", "One two").start == 10


@pytest.mark.every_case
@pytest.mark.parametrize("quote", ["", " ", "\n\t", "\u00a0"])
def test_a_blank_quote_is_not_found(quote: str) -> None:
    assert only(TEXT, quote) == QuoteLocation(None, None, quote, "none")


@pytest.mark.parametrize("quote", ["cat", "\u200b", "A slow green cat"])
def test_a_quote_that_is_not_found_is_returned_unchanged(quote: str) -> None:
    assert find_quote(TEXT, quote) == [QuoteLocation(None, None, quote, "none")]
    assert find_quote("", quote) == [QuoteLocation(None, None, quote, "none")]


FIRST, SECOND = "The quick brown fox jumps", "The lazy dog slept through all of it"


@pytest.mark.parametrize(
    "quote",
    [
        f"{FIRST} {SECOND}",
        f"{FIRST}\n\n{SECOND} ",
        f"{FIRST.upper()} {SECOND}",
    ],
)
def test_a_quote_joined_from_several_stretches_is_split(quote: str) -> None:
    found = find_quote(TEXT, quote)
    assert [(f.quote, f.method) for f in found] == [(FIRST, "joined"), (SECOND, "joined")]


def test_joined_stretches_may_be_in_any_order_and_repeated() -> None:
    found = find_quote(TEXT, f"{SECOND} {FIRST} {FIRST}")
    assert [f.quote for f in found] == [SECOND, FIRST, FIRST]


def test_stretches_joined_without_a_space_are_split_at_a_full_stop() -> None:
    first = "jumps over the lazy dog."
    assert [f.quote for f in find_quote(TEXT, f"{first}{SECOND}")] == [first, SECOND]


def test_a_stretch_does_not_include_the_first_word_of_the_next() -> None:
    text = "One went to the sea today. The others stayed at home. The last one swam far out."
    quote = "One went to the sea today. The last one swam far out."
    assert [f.quote for f in find_quote(text, quote)] == [
        "One went to the sea today.",
        "The last one swam far out.",
    ]


RETYPED = "whereas seven herons quarrelled loudly"


@pytest.mark.every_case
@pytest.mark.parametrize(
    "parts", [(FIRST, RETYPED, SECOND), (RETYPED, SECOND), (SECOND, RETYPED), (FIRST, RETYPED)]
)
def test_a_rewritten_piece_has_no_location(parts: tuple[str, ...]) -> None:
    found = find_quote(TEXT, " ".join(parts))
    assert [(f.quote, f.method) for f in found] == [
        (part, "none" if part == RETYPED else "joined") for part in parts
    ]


def test_three_words_that_match_by_chance_are_not_a_match() -> None:
    quote = "Penguins invented the lazy dog paradox in nineteen hundred and never told anyone"
    assert only(TEXT, quote).method == "none"


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("quote", "words"),
    [
        (
            "Later that year, on 3.5 acres, the fox came back twice.",
            None,
        ),
        (
            "Later that year on 35 acres, the foxes returned twice",
            "Later that year, on 3.5 acres, the fox returned twice",
        ),
        (
            "Nobodi saw it, except the miler's daughter, who told her mother",
            "Nobody saw it, “except” the miller’s\r\ndaughter — who told\u00a0her mother",
        ),
        (
            "lazy dog slept trough all of it, as lazy dogs in that part",
            "lazy dog slept through all of it, as lazy dogs in that part",
        ),
    ],
)
def test_small_changes_in_a_long_quote_are_tolerated(quote: str, words: str | None) -> None:
    found = find_quote(TEXT, quote)
    if words is None:
        assert "fuzzy" not in {f.method for f in found}
    else:
        assert [(f.quote, f.method) for f in found] == [(words, "fuzzy")]


def test_small_changes_in_a_short_quote_are_not_tolerated() -> None:
    assert only(TEXT, "lazy dgo").method == "none"


def test_fuzzy_matching_works_in_a_text_of_recurring_words() -> None:
    text = "room1 room1 room8 room6 room3 room4 room6 room8 room8 room4 room7"
    found = only(text, "room8 room4 room6 room5 room8 room4 room7")
    assert (found.quote, found.method) == (
        "room3 room4 room6 room8 room8 room4 room7",
        "fuzzy",
    )


def test_fuzzy_matching_works_in_scripts_without_spaces() -> None:
    text = "吾輩は猫である。どこで生れたかとんと見当がつかぬ。何でも薄暗い所で泣いていた。"
    found = only(text, "どこで生まれたかとんと見当がつかぬ。何でも薄暗い所")
    assert (found.quote, found.method) == (
        "どこで生れたかとんと見当がつかぬ。何でも薄暗い所",
        "fuzzy",
    )


@given(ANY_TEXT, ANY_TEXT)
@example("a\u0301", "a")
@example("´", " ")
@example("...", "…")
def test_every_location_contains_the_quote_that_is_returned(text: str, quote: str) -> None:
    found = find_quote(text, quote)
    assert found
    for each in found:
        if each.start is None or each.end is None:
            assert (each.start, each.end, each.method) == (None, None, "none")
        else:
            assert 0 <= each.start < each.end <= len(text)
            assert text[each.start : each.end] == each.quote


@given(ANY_TEXT, st.integers(0, 60), st.integers(1, 60))
def test_a_part_of_the_text_is_always_found_exactly(text: str, start: int, length: int) -> None:
    quote = text[start : start + length]
    if quote.strip():
        assert only(text, quote, start) == QuoteLocation(start, start + len(quote), quote, "exact")


@given(st.text(st.sampled_from("abéßﬁ한😀מעש مرح.,\n"), min_size=1, max_size=40))
def test_a_text_is_found_by_its_other_unicode_form(text: str) -> None:
    for form in ("NFC", "NFD"):
        quote = unicodedata.normalize(form, text)
        if quote.strip():
            found = only(text, quote)
            assert found.quote.strip() == text.strip()


def long_text(words: int) -> list[str]:
    chance = random.Random(7)
    rare = [f"word{n}" for n in range(4000)]
    return [chance.choice(rare if n % 3 else ["the", "of", "and", "a"]) for n in range(words)]


@pytest.mark.parametrize("case", ["exact", "fuzzy", "joined", "none"])
def test_a_quote_is_found_in_a_text_of_20_000_words(case: str) -> None:
    words = long_text(20_000)
    quote = {
        "exact": words[15_000:15_200],
        "fuzzy": [w if n % 40 else "changed" for n, w in enumerate(words[9000:9400], 1)],
        "joined": words[100:140] + words[9000:9040] + words[40:80],
        "none": [w + "x" for w in words[9000:9400]],
    }[case]
    found = find_quote(" ".join(words), " ".join(quote))
    assert {each.method for each in found} == {case}


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("a" * 1_000_000, "a" * 50_000 + "b"),
        ("the of " * 100_000, "the of " * 15_000 + "b"),
        ("x " * 150_000, "y " * 150_000),
    ],
)
def test_a_search_in_adversarial_texts_is_fast(text: str, quote: str) -> None:
    """A search in quadratic time would not end within the time limit of a test."""
    assert not [each for each in find_quote(text, quote) if each.method == "exact"]


@needs_data
def test_verbatim_highlights_in_the_crux_release_are_as_many_as_counted() -> None:
    expected = {"annotator1": (242, 1), "annotator2": (190, 13), "annotator3": (197, 0)}
    reports = {r["qid"]: r["response"] for r in data_lines("crux/crux_testb/oracle.jsonl")}
    for annotator, counts in expected.items():
        methods = []
        for row in data_lines(f"crux/annotations/{annotator}/qlabels.jsonl"):
            text = reports[row["id"]]
            quotes = [q for q in row["question_based_nugget"].values() if q.strip()]
            methods += [{f.method for f in find_quote(text, quote)} for quote in quotes]
        whole = sum(each <= {"exact", "folded"} for each in methods)
        assert (whole, sum(each == {"joined"} for each in methods)) == counts
        assert len(methods) == sum(counts)


@needs_data
def test_joined_highlights_in_the_crux_release_are_split_without_losing_words() -> None:
    reports = {r["qid"]: r["response"] for r in data_lines("crux/crux_testb/oracle.jsonl")}
    for row in data_lines("crux/annotations/annotator2/qlabels.jsonl"):
        for quote in row["question_based_nugget"].values():
            found = find_quote(reports[row["id"]], quote)
            if len(found) > 1:
                joined = "".join("".join(f.quote for f in found).split())
                assert joined.lower() == "".join(quote.split()).lower()


def parts(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.every_case
@pytest.mark.parametrize(
    "expected",
    [
        ["One two.", "Three four!", "Five?", "Six"],
        ["Dr. Smith met J. K. Rowling and Mrs. Jones.", "They left."],
        ["It rose by 3.5 % on Jan. 5 and fell.", "See Fig. 3 vs. No. 7, e.g. here."],
        ["The U.S. Congress met at 5 p.m. on Friday.", "It ended."],
        ["He lived in the U.S.", "She did not."],
        ['"Stop!" he cried.', "(It was late.)", "Then “go.”", "She went."],
        ["What?!", "No…", "Well... perhaps."],
        ["So he said... and left.", "Done."],
        ["It was so.[1][2]", "It is not.[3]"],
        ["The year was 1998.", "Then came 2000."],
        ["**Bold.**", "_Then_ plain."],
        ["هل هذا صحيح؟", "نعم.", "حسنا"],
        ["यह एक है।", "यह दो है।"],
        ["😀 One.", "😀 Two."],
    ],
)
def test_sentences_end_where_a_human_reader_would_end_them(expected: list[str]) -> None:
    assert parts(" ".join(expected)) == expected


def test_sentences_are_split_in_scripts_without_spaces() -> None:
    assert parts("日本語です。次の文！「はい。」終わり") == [
        "日本語です。",
        "次の文！",
        "「はい。」",
        "終わり",
    ]


def test_lines_bullets_and_headings_are_sentences() -> None:
    text = "Causes\r\n\r\n1. First point. More.\n2. Second\n- third\n* fourth\n(a) fifth"
    assert parts(text) == [
        "Causes",
        "1. First point.",
        "More.",
        "2. Second",
        "- third",
        "* fourth",
        "(a) fifth",
    ]


def test_a_wrapped_line_is_one_sentence() -> None:
    assert parts("A line that was\nwrapped here. Next\r\none.\n\nNew") == [
        "A line that was\nwrapped here.",
        "Next\r\none.",
        "New",
    ]


@pytest.mark.parametrize("text", ["", " ", "\n\r\n\t\u00a0"])
def test_a_blank_text_has_no_sentences(text: str) -> None:
    assert sentences(text) == []


@given(ANY_TEXT)
@example("Mr.")
@example("1.")
@example("a\n\n\nb")
def test_sentences_cover_all_text_except_whitespace(text: str) -> None:
    spans = sentences(text)
    at = 0
    for start, end in spans:
        assert at <= start < end <= len(text)
        assert not text[at:start].strip()
        assert text[start:end] == text[start:end].strip()
        at = end
    assert not text[at:].strip()


@pytest.mark.first_case
@pytest.mark.parametrize(
    "text",
    [
        "." * 3_000_000 + "x",
        "." + '"' * 3_000_000 + "x",
        " \n" * 1_000_000,
        " " * 3_000_000 + "x",
        "A." * 1_000_000,
    ],
)
def test_splitting_adversarial_texts_is_fast(text: str) -> None:
    """Splitting in quadratic time would not end within the time limit of a test."""
    assert sum(end - start for start, end in sentences(text)) <= len(text)


@needs_data
def test_sentences_mostly_agree_with_clapnqs() -> None:
    same = total = 0
    for row in data_lines("clapnq/clapnq_dev_answerable.jsonl"):
        passage = row["passages"][0]
        mine = set(parts(passage["text"]))
        total += len(passage["sentences"])
        same += sum(sentence in mine for sentence in passage["sentences"])
    assert same / total > 0.89


def test_all_kinds_of_line_ends_split_lines() -> None:
    assert lines_of("a\r\nb\rc\n\nd") == ["a", "b", "c", "", "d"]
