"""A release of a study with a preset contains the paper's tables, and they are checked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from analysis.papers.rendering import as_markdown
from analysis.release.tables import TablesChecked, check_tables
from analysis.release.verify import verify
from tests.analysis.papers.conftest import STUDY, write_files
from tests.analysis.release.test_verify import flip, sign_again
from tests.cast import run
from tests.databases import rolled_back

TABLES = "tables/crux.json"
OPTION = '{ refusals = "file:mine.toml", eta = 4, unrated = "bounds" }'


@pytest.fixture(scope="module")
def written(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("crux")
    write_files(folder)
    (folder / "mine.toml").write_text('phrases = ["no idea"]', "utf-8")
    about = f'preset = "crux"\noption = {OPTION}\nlicence = "CC0-1.0"'
    (folder / "study.toml").write_text(STUDY.replace('preset = "crux"', about), "utf-8")
    with rolled_back(django_db_blocker):
        run("apply_study", folder)
        run("freeze_study", folder, "--output", folder / "release", "--resamples", "2")
    return folder / "release"


@pytest.fixture
def release(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "release"))


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


@pytest.mark.every_case
def test_the_tables_are_frozen_with_the_options_of_the_study(release: Path) -> None:
    facts, tables = read(release / "release.json"), read(release / TABLES)
    changed = {"eta": "4", "unrated": "bounds"}
    assert tables["changed"] == changed, "no table of CRUX looks for refusals"
    assert facts["tables"] == [
        {"paper": "crux", "file": TABLES, "text": "tables/crux.md", "options": changed}
    ]
    assert "chosen: unrated=bounds, eta=4" in (release / "tables/crux.md").read_text("utf-8")
    measures = read(release / "campaigns/coverage/measures.json")["options"]
    assert measures["eta"]["value"] == 4
    assert measures["refusals"]["value"].startswith("mine.toml (sha256 ")


@pytest.mark.every_case
def test_an_unchanged_release_passes(release: Path) -> None:
    found = verify(release)
    assert found.wrong == []
    (line,) = (line for line in found.checked if "tables" in line)
    assert line.startswith("the text of the tables of crux, and ")


@pytest.mark.every_case
def test_a_changed_text_of_the_tables_is_found(release: Path) -> None:
    flip(release / "tables/crux.md", "Table 2", "Table 22")
    sign_again(release)
    assert verify(release).wrong == ["tables of crux: the text is not that of the tables' JSON"]


@pytest.mark.every_case
def test_another_list_of_refusals_is_found(release: Path) -> None:
    (release / "options/refusals.toml").write_text('phrases = ["perhaps"]', "utf-8")
    sign_again(release)
    assert any("is not the list of refusals 'mine.toml (" in line for line in verify(release).wrong)


@pytest.mark.every_case
def test_tables_that_are_missing_are_found(release: Path) -> None:
    (release / TABLES).unlink()
    assert "tables of crux: a file is missing" in verify(release).wrong


class TestCells:
    """A cell that is a campaign's measure has to be that measure."""

    REPORT: Any = {
        "paper": "clapnq", "title": "CLAPnq", "citation": "", "study": "s", "published": False,
        "seed": 0, "resamples": None, "version": "1", "generated_at": None, "notes": [],
        "changed": {}, "options": {}, "not_filled": "Nothing.",
        "tables": [{
            "key": "t", "name": "Table 7", "about": "", "grids": [{
                "caption": "By ada", "stub": "System", "apart": 0, "printed": [],
                "columns": [{"name": "Faithful", "scale": 1.0, "digits": 2}],
                "rows": [
                    {"name": "one", "cells": [{"value": 3.5, "low": None, "high": None, "n": 2,
                                               "method": "mean",
                                               "from": ["c", "Faithful", "one", "ada"]}]},
                    {"name": "two", "cells": [7]},
                ],
            }],
        }],
    }  # fmt: skip

    def checked(self, value: float | None) -> TablesChecked:
        systems = {"one": {"people": None, "raters": {"ada": {"value": value}}}}
        measures = {"c": {"measures": {"Faithful": {"systems": systems}}}}
        return check_tables(self.REPORT, as_markdown(self.REPORT), measures)

    def test_the_same_value_passes_and_is_counted(self) -> None:
        assert self.checked(3.5) == TablesChecked([], 1, 2)

    @pytest.mark.parametrize(("value", "said"), [(2.5, "2.5"), (None, "no value")])
    def test_another_value_is_named_with_its_place(self, value: float | None, said: str) -> None:
        (line,) = self.checked(value).wrong
        assert line == f"Table 7, By ada, one, Faithful: 3.5, and {said} in measures.json of c"
