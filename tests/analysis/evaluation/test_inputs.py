"""Measures are divided into strata by properties of queries, documents and answers."""

from __future__ import annotations

from analysis.evaluation.inputs import Rows
from tandem.files.rows import Passage, Query


def query(name: str, *lengths: int, source: str | None = None) -> Query:
    passages = tuple(
        Passage(f"{name}{n}", "🌉" * length, source=source) for n, length in enumerate(lengths)
    )
    return Query(name, "?", passages=passages)


SHORT, MIDDLE, LONG = query("s", 10), query("m", 10, 10), query("l", 5, 30)


def rows(*queries: Query, lengths: tuple[int, ...] = ()) -> Rows:
    return Rows(queries, ("bm25",) * len(queries), lengths)


def test_queries_are_sliced_by_the_total_length_of_their_documents() -> None:
    found = rows(LONG, SHORT, MIDDLE, LONG).strata["document_length"]
    assert found == ["long", "short", "middle", "long"]


def test_answers_are_sliced_by_their_length() -> None:
    found = rows(SHORT, SHORT, MIDDLE, lengths=(7, 90, 30)).strata["generation_length"]
    assert found == ["short", "long", "middle"]


def test_equal_lengths_make_no_slices() -> None:
    strata = rows(query("a", 10), query("b", 4, 6), lengths=(8, 8)).strata
    assert not {"document_length", "generation_length"} & set(strata)


def test_queries_are_sliced_by_the_source_of_their_documents() -> None:
    found = rows(query("a", 1, source="web"), query("b", 1, source="private"), SHORT).strata
    assert found["source"] == ["web", "private", None]
