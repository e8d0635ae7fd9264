"""The CRUX study by the commands: the labels give the figures that others computed."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.conftest import PEOPLE, run

pytestmark = [pytest.mark.django_db, pytest.mark.every_case]

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


@pytest.fixture(scope="module")
def measures(crux: Any, django_db_blocker: Any) -> dict[str, Any]:
    with django_db_blocker.unblock():
        text = run("measures", "--campaign", crux.name, "--resamples", "2")
    found: dict[str, Any] = json.loads(text)["measures"]
    return found


class TestReport:
    """Figures that are not among the reference numbers of `test_reference_entries.py`."""

    @pytest.mark.parametrize(
        "key",
        [
            "percent",
            "fleiss_kappa",
            "fleiss_kappa_pooled",
            "randolph_kappa",
            "krippendorff_alpha",
            "gwet_ac",
        ],
    )
    def test_every_coefficient_has_an_interval_over_the_ten_queries(
        self, agreement: dict[str, Any], key: str
    ) -> None:
        assert agreement[key]["low"] < agreement[key]["value"] < agreement[key]["high"]
        assert "10 queries" in agreement[key]["method"]

    @pytest.mark.parametrize("system", SYSTEMS)
    def test_the_retrieval_setting_is_shown_as_the_system(
        self, crux_report: dict[str, Any], system: str
    ) -> None:
        strata = crux_report["variables"]["answerable"]["strata"]
        assert strata["system"][system] == strata["setting"][system]

    def test_coverage_of_each_report_is_that_computed_elsewhere(
        self, scores: dict[str, Any], data: Path
    ) -> None:
        tables = json.loads((data / "expected.json").read_text("utf-8"))["tables"]
        rows = tables["crux.t1.coverage"]
        assert len(scores["items"]) == len(rows) == 30
        for item in scores["items"]:
            row = rows[item["item"]]
            assert item["system"] == row["setting"]
            assert item["values"] == pytest.approx({p: row[p] for p in PEOPLE}, abs=1e-4)


class TestEvidence:
    """Three people marked why a report answers a question."""

    def test_the_report_says_how_far_the_evidence_of_people_agrees(
        self, crux_report: dict[str, Any]
    ) -> None:
        found = crux_report["variables"]["answerable"]["spans"]["agreement"]
        assert found["documents"] > found["both_marked"]["documents"] > 100
        every = {name: each["value"] for name, each in found["all"].items()}
        assert every["exact_f1"] <= every["iou_f1"] <= every["overlap_f1"]
        assert 0 < every["token_alpha"] < every["character_f1"]
        assert 0 < every["unitising_alpha"] < 1
        assert 0 < every["binary_unitising_alpha"] < every["character_f1"]

    def test_character_f1_equals_that_of_the_exported_spans(
        self, crux: Any, crux_report: dict[str, Any]
    ) -> None:
        lines = run("export", "--campaign", crux.name, "--what", "spans").splitlines()
        marked: dict[tuple[str, str], dict[str, set[int]]] = {}
        for row in map(json.loads, lines):
            if row["start"] is not None:
                of = marked.setdefault((row["item"], row["unit"]), {})
                of.setdefault(row["rater"], set()).update(range(row["start"], row["end"]))
        means = []
        for raters in marked.values():
            pairs = [
                (raters[a], raters[b])
                for a, b in combinations(PEOPLE, 2)
                if a in raters and b in raters
            ]
            if pairs:
                f1 = [2 * len(a & b) / (len(a) + len(b)) for a, b in pairs]
                means.append(np.mean(f1))
        both = crux_report["variables"]["answerable"]["spans"]["agreement"]["both_marked"]
        assert both["documents"] == len(means)
        assert both["character_f1"]["value"] == pytest.approx(np.mean(means))

    def test_a_labels_file_gives_the_same_agreement_on_evidence(
        self, crux: Any, crux_report: dict[str, Any], tmp_path: Path
    ) -> None:
        path = tmp_path / "labels.jsonl"
        run("export", "--campaign", crux.name, "--what", "labels", "--output", str(path))
        found = json.loads(run("report", "--labels", str(path), "--resamples", "10"))
        here, there = (
            each["variables"]["answerable"]["spans"]["agreement"] for each in (found, crux_report)
        )
        assert here["both_marked"] == there["both_marked"]
        assert here["all"]["character_f1"] == there["all"]["character_f1"]


class TestMeasures:
    """The `measures` command on the released labels."""

    @pytest.mark.parametrize("setting", SYSTEMS)
    def test_coverage_of_reports_by_each_person_is_the_published_one(
        self, setting: str, measures: dict[str, Any], expected: dict[str, dict[str, Any]]
    ) -> None:
        options_as_json = expected[f"crux.t1.coverage_mean.{setting}"]
        raters = measures["Cov(y)"]["systems"][setting]["raters"]
        for person in PEOPLE:
            found = raters[person]["value"]
            assert found == pytest.approx(
                options_as_json["value"][person], abs=options_as_json["tolerance"]
            )

    @pytest.mark.parametrize("setting", SYSTEMS)
    def test_coverage_by_the_majority_is_the_published_one(
        self, setting: str, measures: dict[str, Any], expected: dict[str, dict[str, Any]]
    ) -> None:
        options_as_json = expected["crux.t1.majority_coverage_mean"]
        found = measures["Cov(y)"]["systems"][setting]["people"]["value"]
        assert found == pytest.approx(
            options_as_json["value"][setting], abs=options_as_json["tolerance"]
        )


def test_highlights_quote_the_report(crux: Any, expected: Entries) -> None:
    """A verbatim span stays one span, a joined one is split, and all keep their words."""
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


@pytest.mark.django_db
@pytest.mark.every_case
def test_on_the_crux_study_ten_queries_decide_nothing(crux: Any) -> None:
    """The baseline has κ .354 with the majority, and people have κ .518 with each other."""
    run("create_judge", "words", "--backend", "lexical")
    run("run_judge", "--campaign", crux.name, "--judge", "words")
    report = json.loads(run("report", "--campaign", crux.name, "--resamples", "20"))
    found = report["variables"]["answerable"]["judges"]["words"]
    assert found["floor"]["agreement"]["cohen_kappa"]["value"] == pytest.approx(0.354, abs=5e-4)
    assert found["human_ceiling"]["cohen_kappa"]["value"] == pytest.approx(0.518, abs=5e-4)
    # Kappas with the three people .271, .368 and .380, each on 435 units: mean .340.
    assert found["floor"]["gap"]["value"] == pytest.approx(0.340 - 0.518, abs=1e-3)
    assert found["floor"]["passes"] is None
    assert found["floor"]["reason"] == "cannot be decided with 10 queries; at least 18 are needed"
    assert (found["alt_test"]["verdict"], found["alt_test"]["queries_needed"]) == ("undecided", 18)
