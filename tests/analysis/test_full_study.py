"""The demonstration can be prepared, labelled, judged, measured and exported as a whole study."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotation.registry import STEPS
from datasets.material import batch_rows
from datasets.models import Batch
from judging.backends.base import Request
from judging.preparation.status import campaign_for
from tandem.files.rows import Query
from tests.analysis.conftest import run
from tests.annotation.preparation.cast import author, point, researcher
from tests.cast import ROOT, write_lines
from tests.judging.cast import judge, run_scripted

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]

JSON = dict[str, Any]
FILES = ROOT / "datasets" / "demonstration"
ETA = 3
PERSON = "Ada (made up)"


def lines(path: Path) -> list[JSON]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


QUESTIONS = {q["id"]: q["text"] for line in lines(FILES / "batch.jsonl") for q in line["questions"]}


def rating(question: str, passage: str) -> int:
    """The rule of the ratings: how many longer words of the question the passage has, at most 5."""
    words = {word.strip("?.,'").casefold() for word in QUESTIONS[question].split()}
    return min(5, sum(word in passage.casefold() for word in words if len(word) > 4))


def rates(request: Request) -> str:
    (passage,) = request.facts.texts
    units = [unit.name for unit in request.facts.units]
    return json.dumps({u: {"evidence": [], "rating": str(rating(u, passage))} for u in units})


def extracts(request: Request) -> str:
    """One key point of each passage: its first sentence, word for word."""
    (passage,), (unit,) = request.facts.texts, request.facts.units
    sentence = passage.partition(". ")[0]
    return json.dumps({unit.name: {"holds_points": "yes", "points": [point(sentence, sentence)]}})


def prepared(folder: Path) -> tuple[Query, ...]:
    """The demonstration with filtered questions and new key points, each step reviewed."""
    run("load_batch", str(FILES / "batch.jsonl"), "--name", "documents")
    rosa, writer = researcher(), author()
    steps = (("ratings", "documents", "rated", rates), ("key-points", "rated", "study", extracts))
    for step, start, then, script in steps:
        campaign = campaign_for(Batch.objects.get(name=start), STEPS[step])
        assert run_scripted(campaign, writer, script)[0].failures == {}
        of = ("--step", step, "--batch", start)
        run("review_batch", *of, "--accept", "--by", rosa.username)
        run("build_batch", *of, "--name", then, "--output", str(folder / f"{then}.jsonl"))
    return tuple(batch_rows(Batch.objects.get(name="study")))


def people_of(queries: tuple[Query, ...]) -> Iterator[JSON]:
    """The demonstration's labels of the sub-questions that the author's ratings kept."""
    kept = {question.id for query in queries for question in query.questions}
    for line in lines(FILES / "labels.jsonl"):
        if line["unit"] in kept:
            yield {k: v for k, v in line.items() if k not in ("campaign", "batch", "query")}


def studied(folder: Path, queries: tuple[Query, ...]) -> None:
    """Reports labelled by people and by a judge, passages by the judge."""
    made = {"reports": "report-coverage", "passages": "rubric-passage"}
    for name, protocol in made.items():
        design = ("--raters-per-item", "3") if name == "reports" else ("--option", "sampling=all")
        run("create_campaign", name, "--protocol", protocol, "--batch", "study", *design)
    labels = write_lines(folder / "people.jsonl", people_of(queries))
    run("import_labels", str(labels), "--campaign", "reports")
    judge("floor", "lexical")
    for name in made:
        assert " 0 failed" in run("run_judge", "--campaign", name, "--judge", "floor")


def by_hand(queries: tuple[Query, ...], system: str, counted: set[str]) -> float:
    """A person's mean coverage of a system's reports, from the file of labels."""
    shares = []
    for query in queries:
        said = [
            line["value"] == "yes"
            for line in lines(FILES / "labels.jsonl")
            if line["item"] == f"{query.id}:{system}"
            and line["rater"] == PERSON
            and line["unit"] in counted
            and line["value"] in ("yes", "no")
        ]
        if said:
            shares.append(sum(said) / len(said))
    return sum(shares) / len(shares)


def test_a_study_goes_from_documents_to_figures_for_other_tools(tmp_path: Path) -> None:
    queries = prepared(tmp_path)
    texts = {p.id: p.text for query in queries for p in query.passages}
    kept = {question.id for query in queries for question in query.questions}
    answered = {
        question
        for query in queries
        for question in QUESTIONS
        if question.startswith(f"{query.id}:")
        and any(rating(question, p.text) >= ETA for p in query.passages)
    }
    assert kept == answered
    assert 0 < len(kept) < len(QUESTIONS)
    points = [each for query in queries for each in query.key_points]
    assert len(points) == len(texts)
    assert all(each.text in texts[each.passage] for each in points)

    studied(tmp_path, queries)
    archive = tmp_path / "study.zip"
    asked = ("--resamples", "20")
    of_passages = json.loads(
        run("measures", "--campaign", "passages", *asked, "--trec", str(archive))
    )
    given = ("--campaign", "reports", "--preset", "crux", "--passages", "floor@passages", *asked)
    found = json.loads(run("measures", *given))

    ratings = {
        (line["item"], line["unit"]): int(line["value"])
        for line in map(
            json.loads,
            run(
                "export", "--campaign", "passages", "--what", "labels", "--format", "jsonl"
            ).splitlines(),
        )
    }
    oracle = {f"{query.id}/{p.id}" for query in queries for p in query.passages if p.relevant}
    counted = {unit for (item, unit), value in ratings.items() if item in oracle and value >= ETA}
    assert counted
    systems = found["measures"]["Cov(y)"]["systems"]
    assert set(systems) == {"oracle-context", "keyword-search", "dense-search"}
    for system, said in systems.items():
        expected = by_hand(queries, system, counted)
        assert said["raters"][PERSON]["value"] == pytest.approx(expected), system
    boards = [(board["by"], board["kind"]) for board in found["leaderboard"]["boards"]]
    assert boards[:2] == [("people", "people"), ("floor", "judge")]
    assert "options of crux" in run("measures", *given, "--format", "md")
    assert r"\begin{tabular}" in run("measures", *given, "--format", "latex")

    same_in_ir_measures(archive, of_passages["measures"], tmp_path)
    taken_along(tmp_path)


def same_in_ir_measures(archive: Path, measures: JSON, folder: Path) -> None:
    library = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    with zipfile.ZipFile(archive) as held:
        held.extractall(folder / "trec")
    (judged,) = (folder / "trec" / "qrels").glob("*.diversity.qrels")
    names = {
        library.alpha_nDCG(alpha=0.5) @ 10: "alpha_nDCG@10",
        library.StRecall @ 10: "Cov@10",
    }
    qrels = list(library.read_trec_qrels(str(judged)))
    system = "1-oracle-context"
    ranked = list(library.read_trec_run(str(folder / "trec" / "runs" / f"{system}.run")))
    values = library.calc_aggregate(list(names), qrels, ranked)
    for measure, name in names.items():
        ours = measures[name]["systems"]["oracle-context"]["raters"]["floor"]["value"]
        assert values[measure] == pytest.approx(ours, abs=1e-5), name


def taken_along(folder: Path) -> None:
    """Check that the exported batch and labels, loaded again, are the same study."""
    again = run("load_batch", str(folder / "study.jsonl"), "--name", "study")
    assert "Nothing to do" in again or "already loaded" in again
    for what in ("batch", "labels"):
        path = str(folder / f"{what}.jsonl")
        run("export", "--campaign", "reports", "--what", what, "--output", path)
    assert len(lines(folder / "batch.jsonl")) == len(lines(folder / "study.jsonl"))
    run("create_campaign", "again", "--protocol", "report-coverage", "--batch", "study",
        "--raters-per-item", "3")  # fmt: skip
    taken = [
        {k: v for k, v in each.items() if k != "campaign"}
        for each in lines(folder / "labels.jsonl")
    ]
    run("import_labels", str(write_lines(folder / "taken.jsonl", taken)), "--campaign", "again")
    reports = [
        json.loads(run("measures", "--campaign", name, "--resamples", "20"))
        for name in ("reports", "again")
    ]
    assert reports[0]["measures"] == reports[1]["measures"]
