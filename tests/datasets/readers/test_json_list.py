"""A JSON list is read entry by entry, as strictly as lines are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tandem.files import jsonl
from tandem.files.jsonl import objects
from tandem.files.rows import InputError
from tests.datasets.helpers import refusal

ROWS = [
    {"id": "a", "text": 'brackets ]}, quotes " and \\ within'},
    {"id": "b", "nested": [{"deep": [1, 2.5, None, True]}], "text": "👩‍👩‍👧 \u2028 é"},
    {},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "list.json"


def read(file: Path, text: str) -> list[tuple[int, dict[str, object]]]:
    file.write_bytes(text.encode("utf-8"))
    return list(objects(file))


def refused(file: Path, content: bytes, line: int | None) -> InputError:
    file.write_bytes(content)
    return refusal(lambda: objects(file), file, line)


@pytest.mark.every_case
@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("chunk", [1, 7, 1 << 16])
def test_a_list_is_read_as_by_the_json_library(
    file: Path, indent: int | None, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "CHUNK", chunk)
    text = json.dumps(ROWS, indent=indent, ensure_ascii=False)
    assert [row for _, row in objects_of(file, text)] == ROWS


def objects_of(file: Path, text: str) -> list[tuple[int, dict[str, object]]]:
    # Recognising a file needs its first character, however small the chunks are.
    file.write_bytes(text.encode("utf-8"))
    return list(jsonl._entries(file))


def test_an_entry_has_the_number_of_the_line_where_it_begins(file: Path) -> None:
    found = read(file, '\ufeff\n[\n  {"a":\n 1}, {"b": 2},\n\n {"c": 3}\n]\n')
    assert found == [(3, {"a": 1}), (4, {"b": 2}), (6, {"c": 3})]


def test_a_file_of_json_lines_is_read_line_by_line(file: Path) -> None:
    assert read(file, '{"a": 1}\n{"b": 2}\n') == [(1, {"a": 1}), (2, {"b": 2})]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("content", "line", "wrong"),
    [
        (b"[]", None, "holds no records"),
        (b'[{"a": 1}', 1, "a comma or the end"),
        (b'[{"a": 1},', 1, "not closed"),
        (b'[{"a": 1},\n]', 2, "entry 2 is"),
        (b'[{"a": 1} {"b": 2}]', 1, "a comma or the end"),
        (b'[{"a": 1}]\n[]', 2, "continues after the list"),
        (b"[\n3]", 2, "entry 1 is a number, not an object"),
        (b'["x"]', 1, "entry 1 is a string, not an object"),
        (b'[{"a": 1},\n{"a" 1}]', 2, "broken JSON"),
        (b'[{"a": 1},\n{"a": "x', 2, "broken JSON"),
        (b'[{"a": 1, "a": 2}]', 1, "appears twice"),
        (b'[{"a": NaN}]', 1, "NaN is not JSON"),
        (b'[{"a": 1e999}]', 1, "too large"),
        (b'[{"a": "\\u0000"}]', 1, "NUL"),
        (b'[{"a": "\\ud800"}]', 1, "lone surrogate"),
        (b'[{"a": "\xff"}]', 1, "not UTF-8"),
        (b'[{"a": ' + b"[" * 100 + b"]" * 100 + b"}]", 1, "deeper than"),
        (b'[{"a": ' + b"[" * 100_000, 1, "deeper than"),
    ],
)
def test_errors_are_the_same_as_for_json_lines(
    file: Path, content: bytes, line: int | None, wrong: str
) -> None:
    assert wrong in refused(file, content, line).wrong


def test_an_early_error_is_found_without_reading_the_rest(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "CHUNK", 64)
    read, more = [], jsonl._Source._more

    def counted(source: jsonl._Source) -> bool:
        read.append(source.line)
        return more(source)

    monkeypatch.setattr(jsonl._Source, "_more", counted)
    file.write_text('[{"a" 1}' + "," + '{"b": 2},' * 10_000)
    with pytest.raises(InputError, match="broken JSON"):
        list(objects(file))
    assert len(read) < 3


def test_an_entry_beyond_the_size_limit_is_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "CHUNK", 64)
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 1000)
    wrong = refused(file, b'[{"a": "' + b"x" * 5000 + b'"}]', 1).wrong
    assert wrong == "an entry is longer than 32 MiB"
