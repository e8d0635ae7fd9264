"""Extending a batch by a later system: its reports and the old queries form a new batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from datasets.lineage import as_tree
from datasets.material import batch_rows
from datasets.models import Batch
from tandem.files.rows import InputError
from tests.cast import load, run, write_lines

pytestmark = pytest.mark.django_db
NEW = {"id": "t9", "text": "It is near the sea.", "system": "three", "context": ["p3", "p9"]}


def extend(folder: Path, *lines: dict[str, Any], name: str = "new") -> str:
    path = write_lines(folder / "more.jsonl", lines)
    return run("load_batch", path, "--extends", "b", "--name", name)


def test_reports_rankings_and_passages_are_added_and_the_rest_is_unchanged(tmp_path: Path) -> None:
    load(tmp_path)
    output = extend(
        tmp_path,
        {
            "id": "q3",
            "reports": [NEW],
            "rankings": [{"system": "dense", "passages": ["p9", "p3"]}],
            "passages": [{"id": "p9", "text": "The sea."}],
        },
    )
    assert "1 new passages, 1 new rankings, 1 new reports" in output
    before = list(batch_rows(Batch.objects.get(name="b")))
    after = list(batch_rows(Batch.objects.get(name="new")))
    assert after[:2] == before[:2]
    assert after[2].reports[:2] == before[2].reports
    assert (after[2].reports[2].id, after[2].reports[2].system) == ("t9", "three")
    assert [passage.id for passage in after[2].passages] == ["p3", "p9"]
    tree = as_tree(Batch.objects.get(name="new"))
    assert (tree["kind"], tree["files"][0]["name"]) == ("extended", "more.jsonl")
    assert tree["source"]["files"][0]["name"] == "b.jsonl"
    again = extend(tmp_path, {"id": "q3", "reports": [NEW]}, name="again")
    assert "Created batch 'again', which extends 'b'." in again
    assert "Nothing to do" in extend(tmp_path, {"id": "q3", "reports": [NEW]}, name="again")


def test_a_nugget_bank_is_added_to_a_batch(tmp_path: Path) -> None:
    load(tmp_path)
    bank = [{"id": "q3:n1", "text": "Bruges is near.", "importance": "vital"}]
    assert "1 new nuggets" in extend(tmp_path, {"id": "q3", "nuggets": bank})
    (nugget,) = list(batch_rows(Batch.objects.get(name="new")))[2].nuggets
    assert (nugget.id, nugget.importance) == ("q3:n1", "vital")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"id": "q4", "reports": [NEW]}, "line 1: there is no query 'q4' in batch 'b'"),
        (
            {"id": "q3", "text": "Who?", "reports": [NEW]},
            "'text' of query 'q3' differs from the batch",
        ),
        ({"id": "q3", "questions": [{"id": "n", "text": "New?"}]}, "only reports, rankings"),
        ({"id": "q3", "reports": [{**NEW, "id": "t1"}]}, "the report 't1' of query 'q3' differs"),
        ({"id": "q3", "reports": [{**NEW, "id": "r"}]}, "'r' is already used at"),
        ({"id": "q3", "passages": [{"id": "p3", "text": "?"}]}, "the passage 'p3' of query 'q3'"),
        ({"id": "q3", "reports": [{"id": "t2", "text": "It does not.", "system": "two"}]}, "adds"),
        ({"id": "q3", "report": [NEW]}, "report"),
    ],
)
def test_a_line_that_contradicts_the_batch_is_refused(
    line: dict[str, Any], message: str, tmp_path: Path
) -> None:
    load(tmp_path)
    with pytest.raises((CommandError, InputError)) as refused:
        extend(tmp_path, line)
    assert "more.jsonl" in str(refused.value)
    assert message.replace("'", "") in str(refused.value).replace("'", "").replace('"', "")
    assert not Batch.objects.filter(name="new").exists()
