"""Examples of `formats.md`: scripts outside rely on these keys, columns and commands for good.

`batch.jsonl` has every key of the native batch file, `labels.jsonl` and `labels.csv` every column
of the labels file, and `report.json` every block of the report, with the numbers that these labels
give. Keys may be added; none may be renamed or go.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from django.core.management import call_command

from datasets.models import Batch

HERE = Path(__file__).parent
BATCH, LABELS, LABELS_CSV = HERE / "batch.jsonl", HERE / "labels.jsonl", HERE / "labels.csv"
REPORT = HERE / "report.json"

BATCH_KEYS = {
    "": "id text asked_at questions passages key_points reports rankings references meta",
    "questions": "id text weight meta",
    "passages": "id text title source published_at age sentences relevant meta",
    "key_points": "id text passage spans score meta",
    "reports": "id text system setting context citations sentences deflected meta",
    "rankings": "system passages",
    "references": "text citations deflected meta",
}
COLUMNS = (
    "campaign protocol item unit kind variable value missing rater rater_kind replicate created_at "
    "revision seconds score spans assisted_by batch query system setting meta"
)
ESTIMATE = {"value", "low", "high", "n", "method"}
AGREEMENT = [
    "percent",
    "fleiss_kappa",
    "fleiss_kappa_pooled",
    "randolph_kappa",
    "krippendorff_alpha",
    "gwet_ac",
]
PAIR = ["percent", "cohen_kappa", "cohen_kappa_linear", "cohen_kappa_quadratic", "spearman"]


def lines(path: Path) -> list[dict[str, Any]]:
    text = path.read_bytes().decode("utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def ferries(db: None) -> str:
    run("load_batch", str(BATCH), "--name", "ferries")
    options = ("--raters-per-item", "3", "--option", "variables=answerable,rating")
    run("create_campaign", "ferries", "--protocol", "report-coverage", "--batch", "ferries",
        *options)  # fmt: skip
    return "ferries"


@pytest.mark.every_case
@pytest.mark.parametrize("part", BATCH_KEYS)
def test_the_example_batch_has_every_key(part: str) -> None:
    rows = [row for line in lines(BATCH) for row in ([line] if part == "" else line.get(part, []))]
    assert {key for row in rows for key in row} == set(BATCH_KEYS[part].split())


def test_the_example_labels_have_every_column() -> None:
    assert {key for line in lines(LABELS) for key in line} == set(COLUMNS.split())
    assert LABELS_CSV.read_text("utf-8").split("\n")[0] == COLUMNS.replace(" ", ",")


def test_a_batch_is_exported_as_it_was_loaded(ferries: str) -> None:
    exported = run("export", "--campaign", ferries, "--what", "batch")
    assert exported.encode() == BATCH.read_bytes()


@pytest.mark.parametrize("path", [LABELS, LABELS_CSV], ids=["jsonl", "csv"])
def test_labels_are_exported_as_they_were_imported(ferries: str, path: Path) -> None:
    run("import_labels", str(path), "--campaign", ferries)
    exported = run("export", "--campaign", ferries, "--what", "labels").split("\n")
    assert sorted(exported) == sorted(LABELS.read_text("utf-8").split("\n"))


def test_labels_in_csv_are_exported_as_they_were_imported(ferries: str) -> None:
    run("import_labels", str(LABELS), "--campaign", ferries)
    exported = run("export", "--campaign", ferries, "--what", "labels", "--format", "csv")
    assert sorted(exported.split("\n")) == sorted(LABELS_CSV.read_text("utf-8").split("\n"))


def test_loading_twice_changes_nothing_and_says_so(ferries: str) -> None:
    digest = Batch.objects.get(name="ferries").digest
    assert run("load_batch", str(BATCH), "--name", "ferries").startswith("Nothing to do")
    assert Batch.objects.get(name="ferries").digest == digest
    run("import_labels", str(LABELS), "--campaign", ferries)
    again = run("import_labels", str(LABELS_CSV), "--campaign", ferries)
    assert again.startswith(f"Nothing to do for {len(lines(LABELS))} labels")


def test_the_units_export_lists_every_asked_unit(ferries: str) -> None:
    units = [
        json.loads(x)
        for x in run("export", "--campaign", ferries, "--what", "units").split("\n")
        if x
    ]
    assert set(units[0]) == {"item", "unit", "kind", "query", "system", "variables", "texts"}
    assert units[0]["variables"] == ["answerable", "rating"]
    first = lines(BATCH)[0]["reports"][0]
    assert units[0]["texts"] == {"report": first["text"]}


def test_the_report_of_the_example_labels_is_the_example_report(db: None) -> None:
    report = json.loads(run("report", "--labels", str(LABELS)))
    expected = json.loads(REPORT.read_text("utf-8"))
    report["generated_at"] = expected["generated_at"]
    report["version"] = expected["version"]
    assert_same(report, expected, "report")


def test_a_campaign_and_its_labels_file_give_the_same_numbers(ferries: str) -> None:
    run("import_labels", str(LABELS), "--campaign", ferries)
    report = json.loads(run("report", "--campaign", ferries))
    expected = json.loads(REPORT.read_text("utf-8"))
    assert (report["campaign"], report["batch"]) == ("ferries", "ferries")
    for judge in judges_of(expected["variables"]):
        # A labels file has no texts, in which a campaign's floor looks for words.
        assert judge.pop("floor")["gap"]["value"] is None
    assert all(judge["floor"]["gap"]["n"] for judge in judges_of(report["variables"]))
    for block in ("variables", "scores", "raters"):
        assert_same(report[block], expected[block], block)


@pytest.mark.parametrize("name", ["json", "md", "csv", "latex", "html"])
def test_the_report_comes_in_each_format(name: str) -> None:
    assert "answerable" in run(
        "report", "--labels", str(LABELS), "--resamples", "20", "--format", name
    )


def test_labels_are_exported_as_parquet_too(ferries: str, tmp_path: Path) -> None:
    run("import_labels", str(LABELS), "--campaign", ferries)
    path = tmp_path / "labels.parquet"
    run("export", "--campaign", ferries, "--what", "labels", "--format", "parquet",
        "--output", str(path))  # fmt: skip
    table = pyarrow.parquet.read_table(path)
    assert table.schema.names == COLUMNS.split()
    assert table.num_rows == len(lines(LABELS))


def judges_of(variables: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every judge's block, within strata too."""
    for block in variables.values():
        groups = [part for parts in block["strata"].values() for part in parts.values()]
        for each in (block, *groups):
            yield from each["judges"].values()


