"""A printed figure stands beside ours only if everything that its table says is the same."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.models import Study
from analysis.papers.build import tables_of_material
from analysis.papers.index import PAPERS
from analysis.papers.published import Published, read_published
from analysis.papers.stored import StoredMaterial
from tandem.files.rows import InputError
from tandem.labels.selection import ReportOptions
from tandem.scores.options import TableOptions
from tests.analysis.papers.conftest import by_key
from tests.cast import run

pytestmark = [pytest.mark.django_db]

MADE_UP = """\
[[table]]
paper = "crux"
number = "1"
caption = "an invented table"
split = "documents = Invented, 2 queries"
judge = "replay, threshold 3; no human label"
units = "percent"
columns = ["system", "group", "documents Cov(Z)", "documents Cov(y)"]
rows = [
  ["first", "x", 99.1, 98],
  ["(#3) Oracle retrieval", "reference", 97.5, "-"],
  ["nobody", "x", 1, 2],
]

[[table]]
paper = "crux"
number = "text"
split = "Documents"
judge = "three crowd workers against replay"
columns = ["what", "value", "section"]
rows = [["Fleiss kappa, task 1", 0.123, "4.3"], ["something else", 7, "4.3"]]

[[table]]
paper = "clapnq"
number = "3"
columns = ["split", "questions"]
rows = [["Dev", 2]]
"""


def published(folder: Path, text: str) -> Published:
    path = folder / "printed.toml"
    path.write_text(text, "utf-8")
    return read_published(path)


@pytest.fixture(scope="module")
def filled(crux_study: str, django_db_blocker: Any) -> tuple[StoredMaterial, list[Any]]:
    with django_db_blocker.unblock():
        material = StoredMaterial(
            Study.objects.get(name=crux_study), "crux", ReportOptions(resamples=2),
            TableOptions.of("crux"),
        )  # fmt: skip
        return material, tables_of_material(PAPERS["crux"], material)["tables"]


@pytest.fixture
def place(filled: Any, tmp_path: Path) -> Any:
    """Return the printed figures by table and caption, and the note, for the text of a file."""

    def placed(text: str, **options: Any) -> tuple[dict[Any, Any], str]:
        material, tables = filled[0], deepcopy(filled[1])
        material.tables = TableOptions.of("crux").changed(options)
        material.__dict__.pop("chosen", None)
        (note,) = published(tmp_path, text).placed(PAPERS["crux"], tables, material)
        grids = {(t["key"], g["caption"]): g["printed"] for t in tables for g in t["grids"]}
        return {key: of for key, of in grids.items() if of}, note

    return placed


class TestPlace:
    def test_a_figure_stands_in_the_row_column_and_grid_that_it_is_of(self, place: Any) -> None:
        found, note = place(MADE_UP)
        assert found == {
            ("table-1", "By replay"): [
                {"row": "first", "column": "Cov(Z)", "value": 99.1},
                {"row": "first", "column": "Cov(y)", "value": 98.0},
                {"row": "oracle", "column": "Cov(Z)", "value": 97.5},
            ],
            ("figure-4", "documents: agreement of people"): [
                {"row": "Fleiss' κ", "column": "Value", "value": 0.123}
            ],
        }
        assert note.startswith("Printed figures: of 7 figures of CRUX in printed.toml (sha256 ")
        assert ", 4 found their place." in note

    @pytest.mark.parametrize(
        ("said", "other"),
        [
            ('"replay, threshold', '"another model, threshold'),
            ("threshold 3", "threshold 5"),
            ("2 queries", "50 queries"),
            ('"documents Cov(Z)"', '"mn Cov(Z)"'),
            ('"(#3) Oracle retrieval"', '"(#3) Oracle retrieval, cut"'),
        ],
    )
    def test_a_figure_of_something_else_is_not_shown(
        self, place: Any, said: str, other: str
    ) -> None:
        table, _, rest = MADE_UP.partition('[[table]]\npaper = "crux"\nnumber = "text"')
        del rest
        found, _ = place(table)
        changed = table.replace(said, other, 1)
        assert changed != table
        left, note = place(changed)
        lost = {"row": "oracle", "column": "Cov(Z)", "value": 97.5}
        assert lost in found["table-1", "By replay"]
        assert lost not in left.get(("table-1", "By replay"), [])
        assert f", {len(left.get(('table-1', 'By replay'), []))} found" in note

    def test_figures_at_another_threshold_are_not_those_of_the_table(self, place: Any) -> None:
        found, _ = place(MADE_UP, eta="5")
        assert ("table-1", "By replay") not in found

    def test_headings_that_are_swapped_in_print_are_put_right(self, place: Any) -> None:
        table = """\
