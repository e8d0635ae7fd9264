"""How rows are stored: in chunks, passages once, key points after their passage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audit.models import Event
from datasets import loading, models
from datasets.loading import check_content, check_name, load_batch
from datasets.material import Digest, as_row
from tandem.files.rows import (
    InputError,
    KeyPoint,
    Nugget,
    Passage,
    Query,
    Question,
    Ranking,
    Report,
)
from tests.cast import BATCH, SECOND, write_lines

database = pytest.mark.django_db


def query(name: str, **parts: Any) -> Query:
    return Query(name, f"Text of {name}", **parts)


@pytest.fixture
def stored(db: None, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Write queries in chunks of `most` rows; return the counts and each chunk's queries."""

    def write(most: int, *queries: Query) -> tuple[dict[str, int], list[int]]:
        monkeypatch.setattr(loading, "CHUNK", most)
        writer = loading.Writer(models.Batch.objects.create(name="b"))
        chunks: list[int] = []
        whole = writer._chunk

        def counted(chunk: list[Query]) -> None:
            chunks.append(len(chunk))
            whole(chunk)

        monkeypatch.setattr(writer, "_chunk", counted)
        return writer.write(queries), chunks

    return write


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("most", "chunks"), [(1, [1, 1, 1, 0]), (2, [2, 1]), (4, [2, 1]), (5, [3, 0]), (6, [3])]
)
def test_a_chunk_is_written_when_it_has_enough_rows(
    stored: Callable[..., Any], most: int, chunks: list[int]
) -> None:
    """Queries, passages, questions and reports are rows; the three queries have 1, 3 and 1."""
    parts = {"questions": (Question("a", "?"),), "reports": (Report("r", "."),)}
    found = stored(most, query("1"), query("2", **parts), query("3"))
    assert found[1] == chunks
    assert found[0]["queries"] == 3
    rows = models.Query.objects.values_list("key", "position")
    assert list(rows) == [("1", 0), ("2", 1), ("3", 2)]


def test_a_passage_is_stored_once_and_linked_to_each_of_its_queries(
    stored: Callable[..., Any],
) -> None:
    same = Passage("p", "Text", title="one")
    counts, _ = stored(
        1,
        query("1", passages=(same, Passage("q", "Other"))),
        query("2", passages=(Passage("p", "Text", title="two", relevant=True),)),
    )
    assert counts == {
        "queries": 2, "passages": 2, "questions": 0, "reports": 0, "key_points": 0, "nuggets": 0,
        "rankings": 0,
    }  # fmt: skip
    rows = models.Grounding.objects.order_by("query__position", "position")
    stored_rows = rows.values_list("query__key", "passage__key", "position", "title", "relevant")
    assert list(stored_rows) == [
        ("1", "p", 0, "one", None), ("1", "q", 1, None, None), ("2", "p", 0, "two", True),
    ]  # fmt: skip


def test_a_key_point_can_name_a_passage_that_is_stored_later(
    stored: Callable[..., Any],
) -> None:
    points = (KeyPoint("k1", ".", "q"), KeyPoint("k2", "!", "p", ("a",), 0.5))
    counts, chunks = stored(
        1,
        query("1", passages=(Passage("p", "Text"),), key_points=points),
        query("2", passages=(Passage("q", "Other"),), key_points=(KeyPoint("k3", "?", "p"),)),
    )
    assert (counts["key_points"], chunks) == (3, [1, 1, 0])
    rows = models.KeyPoint.objects.order_by("key")
    stored_points = rows.values_list(
        "key", "query__key", "passage__key", "position", "spans", "score"
    )
    assert list(stored_points) == [
        ("k1", "1", "q", 0, None, None), ("k2", "1", "p", 1, ["a"], 0.5),
        ("k3", "2", "p", 0, None, None),
    ]  # fmt: skip


def test_nuggets_and_citations_of_sentences_are_read_back_as_they_were(
    stored: Callable[..., Any],
) -> None:
    nuggets = (Nugget("n1", "A.", "vital", ("far",), {"by": 1}), Nugget("n2", "B."))
    cited = (("p", "far"), ())
    report = Report("r", "A. B.", sentences=("A.", "B."), sentence_citations=cited)
    line = query("1", nuggets=nuggets, reports=(report,))
    counts, _ = stored(1, line)
    assert counts["nuggets"] == 2
    assert as_row(models.Query.objects.get()) == line


