"""A batch is checked against what was loaded, and every changed text is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datasets import digests
from datasets.loading import load_batch
from datasets.material import as_row
from datasets.models import (
    Batch,
    Grounding,
    KeyPoint,
    Nugget,
    Passage,
    Query,
    QueryDigest,
    Question,
    Ranking,
    Report,
)
from tests.cast import BATCH, load, write_lines

pytestmark = pytest.mark.usefixtures("db")


NUGGETS = {
    "id": "q",
    "text": "Why?",
    "nuggets": [
        {"id": "n", "text": "It is.", "importance": "vital", "sources": ["far"], "meta": {"by": 1}},
        {"id": "m", "text": "It was."},
    ],
    "reports": [
        {
            "id": "r",
            "text": "It is. It was.",
            "sentences": ["It is.", "It was."],
            "sentence_citations": [["p", "far"], []],
        }
    ],
}


def found() -> list[str]:
    return [each.wrong for each in digests.find_changes()]


@pytest.mark.postgresql
def test_an_unchanged_batch_has_no_violations(batch: Path) -> None:
    assert QueryDigest.objects.count() == len(BATCH)
    assert found() == []
    assert digests.add_missing_digests() == []


@pytest.mark.postgresql
def test_numbers_that_a_database_stores_in_another_form_count_as_unchanged(tmp_path: Path) -> None:
    """PostgreSQL returns 1e22 as a whole number, and -0.0 without its sign."""
    meta = {"many": [1e22, 1.5e300, -0.0, 1.0, 1e-7, 10**20, {"deep": 2.0}]}
    lines = [{"id": "q", "text": "Why?", "meta": meta, "references": [{"text": "x", "meta": meta}]}]
    load(tmp_path, lines, "numbers")
    assert found() == []


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("model", "key", "named"),
    [
        (Query, "q/1", "the query itself"),
        (Report, "r#1", "report 'r#1'"),
        (Passage, "p", "passage 'p'"),
        (Question, "🌉", "question '🌉'"),
        (KeyPoint, "k#2", "key point 'k#2'"),
    ],
)
def test_each_text_that_was_changed_is_named(
    batch: Path, model: type[Report], key: str, named: str
) -> None:
    model._default_manager.filter(key=key).update(text="x")
    says = f"the text of {named} is not the one that was loaded"
    assert found() == [f"batch b: query 'q/1': {says}"]


BESIDE = "query 'q/1': its texts are unchanged, but another part of it has changed"
CHANGES: list[tuple[Callable[[], object], str]] = [
    (lambda: Report.objects.filter(key="r#1").update(system="other"), BESIDE),
    (lambda: Grounding.objects.filter(passage__key="p").update(relevant=False), BESIDE),
    (lambda: Ranking.objects.update(passages=["p", "p#1"]), BESIDE),
    (lambda: Query.objects.filter(key="q/1").update(references=[]), BESIDE),
    (
        lambda: KeyPoint.objects.filter(key="k#2").delete(),
        "query 'q/1': key point 'k#2' is missing",
    ),
    (
        lambda: Report.objects.filter(key="t2").update(key="t9"),
        "query 'q3': report 't2' is missing",
    ),
    (
        lambda: Query.objects.filter(key="q 2").delete(),
        "queries are missing before query 'q3'",
    ),
    (lambda: Query.objects.filter(key="q3").delete(), "there are 2 queries, but 3 were loaded"),
    (
        lambda: QueryDigest.objects.filter(query__key="q3").delete(),
        "query 'q3' has no digest, so it was not loaded",
    ),
]


@pytest.mark.postgresql
@pytest.mark.every_case
@pytest.mark.parametrize(("change", "says"), CHANGES)
def test_each_other_change_is_named(batch: Path, change: Callable[[], object], says: str) -> None:
    change()
    assert found()[0].startswith(f"batch b: {says}")


@pytest.mark.postgresql
def test_changed_nuggets_and_citations_of_sentences_are_named(tmp_path: Path) -> None:
    load(tmp_path, [NUGGETS], "b")
    assert found() == []
    Report.objects.update(sentence_citations=[["p"], []])
    assert found()[0].startswith("batch b: query 'q': its texts are unchanged, but another part")
    Nugget.objects.filter(key="n").update(text="x")
    says = "the text of nugget 'n' is not the one that was loaded"
    assert found() == [f"batch b: query 'q': {says}"]


def test_a_changed_point_of_an_answer_is_named(batch: Path) -> None:
    report = Report.objects.exclude(key_points=None)[0]
    points = report.key_points or []
    points[0]["text"] = "x"
    Report.objects.filter(pk=report.pk).update(key_points=points)
    key = f"{report.key}/{points[0]['id']}"
    says = f"the text of answer point {key!r} is not the one that was loaded"
    assert found() == [f"batch b: query 'q/1': {says}"]


def test_a_changed_row_is_named_by_its_keys(batch: Path) -> None:
    Report.objects.filter(key="r#1").update(text="x")
    (violation,) = digests.find_changes()
    report = Report.objects.get(key="r#1")
    assert violation.where == {
        "batch": "b", "query": "q/1", "report": "r#1", "table": "datasets_report", "id": report.pk,
    }  # fmt: skip


def test_a_text_changed_together_with_its_digest_is_found_by_the_batchs_digest(
    batch: Path,
) -> None:
    Report.objects.filter(key="r#1").update(text="x")
    QueryDigest.objects.all().delete()
    made = [
        QueryDigest(query=query, line=digests.line_digest(query.position, row),
                    texts=digests.text_digests(row))
        for query, row in rows()
    ]  # fmt: skip
    QueryDigest.objects.bulk_create(made)
    (line,) = found()
    assert "its content has another digest than it was loaded with" in line


def rows() -> list[tuple[Query, Any]]:
    return [(query, as_row(query)) for query in Query.objects.order_by("position")]


@pytest.mark.postgresql
def test_an_older_batch_without_digests_gets_them_once(batch: Path) -> None:
    before = {each.query.key: (each.line, each.texts) for each in QueryDigest.objects.all()}
    QueryDigest.objects.all().delete()
    assert found() == []
    assert digests.add_missing_digests() == ["b"]
    assert {each.query.key: (each.line, each.texts) for each in QueryDigest.objects.all()} == before
    assert digests.add_missing_digests() == []


def test_a_changed_older_batch_gets_no_digests_and_is_named(batch: Path) -> None:
    QueryDigest.objects.all().delete()
    Report.objects.filter(key="r#1").update(text="x")
    assert digests.add_missing_digests() == []
    assert not QueryDigest.objects.exists()
    (line,) = found()
    assert "not which text changed" in line


def test_loading_the_same_files_again_gives_the_same_batch(batch: Path, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "again.jsonl", BATCH)
    assert load_batch([path], "b").unchanged
    assert Batch.objects.get().digest == digests.recompute_digest(Batch.objects.get())
