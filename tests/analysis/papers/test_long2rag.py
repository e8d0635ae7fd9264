"""Long²RAG's tables match a study of two queries worked by hand, and so does extraction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.evaluation.inputs import all_reports
from analysis.papers.extraction import Matching, read_matching
from analysis.papers.long2rag import free_marginal
from analysis.papers.systems import length_bins
from annotation.protocols import PROTOCOLS
from tandem.files.rows import Passage, Query, Report
from tests.analysis.papers.conftest import assert_refilled, reason_of, row_of, tables_of
from tests.cast import run, write_lines
from tests.databases import rolled_back

pytestmark = [pytest.mark.django_db]
Line = dict[str, Any]
QUERIES = ("q1", "q2")
MADE = {"small (full)": (1, 0), "small (none)": (0, 0), "large (full)": (1, 1)}
"""Which of a query's two points each answer makes."""

OWN = {"o1": ((1, 0, 0), (1, 1, 1, 0)), "o2": ((1, 0), (0, 0))}
"""By query: which of its points an answer makes, and which of its own its context has."""

STUDY = """\
[study]
name = "points"
preset = "long2rag"

[batch.documents]
files = ["documents.jsonl"]

[judge.one]
backend = "scripted"
answers = "one.jsonl"

[campaign.verify]
protocol = "key-point-verification"
batch = "documents"
labels = ["verify.jsonl"]

[campaign.recall]
protocol = "key-point-recall"
batch = "documents"
labels = ["recall.jsonl"]
judges = ["one"]

[batch.own]
files = ["own.jsonl"]

[campaign.own-recall]
protocol = "key-point-recall"
batch = "own"
labels = ["own-recall.jsonl"]

[campaign.own-precision]
protocol = "key-point-verification"
batch = "own"
option = { points = "answers" }
labels = ["own-precision.jsonl"]

[campaign.writing]
protocol = "key-point-writing"
batch = "documents"
labels = ["writing.jsonl"]

[batch.written]
rule = "written-key-points"
from = ["writing"]

[campaign.matching]
protocol = "key-point-recall"
batch = "written"
labels = ["matching.jsonl"]
"""


def documents() -> Iterator[Line]:
    for n, query in enumerate(QUERIES):
        yield {
            "id": query,
            "text": "What of it?",
            "passages": [{"id": f"{query}p", "text": "It is old. It is red. It is big."}],
            "key_points": [
                {
                    "id": f"{query}k{k}",
                    "text": f"Point {k}.",
                    "passage": f"{query}p",
                    "score": score,
                }
                for k, score in ((1, 0.9), (2, 0.5))
            ],
            "reports": [
                {
                    "id": f"{query}-{name}",
                    "text": "It is old.",
                    "system": name.split()[0],
                    "setting": name.split("(")[1].rstrip(")"),
                }
                for name in MADE
            ],
            "meta": {"domain": ("sea", "land")[n]},
        }


def own_answers() -> Iterator[Line]:
    """The second question has the longer passage and the longer answer."""
    for query, (made, own) in OWN.items():
        text = "It is old. It is red." if query == "o2" else "It is old."
        points = [
            {"id": f"{query}k{k}", "text": f"Point {k}.", "passage": f"{query}p"}
            for k in range(len(made))
        ]
        report = {
            "id": f"{query}-small",
            "text": text,
            "system": "small",
            "context": [f"{query}p"],
            "key_points": [{"id": f"{query}a{n}", "text": f"Own {n}."} for n in range(len(own))],
        }
        passages = [{"id": f"{query}p", "text": text}]
        line = {"id": query, "text": "What of it?", "passages": passages}
        yield {**line, "key_points": points, "reports": [report]}


def own_labels(recall: bool) -> Iterator[Line]:
    for query, answers in OWN.items():
        for n, yes in enumerate(answers[0] if recall else answers[1]):
            unit = f"{query}{'k' if recall else 'a'}{n}"
            label = {"item": f"{query}-small", "unit": unit, "kind": "key-point", "rater": "ada"}
            spans = {"spans": [{"field": "report", "text": "It is old."}]} if recall and yes else {}
            variable = "entailed" if recall else "grounded"
            yield {**label, "variable": variable, "value": "yes" if yes else "no", **spans}
            if recall and not yes:
                yield {**label, "variable": "failure", "value": "missing"}


def recall(rater: str) -> Iterator[Line]:
    for query in QUERIES:
        for name, made in MADE.items():
            for k, yes in enumerate(made, start=1):
                # The judge calls one point made that no person does.
                says = yes or (rater, query, name, k) == ("one", "q1", "small (none)", 1)
                at = {"item": f"{query}-{name}", "unit": f"{query}k{k}", "kind": "key-point"}
                label = {**at, "variable": "entailed", "rater": rater}
                if says:
                    spans = [{"field": "report", "text": "It is old."}]
                    yield {**label, "value": "yes", "spans": spans}
                else:
                    yield {**label, "value": "no"}
                    yield {**at, "variable": "failure", "value": "missing", "rater": rater}


