"""The schema and the example of the native format agree with the reader."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from jsonschema import Draft202012Validator, FormatChecker

from annotation.models import User
from datasets.material import FORMAT_FILES, native_schema, properties_of
from datasets.readers import native, read
from tandem.files.rows import InputError, ReadNotes
from tests.cast import BATCH, ROOT, run
from tests.datasets.helpers import jsonl

Row = dict[str, Any]
EXAMPLE = FORMAT_FILES["example"].path
KEYS = {
    "Query": native.QUERY,
    "Turn": native.TURN,
    "Question": native.QUESTION,
    "Passage": native.PASSAGE,
    "KeyPoint": native.KEY_POINT,
    "Nugget": native.NUGGET,
    "AnswerPoint": native.ANSWER_POINT,
    "Report": native.REPORT,
    "Ranking": native.RANKING,
    "Reference": native.REFERENCE,
}


def by_schema(row: Row) -> bool:
    return bool(Draft202012Validator(native_schema(), format_checker=FormatChecker()).is_valid(row))


def by_reader(folder: Path, row: Row) -> bool:
    try:
        list(read([jsonl(folder / "b.jsonl", row)], "native", ReadNotes()))
    except InputError:
        return False
    return True


def full() -> Row:
    (first, _) = map(json.loads, EXAMPLE.read_text("utf-8").splitlines())
    for part in ("questions", "passages", "key_points", "nuggets", "reports", "references"):
        first[part][0] |= {"meta": {"any": ["thing"]}}
    # A schema cannot express that sentences and spans must be verbatim, and lists equally long.
    del first["passages"][0]["sentences"], first["reports"][0]["key_points"][0]["spans"]
    del first["reports"][0]["sentence_citations"], first["reports"][0]["sentences"]
    found: Row = first
    return found


def changed(path: str, value: Any) -> Row:
    row = copy.deepcopy(full())
    *parts, key = path.split(".")
    held = row
    for part in parts:
        held = held[part][0]
    if value is ...:
        del held[key]
    else:
        held[key] = value
    return row


def test_the_schema_is_a_valid_json_schema() -> None:
    meta = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    assert not list(meta.iter_errors(native_schema()))


@pytest.mark.every_case
@pytest.mark.parametrize("part", KEYS)
def test_the_schema_describes_every_key_that_the_reader_accepts(part: str) -> None:
    properties = properties_of(part)
    assert tuple(properties) == KEYS[part]
    assert all(each["description"] for each in properties.values())


def test_the_example_can_be_loaded_and_is_valid_by_the_schema(tmp_path: Path) -> None:
    notes = ReadNotes()
    queries = [located.query for located in read([EXAMPLE], None, notes)]
    assert len(queries) == 2
    assert notes == ReadNotes()
    assert all(by_schema(json.loads(line)) for line in EXAMPLE.read_text("utf-8").splitlines())


def test_the_example_uses_every_key() -> None:
    names = {"Turn": "history"}
    names |= {"Question": "questions", "Passage": "passages", "KeyPoint": "key_points"}
    names |= {
        "Nugget": "nuggets",
        "Report": "reports",
        "Ranking": "rankings",
        "Reference": "references",
    }
    lines = [json.loads(line) for line in EXAMPLE.read_text("utf-8").splitlines()]
    used = {"Query": {key for line in lines for key in line}}
    for part, key in names.items():
        used[part] = {k for line in lines for each in line.get(key, ()) for k in each}
    reports = [report for line in lines for report in line.get("reports", ())]
    points = [point for report in reports for point in report.get("key_points", ())]
    used["AnswerPoint"] = {key for point in points for key in point}
    # Keys that may appear in every part need to be used only once.
    unused = {part: set(keys) - used[part] - {"meta", "sentences"} for part, keys in KEYS.items()}
    assert unused == {part: set() for part in KEYS}


@pytest.mark.parametrize("row", BATCH, ids=lambda row: row["id"])
def test_batches_that_can_be_loaded_are_valid_by_the_schema(row: Row) -> None:
    assert by_schema(row)


CHANGES: tuple[tuple[str, Any], ...] = (
    ("id", ...), ("id", ""), ("id", " "), ("id", "x" * 255), ("id", "x" * 256), ("id", 7),
    ("text", ...), ("text", "\n"), ("text", None), ("asked_at", None), ("asked_at", "2024-05-31"),
    ("asked_at", "2024-05-31T12:30:00Z"), ("asked_at", "31.5.2024"), ("asked_at", 2024),
    ("questions", None), ("questions", []), ("questions", {}), ("questions", ["x"]),
    ("zebra", 1), ("meta", []), ("meta", {}), ("meta", None),
    ("questions.id", ...), ("questions.text", " "), ("questions.weight", -1),
    ("questions.weight", 0), ("questions.weight", "2"), ("questions.zebra", 1),
    ("passages.text", ""), ("passages.text", None), ("passages.relevant", "yes"),
    ("passages.relevant", None), ("passages.use", "outdated"), ("passages.use", "handy"),
    ("passages.use", None), ("passages.use", 3), ("passages.title", ""), ("passages.title", 3),
    ("passages.published_at", "May"), ("passages.age", 3), ("passages.sentences", [""]),
    ("passages.sentences", []), ("passages.source", None), ("passages.zebra", None),
    ("key_points.score", 1.1), ("key_points.score", 1), ("key_points.passage", ...),
    ("key_points.spans", None), ("key_points.spans", "x"), ("reports.text", ""),
    ("reports.system", " "), ("reports.system", None), ("reports.context", ["p1", "p1"]),
    ("reports.citations", ["p1", "p1"]), ("reports.citations", [3]), ("reports.deflected", 1),
    ("reports.key_points", None), ("reports.key_points", []), ("reports.key_points", {}),
    ("reports.key_points.id", ...), ("reports.key_points.text", " "),
    ("reports.key_points.spans", [""]), ("reports.key_points.spans", None),
    ("reports.key_points.passage", "p1"),
    ("nuggets", None), ("nuggets", {}), ("nuggets.id", ...), ("nuggets.text", " "),
    ("nuggets.importance", "okay"), ("nuggets.importance", "Vital"), ("nuggets.importance", None),
    ("nuggets.sources", []), ("nuggets.sources", [" "]), ("nuggets.sources", None),
    ("nuggets.passage", "p1"), ("reports.sentence_citations", None),
    ("reports.sentence_citations", {}), ("reports.sentence_citations", ["p1"]),
    ("reports.sentence_citations", [["p1", "p1"]]), ("reports.sentence_citations", [[""]]),
    ("reports.sentence_citations", [[3]]),
    ("rankings.system", None), ("rankings.passages", ["a", "a"]), ("rankings.passages", None),
    ("rankings.meta", {}), ("references.text", ""), ("references.text", ...),
    ("references.id", "x"),
)  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize(("path", "value"), CHANGES, ids=lambda each: str(each)[:40])
def test_schema_and_reader_agree(tmp_path: Path, path: str, value: Any) -> None:
    row = changed(path, value)
    assert by_schema(row) == by_reader(tmp_path, row)


@pytest.mark.parametrize("name", FORMAT_FILES)
def test_a_command_prints_schema_and_example(name: str) -> None:
    assert run("batch_format", name) == FORMAT_FILES[name].read()


@pytest.mark.first_case
@pytest.mark.django_db
@pytest.mark.parametrize("name", FORMAT_FILES)
def test_schema_and_example_can_be_downloaded(name: str, client: Client) -> None:
    client.force_login(User.objects.create_user("rita", role="researcher"))
    answer = client.get(f"/batches/format/{FORMAT_FILES[name].name}")
    assert answer.content.decode("utf-8") == FORMAT_FILES[name].read()
    assert answer["Content-Disposition"] == f'attachment; filename="{FORMAT_FILES[name].name}"'
    assert answer["Content-Type"].startswith(FORMAT_FILES[name].media_type)
    assert FORMAT_FILES[name].name in client.get("/batches/").content.decode()


def test_schema_and_example_are_in_the_repository() -> None:
    assert all(each.path.is_relative_to(ROOT) for each in FORMAT_FILES.values())
