"""No exported file runs a formula or markup in the program that opens it."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from django.urls import reverse

from analysis.evaluation.rendering import as_csv
from annotation.campaigns.design import Design
from annotation.exports.bundles import card, manifest
from tests.annotation.test_spreadsheet import is_run
from tests.cast import ROOT, Line
from tests.page_cast import client_of, study_of

pytestmark = [pytest.mark.django_db, pytest.mark.once]

FORMULAS = (
    '=HYPERLINK("//leak.example")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "＝1",
)


def line(n: int, text: str) -> Line:
    return {
        "id": f"{text}{n}",
        "text": text,
        "questions": [{"id": f"{text}{n}:q", "text": text}],
        "reports": [{"id": f"{text}{n}:r", "text": "It is so.", "system": text}],
    }


def test_no_cell_of_a_sample_is_a_formula(tmp_path: Path) -> None:
    study = study_of(
        "report-coverage", tmp_path, lines=[line(*each) for each in enumerate(FORMULAS)]
    )
    answer = client_of(study.rita).get(reverse("campaign-draws", args=[study.campaign.pk]))
    text = b"".join(answer).decode()
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert any(formula in cell for formula in FORMULAS for cell in cells)
    assert not [cell for cell in cells if is_run(cell)]


def test_every_csv_file_is_written_by_the_writer_that_defuses_formulas() -> None:
    """This holds for every export, present and future."""
    writing = re.compile(r"csv\.(writer|DictWriter)\(|\.to_csv\(|\bcsv import")
    apps = ("annotation", "analysis", "audit", "datasets", "judging", "tandem")
    found = [
        path.relative_to(ROOT).as_posix()
        for app in apps
        for path in (ROOT / app).rglob("*.py")
        if writing.search(path.read_text("utf-8"))
    ]
    assert found == ["tandem/files/spreadsheet.py"]


def test_no_system_name_is_a_formula_in_a_system_ranking() -> None:
    cell: Line = {
        "value": -0.5,
        "low": None,
        "high": None,
        "n": 3,
        "method": "-",
        "higher_than": [],
    }
    boards = [{"by": by, "kind": "human", "systems": {by: {"Cov": cell}}} for by in FORMULAS]
    measure: Line = {"cut": None, "slices": {}, "powered": {}, "settings": {}}
    measure |= {"evaluators": [], "forms": []}
    report = {"leaderboard": {"boards": boards}, "measures": {"Cov": measure}, "raters": []}
    rows = list(csv.DictReader(io.StringIO(as_csv(report), newline="")))
    assert len(rows) == len(FORMULAS)
    assert not [cell for row in rows for cell in (row["by"], row["system"]) if is_run(cell)]
    assert {row["value"] for row in rows} == {"-0.5"}


def test_no_code_breaks_the_table_of_a_card(tmp_path: Path) -> None:
    codes = ("a|b", "`x` <img src=x onerror=caught(1)>", "plain")
    study = study_of("question-typing", tmp_path, Design(variables=("category",), categories=codes))
    text = card(study.campaign, manifest(study.campaign, []))
    (row,) = [each for each in text.split("\n") if each.startswith("| `category`")]
    assert len(re.split(r"(?<!\\)\|", row)) == 6
    assert re.sub(r"`[^`]*`", "", row).count("<") == 0