def test_rankings_and_questions_keep_their_order(stored: Callable[..., Any]) -> None:
    rankings = (Ranking("b", ("p", "q")), Ranking("a", ()))
    questions = (Question("y", "?", 2.0, {"n": 1}), Question("x", "!"))
    counts, _ = stored(9, query("1", rankings=rankings, questions=questions))
    assert (counts["rankings"], counts["questions"]) == (2, 2)
    stored_rankings = models.Ranking.objects.values_list("system", "position", "passages")
    assert list(stored_rankings) == [("b", 0, ["p", "q"]), ("a", 1, [])]
    asked = models.Question.objects.values_list("key", "position", "weight", "meta")
    assert list(asked) == [("y", 0, 2.0, {"n": 1}), ("x", 1, None, None)]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("name", "said"),
    [("x", ""), ("x" * 200, ""), ("x" * 201, "is blank or longer than 200"),
     ("", "is blank or longer"), (" \t", "is blank or longer"), ("a\0", "has a NUL character")],
)  # fmt: skip
def test_a_batch_name_must_be_neither_blank_nor_too_long(name: str, said: str) -> None:
    if not said:
        check_name(name)
        return
    with pytest.raises(InputError, match=said) as error:
        check_name(name)
    assert error.value.place.file == "--name"


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("queries", "expected", "said"),
    [(1, None, ""), (1, "same", ""), (0, None, "has no query"), (0, "same", "has no query"),
     (1, "other", "differs from its preview"), (1, "", "differs from its preview")],
)  # fmt: skip
def test_content_must_have_a_query_and_the_expected_digest(
    queries: int, expected: str | None, said: str
) -> None:
    digest = Digest()
    expected_digest = digest.hexdigest() if expected == "same" else expected
    if not said:
        check_content([Path("a"), Path("b")], queries, digest, expected_digest)
        return
    with pytest.raises(InputError, match=f"^a: {said}"):
        check_content([Path("a"), Path("b")], queries, digest, expected_digest)


@database
class TestLoading:
    def test_loading_reports_its_progress_and_what_was_loaded(self, tmp_path: Path) -> None:
        path, done = write_lines(tmp_path / "a.jsonl", BATCH), list[int]()
        report = load_batch([path], "b", progress=done.append)
        batch = models.Batch.objects.get()
        assert done == [1, 2, 3]
        assert (report.name, report.format, report.unchanged) == ("b", "native", False)
        assert report.counts == batch.counts
        assert report.counts["queries"] == 3
        assert (batch.format, batch.warnings, batch.skipped) == ("native", [], {})
        event = Event.objects.get()
        assert (event.event, event.object_id, event.facts) == (
            "batch.loaded", str(batch.pk), {"queries": 3},
        )  # fmt: skip
        assert event.after

    def test_loading_the_same_content_changes_nothing_and_other_content_is_refused(
        self, tmp_path: Path
    ) -> None:
        path = write_lines(tmp_path / "a.jsonl", BATCH)
        first = load_batch([path], "b", "native")
        again = load_batch([path], "b")
        assert (again.unchanged, again.counts, again.format) == (True, first.counts, "native")
        assert models.Batch.objects.count() == Event.objects.count() == 1
        other = write_lines(tmp_path / "c.jsonl", [SECOND])
        with pytest.raises(InputError, match="a batch called 'b' has other content"):
            load_batch([other], "b")

    def test_content_that_differs_from_the_preview_is_not_stored(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        refreshed: list[Any] = []
        monkeypatch.setattr(loading, "refresh_statistics", lambda *tables: refreshed.extend(tables))
        path = write_lines(tmp_path / "a.jsonl", BATCH)
        with pytest.raises(InputError, match="differs from its preview"):
            load_batch([path], "b", expected="0" * 64)
        assert not models.Batch.objects.exists()
        assert not models.Query.objects.exists()
        assert refreshed == []
        load_batch([path], "b")
        assert {table.__name__ for table in refreshed} == {
            "Query", "Passage", "Question", "Grounding", "Report", "KeyPoint", "Nugget",
            "Ranking",
        }  # fmt: skip
        digest = models.Batch.objects.get().digest
        models.Batch.objects.all().delete()
        assert load_batch([path], "c", expected=digest).unchanged is False
