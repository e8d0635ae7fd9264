"""Parquet has the same content as JSON Lines, in its own types, and is never incomplete."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management.base import CommandError

from annotation.answers.submission import submit
from annotation.exports import parquet
from annotation.exports.contents import EXPORTS
from annotation.exports.parquet import SCHEMAS, parquet_pieces
from annotation.models import Campaign
from datasets.material import FORMAT_FILES
from tests.annotation.answering import good_answer, person
from tests.annotation.label_files import labels_for
from tests.cast import Line, campaign_of, exported, run, write_lines

HOSTILE = (
    "👩‍👩‍👧 emoji", "שלום קديم", "Lee\u0301", "a\r\nb", "a\rb", "\u2028\u2029", "\x01\x07\x1b\x7f",
    "=1+1", "", " ", "\ufeff", '"\\', "\U0010ffff",
)  # fmt: skip


def plain(row: dict[str, Any], fields: Iterable[pa.Field]) -> Line:
    """A row of a Parquet file as its line in JSON Lines, without null values."""
    kinds = {field.name: field for field in fields}
    values = {name: plain_value(value, kinds[name]) for name, value in row.items()}
    return {name: value for name, value in values.items() if value is not None}


def plain_value(value: Any, field: pa.Field) -> Any:
    if field.metadata and value is not None:
        return json.loads(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, list) and pa.types.is_struct(field.type.value_type):
        return [plain(each, field.type.value_type) for each in value]
    return value


def read(path: Path) -> list[Line]:
    table = pq.read_table(path)
    return [plain(row, table.schema) for row in table.to_pylist()]


def without_null(lines: list[Line]) -> list[Line]:
    return [{name: value for name, value in line.items() if value is not None} for line in lines]


def export(folder: Path, what: str) -> Path:
    path = folder / f"{what}.parquet"
    run("export", "--campaign", "c", "--what", what, "--format", "parquet", "--output", path)
    return path


def written(folder: Path, what: str, lines: Iterable[Line]) -> Path:
    path = folder / "rows.parquet"
    with path.open("wb") as file:
        file.writelines(parquet_pieces(what, lines))
    return path


@pytest.fixture
def answered(batch: Any, tmp_path: Path) -> str:
    """A campaign with imported labels, missing ones, spans and comments."""
    campaign_of("report-coverage")
    import_labels(tmp_path)
    return "c"


def import_labels(folder: Path) -> None:
    lines = labels_for(Campaign.objects.get(name="c"), exported("c", "units"))
    run("import_labels", write_lines(folder / "labels.jsonl", lines), "--campaign", "c")


@pytest.mark.first_case
@pytest.mark.parametrize("what", ["units", "labels", "responses", "spans", "batch"])
def test_parquet_has_the_rows_of_json_lines(answered: str, what: str, tmp_path: Path) -> None:
    lines = without_null(exported(answered, what))
    assert lines
    assert read(export(tmp_path, what)) == lines


@pytest.mark.first_case
@pytest.mark.parametrize("protocol", ["grounding-relevance", "rubric-passage"])
def test_parquet_has_the_qrels_of_json_lines(batch: Any, protocol: str, tmp_path: Path) -> None:
    rubric = ("--option", "seed=1") if protocol == "rubric-passage" else ()
    campaign_of(protocol, *rubric)
    import_labels(tmp_path)
    lines = exported("c", "qrels")
    assert lines
    assert read(export(tmp_path, "qrels")) == lines


@pytest.mark.parametrize("what", [name for name, each in EXPORTS.items() if each.is_table])
def test_each_export_has_its_columns_in_their_order(what: str) -> None:
    assert tuple(SCHEMAS[what].names) == (*EXPORTS[what].columns, *EXPORTS[what].beside)


def test_columns_have_their_own_types(answered: str, tmp_path: Path) -> None:
    schema = pq.read_schema(export(tmp_path, "labels"))
    kinds = {name: str(schema.field(name).type) for name in schema.names}
    assert kinds["created_at"] == "timestamp[us, tz=UTC]"
    assert {kinds["replicate"], kinds["revision"]} == {"int64"}
    assert {kinds["seconds"], kinds["score"]} == {"double"}
    assert schema.field("spans").type.value_type == pa.struct(
        {"field": pa.string(), "start": pa.int64(), "end": pa.int64(), "text": pa.string()}
    )
    assert {kinds["value"], kinds["meta"]} == {"string"}


def test_an_empty_export_is_a_file_with_columns(batch: Any, tmp_path: Path) -> None:
    campaign_of("report-coverage")
    table = pq.read_table(export(tmp_path, "labels"))
    assert table.num_rows == 0
    assert table.schema.names == list(EXPORTS["labels"].columns)


@pytest.mark.parametrize("text", HOSTILE)
def test_every_text_comes_back_as_it_was(text: str, tmp_path: Path) -> None:
    span = {"field": "report", "start": 0, "end": 1, "text": text}
    line = {"item": text, "unit": text, "spans": [span], "meta": {text: [text, None, 1]}}
    assert read(written(tmp_path, "labels", [line])) == [line]


def test_an_empty_list_differs_from_a_missing_one(tmp_path: Path) -> None:
    report = {"id": "r", "text": ""}
    rows: list[Line] = [
        {"id": "q", "text": "", "reports": [{**report, "context": []}]},
        {"id": "p", "text": "", "reports": [report]},
    ]
    assert read(written(tmp_path, "batch", rows)) == rows


def test_every_part_of_a_batch_has_columns(tmp_path: Path) -> None:
    lines = FORMAT_FILES["example"].read().splitlines()
    rows: list[Line] = [json.loads(line) for line in lines]
    assert read(written(tmp_path, "batch", rows)) == rows


def test_a_time_in_another_zone_is_converted_to_utc(tmp_path: Path) -> None:
    line = {"item": "i", "created_at": "2026-01-02T03:04:05.678901+02:00"}
    found = read(written(tmp_path, "labels", [line]))
    assert found == [{"item": "i", "created_at": "2026-01-02T01:04:05.678901+00:00"}]


def test_a_whole_number_is_accepted_for_a_float_column(tmp_path: Path) -> None:
    line = {"item": "i", "seconds": 2, "score": 1}
    assert read(written(tmp_path, "labels", [line])) == [line]


def test_a_key_without_a_column_is_refused_rather_than_lost(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="no column for mood"):
        written(tmp_path, "labels", [{"item": "i", "mood": "good"}])


def test_parquet_is_written_in_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 200)
    lines = [{"item": f"i{n}"} for n in range(950)]
    path = written(tmp_path, "labels", lines)
    file = pq.ParquetFile(path)
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [
        200, 200, 200, 200, 150,
    ]  # fmt: skip
    assert read(path) == lines


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    held: list[int] = []

    def rows(count: int) -> Iterator[Line]:
        for n in range(count):
            held.append(pa.total_allocated_bytes())
            yield {"item": f"{n}", "meta": {"text": f"{n}" * 10_000}}

    written(tmp_path, "labels", rows(3_000))
    few = max(held)
    held.clear()
    written(tmp_path, "labels", rows(9_000))
    assert max(held) < 1.2 * few


def test_a_failed_export_keeps_the_old_file(
    answered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    path = folder / "labels.parquet"
    path.write_text("old")

    def broken(campaign: object) -> Iterator[Line]:
        yield {"item": "i"}
        raise RuntimeError

    monkeypatch.setitem(EXPORTS, "labels", replace(EXPORTS["labels"], lines=broken))
    with pytest.raises(RuntimeError):
        export(folder, "labels")
    assert [each.name for each in folder.iterdir()] == ["labels.parquet"]
    assert path.read_text() == "old"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ((), "Parquet is a binary format and cannot be printed; give --output F."),
        (("--output", "nowhere/labels.parquet"), "cannot be written (no such file or directory)"),
    ],
)
def test_wrong_options_are_explained_in_one_line(
    batch: Any, more: tuple[str, ...], says: str
) -> None:
    campaign_of("report-coverage")
    with pytest.raises(CommandError) as error:
        run("export", "--campaign", "c", "--what", "labels", "--format", "parquet", *more)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_answers_given_on_a_page_come_with_their_comments(batch: Any, tmp_path: Path) -> None:
    item = campaign_of("report-coverage").items.first()
    assert item is not None
    given = person(item, "Ada")
    submit(given, {"units": good_answer(given), "comment": "שלום 🌉"}, "page")
    found = read(export(tmp_path, "responses"))
    assert found == without_null(exported("c", "responses"))
    assert [line["comment"] for line in found] == ["שלום 🌉"]
