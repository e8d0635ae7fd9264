"""A judge's grade, such as 3 of 3, is stored beside the label to which its file maps it."""

from __future__ import annotations

import csv
import io
from itertools import cycle
from pathlib import Path

import pytest
from django.urls import reverse

from analysis.release.asked import wide_pieces
from annotation.exports.contents import EXPORTS
from annotation.models import Campaign, Label, User
from judging import library
from judging.models import JudgeCall
from tandem.labels.file.frames import file_frame
from tests.judging.cast import campaign_of, command, judge, run_scripted
from tests.page_cast import client_of

GRADES = ("3", "1")
FILE = "graded-relevance"


@pytest.fixture
def graded(db: None, tmp_path: Path) -> Campaign:
    """Two passages, each judged on four levels of which two mean yes."""
    study, given = campaign_of(tmp_path, "grounding-relevance"), cycle(GRADES)
    rater = judge("umbrela", "openai", model="m", base_url="http://127.0.0.1:1",
                  file=library.text_of(FILE))  # fmt: skip
    run_scripted(study, rater, lambda request: f"It says when.\nFinal score: {next(given)}")
    return study


def test_a_grade_is_stored_exported_imported_and_shown(graded: Campaign, tmp_path: Path) -> None:
    stored = Label.objects.order_by("pk").values_list("value", "meta")
    assert sorted(stored) == [("no", {"grade": "1"}), ("yes", {"grade": "3"})]
    export = EXPORTS["labels"]
    lines = list(export.lines(graded))
    assert export.columns_for(graded)[-1] == "grade"
    assert sorted((line["value"], line["grade"]) for line in lines) == [("no", "1"), ("yes", "3")]
    assert not any("meta" in line for line in lines)

    header, *rows = csv.reader(io.StringIO(b"".join(wide_pieces(graded)).decode()))
    assert header[-2:] == ["relevant: umbrela", "relevant (grade): umbrela"]
    assert sorted(row[-2:] for row in rows) == [["no", "1"], ["yes", "3"]]

    for form in ("jsonl", "csv"):
        path = tmp_path / f"labels.{form}"
        command("export", "--campaign", graded.name, "--what", "labels", "--output", str(path),
                "--format", form)  # fmt: skip
        frame, _ = file_frame([path], {})
        assert sorted(frame.variables["relevant"].grades[0]) == ["1", "3"]
    Label.objects.update(meta=None)
    command("import_labels", str(path), "--campaign", graded.name)
    metas = Label.objects.filter(response__current=True).values_list("meta", flat=True)
    assert sorted(meta["grade"] for meta in metas if meta) == ["1", "3"]

    client = client_of(User.objects.create(username="rita", role="researcher"))
    call = client.get(reverse("judge-call", args=[JudgeCall.objects.earliest("pk").pk]))
    assert "grade 3" in call.content.decode()
