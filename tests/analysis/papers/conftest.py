"""A made-up CRUX study of two queries, small enough that its tables can be worked out by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.release.verify import verify
from analysis.study import apply, read_study
from tests.cast import run, write_lines
from tests.databases import rolled_back
from tests.docs.markdown import blocks, read

Line = dict[str, Any]
QUERIES = ("q1", "q2")
RANKINGS = {"r1": "ab", "r2": "ad", "r3": "de"}
"""Rankings of two passages; contexts of two that are drawn from them hold just these."""
SAMPLED = {"r1": (1, 0), "r2": (1, 1), "r3": (0, 0)}
"""Which questions the report from each sampled context answers, by all raters."""
ANSWERS = {"a": (5, 0), "b": (0, 4), "c": (3, 0)}
"""The ratings of relevant passages on the two questions of their query; others answer none."""
REPORTS = {
    "direct": (None, (0, 0)),
    "reference": (None, (1, 1)),
    "oracle": ("ab", (1, 1)),
    "first": ("ab", (1, 1)),
    "second": ("ac", (1, 0)),
    "third": ("d", (0, 0)),
}
"""The context of each system, and which of the two questions its report answers."""
TEN = " ".join(["word"] * 10)

STUDY = """\
[study]
name = "small"
preset = "crux"

[batch.documents]
files = ["documents.jsonl"]

[judge.replay]
backend = "scripted"
answers = "judge.jsonl"

[campaign.passages]
protocol = "rubric-passage"
batch = "documents"
raters_per_item = 2
option = { sampling = "all", passages = "relevant" }
labels = ["passages.jsonl"]
judges = ["replay"]

[batch.answered]
files = ["reports.jsonl"]
extends = "documents"

[campaign.coverage]
protocol = "report-coverage"
batch = "answered"
raters_per_item = 2
option = { variables = "answerable,rating" }
labels = ["coverage.jsonl"]
judges = ["replay"]

[batch.contexts]
rule = "sampled-contexts"
batch = "documents"
set = { n = 1, size = 2, depth = 2 }

[batch.sampled]
files = ["sampled.jsonl"]
extends = "contexts"

