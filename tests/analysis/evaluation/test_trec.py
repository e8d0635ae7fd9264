"""Runs and qrels of a random study, from which TREC's tools compute the report's numbers."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.conftest import run
from tests.cast import write_lines
from tests.databases import rolled_back

library = pytest.importorskip("ir_measures", reason="ir_measures is not installed")

JSON = dict[str, Any]
QUERIES, QUESTIONS, PASSAGES = 12, 4, 8
SYSTEMS = ("bm25", "dense", "short")
ALPHA = 0.5
GIVEN = 7
"""The number of queries that a fourth system answered."""


def batch(generator: np.random.Generator) -> list[JSON]:
    """Rankings of all passages, of some, and, for the first query, of none."""
    made = []
    for n in range(QUERIES):
        ids = [f"t{n:02}-p{p}" for p in range(PASSAGES)]
        orders = {system: generator.permutation(ids).tolist() for system in SYSTEMS}
        orders["short"] = orders["short"][: n % 4]
        if n < GIVEN:
            orders["partial"] = ids[::-1]
        made.append(
            {
                "id": f"t{n:02}",
                "text": "?",
                "questions": [{"id": f"t{n:02}-q{q}", "text": "?"} for q in range(QUESTIONS)],
                "passages": [
                    {"id": each, "text": "Words.", "relevant": p % 3 != 1}
                    for p, each in enumerate(ids)
                ],
                "rankings": [{"system": s, "passages": order} for s, order in orders.items()],
            }
        )
    return made


def ratings(generator: np.random.Generator) -> list[JSON]:
    """A judge's ratings; no passage of the last query answers anything."""
    values = generator.choice([0, 2, 3, 5], (QUERIES, PASSAGES, QUESTIONS), p=[0.5, 0.2, 0.2, 0.1])
    values[-1] = 0
    return [
        {
            "item": f"t{n:02}/t{n:02}-p{p}",
            "unit": f"t{n:02}-q{q}",
            "variable": "rating",
            "value": str(rating),
            "rater": "judge",
            "rater_kind": "judge",
        }
        for (n, p, q), rating in np.ndenumerate(values)
    ]


@pytest.fixture(scope="module")
def study(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any
) -> tuple[JSON, Path]:
    """The measures by relevance as the batch marks it, and the folder of runs and qrels."""
    generator = np.random.default_rng(11)
    folder = tmp_path_factory.mktemp("study")
    lines = write_lines(folder / "batch.jsonl", batch(generator))
    labels = write_lines(folder / "labels.jsonl", ratings(generator))
    archive = folder / "c.zip"
    with rolled_back(django_db_blocker):
        run("load_batch", str(lines), "--name", "b")
        run("create_campaign", "c", "--protocol", "rubric-passage", "--batch", "b",
            "--option", "sampling=all")  # fmt: skip
        run("import_labels", str(labels), "--campaign", "c")
        found = json.loads(
            run("measures", "--campaign", "c", "--resamples", "2", "--preset", "clapnq",
                "--trec", str(archive))
        )  # fmt: skip
    with zipfile.ZipFile(archive) as held:
        held.extractall(folder / "trec")
    return found["measures"], folder / "trec"


def by_query(measure: Any, qrels: Path, ranked: Path) -> dict[str, float]:
    given = library.iter_calc(
        [measure],
        list(library.read_trec_qrels(str(qrels))),
        list(library.read_trec_run(str(ranked))),
    )
    return {each.query_id: each.value for each in given}


def ours(measures: JSON, name: str, system: str) -> Any:
    said = measures[name]["systems"][system]
    return (said["texts"] or said["raters"]["judge"])["value"]


@pytest.mark.parametrize(("number", "system"), [*enumerate(SYSTEMS, start=1)])
def test_trec_eval_gives_the_same_precision_recall_and_gain(
    study: tuple[JSON, Path], number: int, system: str
) -> None:
    measures, folder = study
    qrels, ranked = folder / "qrels/oracle.qrels", folder / f"runs/{number}-{system}.run"
    names = {library.AP: "MAP"}
    names |= {library.R @ k: f"Recall@{k}" for k in (1, 3, 5, 10)}
    names |= {library.nDCG @ k: f"nDCG@{k}" for k in (1, 3, 5, 10)}
    for measure, name in names.items():
        found = by_query(measure, qrels, ranked)
        assert len(found) == QUERIES
        assert ours(measures, name, system) == pytest.approx(np.mean([*found.values()])), name


@pytest.mark.parametrize(("number", "system"), [*enumerate(SYSTEMS, start=1)])
def test_ndeval_gives_the_same_coverage_and_alpha_ndcg(
    study: tuple[JSON, Path], number: int, system: str
) -> None:
    measures, folder = study
    ranked = folder / f"runs/{number}-{system}.run"
    qrels = folder / "qrels/1-judge.diversity.qrels"
    names = {library.StRecall @ k: f"Cov@{k}" for k in (1, 3, 5, 10)}
    names |= {library.alpha_nDCG(alpha=ALPHA) @ k: f"alpha_nDCG@{k}" for k in (1, 3, 5, 10)}
    for measure, name in names.items():
        found = by_query(measure, qrels, ranked)
        # The query that no passage answers has no line, and no value here either.
        assert len(found) == QUERIES - 1
        expected = np.mean([*found.values()])
        assert ours(measures, name, system) == pytest.approx(expected, abs=1e-5), name


def test_queries_that_a_system_was_not_given_are_left_out(
    study: tuple[JSON, Path], tmp_path: Path
) -> None:
    measures, folder = study
    ranked = folder / "runs/4-partial.run"
    for measure, our_name, name in (
        (library.nDCG @ 5, "nDCG@5", "oracle"),
        (library.StRecall @ 5, "Cov@5", "1-judge.diversity"),
    ):
        whole, own = folder / f"qrels/{name}.qrels", tmp_path / "own.qrels"
        asked = "NR == FNR {given[$1]; next} $1 in given"
        assert asked in (folder / "README.txt").read_text("utf-8")
        kept = subprocess.run(["awk", asked, ranked, whole], capture_output=True, check=True)
        own.write_bytes(kept.stdout)
        found = by_query(measure, own, ranked)
        assert len(found) == GIVEN
        assert ours(measures, our_name, "partial") == pytest.approx(np.mean([*found.values()]))
        assert np.mean([*by_query(measure, whole, ranked).values()]) < np.mean([*found.values()])
