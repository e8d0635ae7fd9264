"""A release of a study with a preset contains the paper's tables, and they are checked."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from analysis.papers.rendering import as_markdown
from analysis.release.tables import TablesChecked, cells_of, check_measures
from analysis.release.verify import verify
from tandem.files.rows import InputError
from tests.analysis.papers.conftest import STUDY, write_files
from tests.analysis.release.test_verify import flip, sign_again, verified_without_django
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
    number = sum(
        not isinstance(cell, str) for cell in cells_of(read(release / TABLES)["tables"]).values()
    )
    assert line == (
        f"the text of the tables of crux, of whose {number} cells {number} were computed again"
    )


@pytest.mark.every_case
def test_a_changed_text_of_the_tables_is_found(release: Path) -> None:
    flip(release / "tables/crux.md", "Table 2", "Table 22")
    sign_again(release)
    (line,) = verify(release).wrong
    assert line.startswith("tables of crux: line ")
    assert line.endswith(" of tables/crux.md is not that of the tables' JSON")


def cell_at(tables: Any, key: str, row: str) -> Any:
    """The first cell of a row of a table's first grid."""
    (table,) = (each for each in tables["tables"] if each["key"] == key)
    return next(each["cells"] for each in table["grids"][0]["rows"] if each["name"] == row)[0]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("value", 0.25, "0.25 in the tables, and 1 by the labels"),
        ("high", 0.9, "its upper end is 0.9 in the tables, and no value by the labels"),
        ("n", 7, "its n is 7 in the tables, and 2 by the labels"),
    ],
)
def test_a_changed_cell_is_named_with_its_table_row_and_column(
    release: Path, part: str, value: Any, said: str
) -> None:
    tables = read(release / TABLES)
    cell = cell_at(tables, "table-1", "oracle")
    cell[part] = value
    (release / TABLES).write_text(json.dumps(tables), "utf-8")
    (release / "tables/crux.md").write_text(as_markdown(tables), "utf-8")
    sign_again(release)
    assert verify(release).wrong == [f"tables of crux: Table 1, By people, oracle, Cov(Z): {said}"]


@pytest.mark.every_case
def test_a_changed_cell_of_the_text_is_named(release: Path) -> None:
    path = release / "tables/crux.md"
    lines = path.read_text("utf-8").split("\n")
    at = next(n for n, line in enumerate(lines) if line.startswith("| oracle "))
    lines[at] = lines[at].replace("100.0", "99.0", 1)
    path.write_text("\n".join(lines), "utf-8")
    sign_again(release)
    (line,) = verify(release).wrong
    assert line.startswith("tables of crux: Table 1, By people, oracle, Cov(Z): '99.0")
    assert " in tables/crux.md, and '100.0" in line


@pytest.mark.every_case
def test_a_row_that_was_taken_out_is_named(release: Path) -> None:
    tables = read(release / TABLES)
    rows = tables["tables"][0]["grids"][0]["rows"]
    rows[:] = [row for row in rows if row["name"] != "second"]
    (release / TABLES).write_text(json.dumps(tables), "utf-8")
    sign_again(release)
    missing = [line for line in verify(release).wrong if "no such cell in the tables" in line]
    assert missing[0].startswith("tables of crux: Table 1, By people, second, Cov(Z): ")


