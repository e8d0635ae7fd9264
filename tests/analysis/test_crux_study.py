"""The CRUX study by the commands: what others computed from the same labels comes out here too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.conftest import PEOPLE, run

pytestmark = pytest.mark.django_db

SYSTEMS = ("oracle", "bm25", "dr_rankfirst")

Entries = dict[str, dict[str, Any]]


@pytest.fixture
def agreement(crux_report: dict[str, Any]) -> dict[str, Any]:
    block: dict[str, Any] = crux_report["variables"]["answerable"]["agreement"]
    return block


@pytest.fixture
def scores(crux_report: dict[str, Any]) -> dict[str, Any]:
    block: dict[str, Any] = crux_report["scores"]["coverage"]
    return block


class TestTheReport:
    """What the reference numbers do not say; they are in `test_reference_entries.py`."""

    @pytest.mark.parametrize(
        "key",
        ["percent", "fleiss_kappa", "fleiss_kappa_pooled", "randolph_kappa", "krippendorff_alpha",
         "gwet_ac"],
    )  # fmt: skip
    def test_every_coefficient_has_an_interval_over_the_ten_queries(
        self, agreement: dict[str, Any], key: str
    ) -> None:
        assert agreement[key]["low"] < agreement[key]["value"] < agreement[key]["high"]
        assert "10 queries" in agreement[key]["method"]

    @pytest.mark.parametrize("system", SYSTEMS)
    def test_the_setting_is_the_system_here(self, crux_report: dict[str, Any], system: str) -> None:
        strata = crux_report["variables"]["answerable"]["strata"]
        assert strata["system"][system] == strata["setting"][system]

    def test_coverage_of_each_report(self, scores: dict[str, Any], data: Path) -> None:
        tables = json.loads((data / "expected.json").read_text("utf-8"))["tables"]
        rows = tables["crux.t1.coverage"]
        assert len(scores["items"]) == len(rows) == 30
        for item in scores["items"]:
            row = rows[item["item"]]
            assert item["system"] == row["setting"]
            assert item["values"] == pytest.approx({p: row[p] for p in PEOPLE}, abs=1e-4)


def test_highlights_quote_the_report(crux: Any, expected: Entries) -> None:
    """What is one verbatim span stays one; joined ones are taken apart; all keep their words."""
    texts = {
        row["item"]: row["texts"]["report"]
        for row in map(json.loads, lines(run("export", "--campaign", crux.name, "--what", "units")))
    }
    spans = list(map(json.loads, lines(run("export", "--campaign", crux.name, "--what", "spans"))))
    highlights = {(s["rater"], s["item"], s["unit"]) for s in spans}
    for person in PEOPLE:
        nuggets = expected["crux.t1.nuggets"]["value"][person]["nuggets"]
        assert sum(1 for rater, _, _ in highlights if rater == person) == nuggets
    for span in spans:
        if span["start"] is not None:
            assert texts[span["item"]][span["start"] : span["end"]] == span["text"]
    assert sum(span["start"] is None for span in spans) <= 2


def lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line]


def test_loading_the_folder_twice_changes_nothing(crux: Any, data: Path) -> None:
    assert run("load_batch", str(data / "crux"), "--name", "crux").startswith("Nothing to do")
    path = str(data / "crux" / "annotations" / "annotator1" / "qlabels.jsonl")
    assert "Nothing to do for 435 labels" in run("import_labels", path, "--campaign", crux.name)
