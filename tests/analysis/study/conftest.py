"""A folder with a study of the small cast: two campaigns, a scripted judge, people's labels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cast import BATCH, write_lines

STUDY = """\
[study]
name = "pilot"

[campaign.coverage]
protocol = "report-coverage"
batch = "documents"
raters_per_item = 2
labels = ["ada.jsonl"]
judges = ["replay"]

[judge.replay]
backend = "scripted"
answers = "judge.jsonl"

[batch.documents]
files = ["documents.jsonl"]
"""
REPORTS = [(query, report) for query in BATCH for report in query["reports"]]


def labels_of(rater: str, value: str = "no", **more: Any) -> list[dict[str, Any]]:
    """The same label for each question of each report."""
    return [
        {"item": report["id"], "unit": question["id"], "kind": "question",
         "variable": "answerable", "value": value, "rater": rater, **more}
        for query, report in REPORTS
        for question in query["questions"]
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The study's folder: `study.toml` and the files that it names."""
    write_lines(tmp_path / "documents.jsonl", BATCH)
    write_lines(tmp_path / "ada.jsonl", labels_of("ada"))
    write_lines(tmp_path / "judge.jsonl", labels_of("replay"))
    (tmp_path / "study.toml").write_text(STUDY, "utf-8")
    return tmp_path


@pytest.fixture
def rewrite(folder: Path) -> Callable[..., Path]:
    """Change the file's text; each pair is the old words and the new ones."""

    def change(*pairs: tuple[str, str]) -> Path:
        path = folder / "study.toml"
        text = path.read_text("utf-8")
        for before, after in pairs:
            assert before in text, before
            text = text.replace(before, after)
        path.write_text(text, "utf-8")
        return path

    return change


def as_json(text: str) -> Any:
    return json.loads(text)