def verified() -> Iterator[Line]:
    for query in QUERIES:
        for k, key in ((1, "agree"), (2, "disagree")):
            at = {"item": f"{query}k{k}", "unit": f"{query}k{k}", "kind": "key-point"}
            yield {**at, "variable": "grounded", "value": "yes", "rater": "ada"}
            yield {**at, "variable": "key", "value": key, "rater": "ada"}


def lists() -> Iterator[Line]:
    """Ada writes two points per passage; both extracted ones match the first of q1, none of q2."""
    quotes = ("It is old.", "It is red.")
    for query, matches in (("q1", [1]), ("q2", [])):
        points = [{"text": f"{query} {q}", "evidence": [{"quote": q}]} for q in quotes]
        units: Line = {f"{query}/{query}p": {"holds_points": "yes", "points": points}}
        for k in (1, 2):
            code = "yes" if matches else "no"
            units[f"{query}k{k}"] = {"matched": code, "matches": matches}
        yield {"item": f"{query}/{query}p", "rater": "ada", "units": units}


def matched() -> Iterator[Line]:
    """Ben matches both of Ada's points on q1 with extracted points, and none on q2."""
    for query in QUERIES:
        for n in (1, 2):
            at = {
                "item": f"{query}/extraction",
                "unit": f"{query}/written/{n}",
                "kind": "key-point",
            }
            label = {**at, "variable": "entailed", "rater": "ben"}
            if query == "q1":
                spans = [{"field": "report", "text": "Point 1."}]
                yield {**label, "value": "yes", "spans": spans}
            else:
                yield {**label, "value": "no"}
                yield {**at, "variable": "failure", "value": "missing", "rater": "ben"}


