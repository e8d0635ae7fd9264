"""The methods paragraph describes exactly what a report computed."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from docs._reference import example
from tandem.document import DASH
from tandem.formats import FORMATS
from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report
from tandem.sections.citations import REFERENCES
from tandem.sections.estimates import estimates_tables as _estimates
from tandem.sections.evidence import span_blocks
from tandem.sections.methods import methods, methods_section, references
from tandem.version import COMMIT
from tests.cast import write_lines


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return copy.deepcopy(example.report())


@pytest.fixture(scope="module")
def text(report: dict[str, Any]) -> str:
    return " ".join(methods(report))


def test_the_methods_state_the_data_and_the_options(report: dict[str, Any], text: str) -> None:
    assert f"Of {report['inputs']['labels']} labels" in text
    assert "16 queries were used" in text
    assert f"Seed {report['seed']}." in text
    chosen = {**report, "choices": {**report["choices"], "variables": ["rating"]}}
    assert "Only these were used: the variables rating." in " ".join(methods(chosen))
    assert "Only these were taken" not in text


def test_the_methods_name_each_coefficient_with_its_citation(text: str) -> None:
    for words in (
        "Fleiss' kappa, averaged over units (Fleiss 1971)",
        "Krippendorff's alpha, ordinal (Krippendorff 2019)",
        "Gwet's AC2, quadratic weights (Gwet 2008)",
        "Cohen's kappa, quadratic weights (Cohen 1968)",
        "Kendall's tau-b over items (Kendall 1945)",
        "scores over all answers, query difficulty included, were compared by",
        "Judges' orders of systems were compared with people's within queries",
        "There is no prediction-powered mean (PPI++) (Angelopoulos, Duchi and Zrnic 2023) if no",
    ):
        assert words in text


def test_the_methods_describe_how_intervals_were_computed(text: str) -> None:
    assert "BCa bootstrap of whole queries, 20 resamples" in text
    assert "The bootstrap is BCa (Efron 1987) at the level 2Φ(√(n/(n−1)) t) − 1 for n" in text
    assert "for n informative queries" in text
    assert "(Hesterberg 2015): 99.81 % with 5 and 97.23 % with 16." in text
    assert "If fewer than 5 queries are informative, there is none." in text
    assert "Wilson interval clustered by whole queries" in text
    assert "(Wilson 1927) has t as quantile" in text


def test_the_methods_say_that_intervals_hold_for_these_raters_only(text: str) -> None:
    assert "intervals hold for these raters." in text


def test_the_methods_say_which_pairs_of_people_are_left_out(
    report: dict[str, Any], text: str
) -> None:
    assert "the mean over pairs of people, weighted by the units that a pair shares" in text
    assert "left out (" not in text
    fewer = copy.deepcopy(report)
    for judge in fewer["variables"]["answerable"]["judges"].values():
        judge["ceiling_pairs"] = {"kept": 3, "left_out": 2, "least_shared": 30}
    judges = len(fewer["variables"]["answerable"]["judges"])
    assert (
        f"pairs that share fewer than 30 of them were left out ({2 * judges} over all variables "
        "and judges)" in " ".join(methods(fewer))
    )


def test_the_methods_describe_the_curves_of_scores(text: str) -> None:
    assert "area under the ROC curve (Hanley and McNeil 1982) and average precision" in text


def test_the_methods_leave_out_statistics_that_were_not_computed(report: dict[str, Any]) -> None:
    people = copy.deepcopy(report)
    people["scores"] = {}
    for block in people["variables"].values():
        block["judges"] = {}
    text = " ".join(methods(people))
    for absent in (
        "Each judge",
        "alternative annotator",
        "PPI++",
        "Coverage",
        "over items",
        "orders of systems",
    ):
        assert absent not in text


def test_another_interval_method_is_named_and_described(report: dict[str, Any]) -> None:
    other = copy.deepcopy(report)
    percent = other["variables"]["answerable"]["agreement"]["percent"]
    percent["method"] = (
        "mean share of agreeing pairs; 95 % studentised bootstrap of 16 queries, 20 resamples"
    )
    assert "studentised bootstrap of whole queries, 20 resamples" in " ".join(methods(other))


def test_the_references_list_exactly_the_works_that_are_cited(
    report: dict[str, Any], text: str
) -> None:
    whole = references([text])
    for mark, work in REFERENCES.values():
        assert (work in whole) == (mark in text)
    assert [each.points for each in methods_section(report)] == [whole]


@pytest.mark.parametrize("name", ["md", "latex", "html"])
def test_markdown_html_and_latex_include_the_methods(report: dict[str, Any], name: str) -> None:
    text = FORMATS[name].render(report)
    assert "Krippendorff 2019" in text
    assert "Content Analysis: An Introduction" in text


def test_the_methods_describe_the_statistics_beside_the_headlines(text: str) -> None:
    for words in (
        "For comparison it was also run in its multiplicative form; with unanswered items dropped",
        "The evidence marked for answerable was compared by F1 of exact and of overlapping spans",
        "soft labels and each person's errors were estimated (Dawid and Skene 1979)",
        "For plans of intervals 0.1 wide",
    ):
        assert words in text


def test_no_chance_correction_of_evidence_is_claimed_without_its_texts(text: str) -> None:
    assert "for unitising" not in text


def _give(estimate: dict[str, Any], value: float) -> None:
    estimate["value"] = value
    del estimate["reason"]


def test_the_methods_cite_the_alphas_of_evidence_that_are_known(report: dict[str, Any]) -> None:
    known = copy.deepcopy(report)
    every = known["variables"]["answerable"]["spans"]["agreement"]["all"]
    _give(every["binary_unitising_alpha"], 0.4321)
    assert (
        "by Krippendorff's alpha for unitising in its binary form (Krippendorff and others 2016); "
    ) in " ".join(methods(known))
    _give(every["token_alpha"], 0.5)
    assert "alpha of words and for unitising in its binary form" in " ".join(methods(known))
    for name in ("json", "md", "csv", "latex", "html"):
        assert "0.432" in FORMATS[name].render(known).replace("{.}", "."), name


def test_a_report_of_an_earlier_version_has_a_dash_for_the_binary_alpha(
    report: dict[str, Any],
) -> None:
    earlier = copy.deepcopy(report)
    spans = earlier["variables"]["answerable"]["spans"]
    for block in (spans["agreement"], *spans["judges"].values()):
        del block["all"]["binary_unitising_alpha"]
    table = span_blocks(earlier["variables"]["answerable"])[0].tables[-1]
    assert {row[-1] for row in table.rows} == {DASH}
    assert " ".join(methods(earlier)) == " ".join(methods(report))


def test_the_methods_name_the_variables_as_separate_families(text: str) -> None:
    assert "are families of their own: no p-value is adjusted over them" in text


def test_the_methods_say_that_verdicts_hold_for_one_look(text: str) -> None:
    assert "Verdicts hold for one look at the end" in text


def test_an_older_report_does_not_mention_statistics_added_later(report: dict[str, Any]) -> None:
    old = copy.deepcopy(report)
    for block in old["variables"].values():
        for name in ("planning", "soft_labels", "spans"):
            block.pop(name, None)
        for judge in block["judges"].values():
            judge["alt_test"] = {
                name: of
                for name, of in judge["alt_test"].items()
                if name not in ("sensitivity", "power")
            }
    text = " ".join(methods(old))
    for absent in ("multiplicative", "evidence", "soft labels", "plans", "Its power"):
        assert absent not in text


class TestFewPeople:
    """One person (Ada), nobody, and people without a shared unit; the judge is M."""

    def methods_of(self, tmp_path: Path, said: dict[str, str]) -> str:
        path = write_lines(tmp_path / "labels.jsonl", [
            {"item": f"i{n}", "unit": f"u{n}", "variable": "answerable", "value": code,
             "rater": rater, "rater_kind": "judge" if rater in "MN" else "human"}
            for rater, column in said.items()
            for n, code in enumerate(column) if code != "."
        ])  # fmt: skip
        return " ".join(methods(labels_report([path], {}, ReportOptions(resamples=20))))

    def test_with_one_person_no_agreement_among_people_is_claimed(self, tmp_path: Path) -> None:
        text = self.methods_of(tmp_path, {"Ada": "yynn", "M": "yyny"})
        assert "no agreement among people on answerable: one person labelled." in text
        assert "The judge M was compared with the labels of one person." in text
        assert "one person alone shows nothing about human agreement" in text
        assert "is given as ." not in text
        assert "most frequent" not in text

    def test_without_people_a_judge_has_no_reference(self, tmp_path: Path) -> None:
        text = self.methods_of(tmp_path, {"M": "yyny"})
        assert "no agreement among people on answerable: no person labelled." in text
        assert (
            "The judge M could not be compared with people on answerable: no person labelled, so "
            "that there is no reference." in text
        )
        assert "Given are" not in text

    def test_people_without_shared_units_have_no_agreement(self, tmp_path: Path) -> None:
        text = self.methods_of(tmp_path, {"Ada": "yn..", "Bram": "..yn", "M": "ynyn"})
        assert "on answerable: no two people labelled the same unit." in text
        assert "The judge M was compared with the most frequent human label." in text

    def test_a_judge_without_units_of_people_is_said_to_share_none(self, tmp_path: Path) -> None:
        text = self.methods_of(tmp_path, {"Ada": "yn..", "Bram": "yn..", "M": "..yn"})
        assert "no unit has both its label and a joint label of people." in text

    def test_several_judges_are_described_in_one_sentence(self, tmp_path: Path) -> None:
        text = self.methods_of(tmp_path, {"Ada": "yn", "Bram": "yn", "M": "yn", "N": "nn"})
        assert "Each judge was compared with the most frequent human label." in text


def test_the_methods_count_units_on_which_people_tie_and_not_units_by_judges(
    tmp_path: Path,
) -> None:
    rows = []
    for n in range(120):
        said = {"Ada": "yes", "Bram": "no" if n < 35 else "yes", "J": "yes", "K": "no"}
        for rater, value in said.items():
            kind = "judge" if rater in "JK" else "human"
            own = {"item": f"i{n}", "unit": "u", "query": f"q{n % 12}", "variable": "answerable"}
            rows.append({**own, "rater": rater, "rater_kind": kind, "value": value})
    path = write_lines(tmp_path / "labels.jsonl", rows)
    report = labels_report([path], {}, ReportOptions(resamples=10))
    text = " ".join(methods(report))
    assert "Left out are 35 of 120 units, where people tie." in text
    assert "over all variables and judges" not in text


def test_the_methods_name_the_version_and_the_commit(report: dict[str, Any]) -> None:
    known = {**report, "version": "1.2.3", "commit": "0123456789abcdef"}
    assert "Numbers were computed by Tandem 1.2.3 (commit 0123456789ab)." in " ".join(
        methods(known)
    )
    unknown = {**report, "version": "1.2.3", "commit": None}
    assert "Numbers were computed by Tandem 1.2.3." in " ".join(methods(unknown))


@pytest.mark.parametrize("name", ["md", "html", "latex"])
def test_every_form_of_a_report_names_the_commit(report: dict[str, Any], name: str) -> None:
    assert report["commit"] == COMMIT
    assert "0123456789ab" in FORMATS[name].render({**report, "commit": "0123456789abcdef"})


def test_the_table_of_estimates_shows_bounds_until_people_have_finished() -> None:
    none = {"value": None, "low": None, "high": None, "n": 9, "method": ""}
    some = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 9, "method": ""}
    waiting = {**none, "reason": "people have not finished 1 of the 10 queries", "outstanding": 1}
    of = {
        "humans": some,
        "judge": some,
        "prediction_powered": {**waiting, "bounds": [0.41, 0.56]},
        "fixed_collection": waiting,
        "effective_labels": None,
        "judge_name": "j",
    }
    (table,) = _estimates({"one": of})
    assert [str(cell) for cell in table.rows[0][3:5]] == ["0.410 to 0.560", DASH]
    # Reports frozen by earlier versions lack the second.
    older = {key: each for key, each in of.items() if key != "fixed_collection"}
    (table,) = _estimates({"one": older})
    assert table.rows[0][4] == DASH
