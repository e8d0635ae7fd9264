"""The release of a finished study with the small cast; written once and copied for each test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from django.db import transaction
from pytest_django import DjangoDbBlocker

from tests.analysis.study.conftest import STUDY, labels_of
from tests.cast import BATCH, run, write_lines

FINISHED = STUDY.replace('["ada.jsonl"]', '["ada.jsonl", "ben.jsonl"]').replace(
    'name = "pilot"', 'name = "pilot"\nlicence = "CC-BY-4.0"\ncreators = ["Ada", "Ben"]'
)
FREEZE = ("--resamples", "20")


def write_study(folder: Path) -> Path:
    """Write the finished study's files, and apply it. Needs the database."""
    folder.mkdir(exist_ok=True)
    ben = [{**line, "value": "invalid" if n % 3 else "no"} for n, line in enumerate(labels_of("b"))]
    judge = [
        {**line, "value": "no" if n % 4 else "invalid"}
        for n, line in enumerate(labels_of("replay"))
    ]
    write_lines(folder / "documents.jsonl", BATCH)
    write_lines(folder / "ada.jsonl", labels_of("ada"))
    write_lines(folder / "ben.jsonl", [{**line, "rater": "ben"} for line in ben])
    write_lines(folder / "judge.jsonl", judge)
    (folder / "study.toml").write_text(FINISHED, "utf-8")
    run("apply_study", folder)
    return folder


@pytest.fixture(scope="module")
def written(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    folder = tmp_path_factory.mktemp("study")
    with django_db_blocker.unblock(), transaction.atomic():
        write_study(folder / "study")
        run("freeze_study", folder / "study", "--output", folder / "release", *FREEZE)
        transaction.set_rollback(True)
    return folder / "release"


@pytest.fixture
def release(written: Path, tmp_path: Path) -> Path:
    """A copy of the release, without the database that it came from."""
    return Path(shutil.copytree(written, tmp_path / "release"))
