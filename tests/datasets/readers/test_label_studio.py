"""Label Studio's text tasks, read from its own JSON."""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from datasets.readers import label_studio, recognise
from tandem.files.rows import InputError, Passage, Query, ReadNotes, Report
from tests.datasets.helpers import FILES, refusal

pytestmark = pytest.mark.every_case

FILE = FILES / "label_studio.json"
Row = dict[str, Any]


def tasks(folder: Path, *data: Row, **beside: Any) -> Path:
    file = folder / "tasks.json"
    file.write_text(json.dumps([{"data": each, **beside} for each in data]), "utf-8")
    return file


def read(*paths: Path) -> tuple[list[Query], ReadNotes]:
    notes = ReadNotes()
    return [located.query for located in label_studio.read(paths, notes)], notes


def refused(folder: Path, data: Row) -> InputError:
    file = tasks(folder, {"text": "t"}, data)
    return refusal(lambda: label_studio.read([file], ReadNotes()), file, 1)


def test_a_label_studio_file_is_recognised_as_a_list_and_as_lines(tmp_path: Path) -> None:
    assert recognise([FILE]) == "label-studio"
    lines = tmp_path / "tasks.jsonl"
    lines.write_text('{"data": {"text": "t"}}\n{"data": {"text": "u"}}\n')
    assert recognise([lines]) == "label-studio"
    assert [query.text for query in read(lines)[0]] == ["t", "u"]


def test_a_task_becomes_a_query_with_its_texts() -> None:
    (first, _), _ = read(FILE)
    assert first == Query(
        id="11",
        text="How old is the footbridge 🌉?",
        passages=(
            Passage("11:context:1", "It opened in 1901."),
            Passage("11:context:2", "It was closed in 2023.", title="Repairs"),
        ),
        reports=(Report("11:answer", "The footbridge 🌉 opened in 1901, so it is old."),),
        meta={"source": "guide", "wave": 1},
    )


def test_a_task_with_a_single_text_becomes_a_query_and_a_report() -> None:
    (_, second), _ = read(FILE)
    text = "Oak barrels give wine vanilla notes."
    assert second == Query("12", text, reports=(Report("12:text", text),))


def test_annotations_are_counted_as_left_out() -> None:
    _, notes = read(FILE)
    assert notes.skipped == {
        "annotations, which tandem labels import reads": 2,
        "predictions, which tandem labels import reads": 1,
    }


def test_a_single_text_is_used_whatever_its_key(tmp_path: Path) -> None:
    (query,), _ = read(tasks(tmp_path, {"review": "Good.", "stars": 4}))
    assert (query.text, query.reports[0].id, query.meta) == ("Good.", "1:review", {"stars": 4})


def test_tasks_without_an_id_are_numbered(tmp_path: Path) -> None:
    found, _ = read(tasks(tmp_path, {"text": "a"}, {"text": "b", "id": "own"}, {"text": "c"}))
    assert [query.id for query in found] == ["1", "own", "3"]


def test_objects_without_data_are_read_as_tasks_if_the_format_is_named(tmp_path: Path) -> None:
    file = tmp_path / "bare.json"
    file.write_text('[{"text": "a", "id": 4}]')
    assert read(file)[0] == [Query("4", "a", reports=(Report("4:text", "a"),))]


@pytest.mark.parametrize(
    "data",
    [
        {"image": "https://example.org/1.jpg"},
        {"stars": 5},
        {},
        {"title": "A", "body": "B"},
        {"question": "q", "context": [3]},
        {"id": "x" * 255, "text": "t"},
    ],
)
def test_a_task_with_an_ambiguous_text_is_refused(tmp_path: Path, data: Row) -> None:
    assert refused(tmp_path, data).remedy


def test_annotations_that_are_not_a_list_are_refused(tmp_path: Path) -> None:
    file = tasks(tmp_path, {"text": "t"}, annotations={})
    assert refusal(lambda: label_studio.read([file], ReadNotes()), file, 1).remedy


@pytest.mark.parametrize("piece", ["<", "<img ", "a.", "/data/a ", "a.jpg", "https://"])
def test_a_long_text_is_read_in_no_time(tmp_path: Path, piece: str) -> None:
    began = perf_counter()
    (query,), _ = read(tasks(tmp_path, {"text": "Text: " + piece * 100_000}))
    assert query.text.endswith(piece)
    assert perf_counter() - began < 2
