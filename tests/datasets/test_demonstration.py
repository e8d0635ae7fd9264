"""The demonstration batch and its labels, read by plain json, are as their README says."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from datetime import date, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

Row = dict[str, Any]

FOLDER = Path(__file__).resolve().parents[2] / "datasets" / "demonstration"
SYSTEMS = {"oracle-context", "keyword-search", "dense-search"}
QUERY_KEYS = {
    *("id", "text", "asked_at", "questions", "passages", "key_points"),
    *("nuggets", "reports", "rankings", "references", "meta"),
}
LABEL_KEYS = {
    *("campaign", "protocol", "item", "unit", "kind", "variable", "value", "rater", "rater_kind"),
    *("replicate", "created_at", "seconds", "spans", "batch", "query", "system", "meta"),
}


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


def words(row: Row) -> int:
    return len(row["text"].split())


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


@pytest.mark.every_case
@pytest.mark.parametrize("key", ["questions", "passages", "key_points", "reports"])
def test_identifiers_are_unique(queries: list[Row], key: str) -> None:
    ids = [row["id"] for row in inside(queries, key)]
    assert len(ids) == len(set(ids))


def test_the_demonstration_uses_no_key_outside_the_format(
    queries: list[Row], labels: list[Row]
) -> None:
    assert {key for query in queries for key in query} == QUERY_KEYS
    assert {key for label in labels for key in label} == LABEL_KEYS


def test_every_row_says_that_it_is_made_up(queries: list[Row], labels: list[Row]) -> None:
    assert all(row["meta"]["made_up"] is True for row in [*queries, *labels])
    assert all(query["meta"]["domain"] for query in queries)
    assert all(label["rater"].endswith("(made up)") for label in labels)


def test_every_query_has_enough_parts_of_each_kind(queries: list[Row]) -> None:
    for query in queries:
        assert 6 <= len(query["questions"]) <= 8
        assert 4 <= len(query["passages"]) <= 6
        assert 4 <= len(query["key_points"]) <= 6
        assert {report["system"] for report in query["reports"]} == SYSTEMS
        assert len(query["reports"]) == len(SYSTEMS)
        date.fromisoformat(query["asked_at"])


def test_texts_have_realistic_lengths(queries: list[Row]) -> None:
    assert all(80 <= words(passage) <= 160 for passage in inside(queries, "passages"))
    assert all(90 <= words(report) <= 180 for report in inside(queries, "reports"))


def test_passages_have_all_sources_and_relevances_and_are_older_than_the_request(
    queries: list[Row],
) -> None:
    for query in queries:
        asked = date.fromisoformat(query["asked_at"])
        published = [date.fromisoformat(p["published_at"]) for p in query["passages"]]
        assert all(day <= asked for day in published)
        assert {passage["source"] for passage in query["passages"]} == {"web", "private"}
        assert {passage["relevant"] for passage in query["passages"]} == {True, False}


@pytest.mark.parametrize("key", ["passages", "reports"])
def test_sentences_are_verbatim_and_in_reading_order(queries: list[Row], key: str) -> None:
    rows = [row for row in inside(queries, key) if "sentences" in row]
    assert rows
    for row in rows:
        at = 0
        for sentence in row["sentences"]:
            start = row["text"].index(sentence, at)
            assert row["text"][at:start].strip() == ""
            at = start + len(sentence)
        assert row["text"][at:].strip() == ""


def test_key_points_quote_their_passage(queries: list[Row]) -> None:
    for query in queries:
        texts = {passage["id"]: passage["text"] for passage in query["passages"]}
        for point in query["key_points"]:
            assert point["spans"]
            assert all(span and span in texts[point["passage"]] for span in point["spans"])
            assert 0 <= point["score"] <= 1


def test_every_passage_that_is_named_belongs_to_the_query(queries: list[Row]) -> None:
    for query in queries:
        known = {passage["id"] for passage in query["passages"]}
        for ranking in query["rankings"]:
            assert len(set(ranking["passages"])) == len(ranking["passages"])
            assert set(ranking["passages"]) <= known
        for reference in query["references"]:
            assert reference["citations"]
            assert set(reference["citations"]) <= known


def test_a_context_is_the_top_of_its_ranking(queries: list[Row]) -> None:
    for query in queries:
        ranked = {row["system"]: row["passages"] for row in query["rankings"]}
        assert set(ranked) == SYSTEMS
        for report in query["reports"]:
            context = report["context"]
            assert context
            assert context == ranked[report["system"]][: len(context)]


def test_an_oracle_context_has_exactly_the_relevant_passages(queries: list[Row]) -> None:
    for query in queries:
        relevant = {passage["id"] for passage in query["passages"] if passage["relevant"]}
        (report,) = [r for r in query["reports"] if r["system"] == "oracle-context"]
        assert set(report["context"]) == relevant


def test_citations_match_the_markers_in_the_text(reports: dict[str, Row]) -> None:
    for report in reports.values():
        marked = {p for n, p in enumerate(report["context"], 1) if f"[{n}]" in report["text"]}
        assert set(report["citations"]) == marked
        assert f"[{len(report['context']) + 1}]" not in report["text"]


def test_the_demonstration_has_references_and_a_deflection(
    queries: list[Row], reports: dict[str, Row]
) -> None:
    assert {len(query["references"]) for query in queries} == {1, 2}
    assert any(report.get("deflected") for report in reports.values())


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


def test_labels_belong_to_one_campaign(labels: list[Row]) -> None:
    fixed = {"campaign": "demo-coverage", "protocol": "report-coverage", "kind": "question"}
    fixed |= {"batch": "demo", "variable": "answerable", "rater_kind": "human"}
    assert all(label.items() >= fixed.items() for label in labels)


def test_a_rater_labels_a_unit_once(labels: list[Row]) -> None:
    keys = Counter((label["item"], label["unit"], label["rater"]) for label in labels)
    assert set(keys.values()) == {1}


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


def test_raters_answer_every_question_of_a_report(queries: list[Row], labels: list[Row]) -> None:
    asked = {query["id"]: len(query["questions"]) for query in queries}
    answered = Counter((label["item"], label["query"], label["rater"]) for label in labels)
    assert all(count == asked[query] for (_, query, _), count in answered.items())


def test_values_are_the_codes_of_the_protocol(labels: list[Row]) -> None:
    counts = Counter(label["value"] for label in labels)
    assert set(counts) == {"yes", "no", "invalid"}
    assert 3 <= counts["invalid"] <= 20
    assert counts["no"] > len(labels) / 5


def test_exactly_the_yes_labels_have_evidence(labels: list[Row]) -> None:
    assert all(bool(label["spans"]) == (label["value"] == "yes") for label in labels)


def test_spans_quote_the_report_exactly(labels: list[Row], reports: dict[str, Row]) -> None:
    for label in labels:
        text = reports[label["item"]]["text"]
        for span in label["spans"]:
            assert span["field"] == "report"
            assert 0 <= span["start"] < span["end"] <= len(text)
            assert text[span["start"] : span["end"]] == span["text"] == span["text"].strip()


def test_times_are_plausible(labels: list[Row]) -> None:
    assert all(20 <= label["seconds"] <= 600 for label in labels)
    for rater in {label["rater"] for label in labels}:
        times = [datetime.fromisoformat(r["created_at"]) for r in labels if r["rater"] == rater]
        assert times == sorted(times)
        assert all(time.tzinfo is not None for time in times)


def test_all_labels_of_a_rater_on_an_item_have_the_same_time(labels: list[Row]) -> None:
    times: dict[Any, set[Any]] = {}
    for label in labels:
        key = (label["rater"], label["item"])
        times.setdefault(key, set()).add((label["seconds"], label["created_at"]))
    assert all(len(of_item) == 1 for of_item in times.values())


def cohen_kappa(first: dict[Any, str], second: dict[Any, str]) -> float:
    shared = sorted(first.keys() & second.keys())
    observed = sum(first[key] == second[key] for key in shared) / len(shared)
    yes = [sum(rater[key] == "yes" for key in shared) / len(shared) for rater in (first, second)]
    expected = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    return (observed - expected) / (1 - expected)


def test_raters_disagree_as_people_do(labels: list[Row]) -> None:
    raters: dict[str, dict[Any, str]] = {}
    for row in labels:
        if row["value"] != "invalid":
            raters.setdefault(row["rater"], {})[row["item"], row["unit"]] = row["value"]
    for first, second in combinations(raters.values(), 2):
        assert 0.5 < cohen_kappa(first, second) < 0.75
