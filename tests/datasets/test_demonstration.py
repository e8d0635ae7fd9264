"""The demonstration batch and its labels, read by plain json, are as their README says."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

Row = dict[str, Any]

FOLDER = Path(__file__).resolve().parents[2] / "datasets" / "demonstration"


def read(name: str) -> list[Row]:
    text = (FOLDER / name).read_bytes().decode("utf-8")
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]


@pytest.fixture(scope="module")
def queries() -> list[Row]:
    return read("batch.jsonl")


@pytest.fixture(scope="module")
def labels() -> list[Row]:
    return read("labels.jsonl")


@pytest.fixture(scope="module")
def reports(queries: list[Row]) -> dict[str, Row]:
    return {report["id"]: report for query in queries for report in query["reports"]}


def inside(queries: list[Row], key: str) -> list[Row]:
    return [row for query in queries for row in query[key]]


def test_the_demonstration_has_enough_queries_for_intervals_and_is_small(
    queries: list[Row],
) -> None:
    assert len(queries) >= 10
    assert len(inside(queries, "reports")) >= 30
    assert len({query["id"] for query in queries}) == len(queries)
    assert (FOLDER / "batch.jsonl").stat().st_size < 250_000


def test_the_counts_of_the_readme_are_right(queries: list[Row]) -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    questions, passages, points = (
        len(inside(queries, key)) for key in ("questions", "passages", "key_points")
    )
    assert f"{len(queries)} queries" in readme
    assert f"{questions} sub-questions, {passages} passages, {points} key points" in readme


def test_every_row_says_that_it_is_made_up(queries: list[Row], labels: list[Row]) -> None:
    assert all(row["meta"]["made_up"] is True for row in [*queries, *labels])
    assert all(query["meta"]["domain"] for query in queries)
    assert all(label["rater"].endswith("(made up)") for label in labels)


def test_key_points_quote_their_passage(queries: list[Row]) -> None:
    for query in queries:
        texts = {passage["id"]: passage["text"] for passage in query["passages"]}
        for point in query["key_points"]:
            assert point["spans"]
            assert all(span and span in texts[point["passage"]] for span in point["spans"])
            assert 0 <= point["score"] <= 1


def test_citations_match_the_markers_in_the_text(reports: dict[str, Row]) -> None:
    for report in reports.values():
        marked = {p for n, p in enumerate(report["context"], 1) if f"[{n}]" in report["text"]}
        assert set(report["citations"]) == marked
        assert f"[{len(report['context']) + 1}]" not in report["text"]


def test_one_report_has_emoji_of_several_code_points(reports: dict[str, Row]) -> None:
    text = reports["broadband:keyword-search"]["text"]
    assert {"\u200d", "\ufe0f"} <= set(text)
    assert any(ord(character) > 0xFFFF for character in text)


def test_one_report_has_combining_marks_and_right_to_left_letters(
    queries: list[Row], reports: dict[str, Row]
) -> None:
    text = reports["museum:oracle-context"]["text"]
    passages = " ".join(p["text"] for p in inside(queries, "passages"))
    assert "e\u0301" in text
    assert unicodedata.normalize("NFC", text) != text
    assert unicodedata.normalize("NFC", passages) == passages
    assert any(unicodedata.bidirectional(character) == "AL" for character in text)


def test_exactly_one_report_has_crlf_line_breaks(reports: dict[str, Row]) -> None:
    broken = {name for name, report in reports.items() if "\r" in report["text"]}
    text = reports["hospital:dense-search"]["text"]
    assert broken == {"hospital:dense-search"}
    assert text.count("\r\n") == text.count("\n") == text.count("\r") > 2


@pytest.mark.parametrize(
    "name", ["broadband:keyword-search", "museum:oracle-context", "hospital:dense-search"]
)
def test_some_labels_quote_text_after_the_awkward_characters(
    labels: list[Row], reports: dict[str, Row], name: str
) -> None:
    text = reports[name]["text"]
    first = min(at for at, c in enumerate(text) if ord(c) > 0x2700 or c in "\r\u0301")
    assert any(
        span["start"] > first
        for label in labels
        if label["item"] == name
        for span in label["spans"]
    )


def test_every_labelled_unit_exists(queries: list[Row], labels: list[Row]) -> None:
    asked = {
        (report["id"], question["id"], query["id"], report["system"])
        for query in queries
        for report in query["reports"]
        for question in query["questions"]
    }
    keys = {(row["item"], row["unit"], row["query"], row["system"]) for row in labels}
    assert keys == asked


def test_three_raters_label_all_but_two_reports(labels: list[Row], reports: dict[str, Row]) -> None:
    raters = {label["rater"] for label in labels}
    by_report = {
        name: {label["rater"] for label in labels if label["item"] == name} for name in reports
    }
    short = {name: raters - seen for name, seen in by_report.items() if seen != raters}
    assert len(raters) == 3
    assert short == {
        "heat:keyword-search": {"Bram (made up)"},
        "radio:dense-search": {"Chidi (made up)"},
    }


def test_exactly_the_yes_labels_have_evidence(labels: list[Row]) -> None:
    assert all(bool(label["spans"]) == (label["value"] == "yes") for label in labels)


def test_spans_quote_the_report_exactly(labels: list[Row], reports: dict[str, Row]) -> None:
    for label in labels:
        text = reports[label["item"]]["text"]
        for span in label["spans"]:
            assert span["field"] == "report"
            assert 0 <= span["start"] < span["end"] <= len(text)
            assert text[span["start"] : span["end"]] == span["text"] == span["text"].strip()
