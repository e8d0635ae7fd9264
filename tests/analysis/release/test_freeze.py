"""A release contains what others need, and the same state always gives the same bytes."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from analysis.release.asked import published_text
from analysis.study.file import parse_study
from annotation.models import User, rater_of
from tandem.files.rows import InputError
from tests.analysis.release.conftest import FREEZE, write_study
from tests.analysis.study.conftest import STUDY
from tests.cast import run


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_release_contains_every_part_of_the_study(release: Path) -> None:
    campaign = "labels.jsonl labels-wide.csv responses.jsonl guideline.md report.json report.md"
    campaign += " items.jsonl sampling.jsonl"
    assert sorted(contents(release)) == sorted(
        [
            *(f"campaigns/coverage/{name}" for name in [*campaign.split(), "measures.json"]),
            *("batches/documents.jsonl", "judges/replay.json", "study.toml", "SHA256SUMS"),
            *("README.md", "datasheet.md", "croissant.json", "release.json", "LICENCE.txt"),
        ]
    )


def test_the_wide_labels_have_a_column_for_each_rater(release: Path) -> None:
    lines = (release / "campaigns/coverage/labels-wide.csv").read_text("utf-8").splitlines()
    people = "answerable: ada,answerable: ben,answerable: replay"
    assert lines[0] == f"item,unit,kind,query,system,setting,{people}"
    assert lines[1] == "r,a/b#1,question,q/1,one,top,no,no,invalid"


def test_the_datasheet_is_filled_from_the_database_and_marks_blanks(release: Path) -> None:
    text = (release / "datasheet.md").read_text("utf-8")
    for words in (
        "- Created by: Ada, Ben",
        "- People: 2, under pseudonyms; 12 of 12 answers that were asked for are there.",
        "- Judges: replay (a fake: replayed from a file).",
        "- Chosen: 2 people an item; ",
        "| coverage | answerable | question | `yes`, `no`, `invalid` | nominal |",
        "- coverage: replay is a fake that replays a file, and describes no model.",
        "- Licence: CC-BY-4.0",
        "**[to be filled in: who paid for it]**",
    ):
        assert words in text
    assert "{'" not in text


def test_the_metadata_is_valid_croissant_and_reads_the_labels(release: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    found: dict[str, Any] = json.loads((release / "croissant.json").read_text("utf-8"))
    assert found["license"] == "https://spdx.org/licenses/CC-BY-4.0.html"
    assert {name for name in found if name.startswith("rai:")} >= {
        "rai:dataAnnotationProtocol",
        "rai:annotationsPerItem",
        "rai:machineAnnotationTools",
        "rai:dataLimitations",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dataset = mlcroissant.Dataset(jsonld=release / "croissant.json")
        records = list(dataset.records("campaigns/coverage/labels"))
    assert not dataset.metadata.ctx.issues.errors
    assert len(records) == 42
    assert records[0]["campaigns/coverage/labels/rater"] == b"ada"


def test_a_release_without_a_licence_is_refused(db: None, tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study")
    path = folder / "study.toml"
    path.write_text(path.read_text("utf-8").replace('licence = "CC-BY-4.0"\n', ""), "utf-8")
    with pytest.raises(CommandError, match=r"names no licence; write licence = "):
        run("freeze_study", folder, "--output", tmp_path / "release")
    assert not (tmp_path / "release").exists()


def test_the_same_state_gives_the_same_bytes_and_a_failure_leaves_nothing(
    db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_study(tmp_path / "study")
    for name in ("one", "two"):
        run("freeze_study", folder, "--output", tmp_path / name, *FREEZE)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")

    def killed(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr("analysis.release.freeze.datasheet", killed)
    with pytest.raises(KeyboardInterrupt):
        run("freeze_study", folder, "--output", tmp_path / "three", *FREEZE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "study", "two"]


def test_the_study_file_of_a_release_names_no_annotator(db: None) -> None:
    ada = rater_of(User.objects.create(username="ada"))

    def published(share: str, text: str = STUDY) -> str:
        table = f"raters_per_item = 2\nshare = {share}"
        return published_text(parse_study(text.replace("raters_per_item = 2", table)))

    assert f"\nshare = {{ {ada.name} = 0.5, 'person-2' = 0.25 }}\n" in published(
        "{ ada = 0.5, 'ben' = 0.25 }"
    )
    assert f'\nshare = ["{ada.name} = 0.5", "person-2=0.5"]\n' in published(
        '["ada = 0.5", "ben=0.5"]'
    )
    assert '"ada.jsonl"' in published("{ ada = 0.5 }"), "a file is not an account"
    with pytest.raises(InputError, match="a release hides accounts; take the shares out"):
        published("{ protocol = 0.5 }")
