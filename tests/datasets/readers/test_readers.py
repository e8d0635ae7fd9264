"""The registry of formats: recognising one, and asking for one by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasets.readers import READERS, read, recognise
from tandem.files.rows import InputError, ReadNotes
from tests.datasets.helpers import jsonl, refusal

pytestmark = pytest.mark.every_case


def test_every_format_has_a_one_line_summary() -> None:
    assert list(READERS) == ["trec-rag", "crux", "clapnq", "garage", "label-studio", "native"]
    for reader in READERS.values():
        assert len(reader.SUMMARY.splitlines()) == 1


@pytest.mark.parametrize(
    "row", [{"id": "q", "text": "t"}, {"id": "q", "txt": "t"}, {"id": "q", "text": "t", "zebra": 1}]
)
def test_a_native_query_is_recognised_despite_a_misspelt_key(
    tmp_path: Path, row: dict[str, str]
) -> None:
    assert recognise([jsonl(tmp_path / "b.jsonl", row)]) == "native"


def test_an_unrecognised_file_is_refused_with_the_known_formats(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "b.jsonl", {"topic": "r1", "words": "q1"})
    error = refusal(lambda: read([file]), file, 1)
    assert "crux, clapnq, garage, label-studio, native" in error.remedy


def test_an_unrecognised_folder_is_refused(tmp_path: Path) -> None:
    assert refusal(lambda: read([tmp_path]), tmp_path, None).remedy


@pytest.mark.parametrize("name", ["missing.jsonl", "missing.run"])
def test_a_missing_file_is_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    assert refusal(lambda: read([file]), file, None).remedy


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "b.jsonl", {"id": "q", "text": "t"})
    assert 'no format "xml"' in refusal(lambda: read([file], "xml"), file, None).wrong


def test_a_named_format_is_used_without_guessing(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "b.jsonl", {"id": "q", "text": "t"})
    with pytest.raises(InputError, match='"input" is missing'):
        list(read([file], "clapnq"))


def test_several_files_are_read_as_one_batch(tmp_path: Path) -> None:
    files = [jsonl(tmp_path / f"{n}.jsonl", {"id": n, "text": "t"}) for n in "ab"]
    assert [located.query.id for located in read(files, notes=ReadNotes())] == ["a", "b"]
