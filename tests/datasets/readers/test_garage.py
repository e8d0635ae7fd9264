"""GaRAGe files give questions with dated passages and the release's tags for each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from datasets.readers import garage, recognise
from tandem.files.rows import InputError, Passage, Query, ReadNotes, Reference
from tests.datasets.helpers import FILES, jsonl, refusal

pytestmark = pytest.mark.every_case

FILE = FILES / "garage.jsonl"
Row = dict[str, Any]


def read(*paths: Path) -> tuple[list[Query], ReadNotes]:
    notes = ReadNotes()
    return [located.query for located in garage.read(paths, notes)], notes


def sample(**changes: Any) -> Row:
    passage = {"text": "[1] One.", "age": "1 day", "date": "2024-01-01", "provider": "web"}
    row: Row = {"sample_id": "s", "question": "why", "grounding": [passage]}
    return row | changes


def refused(folder: Path, row: Row) -> InputError:
    file = jsonl(folder / "g.jsonl", sample(sample_id="first"), row)
    return refusal(lambda: garage.read([file], ReadNotes()), file, 2)


def test_a_garage_file_is_recognised() -> None:
    assert recognise([FILE]) == "garage"


def test_a_sample_becomes_a_query_with_passages_and_a_reference() -> None:
    (first, _, _), _ = read(FILE)
    assert (first.id, first.text) == ("G-001", "Can I walk over the footbridge again?")
    assert first.asked_at == "2024-11-05"
    assert first.passages == (
        Passage(
            "G-001:p1",
            "[1] The footbridge 🌉 opened in 1901 and was closed for repairs in 2023.",
            source="web",
            published_at="2023-09-01",
            age="14 months ago",
            relevant=True,
            meta={"use": "outdated"},
        ),
        Passage(
            "G-001:p2",
            "[2] Minutes of the council: the footbridge reopens on 4 November 2024.",
            source="private",
            published_at="2024-11-04",
            age="1 day ago",
            relevant=True,
            meta={"use": "answer-the-question"},
        ),
        Passage("G-001:p3", "[3] A recipe for plum cake.", source="web", relevant=False),
    )
    assert first.references == (
        Reference(
            "Yes, since 4 November 2024 [2]. It had been closed in 2023 [1].",
            citations=("G-001:p1", "G-001:p2"),
            deflected=False,
        ),
    )


def test_attributes_of_a_question_become_meta_in_the_protocols_codes() -> None:
    (first, second, third), _ = read(FILE)
    assert first.meta == {
        "valid": "yes",
        "false_premise": "no",
        "information_seeking": "yes",
        "time_sensitive": "yes",
        "sensitivity": "fast-changing",
        "complexity": "simple-with-condition",
        "category": "Travel",
        "popularity": "tail",
        "question_tag": "ent",
        "topic_tag": "web",
    }
    assert second.meta is not None
    assert second.meta["sensitivity"] == "static"
    assert third.meta is not None
    assert third.meta["complexity"] == "post-processing"
    assert "sensitivity" not in third.meta


def test_an_answer_that_says_it_has_no_answer_is_a_deflection() -> None:
    (_, second, third), _ = read(FILE)
    (reference,) = second.references
    assert (reference.deflected, reference.citations) == (True, ())
    assert third.references == ()


def test_an_invalid_date_is_kept_in_meta_and_counted() -> None:
    (_, _, third), notes = read(FILE)
    assert third.asked_at is None
    assert third.meta is not None
    assert third.meta["question_date"] == "early November"
    assert notes.warnings == ["the dates of 1 questions are not ISO dates; they are kept in meta"]


def test_a_number_is_accepted_as_an_id() -> None:
    (_, _, third), _ = read(FILE)
    assert third.id == "3"


def test_a_json_list_is_read_like_json_lines(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    file = tmp_path / "garage.json"
    file.write_text(json.dumps(rows, indent=1), "utf-8")
    assert recognise([file]) == "garage"
    assert read(file)[0] == read(FILE)[0]


def test_unknown_tags_are_left_out_and_counted(tmp_path: Path) -> None:
    row = sample(evidence_relevant=["MAYBE"], evidence_cited=[None], answer_generate="A")
    (query,), notes = read(jsonl(tmp_path / "g", row))
    assert query.passages[0].relevant is None
    assert query.references[0].citations == ()
    assert notes.warnings == ["1 tags are neither YES nor NO; they were left out"]


def test_values_unknown_to_the_paper_are_kept_unchanged(tmp_path: Path) -> None:
    row = sample(question_complexity="Very", question_popularity=7, comments="c", extra=[1])
    (query,), _ = read(jsonl(tmp_path / "g", row))
    assert query.meta == {"complexity": "Very", "popularity": 7, "extra": [1]}


def test_attributes_of_an_answer_become_meta_of_the_reference(tmp_path: Path) -> None:
    row = sample(answer_generate="A", comments="c", answer_validate="YES", answer_related_info="B")
    (query,), _ = read(jsonl(tmp_path / "g", row))
    attributes = {"comments": "c", "answer_validate": "YES", "answer_related_info": "B"}
    assert query.references[0].meta == attributes


@pytest.mark.parametrize("key", ["sample_id", "question"])
def test_a_missing_key_is_refused(tmp_path: Path, key: str) -> None:
    row = sample()
    del row[key]
    assert f'"{key}" is missing' in refused(tmp_path, row).wrong


@pytest.mark.parametrize(
    "change",
    [
        {"sample_id": []},
        {"sample_id": "x" * 255},
        {"question": " "},
        {"grounding": {}},
        {"grounding": ["text"]},
        {"grounding": [{"age": "1 day"}]},
        {"answer_generate": 7},
        {"evidence_relevant": "YES"},
        {"evidence_cited": ["YES", "NO"]},
    ],
)
def test_values_of_a_wrong_type_are_refused(tmp_path: Path, change: Row) -> None:
    assert refused(tmp_path, sample(**change)).remedy
