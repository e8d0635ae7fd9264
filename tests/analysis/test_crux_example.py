"""The commands compute CRUX's worked example from its files, to the figures worked by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.conftest import run
from tests.scores.cast import PASSAGES, QUESTIONS, RATED, WORDS

pytestmark = pytest.mark.django_db

JSON = dict[str, Any]
FILES = Path(__file__).resolve().parents[1] / "scores" / "example"


@pytest.fixture
def example() -> None:
    run("load_batch", str(FILES / "batch.jsonl"), "--name", "example")
    run("create_campaign", "ratings", "--protocol", "rubric-passage", "--batch", "example",
        "--option", "sampling=all")  # fmt: skip
    run("create_campaign", "answers", "--protocol", "report-coverage", "--batch", "example",
        "--option", "variables=answerable,rating")  # fmt: skip
    for name in ("ratings", "answers"):
        run("import_labels", str(FILES / f"{name}.jsonl"), "--campaign", name)


def measures(*arguments: str) -> JSON:
    found: JSON = json.loads(run("measures", "--resamples", "2", *arguments))
    return found


def values(report: JSON, name: str, rater: str) -> dict[str, float | None]:
    systems = report["measures"][name]["systems"]
    return {system: said["raters"][rater]["value"] for system, said in systems.items()}


def test_the_files_contain_the_ratings_of_the_table() -> None:
    lines = [json.loads(line) for line in (FILES / "ratings.jsonl").read_text().splitlines()]
    found = {(each["item"], each["unit"]): int(each["value"]) for each in lines}
    assert found == {
        (f"dam/p{p + 1}", f"q{q}"): RATED[p].get(q, 0)
        for p in range(PASSAGES)
        for q in range(QUESTIONS)
    }
    (batch,) = map(json.loads, (FILES / "batch.jsonl").read_text().splitlines())
    assert tuple(len(p["text"].split()) for p in batch["passages"]) == WORDS


def test_contexts_cover_what_their_passages_answer(example: None) -> None:
    # q8 and q9 are filtered out. p3 and p1 answer q0 to q4 and q7: six of eight, in 15 of 25 words.
    found = measures("--campaign", "ratings")
    assert values(found, "Cov", "judge") == {"oracle": 1, "bm25": 6 / 8, "empty": 0}
    assert values(found, "Tokens", "judge") == {"oracle": 25, "bm25": 15, "empty": 0}
    density = values(found, "Den", "judge")
    assert density == pytest.approx({"oracle": 1, "bm25": 1.25**0.5, "empty": 0})
    # p3 answers two; p1 four new ones and q0 again. Best: five, then three new and two again.
    gain, ideal = 2 + 4.5 / np.log2(3), 5 + 4 / np.log2(3)
    ranked = values(found, "alpha_nDCG", "judge")
    assert (ranked["bm25"], ranked["empty"]) == (pytest.approx(gain / ideal), 0)


def test_ir_measures_computes_the_same_ranked_coverage(example: None) -> None:
    pytest.importorskip("pyndeval", reason="pyndeval is not installed")
    ours = measures("--campaign", "ratings")
    theirs = measures("--campaign", "ratings", "--option", "alpha_ndcg=ir-measures")
    assert theirs["options"]["alpha_ndcg"]["value"] == "ir-measures"
    for cut in ("", "@oracle", "@10", "@20"):
        one, other = (values(each, f"alpha_nDCG{cut}", "judge") for each in (ours, theirs))
        assert one == pytest.approx(other, abs=1e-5)


def test_the_required_subset_answers_every_question_that_counts(example: None) -> None:
    assert measures("--campaign", "ratings")["required"] == {"judge": {"dam": ["p1", "p2"]}}
    five = measures("--campaign", "ratings", "--option", "eta=5")
    assert five["required"] == {"judge": {"dam": ["p1", "p2", "p3"]}}


def test_the_oracle_and_the_required_context_have_measures_too(example: None) -> None:
    # The oracle answers all eight in 25 words, p1 and p2 in 20: (1/20 / (1/25)) ** 0.5.
    found = measures("--campaign", "ratings")["reference_contexts"]["judge"]
    of = {name: {m: e["value"] for m, e in each.items()} for name, each in found.items()}
    assert (of["oracle"]["Cov"], of["oracle"]["Den"], of["oracle"]["Tokens"]) == (1, 1, 25)
    assert (of["required"]["Cov"], of["required"]["Tokens"]) == (1, 20)
    assert of["required"]["Den"] == pytest.approx(1.25**0.5)
    text = run("measures", "--campaign", "ratings", "--resamples", "2", "--format", "md")
    assert "## Oracle and required contexts" in text


def test_coverage_of_reports_follows_people_and_a_judge(example: None) -> None:
    every = measures("--campaign", "answers")
    assert values(every, "Cov(y)", "ada") == {"oracle": 4 / 10, "bm25": 2 / 10, "empty": 0}
    found = measures("--campaign", "answers", "--passages", "judge@ratings")
    assert values(found, "Cov(y)", "ada") == {"oracle": 4 / 8, "bm25": 2 / 8, "empty": 0}
    # The judge rates bm25's report 5, 3 and, for q8, which does not count, 4.
    assert values(found, "Cov(y)@rated", "judge") == {"oracle": 4 / 8, "bm25": 2 / 8, "empty": 0}


def test_each_threshold_selects_its_own_questions(example: None) -> None:
    found = measures("--campaign", "answers", "--passages", "judge@ratings")
    rows = {row["eta"]: row for row in found["thresholds"]["judge"]}
    assert [(eta, rows[eta]["questions"]) for eta in (3, 5)] == [(3, 8), (5, 5)]
    # At 5: contexts cover 5, 3 and 0 of five; reports 2, 1 and 0.
    assert rows[3]["context"] == pytest.approx((1 + 6 / 8 + 0) / 3)
    assert rows[3]["report"] == pytest.approx((4 / 8 + 2 / 8 + 0) / 3)
    assert rows[5]["context"] == pytest.approx((5 + 3 + 0) / 15)
    assert rows[5]["report"] == pytest.approx((2 + 1 + 0) / 15)
    assert (rows[3]["kendall"], rows[5]["kendall"]) == (pytest.approx(1), pytest.approx(1))