[[table]]
paper = "crux"
number = "1"
judge = "replay, threshold 3"
columns = ["system"]
rows = []

[[table]]
paper = "crux"
number = "2"
split = "documents, the 3 retrieval settings of Table 1"
judge = "as Table 1"
columns = ["threshold", "Cov(y) mean", "Kendall tau"]
rows = [[5, 12.5, 0.25]]
"""
        found, _ = place(table)
        assert found == {
            ("table-2", "documents, by replay"): [
                {"row": "η = 5", "column": "Cov(Z)", "value": 12.5},
                {"row": "η = 5", "column": "τ", "value": 0.25},
            ]
        }
        assert place(table.replace("3 retrieval", "21 retrieval"))[0] == {}


def test_the_dev_row_of_clapnq_stands_in_the_grid_of_dev(tmp_path: Path) -> None:
    def grid(data: str, row: str) -> Any:
        columns = [{"name": "Questions", "scale": 1.0, "digits": 0}]
        return {"caption": data, "columns": columns, "rows": [{"name": row, "cells": [2]}],
                "printed": [], "judge": "", "data": data, "split": "", "settings": 0}  # fmt: skip

    paper = PAPERS["clapnq"]
    tables: list[Any] = [{"key": t.key, "grids": []} for t in paper.tables]
    train, dev = grid("clapnq-train", "train"), grid("clapnq-dev", "dev")
    next(t for t in tables if t["key"] == "table-3")["grids"] += [train, dev]
    material: Any = SimpleNamespace(batches=[], data_set=str, queries=list)
    published(tmp_path, MADE_UP).placed(paper, tables, material)
    assert train["printed"] == []
    assert dev["printed"] == [{"row": "dev", "column": "Questions", "value": 2.0}]


@pytest.mark.parametrize(
    ("said", "other", "line", "wrong"),
    [
        ("[[table]]", "x", 1, "it is not TOML"),
        ('number = "1"\n', "", 1, "number is missing; add number = …"),
        ('split = "doc', 'spilt = "doc', 5, "'spilt' is not a key of a printed table; did you"),
        ('judge = "replay', "judge = 3 #", 6, "judge is not text"),
        ('97.5, "-"],', "97.5],", 11, "row 2 has not one value for each of 4 columns"),
    ],
)
def test_an_error_names_the_line_and_the_mend(
    tmp_path: Path, said: str, other: str, line: int, wrong: str
) -> None:
    with pytest.raises(InputError) as caught:
        published(tmp_path, MADE_UP.replace(said, other, 1))
    assert f"printed.toml, line {line}: " in str(caught.value)
    assert wrong in str(caught.value)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a file of printed figures; write"):
        published(tmp_path, "a = 1")
    with pytest.raises(InputError, match="cannot be read"):
        read_published(tmp_path / "none.toml")


def test_the_command_shows_them_beside_ours(crux_study: str, tmp_path: Path) -> None:
    published(tmp_path, MADE_UP)
    text = run("paper", "crux", "--study", crux_study, "--resamples", "2",
               "--published", tmp_path / "printed.toml")  # fmt: skip
    assert "Cov(y), printed" in text
    assert "4 found their place" in text


def test_the_printed_figures_of_the_papers_are_read(data: Path) -> None:
    found = read_published(data / "published.toml")
    assert {table.paper for table in found.tables} == set(PAPERS)
    declared = {
        (p.name, each.number) for p in PAPERS.values() for t in p.tables for each in t.printed
    }
    assert declared <= {(table.paper, table.number) for table in found.tables}
    for table in found.tables:
        own = [
            each
            for t in PAPERS[table.paper].tables
            for each in t.printed
            if each.number == table.number
        ]
        for each in own:
            assert set(each.names) - {"system"} <= set(table.columns), (table.paper, table.number)


def test_none_of_them_stands_beside_a_made_up_study(
    filled: Any, data: Path, tmp_path: Path
) -> None:
    material, tables = filled[0], deepcopy(filled[1])
    (note,) = read_published(data / "published.toml").placed(PAPERS["crux"], tables, material)
    assert ", 0 found their place" in note
    assert all(
        not grid["printed"] for grids in by_key({"tables": tables}).values() for grid in grids
    )
