"""Rules across the lines of a batch, whatever its format."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from datasets.readers.batch_rules import BatchRules
from tandem.files.fields import IN_FULL
from tandem.files.rows import (
    AnswerPoint,
    InputError,
    KeyPoint,
    Located,
    Nugget,
    Passage,
    Place,
    Query,
    Question,
    Ranking,
    ReadNotes,
    Reference,
    Report,
)
from tandem.files.spelling import folded
from tests.datasets.helpers import refusal

FILE = Path("batch.jsonl")


def checked(*queries: Query) -> list[str]:
    """Return the warnings about queries on lines 1, 2, … of one file."""
    notes = ReadNotes()
    rules = BatchRules(notes)
    for line, query in enumerate(queries, 1):
        rules.add(Located(query, Place(str(FILE), line)))
    rules.finish()
    return notes.warnings


def refused(line: int, *queries: Query) -> InputError:
    def check() -> Iterator[object]:
        yield checked(*queries)

    return refusal(check, FILE, line)


def with_part(name: str, part: str, value: str) -> Query:
    parts = {
        "question": {"questions": (Question(value, "t"),)},
        "report": {"reports": (Report(value, "t"),)},
        "nugget": {"nuggets": (Nugget(value, "t"),)},
        "key point": {
            "passages": (Passage("p", "t"),),
            "key_points": (KeyPoint(value, "t", "p"),),
        },
    }
    return Query(name, "t", **parts[part])  # type: ignore[arg-type]


def test_a_clean_batch_has_no_warnings() -> None:
    one = Query(
        "1", "t", passages=(Passage("p", "x"),), reports=(Report("r", "t", context=("p",)),)
    )
    assert checked(one, Query("2", "t", rankings=(Ranking("s", ("p",)),))) == []


def test_a_query_id_is_unique() -> None:
    error = refused(3, Query("a", "t"), Query("b", "t"), Query("a", "t"))
    assert error.wrong == 'the query id "a" is already used at batch.jsonl, line 1'


@pytest.mark.parametrize("part", ["question", "report", "key point", "nugget"])
def test_a_part_id_is_unique_in_the_batch(part: str) -> None:
    error = refused(2, with_part("a", part, "x"), with_part("b", part, "x"))
    assert error.wrong == f'the {part} id "x" is already used at batch.jsonl, line 1'


def test_a_reports_own_key_point_has_a_unique_id_in_the_batch() -> None:
    report = Report("r", "t", key_points=(AnswerPoint("x", "t"),))
    error = refused(2, with_part("a", "key point", "x"), Query("b", "t", reports=(report,)))
    assert error.wrong == 'the key point id "x" is already used at batch.jsonl, line 1'


def test_ids_of_different_kinds_may_be_equal() -> None:
    assert (
        checked(Query("x", "t", questions=(Question("x", "t"),), reports=(Report("x", "t"),))) == []
    )


def test_a_passage_may_belong_to_several_queries() -> None:
    first = Query("1", "t", passages=(Passage("p", "x", title="A"),))
    second = Query("2", "t", passages=(Passage("p", "x", title="B", relevant=True),))
    assert checked(first, second) == []


@pytest.mark.every_case
@pytest.mark.parametrize("other", ["y", "x ", "X", "", "x\r"])
def test_a_passage_id_with_two_texts_is_refused(other: str) -> None:
    first = Query("1", "t", passages=(Passage("p", "x"),))
    error = refused(2, first, Query("2", "t", passages=(Passage("p", other),)))
    assert error.wrong == 'the passage "p" has another text than at batch.jsonl, line 1'


@pytest.mark.parametrize("other", ["Q", " q", "q\t", "q\u00a0", "q\u200b"])
def test_ids_that_nearly_collide_cause_a_warning(other: str) -> None:
    (warning,) = checked(Query("q", "t"), Query(other, "t"))
    assert warning.startswith("batch.jsonl, line 2: the query id")
    assert "batch.jsonl, line 1" in warning


@pytest.mark.every_case
@pytest.mark.parametrize("other", ["q1", "ｑ", "q.", "q-"])
def test_ids_that_differ_visibly_do_not_collide(other: str) -> None:
    assert checked(Query("q", "t"), Query(other, "t")) == []


def test_different_unicode_forms_of_an_id_nearly_collide() -> None:
    decomposed = unicodedata.normalize("NFD", "é")
    assert len(checked(Query("é", "t"), Query(decomposed, "t"))) == 1
    assert folded(f" Straße  {decomposed} ") == folded("STRASSE É")


def test_near_collisions_of_passages_and_parts_cause_warnings() -> None:
    one = Query("1", "t", passages=(Passage("p", "x"),), questions=(Question("a b", "t"),))
    two = Query("2", "t", passages=(Passage("P", "x"),), questions=(Question("a  b", "t"),))
    assert len(checked(one, two)) == 2


def test_repeating_the_same_passage_is_no_collision() -> None:
    one = Query("1", "t", passages=(Passage("p", "x"),))
    assert checked(one, Query("2", "t", passages=(Passage("p", "x"),))) == []


def report(ids: Iterable[str], citations: Iterable[str] = ()) -> Query:
    return Query(
        "1", "t", reports=(Report("r", "t", context=tuple(ids), citations=tuple(citations)),)
    )


def test_a_passage_may_be_defined_on_a_later_line() -> None:
    assert checked(report(["p"]), Query("2", "t", passages=(Passage("p", "x"),))) == []


def test_unknown_passages_cause_one_warning_per_report_and_a_total() -> None:
    each, total = checked(report(["p1", "p2"], ["p2", "p3"]))
    assert each.startswith('batch.jsonl, line 1: report "r" names 3 passages, "p1" the first')
    assert total == "in all, 3 passage ids are not in the batch"


def test_unknown_passages_that_only_a_sentence_cites_cause_a_warning() -> None:
    cited = Report("r", "A. B.", sentences=("A.", "B."), sentence_citations=(("p1",), ("p2",)))
    each, total = checked(Query("1", "t", reports=(cited,)))
    assert 'report "r" names 2 passages, "p1" the first' in each
    assert "2 passage ids" in total


def test_sources_of_nuggets_need_not_be_in_the_batch() -> None:
    assert checked(Query("1", "t", nuggets=(Nugget("n", "t", sources=("far",)),))) == []


def test_unknown_passages_in_rankings_and_references_cause_warnings() -> None:
    query = Query(
        "1",
        "t",
        rankings=(Ranking("bm25", ("p1",)),),
        references=(Reference("t", ("p1", "p2")),),
    )
    ranking, reference, total = checked(query)
    assert 'the ranking of "bm25" for query "1" names the passage "p1"' in ranking
    assert 'reference 1 of query "1" names 2 passages' in reference
    assert "2 passage ids" in total


def test_warnings_about_many_reports_are_summarised() -> None:
    reports = tuple(Report(f"r{n}", "t", context=("x",)) for n in range(IN_FULL + 4))
    warnings = checked(Query("1", "t", reports=reports))
    assert len(warnings) == IN_FULL + 2
    assert warnings[-2].startswith("4 more texts")


def test_a_key_point_needs_its_passage_in_the_batch() -> None:
    query = Query("1", "t", key_points=(KeyPoint("k", "t", "p"),))
    assert checked(query, Query("2", "t", passages=(Passage("p", "x"),))) == []
    error = refused(1, query, Query("2", "t"))
    assert error.wrong == 'key point "k" names the passage "p", which is not in the batch'


def test_checking_a_batch_keeps_no_texts_in_memory() -> None:
    rules = BatchRules(ReadNotes())
    text = "x" * 1000
    rules.add(Located(Query("1", text, passages=(Passage("p", text),)), Place("f", 1)))
    assert text not in repr(vars(rules))
    assert all(len(digest) == 16 for digest in rules._digests.values())