@pytest.fixture(scope="module")
def folder(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    folder: Path = tmp_path_factory.mktemp("points")
    write_lines(folder / "documents.jsonl", documents())
    write_lines(folder / "verify.jsonl", verified())
    write_lines(folder / "recall.jsonl", recall("ada"))
    write_lines(folder / "one.jsonl", recall("one"))
    write_lines(folder / "writing.jsonl", lists())
    write_lines(folder / "matching.jsonl", matched())
    write_lines(folder / "own.jsonl", own_answers())
    write_lines(folder / "own-recall.jsonl", own_labels(recall=True))
    write_lines(folder / "own-precision.jsonl", own_labels(recall=False))
    (folder / "study.toml").write_text(STUDY, "utf-8")
    with rolled_back(django_db_blocker):
        run("apply_study", folder)
        yield folder


@pytest.fixture(scope="module")
def tables(folder: Path) -> dict[str, Any]:
    return tables_of("long2rag", "points")


@pytest.mark.long
def test_verify_fills_the_tables_again_from_the_release(folder: Path) -> None:
    assert_refilled(folder)


def test_table_1_divides_kpr_by_the_questions(tables: Any) -> None:
    people, judge, *_ = tables["table-1"]
    assert [column["name"] for column in people["columns"]] == ["land", "sea", "average"]
    assert row_of(people, "small (full)") == [0.5, 0.5, 0.5]
    assert row_of(judge, "small (none)") == [0, 0.5, 0.25]


def test_table_2_has_a_column_for_each_document_setting(tables: Any) -> None:
    grid = tables["table-2"][0]
    heads = [column["name"] for column in grid["columns"]]
    assert heads == ["documents: full", "documents: none", "own"]
    assert row_of(grid, "small") == [0.5, 0, pytest.approx((1 / 3 + 1 / 2) / 2)]
    assert row_of(grid, "large") == [1, None, None]
    assert "in this setting" in reason_of(grid, "large", 1)


def test_table_3_needs_a_second_judge_and_table_4_the_answers_own_points(tables: Any) -> None:
    assert "fewer than two judges" in reason_of(tables["table-3"][0], "none yet", 0)
    grid = tables["table-4"][0]
    assert row_of(grid, "large (full)") == [None, 1, None, 3]
    assert "points=answers" in reason_of(grid, "large (full)", 0)


def test_table_4_averages_kpf_answer_by_answer(tables: Any) -> None:
    grid = next(g for g in tables["table-4"] if g["caption"] == "own-recall, by people")
    # The first answer: 3 of 4 and 1 of 3; the second: none of 2, so that its F is 0, and 1 of 2.
    # They have 3 and 6 words.
    f = 2 * 0.75 / 3 / (0.75 + 1 / 3)
    assert row_of(grid, "small") == pytest.approx([0.375, 5 / 12, f / 2, 4.5])
    columns = [(each["name"], each["scale"], each["digits"]) for each in grid["columns"]]
    assert columns == [("KPP", 100, 1), ("KPR", 100, 1), ("KPF", 100, 1), ("Words", 1, 0)]


def test_figures_6_and_7_divide_kpr_by_tokens_of_documents_and_answers(tables: Any) -> None:
    grids = tables["figures-6-7"]
    assert [g["caption"] for g in grids[-2:]] == [
        "By document tokens, by people (whitespace)",
        "By answer tokens, by people (whitespace)",
    ]
    # All of the study's texts are short.
    for grid, column in zip(grids[-2:], ("<8K", "<1K"), strict=True):
        assert [each["name"] for each in grid["columns"]] == [column, "average"]
        assert row_of(grid, "small") == pytest.approx([5 / 12, 5 / 12])


def test_a_bin_of_tokens_holds_its_lower_edge() -> None:
    lengths = (999, 1000, 1499, 1500, 5000, 4999)
    reports = tuple(Report(f"r{n}", "word " * n) for n in lengths)
    queries = (Query("q", "?", passages=(Passage("p", "word " * 16000),), reports=reports),)
    _, rows = all_reports(queries)
    documents, answers = (
        {name: np.flatnonzero(at).tolist() for name, at in bins.among(rows).items()}
        for bins in length_bins(queries, lambda text: len(text.split()))
    )
    assert documents == {"16K–25K": [0, 1, 2, 3, 4, 5]}
    assert answers == {
        "<1K": [0],
        "1K–1.5K": [1, 2],
        "1.5K–2K": [3],
        "4.5K–5K": [5],
        "≥5K": [4],
    }


def test_section_6_compares_the_evaluator_with_people(tables: Any) -> None:
    failures, _, accuracy, *_ = tables["section-6"]
    assert row_of(failures, "small (none)") == [0, 0, 1]
    # 11 of 12 alike; by chance 6/12 * 7/12 + 6/12 * 5/12 = 1/2.
    assert row_of(accuracy, "one") == pytest.approx([11 / 12, (11 / 12 - 0.5) / 0.5])


def test_figure_13_groups_answers_by_score(tables: Any) -> None:
    bins, cuts, kept, alone = tables["figure-13"]
    # The two points with the score .9 are key, and the two with .5 are not.
    assert bins["caption"] == "verify: calibration"
    assert [column["name"] for column in bins["columns"]] == ["Mean score", "Points", "Called key"]
    found = {row["name"]: row_of(bins, row["name"]) for row in bins["rows"]}
    assert found == {"bin 1": [0.5, 2, 0], "bin 2": [0.9, 2, 1]}
    heads = [column["name"] for column in cuts["columns"]]
    assert heads == ["ada", "Mean of people", "People together"]
    assert row_of(cuts, "score from 0.7") == [0, 0, 0]
    assert row_of(cuts, "score from 0.5") == [0.5, 0.5, 0.5]
    assert row_of(kept, "people") == [0.5, 0.5]
    assert row_of(alone, "key, all people") == [0, None, None]


def test_extracted_points_are_compared_by_their_writer_and_by_others(tables: Any) -> None:
    own, others = tables["extraction"]
    # Four points written, one with a match; four extracted, two with one.
    assert row_of(own, "people") == [0.25, 0.5, 4, 4]
    assert row_of(others, "ben") == [0.5]
    assert "matched by others" in others["caption"]


class TestMatching:
    """Reading the values of one answer."""

    LISTED = PROTOCOLS["key-point-writing"].listed

    def test_a_point_counts_once_however_often_it_is_matched(self) -> None:
        units = {
            "q/p": {"holds_points": "yes", "points": [{"text": "a"}, {"text": "b"}]},
            "k1": {"matched": "yes", "matches": [1]},
            "k2": {"matched": "yes", "matches": [1]},
            "k3": {"matched": "no", "matches": []},
        }
        assert read_matching("q", units, self.LISTED) == Matching("q", 2, 1, 3, 2)

    def test_a_list_without_extracted_points_has_no_matching(self) -> None:
        assert read_matching("q", {"q/p": {"holds_points": "no"}}, self.LISTED) is None


def test_the_free_marginal_kappa_of_a_pair_follows_from_its_share() -> None:
    share = {"value": 0.75, "low": 0.5, "high": None, "n": 4, "method": "percent"}
    found = free_marginal(share, 2)
    assert (found["value"], found["low"], found["high"]) == (0.5, 0.0, None)
