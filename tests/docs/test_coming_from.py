"""The examples of the page for users of other tools read what these tools export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tandem.results import Report
from tests.docs.markdown import blocks, read

PEOPLE = {"ada": "yynnyynn", "bea": "yynnyyny"}
CODES = {"y": "yes", "n": "no"}
JUDGED = "yynnynnn"


def answers(person: str) -> list[str]:
    return [CODES[letter] for letter in PEOPLE[person]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report_of(tool: str) -> Report:
    """Run the example below the tool's heading."""
    section = read("how-to/coming-from.md").partition(f"\n## {tool}\n")[2].partition("\n## ")[0]
    (source,) = blocks(section, "python")
    names: dict[str, Any] = {}
    exec(compile(source, tool, "exec"), names)
    report: Report = names["report"]
    return report


def assert_read(report: Report, variable: str, judge: str | None) -> None:
    assert list(report) == [variable]
    assert len(report.people) == 2
    assert report.judges == ([judge] if judge else [])
    assert report[variable].percent.value == pytest.approx(7 / 8)
    if judge:
        assert report.judge(judge).against(report.people[0]).percent.value == pytest.approx(7 / 8)


def controls(letter: str) -> list[dict[str, Any]]:
    other = {"from_name": "note", "type": "textarea", "value": {"text": ["made up"]}}
    choice = {"from_name": "relevant", "type": "choices", "value": {"choices": [CODES[letter]]}}
    return [other, choice]


def test_label_studios_annotations_are_peoples_and_its_predictions_a_judges(folder: Path) -> None:
    tasks = [
        {
            "id": n,
            "data": {"text": "made up"},
            "annotations": [
                {"completed_by": 1, "was_cancelled": False, "result": controls(PEOPLE["ada"][n])},
                {"completed_by": 2, "was_cancelled": False, "result": controls(PEOPLE["bea"][n])},
                {"completed_by": 3, "was_cancelled": True, "result": controls("y")},
            ],
            "predictions": [{"model_version": "llama", "result": controls(JUDGED[n])}],
        }
        for n in range(8)
    ]
    (folder / "project.json").write_text(json.dumps(tasks), "utf-8")
    assert_read(report_of("Label Studio"), "relevant", "llama")


def test_argillas_drafts_do_not_count_and_its_suggestions_are_a_judges(folder: Path) -> None:
    answered = [
        {
            "id": f"record-{n}",
            "text": "made up",
            "relevant.responses": [answers("ada")[n], answers("bea")[n], "yes"],
            "relevant.responses.users": ["u-1", "u-2", "u-3"],
            "relevant.responses.status": ["submitted", "submitted", "draft"],
            "relevant.suggestion": CODES[JUDGED[n]],
            "relevant.suggestion.agent": "llama",
            "relevant.suggestion.score": None,
        }
        for n in range(8)
    ]
    untouched = dict.fromkeys(answered[0]) | {"id": "record-8", "text": "made up"}
    (folder / "records.json").write_text(json.dumps([*answered, untouched]), "utf-8")
    assert_read(report_of("Argilla"), "relevant", "llama")


def lines(person: str) -> Iterator[str]:
    for n, answer in enumerate(answers(person)):
        yield json.dumps({"id": n, "text": "made up", "label": [answer]})
    yield json.dumps({"id": 8, "text": "not labelled", "label": []})


def test_doccanos_files_are_one_persons_each(folder: Path) -> None:
    (folder / "doccano").mkdir()
    for person in PEOPLE:
        (folder / "doccano" / f"{person}.jsonl").write_text("\n".join(lines(person)), "utf-8")
    assert_read(report_of("doccano"), "label", None)


@pytest.mark.parametrize("machine", [True, False])
def test_potatos_machine_annotators_are_judges(folder: Path, machine: bool) -> None:
    rows: list[dict[str, str | None]] = [
        {"instance_id": f"i{n}", "user_id": person, "relevant": answer, "annotator_origin": "human"}
        for person in PEOPLE
        for n, answer in enumerate(answers(person))
    ]
    rows.append(rows[0] | {"instance_id": "i8", "relevant": None})
    judged = [
        {"instance_id": f"i{n}", "user_id": "llama", "relevant": CODES[letter]}
        | {"annotator_origin": "llm"}
        for n, letter in enumerate(JUDGED)
    ]
    table = pd.DataFrame([*rows, *judged] if machine else rows)
    (folder / "export").mkdir()
    table = table if machine else table.drop(columns="annotator_origin")
    table.to_parquet(folder / "export" / "annotations.parquet")
    assert_read(report_of("Potato"), "relevant", "llama" if machine else None)


def test_the_page_is_dated() -> None:
    assert "As of 2026-11-28" in read("how-to/coming-from.md")
