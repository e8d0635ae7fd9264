"""GaRAGe's tables match a study of two queries worked by hand; its LLM ratings are not released."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.papers.conftest import assert_refilled, reason_of, row_of, tables_of
from tests.cast import run, write_lines
from tests.databases import rolled_back

pytestmark = [pytest.mark.django_db]
Line = dict[str, Any]
SYSTEMS = ("good", "loose")
CLAIMS = {"q1": {1: "yy", 2: "yn", 3: "yy"}, "q2": {1: "nn"}}
"""Labels by two people of the claims of each answer of `good`."""

STUDY = """\
[study]
name = "grounds"
preset = "garage"

[batch.questions]
files = ["questions.jsonl"]

[campaign.typing]
protocol = "question-typing"
batch = "questions"
labels = ["typing.jsonl"]

[campaign.grounding]
protocol = "grounding-relevance"
batch = "questions"
labels = ["grounding.jsonl"]

[campaign.answers]
protocol = "answer-rating"
batch = "questions"
option = { variables = "eligibility,support" }
labels = ["answers.jsonl"]

[campaign.claims]
protocol = "key-point-verification"
batch = "questions"
raters_per_item = 2
option = { points = "answers" }
labels = ["claims.jsonl"]
"""


def questions() -> Iterator[Line]:
    for n, query in enumerate(("q1", "q2")):
        yield {
            "id": query,
            "text": "What of it?",
            "asked_at": "2024-05-03",
            "passages": [
                {"id": f"{query}a", "text": "It is old.", "source": "web", "relevant": True},
                {"id": f"{query}b", "text": "It is red.", "source": "private", "relevant": n == 0},
            ],
            "reports": [
                {
                    "id": f"{query}-{name}",
                    "text": "It is old. It is red.",
                    "sentences": ["It is old.", "It is red."],
                    "system": name,
                    "citations": [f"{query}a"] if name == "good" else [f"{query}a", f"{query}b"],
                    **(claims(query) if name == "good" else {}),
                    "deflected": query == "q2" and name == "good",
                }
                for name in SYSTEMS
            ],
            "references": [
                {"text": "It is old.", "citations": ["q1a"]}
                if query == "q1"
                else {"text": "Nothing.", "deflected": True}
            ],
        }


def claims(query: str) -> Line:
    points = [{"id": f"{query}c{n}", "text": f"Claim {n}."} for n in CLAIMS[query]]
    return {"context": [f"{query}a", f"{query}b"], "key_points": points}


def checked() -> Iterator[Line]:
    for query, answers in CLAIMS.items():
        for n, said in answers.items():
            for rater, value in zip(("ada", "ben"), said, strict=True):
                at = {"item": f"{query}-good", "unit": f"{query}c{n}", "kind": "key-point"}
                value = {"y": "yes", "n": "no"}[value]
                yield {**at, "variable": "grounded", "value": value, "rater": rater}


def typed() -> Iterator[Line]:
    for query, sensitivity in (("q1", "static"), ("q2", "fast-changing")):
        values = {"valid": "yes", "false_premise": "no", "information_seeking": "yes"}
        values |= {"sensitivity": sensitivity, "complexity": "simple", "popularity": "head"}
        for variable, value in values.items():
            at = {"item": query, "unit": query, "kind": "query"}
            yield {**at, "variable": variable, "value": value, "rater": "ada"}


def grounded() -> Iterator[Line]:
    for query in ("q1", "q2"):
        for passage, relevant in (("a", "yes"), ("b", "yes" if query == "q1" else "no")):
            at = {"item": query, "unit": f"{query}/{query}{passage}", "kind": "passage"}
            yield {**at, "variable": "relevant", "value": relevant, "rater": "ada"}
            if relevant == "yes":
                use = "answer-the-question"
                yield {**at, "variable": "use", "value": use, "rater": "ada"}


def rated() -> Iterator[Line]:
    """Every answer is eligible; the second sentence of `loose` is unsupported on q1."""
    for query in ("q1", "q2"):
        for name in SYSTEMS:
            report = f"{query}-{name}"
            at = {"item": query, "rater": "ada"}
            eligible = {"unit": report, "kind": "report", "variable": "eligibility"}
            yield {**at, **eligible, "value": "minor"}
            for n in (1, 2):
                poor = (query, name, n) == ("q1", "loose", 2)
                value = "unsupported" if poor else "supported"
                support = {"unit": f"{report}#{n}", "kind": "sentence", "variable": "support"}
                yield {**at, **support, "value": value}


@pytest.fixture(scope="module")
def folder(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    folder: Path = tmp_path_factory.mktemp("grounds")
    write_lines(folder / "questions.jsonl", questions())
    write_lines(folder / "typing.jsonl", typed())
    write_lines(folder / "grounding.jsonl", grounded())
    write_lines(folder / "answers.jsonl", rated())
    write_lines(folder / "claims.jsonl", checked())
    (folder / "study.toml").write_text(STUDY, "utf-8")
    with rolled_back(django_db_blocker):
        run("apply_study", folder)
        yield folder


@pytest.fixture(scope="module")
def tables(folder: Path) -> dict[str, Any]:
    return tables_of("garage", "grounds")


@pytest.mark.every_case
def test_verify_fills_the_tables_again_from_the_release(folder: Path) -> None:
    assert_refilled(folder)


def test_figures_3_and_4_count_kinds_sources_labels_and_deflections(tables: Any) -> None:
    assert row_of(tables["figure-3"][0], "static") == [0.5, 1]
    sources, relevant, _, deflected = tables["figure-4"]
    assert row_of(sources, "web") == [0.5, 2]
    assert row_of(relevant, "yes") == [0.75, 3]
    assert row_of(deflected, "deflected") == [0.5, 1]


def test_table_2_names_the_campaign_missing_for_relevance_aware_factuality(tables: Any) -> None:
    grid = tables["table-2"][0]
    assert row_of(grid, "good") == [1, 1, 1, None, None]
    assert row_of(grid, "loose") == [1, 0.5, 0.5, None, None]
    assert "passages=relevant" in reason_of(grid, "loose", 4)


def test_tables_3_and_4_have_deflection_and_attribution(tables: Any) -> None:
    grid = tables["tables-3-4"][0]
    # True and false positives, then precision, recall and F1 of q1, whose reference cites one.
    assert row_of(grid, "good")[:5] == [1, 0, 1, 1, 1]
    assert row_of(grid, "loose")[:5] == pytest.approx([0, 0, 0.5, 1, 2 / 3])


def test_section_2_counts_claims_supported_by_a_passage_without_ties(tables: Any) -> None:
    (grid,) = tables["section-2"]
    assert row_of(grid, "good") == [pytest.approx(2 / 3), 3, 2]


def test_tables_name_the_data_that_the_study_lacks(tables: Any) -> None:
    assert "passages=relevant" in reason_of(tables["figures-5-6"][0], "none yet", 0)
