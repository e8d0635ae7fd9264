"""The CRUX study by the commands: what others computed from the same labels comes out here too."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from analysis.measures.coverage import coverage
from analysis.sources import campaign_frame
from analysis.statistics import majority, wilcoxon_signed_rank
from tests.analysis.conftest import PEOPLE, run

pytestmark = pytest.mark.django_db

SYSTEMS = ("oracle", "bm25", "dr_rankfirst")
PAIRS = [f"{a}-{b}" for a, b in combinations(PEOPLE, 2)]

Entries = dict[str, dict[str, Any]]


def assert_expected(entry: dict[str, Any], found: Any) -> None:
    value, tolerance = entry["value"], entry["tolerance"] or 1e-12
    assert found == pytest.approx(value, abs=tolerance), entry["id"]


@pytest.fixture
def agreement(crux_report: dict[str, Any]) -> dict[str, Any]:
    block: dict[str, Any] = crux_report["variables"]["answerable"]["agreement"]
    return block


@pytest.fixture
def scores(crux_report: dict[str, Any]) -> dict[str, Any]:
    block: dict[str, Any] = crux_report["scores"]["coverage"]
    return block


class TestTheReport:
    """Every crux.t1 entry that the report expresses."""

    def test_pairs(self, agreement: dict[str, Any], expected: Entries) -> None:
        assert agreement["units"] == expected["crux.t1.pairs"]["value"]["asked"] == 435
        assert agreement["raters"] == 3

    @pytest.mark.parametrize(
        ("entry", "key"),
        [
            ("fleiss_kappa", "fleiss_kappa"),
            ("fleiss_kappa", "fleiss_kappa_pooled"),
            ("randolph_kappa", "randolph_kappa"),
            ("krippendorff_alpha_nominal", "krippendorff_alpha"),
            ("gwet_ac1", "gwet_ac"),
            ("percent_agreement_mean", "percent"),
        ],
    )
    def test_coefficients(
        self, agreement: dict[str, Any], expected: Entries, entry: str, key: str
    ) -> None:
        assert_expected(expected[f"crux.t1.{entry}"], agreement[key]["value"])
        assert agreement[key]["low"] < agreement[key]["value"] < agreement[key]["high"]
        assert "10 queries" in agreement[key]["method"]

    def test_wrong_readings_are_not_met(self, agreement: dict[str, Any], expected: Entries) -> None:
        wrong = [e["value"] for name, e in expected.items() if name.startswith("crux.t1.wrong.")]
        assert wrong
        assert all(abs(agreement["fleiss_kappa"]["value"] - value) > 0.01 for value in wrong)

    @pytest.mark.parametrize(
        ("entry", "key"), [("cohen_kappa", "cohen_kappa"), ("percent_agreement", "percent")]
    )
    def test_pairs_of_people(
        self, agreement: dict[str, Any], expected: Entries, entry: str, key: str
    ) -> None:
        found = {f"{p['a']}-{p['b']}": p[key]["value"] for p in agreement["pairs"]}
        assert_expected(expected[f"crux.t1.{entry}"], found)
        if entry == "cohen_kappa":
            mean = sum(found.values()) / len(found)
            assert_expected(expected["crux.t1.cohen_kappa_mean"], mean)

    @pytest.mark.parametrize("system", SYSTEMS)
    def test_agreement_by_setting(
        self, crux_report: dict[str, Any], expected: Entries, system: str
    ) -> None:
        strata = crux_report["variables"]["answerable"]["strata"]
        for name in ("system", "setting"):
            block = strata[name][system]["agreement"]
            found = {
                "n": block["units"],
                "fleiss_kappa": block["fleiss_kappa"]["value"],
                "krippendorff_alpha_nominal": block["krippendorff_alpha"]["value"],
                "percent_agreement_mean": block["percent"]["value"],
            }
            assert_expected(expected[f"crux.t1.by_setting.{system}"], found)

    @pytest.mark.parametrize("system", SYSTEMS)
    def test_coverage_by_system(
        self, scores: dict[str, Any], expected: Entries, system: str
    ) -> None:
        found = {p: scores["systems"][system][p]["value"] for p in PEOPLE}
        found["all"] = scores["systems"][system]["mean"]["value"]
        assert_expected(expected[f"crux.t1.coverage_mean.{system}"], found)
        assert scores["systems"][system]["mean"]["n"] == 10

    @pytest.mark.parametrize(
        ("entry", "key"),
        [("coverage_spearman", "spearman"), ("coverage_kendall_tau_b", "kendall")],
    )
    def test_rankings_of_reports(
        self, scores: dict[str, Any], expected: Entries, entry: str, key: str
    ) -> None:
        found = {f"{p['a']}-{p['b']}": p[key]["value"] for p in scores["pairs"]}
        assert_expected(expected[f"crux.t1.{entry}"], found)

    def test_coverage_of_each_report(self, scores: dict[str, Any], data: Path) -> None:
        tables = json.loads((data / "expected.json").read_text("utf-8"))["tables"]
        rows = tables["crux.t1.coverage"]
        assert len(scores["items"]) == len(rows) == 30
        for item in scores["items"]:
            row = rows[item["item"]]
            assert item["system"] == row["setting"]
            assert item["values"] == pytest.approx({p: row[p] for p in PEOPLE}, abs=1e-4)


@pytest.fixture(scope="module")
def columns(crux: Any) -> dict[str, Any]:
    """The labels as columns: codes of the three people, and coverage of the 30 reports."""
    frame = campaign_frame(crux)
    labels = frame.variables["answerable"]
    return {
        "frame": frame,
        "labels": labels,
        "codes": labels.of("human"),
        "coverage": coverage(labels, len(frame.items)),
        "system": np.array([item.system for item in frame.items]),
    }


class TestTheLabels:
    """The other crux.t1 entries, on the columns that the report is made of."""

    def test_label_counts(self, columns: dict[str, Any], expected: Entries) -> None:
        codes = columns["codes"]
        found = {
            person: {"-2": 450 - len(codes), "0": int((codes[:, n] == 1).sum()),
                     "1": int((codes[:, n] == 0).sum())}
            for n, person in enumerate(PEOPLE)
        }  # fmt: skip
        assert found == expected["crux.t1.label_counts"]["value"]

    def test_shares(self, columns: dict[str, Any], expected: Entries) -> None:
        codes = columns["codes"]
        unanimous = (codes == codes[:, :1]).all(axis=1).mean()
        assert_expected(expected["crux.t1.unanimous_share"], float(unanimous))
        positive = {p: float((codes[:, n] == 0).mean()) for n, p in enumerate(PEOPLE)}
        assert_expected(expected["crux.t1.positive_share"], positive)

    def test_coverage_over_fifteen(self, columns: dict[str, Any], expected: Entries) -> None:
        over15 = self.over15(columns)
        for system in SYSTEMS:
            rows = over15[columns["system"] == system]
            found = {p: float(rows[:, n].mean()) for n, p in enumerate(PEOPLE)}
            found["all"] = float(rows.mean())
            assert_expected(expected[f"crux.t1.coverage_mean_over15.{system}"], found)

    @pytest.mark.parametrize(
        ("name", "function"),
        [
            ("spearman", stats.spearmanr),
            ("kendall_tau_b", stats.kendalltau),
            ("pearson", stats.pearsonr),
        ],
    )
    @pytest.mark.parametrize("over", ["", "_over15"])
    def test_correlations(
        self, columns: dict[str, Any], expected: Entries, name: str, function: Any, over: str
    ) -> None:
        values = self.over15(columns) if over else columns["coverage"]
        found = {
            pair: float(function(values[:, a], values[:, b]).statistic)
            for pair, (a, b) in zip(PAIRS, combinations(range(3), 2), strict=True)
        }
        assert_expected(expected[f"crux.t1.coverage_{name}{over}"], found)

    def test_majority_coverage(self, columns: dict[str, Any], expected: Entries) -> None:
        reference, ties = majority(columns["codes"])
        assert not ties.any()
        items = columns["labels"].units.item
        shares = np.array([(reference[items == n] == 0).mean() for n in range(30)])
        found = {s: float(shares[columns["system"] == s].mean()) for s in SYSTEMS}
        assert_expected(expected["crux.t1.majority_coverage_mean"], found)

    def test_difference_of_settings(self, columns: dict[str, Any], expected: Entries) -> None:
        mean = columns["coverage"].mean(axis=1)
        of = {s: self.by_topic(columns, mean, s) for s in SYSTEMS}
        for system in ("bm25", "dr_rankfirst"):
            differences = of["oracle"] - of[system]
            test = wilcoxon_signed_rank(differences)
            found = {
                "mean_difference": test.difference.value,
                "wilcoxon_p_two_sided": test.p_value,
                "oracle_higher_in": int((differences > 0).sum()),
            }
            entry = expected["crux.t1.setting_difference"]
            assert found == pytest.approx(entry["value"][system], abs=entry["tolerance"])

    def test_stored_coverage_differs(
        self, columns: dict[str, Any], expected: Entries, data: Path
    ) -> None:
        found = 0
        names = [item.key for item in columns["frame"].items]
        over15 = self.over15(columns)
        for n, person in enumerate(PEOPLE):
            path = data / "crux" / "annotations" / person / "qlabels.jsonl"
            for line in path.read_text("utf-8").split("\n"):
                if line:
                    row = json.loads(line)
                    ours = over15[names.index(row["id"]), n]
                    found += abs(row["coverage"] - ours) > 1e-6
        assert_expected(expected["crux.t1.stored_coverage_differs_count"], found)

    @staticmethod
    def over15(columns: dict[str, Any]) -> Any:
        """Coverage with null questions in the denominator, as the released tool stored it."""
        labels = columns["labels"]
        yes = np.zeros((30, 3))
        np.add.at(yes, labels.units.item, columns["codes"] == 0)
        return yes / 15

    @staticmethod
    def by_topic(columns: dict[str, Any], values: Any, system: str) -> Any:
        topics = np.array([item.query for item in columns["frame"].items])
        chosen = columns["system"] == system
        return values[chosen][np.argsort(topics[chosen])]


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