[campaign.sampled-coverage]
protocol = "report-coverage"
batch = "sampled"
option = { variables = "answerable,rating" }
labels = ["sampled-ada.jsonl"]
judges = ["replay"]
"""


def documents() -> Iterator[Line]:
    for query in QUERIES:
        yield {
            "id": query,
            "text": f"Tell me about {query}.",
            "questions": [{"id": f"{query}:{n}", "text": f"Question {n}?"} for n in (1, 2)],
            "passages": [
                {"id": f"{query}{p}", "text": TEN, "relevant": p not in "de"} for p in "abcde"
            ],
            "rankings": [
                {"system": system, "passages": [query + p for p in ranked]}
                for system, ranked in RANKINGS.items()
            ],
            "references": [{"text": TEN}],
        }


def reports() -> Iterator[Line]:
    for query in QUERIES:
        made = []
        for system, (context, _) in REPORTS.items():
            report: Line = {"id": f"{query}-{system}", "text": TEN, "system": system}
            if context is not None:
                report["context"] = [query + p for p in context]
            made.append(report)
        yield {"id": query, "text": f"Tell me about {query}.", "reports": made}


def sampled() -> Iterator[Line]:
    for query in QUERIES:
        reports = [
            {
                "id": f"{query}-{system}",
                "text": TEN,
                "system": f"{system}, sample 1",
                "context": [query + p for p in ranked],
            }
            for system, ranked in RANKINGS.items()
        ]
        yield {"id": query, "reports": reports}


def sampled_labels(rater: str) -> Iterator[Line]:
    for query in QUERIES:
        for system, answers in SAMPLED.items():
            for n, answer in enumerate(answers, start=1):
                at = f"{query}-{system}", f"{query}:{n}"
                yield _label(*at, "answerable", "yes" if answer else "no", rater)
                yield _label(*at, "rating", 3 if answer else 0, rater)


def passage_labels(rater: str) -> Iterator[Line]:
    for query in QUERIES:
        for passage, ratings in ANSWERS.items():
            for n, rating in enumerate(ratings, start=1):
                yield _label(f"{query}/{query}{passage}", f"{query}:{n}", "rating", rating, rater)


def report_labels(rater: str) -> Iterator[Line]:
    for query in QUERIES:
        for system, (_, answers) in REPORTS.items():
            for n, answer in enumerate(answers, start=1):
                item, unit = f"{query}-{system}", f"{query}:{n}"
                # Ben misses one answer of one report.
                says = answer and (rater, item, n) != ("ben", "q1-first", 2)
                yield _label(item, unit, "answerable", "yes" if says else "no", rater)
                yield _label(item, unit, "rating", 3 if answer else 0, rater)


def _label(item: str, unit: str, variable: str, value: object, rater: str) -> Line:
    made = {"item": item, "unit": unit, "kind": "question", "variable": variable}
    found: Line = {**made, "value": str(value), "rater": rater}
    return {**found, "spans": [{"field": "report", "text": "word"}]} if value == "yes" else found


def write_files(folder: Path) -> None:
    people = ("ada", "ben")
    write_lines(folder / "documents.jsonl", documents())
    write_lines(folder / "reports.jsonl", reports())
    write_lines(folder / "passages.jsonl", [x for r in people for x in passage_labels(r)])
    write_lines(folder / "coverage.jsonl", [x for r in people for x in report_labels(r)])
    judged = (passage_labels, report_labels, sampled_labels)
    write_lines(folder / "sampled.jsonl", sampled())
    write_lines(folder / "sampled-ada.jsonl", sampled_labels("ada"))
    write_lines(folder / "judge.jsonl", [x for labels in judged for x in labels("replay")])


@pytest.fixture(scope="module")
def crux_study(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("crux")
    write_files(folder)
    (folder / "study.toml").write_text(STUDY, "utf-8")
    with rolled_back(django_db_blocker):
        run("apply_study", folder)
        yield "small"


def tables_of(paper: str, study: str, *more: str) -> dict[str, Any]:
    return by_key(paper_of(paper, study, *more))


def paper_of(paper: str, study: str, *more: str) -> dict[str, Any]:
    text = run("paper", paper, "--study", study, "--format", "json", "--resamples", "20", *more)
    found: dict[str, Any] = json.loads(text)
    return found


def by_key(found: dict[str, Any]) -> dict[str, Any]:
    """The tables by their key."""
    return {table["key"]: table["grids"] for table in found["tables"]}


def row_of(grid: dict[str, Any], name: str) -> list[Any]:
    """The values of a row: numbers, texts, or None."""
    cells = next(row["cells"] for row in grid["rows"] if row["name"] == name)
    return [cell["value"] if isinstance(cell, dict) else cell for cell in cells]


def reason_of(grid: dict[str, Any], name: str, column: int) -> str:
    cells = next(row["cells"] for row in grid["rows"] if row["name"] == name)
    reason: str = cells[column]["reason"]
    return reason


def released(name: str, data: Path, folder: Path) -> str:
    """Apply the study file that the documentation gives for released labels; return its name."""
    texts = blocks(read("how-to/paper-tables.md"), "toml")
    (text,) = [text for text in texts if f'name = "{name}-released"' in text]
    (folder / "study.toml").write_text(text, "utf-8")
    (folder / name).symlink_to((data / name).resolve())
    apply(read_study(folder))
    return f"{name}-released"


def assert_refilled(folder: Path) -> None:
    """Freeze a study, and check that every cell of its tables follows from the release."""
    release = folder / "release"
    licence = ("--licence", "CC0-1.0", "--resamples", "2")
    run("freeze_study", folder, "--output", release, *licence)
    found = verify(release)
    assert found.wrong == []
    (line,) = (line for line in found.checked if " were computed again" in line)
    assert len(set(re.findall(r"\b[0-9]+\b", line))) == 1, line
