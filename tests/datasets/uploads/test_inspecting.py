"""The preview of uploaded files before the decision to keep them; nothing is stored yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasets.models import Batch
from datasets.uploads.worker import inspect, inspect_extension
from tandem.files.rows import InputError
from tests.cast import BATCH, Line, load, write_lines

LONG = "é" * 401
FOURTH: Line = {
    "id": "q4",
    "text": LONG,
    "asked_at": "2024-05-03",
    "meta": {"domain": "bridges"},
    "questions": [{"id": f"q4:{n}", "text": LONG[n:], "meta": {"n": n}} for n in range(4)],
    "passages": [{"id": "p4", "text": "It held."}],
}


def test_all_parts_are_counted_and_the_first_queries_are_shown(
    tmp_path: Path,
) -> None:
    path, done = write_lines(tmp_path / "a.jsonl", [FOURTH, *BATCH]), list[int]()
    found = inspect([path], None, done.append)
    assert (found.format, len(found.digest), found.warnings, found.skipped) == (
        "native",
        64,
        [],
        {},
    )
    assert found.counts == {
        "queries": 4, "questions": 11, "key_points": 4, "nuggets": 0, "reports": 6,
        "rankings": 1, "passages": 5,
    }  # fmt: skip
    assert done == [1, 2, 3, 4]
    assert [each["id"] for each in found.first] == ["q4", "q/1", "q 2"]
    assert found.first[0] == {
        "id": "q4",
        "text": "é" * 400 + "…",
        "asked_at": "2024-05-03",
        "questions": [
            {"id": "q4:0", "text": "é" * 400 + "…"},
            {"id": "q4:1", "text": "é" * 400},
            {"id": "q4:2", "text": "é" * 399},
        ],
        "passages": [{"id": "p4", "text": "It held."}],
        "more": {"questions": 1},
    }
    assert found.first[1]["more"] == {}


def test_more_queries_than_the_limit_are_refused_with_the_command_to_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_lines(tmp_path / "a.jsonl", BATCH)
    monkeypatch.setattr("datasets.uploads.worker.MAX_QUERIES", 3)
    assert inspect([path], "native", lambda done: None).counts["queries"] == 3
    monkeypatch.setattr("datasets.uploads.worker.MAX_QUERIES", 2)
    with pytest.raises(InputError, match="has more than 2 queries; load it with"):
        inspect([path], "native", lambda done: None)


@pytest.mark.django_db
def test_for_files_that_extend_a_batch_only_additions_are_counted(tmp_path: Path) -> None:
    load(tmp_path, [*BATCH, FOURTH])
    source, names = Batch.objects.get(), ("q/1", "q 2", "q3", "q4")
    new = {"text": "It is new.", "system": "new"}
    lines = [{"id": name, "reports": [new | {"id": f"new {name}"}]} for name in names]
    path = write_lines(tmp_path / "more.jsonl", lines)
    found = inspect_extension([path], None, source, "b2", lambda done: None)
    assert (found.format, len(found.digest)) == ("native", 64)
    assert found.digest != source.digest
    assert found.counts == {"queries": 4, "new reports": 4}
    assert [each["id"] for each in found.first] == ["q/1", "q 2", "q3"]
    assert list(Batch.objects.all()) == [source]
    old = {"id": "t2", "text": "It does not.", "system": "two"}
    path = write_lines(tmp_path / "none.jsonl", [{"id": "q3", "reports": [old]}])
    with pytest.raises(InputError, match="adds nothing to batch 'b'; add reports"):
        inspect_extension([path], "native", source, "b2", lambda done: None)
