"""Exports as workbooks and as CSV for spreadsheets have the same rows as JSON Lines."""

from __future__ import annotations

import codecs
import hashlib
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
from django.core.management.base import CommandError

from annotation.exports import workbook
from annotation.exports.contents import EXPORTS, TABLE
from annotation.exports.workbook import CellError, xlsx_pieces
from tandem.files.rows import ReadNotes
from tandem.files.spelling import is_blank
from tandem.files.tables import open_table
from tests.annotation.test_spreadsheet import PAYLOADS
from tests.cast import Line, campaign_of, exported, run, write_lines

HOSTILE = (*PAYLOADS, "a\r\nb", "a\rb", "\x01\x07\x1b", "_x0041_", "_x000D_", "<b>&amp;", " x ",
           "\ufffe", "1", "007", "\u2028", "👩‍👩‍👧", "=1+1", "TRUE")  # fmt: skip


def written(path: Path, lines: list[Line], columns: tuple[str, ...]) -> Path:
    with path.open("wb") as file:
        file.writelines(xlsx_pieces("labels", columns, iter(lines)))
    return path


def cells(path: Path) -> list[list[Any]]:
    sheet = openpyxl.load_workbook(path).active
    return [[cell.value for cell in row] for row in sheet.iter_rows()]


@pytest.fixture
def answered(batch: Path, tmp_path: Path) -> str:
    campaign_of("report-coverage")
    spans = [{"field": "report", "text": "a"}]
    rows: list[Line] = [
        {"item": "r", "unit": unit, "variable": "answerable", "value": code, "rater": rater}
        for unit, code in (("🌉", "no"), ("a/b#1", "yes"))
        for rater in ("ann", "=1+1")
    ]
    rows[1] = {**rows[1], "spans": spans, "score": 0.25, "meta": {"k": [1, "é"]}}
    run("import_labels", write_lines(tmp_path / "in.jsonl", rows), "--campaign", "c")
    return "c"


def export(path: Path, what: str, *options: str, form: str = "xlsx") -> Path:
    arguments = ("--campaign", "c", "--what", what, "--format", form, "--output", path)
    run("export", *arguments, *options)
    return path


@pytest.mark.parametrize("what", ["labels", "responses", "spans", "units", "batch", "references"])
def test_a_workbook_has_the_rows_of_json_lines(answered: str, what: str, tmp_path: Path) -> None:
    head, *rows = cells(export(tmp_path / "x.xlsx", what))
    assert head == list(EXPORTS[what].columns)
    lines = exported("c", what)
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines, strict=True):
        for value, right in zip(row, map(line.get, head), strict=True):
            shown = json.loads(value) if isinstance(right, list | dict) else value
            assert shown == right


def test_every_table_comes_as_a_workbook() -> None:
    tables = [each for each in EXPORTS.values() if "csv" in each.forms]
    assert all("xlsx" in each.forms for each in tables)
    assert "xlsx" in TABLE


def test_a_workbook_is_imported_unchanged(answered: str, tmp_path: Path) -> None:
    path = export(tmp_path / "x.xlsx", "labels")
    said = run("import_labels", path, "--campaign", "c")
    assert said == "Nothing to do for 4 labels: they exist already.\n"


@pytest.mark.parametrize("text", HOSTILE)
def test_every_text_is_a_cell_of_text_and_read_back(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "x.xlsx", [{"a": "x", "b": text}], ("a", "b"))
    (_, (_, cell)) = openpyxl.load_workbook(path).active.iter_rows()
    assert cell.data_type == "s"
    ((_, row),) = open_table(path, ReadNotes()).rows
    assert row == ({"a": "x"} if is_blank(text) else {"a": "x", "b": text})


def test_numbers_and_truths_are_cells_of_their_own_type(tmp_path: Path) -> None:
    line = {"a": 1, "b": 0.30000000000000004, "c": True, "d": 2**70, "e": None, "f": -1e-7}
    path = written(tmp_path / "x.xlsx", [line], tuple(line))
    assert cells(path)[1] == [1, 0.30000000000000004, True, str(2**70), None, -1e-7]
    assert pd.read_excel(path)["a"].tolist() == [1]


def test_columns_beyond_the_alphabet_have_two_letters(tmp_path: Path) -> None:
    names = tuple(f"c{n}" for n in range(60))
    path = written(tmp_path / "x.xlsx", [dict.fromkeys(names, 1)], names)
    assert cells(path) == [list(names), [1] * 60]


def test_a_text_that_is_too_long_for_a_cell_is_refused(answered: str, tmp_path: Path) -> None:
    with pytest.raises(CellError, match="Cell A2 would have 32,768 characters"):
        written(tmp_path / "x.xlsx", [{"a": "x" * 32_768}], ("a",))
    written(tmp_path / "x.xlsx", [{"a": "x" * 32_767}], ("a",))


def test_the_command_says_so_and_leaves_no_file(
    answered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbook, "MAX_CHARACTERS", 10)
    with pytest.raises(CommandError, match="use --format csv, jsonl or parquet"):
        export(tmp_path / "out.xlsx", "labels")
    assert not (tmp_path / "out.xlsx").exists()


def test_more_rows_than_a_sheet_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook, "MAX_ROWS", 3)
    assert list(xlsx_pieces("t", ("a",), iter([{"a": 1}] * 2)))
    with pytest.raises(CellError, match="A sheet has at most 3 rows; use --format csv"):
        list(xlsx_pieces("t", ("a",), iter([{"a": 1}] * 3)))


def test_a_workbook_is_written_in_constant_memory() -> None:
    def lines(count: int) -> Iterator[Line]:
        return ({"a": f"text {n}", "b": n} for n in range(count))

    peaks = []
    for count in (2_000, 20_000):
        tracemalloc.start()
        for _ in xlsx_pieces("t", ("a", "b"), lines(count)):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def test_it_cannot_be_printed(batch: Path) -> None:
    campaign_of("report-coverage")
    with pytest.raises(CommandError, match="Excel workbook is a binary format and cannot be"):
        run("export", "--campaign", "c", "--what", "labels", "--format", "xlsx")


class TestByteOrderMark:
    def test_it_precedes_the_same_bytes_and_counts_in_the_manifest(
        self, answered: str, tmp_path: Path
    ) -> None:
        plain = export(tmp_path / "a.csv", "labels", form="csv").read_bytes()
        listed = tmp_path / "m.json"
        marked = export(
            tmp_path / "b.csv", "labels", "--bom", "--manifest", str(listed), form="csv"
        ).read_bytes()
        assert not plain.startswith(codecs.BOM_UTF8)
        assert marked == codecs.BOM_UTF8 + plain
        (file,) = json.loads(listed.read_text("utf-8"))["files"]
        assert (file["bytes"], file["sha256"]) == (len(marked), hashlib.sha256(marked).hexdigest())

    def test_such_a_file_is_imported(self, answered: str, tmp_path: Path) -> None:
        path = export(tmp_path / "b.csv", "labels", "--bom", form="csv")
        said = run("import_labels", path, "--campaign", "c")
        assert said == "Nothing to do for 4 labels: they exist already.\n"

    @pytest.mark.parametrize(("what", "form"), [("labels", "jsonl"), ("all", "csv")])
    def test_it_goes_with_csv_alone(
        self, answered: str, tmp_path: Path, what: str, form: str
    ) -> None:
        with pytest.raises(CommandError, match="--bom goes with --format csv and a single export"):
            export(tmp_path / "x", what, "--bom", form=form)
