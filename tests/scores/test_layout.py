"""Which passages are the oracle's, and how long passages are, according to the batch."""

from __future__ import annotations

import numpy as np

from analysis.evaluation.layout import Layout
from analysis.evaluation.passages import ranking_parts
from tandem.files.rows import Passage, Query, Ranking, Report
from tandem.scores.options import Options, tokenizer

DEFAULT, BY_MARKS = Options(), Options(oracle="relevant")


def query(name: str = "t", *reports: Report, marks: tuple[bool | None, ...] = ()) -> Query:
    """A query with three passages of one, two and three words, marked as relevant by `marks`."""
    passages = tuple(
        Passage(f"{name}p{n}", "word " * n, relevant=mark)
        for n, mark in enumerate(marks or (None, None, None), start=1)
    )
    return Query(name, "?", passages=passages, reports=reports)


def oracle_of(options: Options, *queries: Query) -> list[list[str]]:
    layout = Layout.from_queries(queries)
    return [
        [known[place] for place in row if place >= 0]
        for known, row in zip(layout.passages, layout.oracle(options).tolist(), strict=True)
    ]


class TestOracle:
    def test_the_oracle_context_is_that_of_the_system_or_else_the_setting_named_oracle(
        self,
    ) -> None:
        of_setting = Report("r", "x", system="writer", setting="oracle", context=("tp2",))
        of_system = Report("o", "x", system="oracle", context=("tp3", "tp1"))
        other = Report("s", "x", system="writer", setting="bm25", context=("tp1",))
        assert oracle_of(DEFAULT, query("t", other, of_setting)) == [["tp2"]]
        assert oracle_of(DEFAULT, query("t", of_setting, of_system)) == [["tp3", "tp1"]]

    def test_without_such_a_context_it_is_the_passages_marked_relevant(self) -> None:
        assert oracle_of(DEFAULT, query(marks=(False, True, None))) == [["tp2"]]

    def test_without_marks_it_is_every_passage(self) -> None:
        assert oracle_of(BY_MARKS, query()) == [["tp1", "tp2", "tp3"]]

    def test_it_is_empty_if_all_passages_are_marked_irrelevant(self) -> None:
        assert oracle_of(BY_MARKS, query(marks=(False, False, False))) == [[]]


def test_a_query_whose_passages_are_all_irrelevant_has_no_relevance() -> None:
    queries = (
        Query("a", "?", passages=(Passage("a1", "x", relevant=True),),
              rankings=(Ranking("bm25", ("a1",)),)),
        Query("b", "?", passages=(Passage("b1", "x", relevant=False),),
              rankings=(Ranking("bm25", ("b1",)),)),
    )  # fmt: skip
    (whole, *_) = ranking_parts(Layout.from_queries(queries), BY_MARKS)
    assert whole.data.relevance.tolist() == [[1.0], [0.0]]  # type: ignore[attr-defined]


def test_a_passage_without_a_text_in_the_batch_has_no_length() -> None:
    report = Report("r", "x", system="bm25", context=("tp2", "up1", "gone"))
    layout = Layout.from_queries((query("t", report), query("u")))
    found = dict(zip(layout.passages[0], layout.tokens(tokenizer("whitespace"))[0], strict=False))
    assert (found["tp2"], found["up1"]) == (2, 1)
    assert np.isnan(found["gone"])
