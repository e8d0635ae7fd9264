"""Bulk writing stores rows unchanged on both databases and refuses invalid ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils import timezone

from annotation.models import Assignment
from datasets import models
from datasets.db.bulk import bulk_write, compress_fast, reserve
from datasets.loading import load_batch
from datasets.material import batch_rows
from datasets.readers import read
from tests.cast import BATCH, write_lines

pytestmark = pytest.mark.postgresql
AWKWARD = {
    "tabs and line ends": "a\tb\nc\r\nd\re\u2028f\vg",
    "backslashes": "\\ \\N \\. \\t \\\\n \\x41 C:\\new",
    "the mark of null": "\\N",
    "the end of a copy": "\\.\n",
    "emoji": "👩‍👩‍👧 🛶 cafe\u0301 שלום",
    "quotes": "'single' \"double\" $$dollar$$ %s %(name)s ?",
    "nothing": "",
    "a long text": "0123456789 \\N\t" * 5000,
}


@pytest.fixture
def batch(db: None) -> models.Batch:
    return models.Batch.objects.create(name="b", format="native", digest="0" * 64)


def write_passages(batch: models.Batch, texts: dict[str, str]) -> None:
    with transaction.atomic():
        rows = ((batch.pk, key, text) for key, text in texts.items())
        bulk_write(models.Passage, ("batch_id", "key", "text"), rows)


def write_queries(batch: models.Batch, *metas: Any) -> list[models.Query]:
    columns = ("batch_id", "key", "position", "text", "asked_at", "references", "meta")
    empty: list[Any] = []
    rows = ((batch.pk, f"q{n}", n, "?", None, empty, meta) for n, meta in enumerate(metas))
    with transaction.atomic():
        bulk_write(models.Query, columns, rows)
    return list(models.Query.objects.order_by("position"))


class TestTexts:
    @pytest.mark.every_case
    @pytest.mark.parametrize("what", AWKWARD)
    def test_a_text_is_read_back_unchanged(self, batch: models.Batch, what: str) -> None:
        write_passages(batch, {"p": AWKWARD[what]})
        assert models.Passage.objects.get().text == AWKWARD[what]

    @pytest.mark.parametrize("what", ["tabs and line ends", "backslashes", "emoji", "quotes"])
    def test_a_key_is_read_back_unchanged(self, batch: models.Batch, what: str) -> None:
        write_passages(batch, {AWKWARD[what]: "x"})
        assert models.Passage.objects.get().key == AWKWARD[what]

    def test_a_lone_surrogate_is_refused_and_nothing_is_stored(self, batch: models.Batch) -> None:
        with pytest.raises((DatabaseError, ValueError)):
            write_passages(batch, {"p": "fine", "q": "half \ud83d"})
        assert not models.Passage.objects.exists()

    def test_postgresql_refuses_nul_and_nothing_is_stored(self, batch: models.Batch) -> None:
        if connection.vendor != "postgresql":
            pytest.skip("SQLite holds NUL; the readers refuse it before")
        with pytest.raises((DatabaseError, ValueError)):
            write_passages(batch, {"p": "fine", "q": "a\0b"})
        assert not models.Passage.objects.exists()


class TestValues:
    def test_a_missing_json_value_differs_from_a_json_null(self, batch: models.Batch) -> None:
        none, nested = write_queries(batch, None, {"a": None, "b": [None, "\\N", "\t", "🛶"]})
        assert none.meta is None
        assert models.Query.objects.filter(meta__isnull=True).get() == none
        assert nested.meta == {"a": None, "b": [None, "\\N", "\t", "🛶"]}

    def test_json_values_of_every_type_are_read_back_unchanged(self, batch: models.Batch) -> None:
        metas = [{"n": 0.1, "big": 10**20, "yes": True}, {}, {"q": '"\\"', "line": "a\r\nb"}]
        assert [query.meta for query in write_queries(batch, *metas)] == metas

    def test_absent_empty_and_false_values_are_distinguished(self, batch: models.Batch) -> None:
        (query,) = write_queries(batch, None)
        write_passages(batch, {"a": "x", "b": "y", "c": "z"})
        keys = models.Passage.objects.order_by("key").values_list("pk", flat=True)
        given = [(None, None, None), ("", False, []), ("\\N", True, ["\\N"])]
        rows: list[tuple[Any, ...]] = [
            (query.pk, key, n, *each) for n, (key, each) in enumerate(zip(keys, given, strict=True))
        ]
        columns = ("query_id", "passage_id", "position", "title", "relevant", "sentences")
        bulk_write(models.Grounding, columns, rows)
        stored = models.Grounding.objects.order_by("position")
        assert list(stored.values_list("title", "relevant", "sentences")) == given

    def test_timestamps_and_uuids_are_written_too(self, batch: models.Batch) -> None:
        before = timezone.now()
        team = models.only_team().pk
        columns = ("team_id", "name", "format", "digest", "counts", "warnings", "skipped",
                   "created_at")  # fmt: skip
        bulk_write(models.Batch, columns, [(team, "c", "native", "", {}, [], {}, before)])
        assert models.Batch.objects.get(name="c").created_at == before
        assert {f.attname for f in Assignment._meta.concrete_fields} >= {"uid", "lease"}

    def test_writing_no_rows_is_not_an_error(self, batch: models.Batch) -> None:
        write_passages(batch, {})
        assert not models.Passage.objects.exists()

    def test_rows_may_query_the_database_while_they_are_generated(
        self, batch: models.Batch
    ) -> None:
        rows = ((models.Batch.objects.get().pk, str(n), "x") for n in range(3))
        bulk_write(models.Passage, ("batch_id", "key", "text"), rows)
        assert models.Passage.objects.count() == 3


class TestRules:
    def test_a_duplicate_key_is_refused(self, batch: models.Batch) -> None:
        rows = [(batch.pk, "same", "x"), (batch.pk, "same", "y")]
        with pytest.raises(IntegrityError), transaction.atomic():
            bulk_write(models.Passage, ("batch_id", "key", "text"), rows)
        assert not models.Passage.objects.exists()

    def test_a_missing_required_column_is_refused(self, batch: models.Batch) -> None:
        with pytest.raises(IntegrityError), transaction.atomic():
            bulk_write(models.Passage, ("batch_id", "key"), [(batch.pk, "p")])

    @pytest.mark.django_db(transaction=True)
    def test_a_row_with_an_unknown_batch_is_refused(self) -> None:
        with pytest.raises(IntegrityError), transaction.atomic():
            bulk_write(models.Passage, ("batch_id", "key", "text"), [(12345, "p", "x")])


class TestReservedKeys:
    def test_reserved_keys_are_ascending_and_not_given_to_others(self, batch: models.Batch) -> None:
        with transaction.atomic():
            first, second = list(reserve(models.Passage, 3)), list(reserve(models.Passage, 2))
            own = models.Passage.objects.create(batch=batch, key="own", text="x")
        keys = [*first, *second, own.pk]
        assert keys == sorted(set(keys))

    def test_rows_are_stored_under_their_reserved_keys(self, batch: models.Batch) -> None:
        keys = list(reserve(models.Passage, 2))
        rows = [(key, batch.pk, f"p{key}", "x") for key in keys]
        bulk_write(models.Passage, ("id", "batch_id", "key", "text"), rows)
        assert list(models.Passage.objects.order_by("pk").values_list("pk", flat=True)) == keys
        later = models.Passage.objects.create(batch=batch, key="later", text="x")
        assert later.pk > keys[-1]

    def test_reserving_no_keys_gives_none(self, db: None) -> None:
        assert list(reserve(models.Passage, 0)) == []


def test_a_whole_batch_is_read_back_unchanged(db: None, tmp_path: Path) -> None:
    texts = [{"id": what, "text": text} for what, text in AWKWARD.items()]
    lines = [*BATCH, {"id": "awkward", "text": "?", "passages": texts, "meta": {"x": "\\N"}}]
    path = write_lines(tmp_path / "b.jsonl", lines)
    load_batch([path], "whole")
    stored = models.Batch.objects.get(name="whole")
    assert list(batch_rows(stored)) == [located.query for located in read([path])]


def test_long_texts_are_compressed_with_lz4_until_the_transaction_ends(
    batch: models.Batch,
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite compresses nothing")
    with connection.cursor() as cursor:
        cursor.execute("SELECT 'lz4' = ANY(enumvals) FROM pg_settings WHERE name = %s",
                       ["default_toast_compression"])  # fmt: skip
        if not cursor.fetchone()[0]:
            pytest.skip("this server was built without LZ4")
        compress_fast()
        write_passages(batch, {"p": AWKWARD["a long text"]})
        cursor.execute("SELECT pg_column_compression(text) FROM datasets_passage")
        assert cursor.fetchone()[0] == "lz4"


@pytest.mark.django_db(transaction=True)
def test_loading_a_batch_updates_the_planners_statistics(tmp_path: Path) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite's planner does without")
    lines = [{"id": f"q{n}", "text": "?"} for n in range(300)]
    load_batch([write_lines(tmp_path / "b.jsonl", lines)], "large")
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = 'datasets_query'")
        assert cursor.fetchone()[0] == 300
        cursor.execute("SELECT attname FROM pg_stats WHERE tablename = 'datasets_query'")
        assert {"key", "batch_id"} <= {name for (name,) in cursor.fetchall()}
        cursor.execute("SHOW default_statistics_target")
        assert cursor.fetchone()[0] != "10"
