"""Queries are divided into slices by the stated properties."""

from __future__ import annotations

from typing import Any

from analysis.evaluation.inputs import Rows
from tandem.files.rows import Passage, Query, Report


def query(name: str, *sources: str | None, meta: dict[str, Any] | None = None) -> Query:
    passages = tuple(
        Passage(f"{name}{n}", "x" * (n + 1), source=source) for n, source in enumerate(sources)
    )
    return Query(name, "?", passages=passages, reports=(Report(f"r{name}", "x"),), meta=meta)


def test_the_source_of_a_query_is_read_from_its_own_meta_or_from_its_passages() -> None:
    queries = (
        query("a", "web", "web"),
        query("b", "web", "private"),
        query("c", None),
        query("d", "web", meta={"source": "archive"}),
    )
    found = Rows(queries, ("s",) * 4).strata["source"]
    assert found == ["web", "private + web", None, "archive"]


def test_queries_are_sliced_by_kind_and_by_the_25_categories_of_garage() -> None:
    kinds = {0: "causal", 1: "predictive"}
    queries = tuple(
        query(f"q{n}", meta={"kind": kinds[n % 2], "category": f"category {n}"}) for n in range(25)
    )
    strata = Rows(queries, ("s",) * 25).strata
    assert set(strata["kind"]) == {"causal", "predictive"}
    assert len(set(strata["category"])) == 25


def test_rows_of_another_system_have_the_same_slices() -> None:
    queries = (query("a", "web"), query("b", "private"))
    rows = Rows(queries, ("one", "one"))
    other = rows.of_another("two")
    assert other.systems == ("two", "two")
    assert other.strata == rows.strata == Rows(queries, ("two", "two")).strata
    assert other.numbers.tolist() == [0, 1]


def test_a_meta_key_with_25_values_makes_slices_and_one_with_31_does_not() -> None:
    def of(number: int) -> dict[str, list[str | None]]:
        queries = tuple(query(f"q{n}", meta={"category": f"c{n}"}) for n in range(number))
        return Rows(queries, ("s",) * number).strata

    assert of(25)["category"] == [f"c{n}" for n in range(25)]
    assert "category" not in of(31)
