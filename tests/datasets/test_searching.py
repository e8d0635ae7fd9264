"""A batch's texts can be searched for words, with equal results on SQLite and PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasets.models import Batch
from datasets.search import MOST_HITS, find, hits, split_at_words, words_of
from tests.cast import Line, load

pytestmark = pytest.mark.postgresql

Where = list[tuple[str, str]]


def found(asked: str, name: str = "b") -> Where:
    """The kind and id of each text that has the words."""
    words = words_of(asked)
    everywhere = find(Batch.objects.get(name=name), words)
    return [(hit.kind, hit.key) for hit in hits(everywhere, words)]


def text(number: int, words: str) -> Line:
    return {"id": f"q{number}", "text": words}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("asked", "there"),
    [
        ("ghent", [("passage", "p2"), ("report", "s one"), ("passage", "p3")]),
        ("GHENT Anna", [("passage", "p2")]),
        ("bridge built", [("query", "q/1"), ("passage", "p")]),
        ('"bridge built"', [("query", "q/1")]),
        ("שלום", [("passage", "p"), ("report", "r")]),
        ("قديم", [("passage", "p#1")]),
        ("🏙", [("passage", "p2"), ("report", "s one")]),
        ("p#1", [("passage", "p#1")]),
        ("s/two", [("report", "s/two")]),
        ("the 3.14", []),
        ("100%", []),
        ("_", []),
        ("\\", []),
        ("'", []),
    ],
)
def test_all_words_must_occur_in_the_same_text(batch: Path, asked: str, there: Where) -> None:
    assert found(asked) == there


@pytest.mark.every_case
@pytest.mark.parametrize("asked", ["léé", "LÉÉ", "Le\u0301e\u0301", "lE\u0301e\u0301"])
def test_case_and_unicode_form_of_accents_do_not_matter(
    db: None, tmp_path: Path, asked: str
) -> None:
    lines = [text(0, "Anna Léé"), text(1, "ANNA LE\u0301E\u0301"), text(2, "Anna Lee")]
    load(tmp_path, lines)
    assert found(asked) == [("query", "q0"), ("query", "q1")]


def test_scripts_without_spaces_and_wildcard_characters_are_found(db: None, tmp_path: Path) -> None:
    lines = [text(0, "東京都の橋"), text(1, "МОСТ через реку"), text(2, "50% of_it \\ 'so'")]
    load(tmp_path, lines)
    assert found("都の") == [("query", "q0")]
    assert found("мост") == found("Мост") == [("query", "q1")]
    for sign in ("50%", "of_it", "\\", "'so'"):
        assert found(sign) == [("query", "q2")]


@pytest.mark.parametrize("word", ["می\u200cخواهم", "क्\u200dष", "👨\u200d👩\u200d👧"])
def test_words_with_an_invisible_joiner_are_found_and_marked(
    db: None, tmp_path: Path, word: str
) -> None:
    load(tmp_path, [text(0, f"x {word} y"), text(1, "x y")])
    # Marks of writing direction are not part of a word, but are copied with it.
    asked = f"\u200f{word}\u202c"
    assert found(asked) == [("query", "q0")]
    assert split_at_words(f"x {word} y", words_of(asked)) == [
        ("x ", False),
        (word, True),
        (" y", False),
    ]


def test_a_search_stays_within_its_batch(batch: Path, tmp_path: Path) -> None:
    load(tmp_path, [text(0, "Ghent")], name="other")
    assert found("ghent", "other") == [("query", "q0")]


def test_a_title_is_searched_with_its_passage(batch: Path) -> None:
    assert ("passage", "p") in found('"the bridge" 1901')


def test_hits_are_sorted_by_query(batch: Path) -> None:
    words = words_of("e")
    everywhere = find(Batch.objects.get(), words)
    assert [hit.position for hit in hits(everywhere, words)] == sorted(
        each.position for each in everywhere
    )


def test_the_number_of_hits_is_limited(db: None, tmp_path: Path) -> None:
    load(tmp_path, [text(n, "same") for n in range(MOST_HITS + 5)])
    assert len(find(Batch.objects.get(), ["same"])) == MOST_HITS + 1


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("", []),
        ('  "" \u0000 \t', []),
        ("a  b a", ["a", "b"]),
        ('say "how  was" it', ["say", "how was", "it"]),
        ("x\u0000y \ud7fft", ["xy", "t"]),
        ("1 2 3 4 5 6 7 8 9", list("12345678")),
    ],
)
def test_words_and_quoted_phrases_are_parsed_from_the_input(asked: str, words: list[str]) -> None:
    assert words_of(asked) == words


def test_every_occurrence_of_a_word_is_marked() -> None:
    assert split_at_words("Lée, LÉE & a.b", ["lée", "."]) == [
        ("Lée", True), (", ", False), ("LÉE", True), (" & a", False), (".", True), ("b", False),
    ]  # fmt: skip
    assert split_at_words("text", []) == [("text", False)]


def test_a_snippet_shows_the_word(db: None, tmp_path: Path) -> None:
    load(tmp_path, [text(0, "x " * 500 + "needle" + " y" * 500)])
    (hit,) = hits(find(Batch.objects.get(), ["needle"]), ["needle"])
    assert [piece for piece, is_hit in hit.snippet if is_hit] == ["needle"]
    assert sum(len(piece) for piece, _ in hit.snippet) < 300


@pytest.mark.parametrize(
    ("around", "first", "last"),
    [("harbour ", "… harbour", "harbour …"), ("港", "… 港港", "港港 …")],
)
def test_a_snippet_ends_at_a_word_boundary(
    db: None, tmp_path: Path, around: str, first: str, last: str
) -> None:
    load(tmp_path, [text(0, around * 200 + "needle " + around * 200)])
    (hit,) = hits(find(Batch.objects.get(), ["needle"]), ["needle"])
    shown = "".join(piece for piece, _ in hit.snippet)
    assert "needle" in shown
    assert (shown[: len(first)], shown[-len(last) :]) == (first, last)