def assert_same(found: Any, expected: Any, where: str) -> None:
    """Check that two values are equal, apart from added keys and the last bits of numbers."""
    if isinstance(expected, dict):
        assert set(expected) <= set(found), where
        for key in expected:
            assert_same(found[key], expected[key], f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for number, pair in enumerate(zip(found, expected, strict=True)):
            assert_same(*pair, f"{where}[{number}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, abs=1e-9), where
    else:
        assert found == expected, where


class TestTheExampleReport:
    """The keys of section 4, written out again here, so that the example cannot drift."""

    report = json.loads(REPORT.read_text("utf-8"))

    def test_the_report_describes_its_input_and_its_raters(self) -> None:
        head = "campaign protocol batch generated_at version seed resamples raters variables scores"
        assert set(head.split()) <= set(self.report)
        assert all(
            {"name", "kind", "responses", "labels", "excluded"} <= set(r)
            for r in self.report["raters"]
        )

    @pytest.mark.parametrize("variable", ["answerable", "rating"])
    def test_the_report_has_every_block_of_a_variable(self, variable: str) -> None:
        block = self.report["variables"][variable]
        keys = "measurement categories escapes agreement judges strata"
        assert set(keys.split()) <= set(block)
        for part in (block, *block["strata"]["system"].values()):
            check_agreement(part["agreement"])
            for judge in part["judges"].values():
                check_judge(judge)

    def test_ratings_have_thresholds_and_correlations(self) -> None:
        judge = self.report["variables"]["rating"]["judges"]["model-x"]
        assert [row["threshold"] for row in judge["thresholds"]] == [1, 2, 3, 4, 5]
        for row in judge["thresholds"]:
            assert_estimates(row, ["cohen_kappa", "precision", "recall"])
        assert judge["correlation"]["spearman"]["value"] is not None

    def test_the_alternative_test_counts_by_items_and_by_queries(self) -> None:
        test = self.report["variables"]["answerable"]["judges"]["model-x"]["alt_test"]
        keys = "epsilon winning_rate advantage_probability annotators by_query decides"
        assert set(keys.split()) <= set(test)
        assert all({"name", "n", "p_value", "wins"} <= set(a) for a in test["annotators"])
        assert {"winning_rate", "advantage_probability"} <= set(test["by_query"])
        assert test["decides"] in ("by_query", "items")

    def test_the_report_has_every_block_of_a_score(self) -> None:
        block = self.report["scores"]["coverage"]
        assert {"items", "systems", "pairs", "correlation", "estimate"} <= set(block)
        assert all({"item", "query", "system", "values"} <= set(i) for i in block["items"])
        for values in block["systems"].values():
            assert_estimates(values, list(values))
        for pair in block["pairs"]:
            assert_estimates(pair, ["spearman", "kendall"])
        for judge in block["correlation"].values():
            assert "mean" in judge
            for each in judge.values():
                assert_estimates(each, ["spearman", "kendall"])
        for system in block["estimate"].values():
            assert_estimates(system, ["humans", "judge", "prediction_powered"])
            assert "effective_labels" in system

    def test_an_undefined_number_is_null_with_a_reason(self) -> None:
        undefined = [e for e in estimates(self.report) if e["value"] is None]
        assert undefined
        assert all(e["reason"] and e["low"] is None and e["high"] is None for e in undefined)

    def test_no_number_is_nan_or_infinite(self) -> None:
        text = REPORT.read_text("utf-8")
        assert "NaN" not in text
        assert "Infinity" not in text


def check_agreement(block: dict[str, Any]) -> None:
    assert {"units", "raters", "pairs"} <= set(block)
    assert_estimates(block, AGREEMENT)
    for pair in block["pairs"]:
        assert {"a", "b", "units"} <= set(pair)
        assert_estimates(pair, PAIR)


def check_judge(block: dict[str, Any]) -> None:
    keys = "reference units ties missing agreement classes confusion pairs human_ceiling"
    assert set(keys.split()) | {"correlation", "thresholds", "alt_test"} <= set(block)
    assert_estimates(block["agreement"], ["cohen_kappa", "percent", "krippendorff_alpha"])
    for scores in block["classes"].values():
        assert_estimates(scores, ["precision", "recall", "f1"])
        assert isinstance(scores["support"], int)
    assert {"labels", "matrix"} == set(block["confusion"])
    assert {"gap", "judge_minus_floor", "passes", "largest_epsilon_failed"} <= set(block["floor"])
    assert_estimates(block["floor"], ["gap", "judge_minus_floor"])
    for pair in (*block["pairs"].values(), block["human_ceiling"], block["gap"]):
        assert_estimates(pair, ["cohen_kappa", "percent"])
    assert_estimates(block["correlation"], ["spearman", "kendall", "pearson"])


def assert_estimates(block: dict[str, Any], names: list[str]) -> None:
    for name in names:
        expected = ESTIMATE if block[name]["value"] is not None else ESTIMATE | {"reason"}
        assert set(block[name]) == expected, name


def estimates(part: Any) -> Iterator[dict[str, Any]]:
    """Every estimate anywhere in a report."""
    if isinstance(part, dict):
        if set(part) >= ESTIMATE:
            yield part
        for value in part.values():
            yield from estimates(value)
    elif isinstance(part, list):
        for value in part:
            yield from estimates(value)
