"""Each kind of batch file is read, and errors in it are located."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from judging.batch_api.format import build_index, detect_kind, parse_custom_id
from tandem.files.rows import InputError

UID = uuid.UUID(int=7)


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "batch.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def test_a_file_is_recognised_as_requests_or_results_of_a_run(tmp_path: Path) -> None:
    named = {"custom_id": f"run-12-{UID}"}
    for line, found in (
        ({**named, "method": "POST"}, ("requests", 12)),
        ({**named, "body": {}}, ("requests", 12)),
        ({**named, "response": {}}, ("results", 12)),
        ({"custom_id": "mine", "error": {}}, ("results", None)),
        ({"method": "POST"}, ("requests", None)),
    ):
        assert detect_kind(written(tmp_path, line)) == found
    with pytest.raises(InputError, match="contains neither a request nor a result"):
        detect_kind(written(tmp_path, named))
    with pytest.raises(InputError, match="is empty"):
        detect_kind(written(tmp_path))
    with pytest.raises(InputError, match=r"cannot be read \(no such file"):
        detect_kind(tmp_path / "none.jsonl")


def test_a_custom_id_names_a_run_and_an_assignment() -> None:
    assert parse_custom_id(f"run-12-{UID}") == (12, UID)
    for wrong in (
        f"other-12-{UID}",
        f"run-x-{UID}",
        f"run-²-{UID}",
        f"run-1234567890123456789-{UID}",
        "run-1-2",
        "run",
        3,
    ):
        assert parse_custom_id(wrong) is None


def test_results_of_another_run_or_without_an_id_are_refused(tmp_path: Path) -> None:
    line = {"custom_id": f"run-12-{UID}", "response": {"body": {}}}
    index = build_index(written(tmp_path, line))
    assert (index.run, len(index.lines)) == (12, 1)
    other = {**line, "custom_id": f"run-13-{uuid.UUID(int=8)}"}
    with pytest.raises(InputError, match="to run 13, but the lines before belong to run 12"):
        build_index(written(tmp_path, line, other))
    with pytest.raises(InputError, match="'mine' is not from tandem judge run"):
        build_index(written(tmp_path, line, {**line, "custom_id": "mine"}))