@pytest.mark.every_case
def test_a_label_that_was_changed_everywhere_no_longer_fits_the_tables(release: Path) -> None:
    """Even if it is changed in all forms, and the measures are computed anew from it."""
    folder = release / "campaigns/passages"
    lines = [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]
    for line in lines:
        if line["rater"] == "replay" and line["value"] == "5":
            line["value"] = "0"
    (folder / "labels.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    sign_again(release)
    wrong = verify(release).wrong
    assert any(re.match("tables of crux: Table 1, .* by the labels", line) for line in wrong), chr(
        10
    ).join(wrong)


@pytest.mark.every_case
@pytest.mark.parametrize("name", ["items.jsonl", "sampling.jsonl"])
def test_a_file_that_the_tables_need_is_missed(release: Path, name: str) -> None:
    (release / "campaigns/coverage" / name).unlink()
    wrong = verify(release).wrong
    assert f"campaigns/coverage/{name} is missing" in wrong
    assert f"campaign coverage: {name} is missing" in wrong
    (line,) = (line for line in wrong if line.startswith("tables of crux"))
    assert line.startswith("tables of crux cannot be filled again: ")
    assert f"{name}: is missing; restore the file" in line


@pytest.mark.every_case
def test_an_older_release_has_its_measures_compared_alone(release: Path) -> None:
    facts = read(release / "release.json")
    facts["form"] = 1
    for campaign in facts["campaigns"]:
        for name in ("items.jsonl", "sampling.jsonl"):
            (release / campaign["folder"] / name).unlink()
    (release / "release.json").write_text(json.dumps(facts), "utf-8")
    sums = release / "SHA256SUMS"
    kept = [
        line
        for line in sums.read_text().splitlines()
        if not line.endswith(("items.jsonl", "sampling.jsonl"))
    ]
    sums.write_text("".join(f"{line}\n" for line in kept))
    sign_again(release)
    found = verify(release)
    assert found.wrong == []
    (line,) = (line for line in found.checked if "tables" in line)
    assert "cells 0 are measures of a campaign (an older version's release has too little" in line


@pytest.mark.long
def test_the_command_fills_the_tables_without_django(release: Path) -> None:
    assert " were computed again" in verified_without_django(release)


@pytest.mark.every_case
def test_another_list_of_refusals_is_found(release: Path) -> None:
    (release / "options/refusals.toml").write_text('phrases = ["perhaps"]', "utf-8")
    sign_again(release)
    assert any("is not the list of refusals 'mine.toml (" in line for line in verify(release).wrong)


@pytest.mark.every_case
def test_tables_that_are_missing_are_found(release: Path) -> None:
    (release / TABLES).unlink()
    assert "tables of crux: a file is missing" in verify(release).wrong


@pytest.mark.long
def test_tokens_are_counted_again_with_the_users_tokenizer_alone(
    django_db_setup: None, django_db_blocker: Any, tmp_path: Path
) -> None:
    library = pytest.importorskip("tokenizers")
    made = library.Tokenizer(library.models.WordLevel({"?": 0}, unk_token="?"))
    made.pre_tokenizer = library.pre_tokenizers.Split("", "isolated")
    letters = tmp_path / "letters.json"
    made.save(str(letters))
    write_files(tmp_path)
    about = 'preset = "crux"\nlicence = "CC0-1.0"\noption = { tokenizer = "file:letters.json" }'
    (tmp_path / "study.toml").write_text(STUDY.replace('preset = "crux"', about), "utf-8")
    release = tmp_path / "release"
    with rolled_back(django_db_blocker):
        run("apply_study", tmp_path)
        run("freeze_study", tmp_path, "--output", release, "--resamples", "2")
    (without,) = (line for line in verify(release).checked if "tables" in line)
    assert re.search(r"again \(others need the tokenizer letters.json \(sha256", without)
    found = verify(release, f"file:{letters}")
    (line,) = (line for line in found.checked if "tables" in line)
    assert (found.wrong, "need the tokenizer" in line) == ([], False)
    tables = read(release / TABLES)
    cell_at(tables, "table-4", "tokens per passage")["value"] = 3.0
    (release / TABLES).write_text(json.dumps(tables), "utf-8")
    sign_again(release)
    wrong = [line for line in verify(release, f"file:{letters}").wrong if "in the tables" in line]
    assert wrong == [
        "tables of crux: Table 4, Statistics of the data set, tokens per passage, documents: "
        "3 in the tables, and 49 by the labels"
    ]
    assert not any("in the tables, and" in line for line in verify(release).wrong)
    made.pre_tokenizer = library.pre_tokenizers.Whitespace()
    made.save(str(letters))
    with pytest.raises(InputError, match="is not the tokenizer 'letters"):
        verify(release, f"file:{letters}")


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
        return check_measures(self.REPORT, measures)

    def test_the_same_value_passes_and_is_counted(self) -> None:
        assert self.checked(3.5) == TablesChecked([], 1, 2)

    def test_an_evaluator_of_several_campaigns_is_not_compared_with_the_texts(self) -> None:
        systems = {"one": {"people": None, "texts": {"value": 1.0}, "raters": {}}}
        measures = {"c": {"measures": {"Faithful": {"systems": systems}}}}
        joint = {"name": "ada", "judges": ["a", "b"], "declared": False}
        report = {**self.REPORT, "evaluators": [joint]}
        assert check_measures(report, measures) == TablesChecked([], 0, 2)

    @pytest.mark.parametrize(("value", "said"), [(2.5, "2.5"), (None, "no value")])
    def test_another_value_is_named_with_its_place(self, value: float | None, said: str) -> None:
        (line,) = self.checked(value).wrong
        assert line == f"Table 7, By ada, one, Faithful: 3.5, and {said} in measures.json of c"
