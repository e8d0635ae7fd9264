"""`import tandem` gives the numbers of the command, over any table, without Django."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tandem
from tandem.files.rows import InputError
from tandem.labels.selection import ReportOptions, UnknownOptionError
from tandem.labels_report import labels_report
from tandem.statistics import alt_test, krippendorff_alpha, ppi_mean
from tests.cast import ROOT
from tests.program.labels import JUDGES, PEOPLE, file_of, rows

pytestmark = pytest.mark.once
ROWS = rows()
JSON = dict[str, Any]

WITHOUT_DJANGO = """\
import json, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("django", "rest_framework", "celery", "environ"):
            raise ImportError(f"{name} is not installed here")

sys.meta_path.insert(0, Blocked())
import tandem
from tandem.crosscheck import process
from tandem.program.main import main
process.IS_ON = False
rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
report = tandem.report(rows, resamples=50)
report._repr_html_()
print(json.dumps(report.json))
print(json.dumps(tandem.report(sys.argv[1], resamples=50).json))
assert not {"django", "celery"} & set(sys.modules)
process.IS_ON = True
sys.exit(main(["report", sys.argv[1], "--resamples", "50", "--output", sys.argv[2]]))
"""


def without_time(report: JSON) -> JSON:
    """Return a report without its time and without the check by other libraries."""
    return {name: of for name, of in report.items() if name not in ("generated_at", "check")}


@pytest.fixture(scope="module")
def report() -> tandem.Report:
    return tandem.report(ROWS, resamples=50)


def test_the_library_needs_no_django_and_gives_the_numbers_of_the_command(tmp_path: Path) -> None:
    path, output = file_of(tmp_path, ROWS), tmp_path / "report.json"
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DJANGO, path, output],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    by_command = without_time(
        json.loads(json.dumps(labels_report([path], {}, ReportOptions(resamples=50))))
    )
    written = [*map(json.loads, done.stdout.splitlines()), json.loads(output.read_text("utf-8"))]
    assert len(written) == 3
    assert all(without_time(each) == by_command for each in written)


TABLES = {
    "pandas": pd.DataFrame,
    "arrow": pa.Table.from_pylist,
    "rows": list,
    "an iterator": iter,
}


@pytest.mark.every_case
@pytest.mark.parametrize("kind", TABLES)
def test_any_table_gives_the_same_report(kind: str, report: tandem.Report) -> None:
    columns = list(dict.fromkeys(name for row in ROWS for name in row))
    whole = [{name: row.get(name) for name in columns} for row in ROWS]
    assert without_time(tandem.report(TABLES[kind](whole), resamples=50).json) == without_time(
        report.json
    )


def test_a_data_frame_may_contain_codes_and_names_as_numbers() -> None:
    made = rows(20, ("rating",))
    frame = pd.DataFrame(made)
    frame["value"] = pd.to_numeric(frame["value"])
    frame["query"] = frame["query"].str[1:].astype(int)
    frame["replicate"] = 0.0
    texts = [{**row, "query": row["query"][1:]} for row in made]
    levels = {"rating": "ordinal"}
    by_frame, by_texts = (
        tandem.report(table, levels=levels, resamples=20)  # type: ignore[arg-type]
        for table in (frame, texts)
    )
    assert without_time(by_frame.json) == without_time(by_texts.json)


class TestAReport:
    def test_a_number_has_its_interval_units_and_method(self, report: tandem.Report) -> None:
        alpha = report["answerable"].alpha
        block = report.json["variables"]["answerable"]["agreement"]["krippendorff_alpha"]
        assert (alpha.value, alpha.low, alpha.high, alpha.n, alpha.method) == (
            block["value"],
            block["low"],
            block["high"],
            60,
            block["method"],
        )
        assert float(alpha) == alpha.value
        assert repr(alpha).startswith(f"Estimate({alpha.value:.3f}, low={alpha.low:.3f}, high=")

    def test_a_report_names_variables_people_and_judges(self, report: tandem.Report) -> None:
        assert list(report) == ["answerable"]
        assert sorted(report.people) == sorted(PEOPLE)
        assert sorted(report.judges) == sorted(JUDGES)
        assert "3 people, 2 judges" in repr(report)

    def test_a_judge_is_compared_with_people_together_and_with_each(
        self, report: tandem.Report
    ) -> None:
        judge, block = report.judge("llama"), report.json["variables"]["answerable"]["judges"]
        kappa = judge.against("majority").kappa
        assert kappa.value == block["llama"]["agreement"]["cohen_kappa"]["value"]
        assert judge.against().kappa == kappa
        one = judge.against("Ada")
        assert one.percent.value == block["llama"]["pairs"]["Ada"]["percent"]["value"]
        assert one.alpha is None

    @pytest.mark.first_case
    @pytest.mark.parametrize("epsilon", [0.1, 0.15, 0.3])
    def test_the_alternative_test_at_another_epsilon_equals_that_of_a_report_with_it(
        self, report: tandem.Report, epsilon: float
    ) -> None:
        found = report.judge("llama").alt_test(epsilon=epsilon)
        again = tandem.report(ROWS, resamples=50, epsilon=epsilon).judge("llama").alt_test()
        assert found.epsilon == epsilon
        assert (found.passes, found.verdict) == (again.passes, again.verdict)
        assert found.winning_rate == again.winning_rate
        assert found.json["annotators"] == again.json["annotators"]
        alone = tandem.alternative_test(ROWS, "llama", epsilon=epsilon)
        assert alone.json == found.json

    def test_a_notebook_shows_the_report_in_a_sandboxed_frame(self, report: tandem.Report) -> None:
        shown = report._repr_html_()
        assert shown.startswith('<iframe title="Report" sandbox srcdoc="&lt;!doctype html&gt;')
        assert "&lt;h1&gt;Agreement: Labels file&lt;/h1&gt;" in shown
        assert "<h1>" not in shown

    def test_a_report_is_saved_in_the_format_of_the_file_ending(
        self, report: tandem.Report, tmp_path: Path
    ) -> None:
        path = report.save(tmp_path / "report.json")
        assert json.loads(path.read_text("utf-8"))["seed"] == 0
        assert report.text("md").startswith("# Agreement")
        with pytest.raises(KeyError, match="no ending 'docx'"):
            report.save(tmp_path / "report.docx")

    @pytest.mark.parametrize(
        ("asked", "answer"),
        [
            (lambda r: r["answerabel"], "did you mean 'answerable'"),
            (lambda r: r.judge("lama"), "did you mean 'llama'"),
            (lambda r: r.judge(), "which judge"),
            (lambda r: r.judge("llama").against("Brahm"), "did you mean 'Bram'"),
        ],
    )
    def test_an_unknown_name_is_answered_with_the_existing_ones(
        self, report: tandem.Report, asked: Any, answer: str
    ) -> None:
        with pytest.raises(KeyError, match=answer):
            asked(report)


def test_agreement_computed_alone_equals_that_of_the_report(report: tandem.Report) -> None:
    alone = tandem.agreement(ROWS, resamples=50)
    assert alone.json["agreement"] == report.json["variables"]["answerable"]["agreement"]
    assert alone.kappa == report["answerable"].kappa
    assert alone.judges == []


def test_a_rating_that_only_a_judge_uses_changes_nothing_among_people() -> None:
    """Its rank would move those of people's ratings, and with them the weights of kappa."""
    made = [{**row, "value": {"yes": "1", "no": "3"}.get(row.get("value", ""))} for row in ROWS]
    people = [row for row in made if row["rater"] in PEOPLE]
    people[0]["value"] = "5"
    judged = [*people, {**people[1], "rater": "llama", "rater_kind": "judge", "value": "2"}]
    alone, beside = (
        tandem.report(table, levels={"answerable": "ordinal"}, resamples=20, check=True)
        for table in (people, judged)
    )
    assert beside.json["variables"]["answerable"]["categories"] == ["1", "3", "5"]
    for name, of in alone.json["variables"]["answerable"]["agreement"].items():
        assert beside.json["variables"]["answerable"]["agreement"][name] == of
    assert beside.json["check"]["differs"] == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"levels": {"answerable": "ordnial"}}, "'ordnial'; give one of nominal, ordinal"),
        ({"levels": "ordinal"}, "levels is a mapping of variables"),
        ({"resamples": 2.5}, "resamples is a whole number of at least 1"),
        ({"seed": 1.5}, "seed of at least 0"),
    ],
)
def test_an_argument_that_cannot_be_meant_is_refused_in_words(given: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        tandem.report(ROWS, **given)


def test_a_data_frame_with_two_columns_of_one_name_is_refused() -> None:
    """Only one of them would be read, and nothing would say which."""
    frame = pd.DataFrame(ROWS)
    frame.insert(0, "value", "yes", allow_duplicates=True)
    with pytest.raises(tandem.TableError, match="two columns are called 'value'"):
        tandem.report(frame, resamples=20)


@pytest.mark.parametrize(("code", "value"), [("yes", 1.0), ("no", 0.0)])
def test_coverage_is_defined_where_everybody_gives_one_answer(code: str, value: float) -> None:
    made = [{**row, "value": code, "missing": None} for row in ROWS]
    found = tandem.measures(made, resamples=20)["coverage"].json["systems"]["bm25"]
    assert {each["value"] for each in found.values()} == {value}


def test_measures_computed_alone_equal_the_scores_of_the_report(report: tandem.Report) -> None:
    found = tandem.measures(ROWS, resamples=50)
    assert list(found) == ["coverage"]
    assert list(found["coverage"]) == ["bm25", "dense"]
    assert found["coverage"]["bm25"] == report.scores["coverage"]["bm25"]
    assert set(PEOPLE) < set(found["coverage"]["bm25"])


def test_statistics_have_the_names_used_in_papers() -> None:
    from tandem import statistics

    assert krippendorff_alpha is statistics.krippendorff_alpha
    assert alt_test is statistics.alt_test
    assert ppi_mean is statistics.prediction_powered_mean


class TestARefusal:
    def test_a_refusal_names_the_row_and_the_remedy(self) -> None:
        broken = [ROWS[0], {**ROWS[1], "value": None}]
        with pytest.raises(tandem.TableError, match=r"^row 2: a label has a value or a missing"):
            tandem.report(broken)

    def test_a_refusal_names_a_column_that_no_labels_file_has(self) -> None:
        with pytest.raises(tandem.TableError, match=r"row 1: .*annotator"):
            tandem.report([{**ROWS[0], "annotator": "Ada"}])

    def test_a_refusal_of_a_file_names_the_file(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="nowhere"):
            tandem.report(tmp_path / "nowhere.jsonl")

    def test_an_empty_table_is_refused(self) -> None:
        with pytest.raises(tandem.TableError, match="holds no"):
            tandem.report([])

    @pytest.mark.parametrize("table", [3, {"item": ["a"]}, [1, 2]])
    def test_an_object_that_is_no_table_is_refused(self, table: Any) -> None:
        with pytest.raises(TypeError, match="give"):
            tandem.report(table)

    @pytest.mark.parametrize(
        "options", [{"resamples": 0}, {"seed": -1}, {"epsilon": 2}, {"reference": "machine"}]
    )
    def test_an_invalid_option_is_refused(self, options: JSON) -> None:
        with pytest.raises(ValueError, match="is"):
            tandem.report(ROWS, **options)

    def test_an_unknown_judge_and_a_level_without_labels_are_refused(self) -> None:
        with pytest.raises(UnknownOptionError, match="no judge 'nobody'"):
            tandem.report(ROWS, judges=["nobody"])
        with pytest.raises(tandem.TableError, match=r"^no label is of 'rating'"):
            tandem.report(ROWS, levels={"rating": "ordinal"})


def test_the_code_on_the_documentation_page_runs_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_of(tmp_path, ROWS)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "how-to" / "python.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, {})
    assert (tmp_path / "raters.svg").exists()
    assert (tmp_path / "agreement.tex").exists()
    assert (tmp_path / "report.html").read_text("utf-8").startswith("<!doctype html>")
