"""The parts on which the figures of measures depend; the bar itself is never a test."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.measures import MOST_SECONDS, QUICK, Size, create_batch, create_ratings, lines
from tests.analysis.conftest import run
from tests.cast import write_lines

SIZE = Size(queries=3, questions=2, passages=4, systems=5, resamples=2)


def test_every_passage_is_rated_for_every_question_of_its_query() -> None:
    rows = list(create_ratings(SIZE))
    places = Counter((row["item"], row["unit"]) for row in rows)
    assert len(places) == len(rows) == 3 * 2 * 4
    assert {row["item"].split("/")[0] for row in rows} == {"q0", "q1", "q2"}


@pytest.mark.django_db
def test_the_requested_number_of_systems_is_measured(tmp_path: Path) -> None:
    run("load_batch", str(write_lines(tmp_path / "b.jsonl", create_batch(SIZE))), "--name", "b")
    run("create_campaign", "c", "--protocol", "rubric-passage", "--batch", "b",
        "--option", "sampling=all")  # fmt: skip
    run("import_labels", str(write_lines(tmp_path / "l.jsonl", create_ratings(SIZE))),
        "--campaign", "c")  # fmt: skip
    found = json.loads(run("measures", "--campaign", "c", "--resamples", "2"))["measures"]
    for name in ("Cov", "alpha_nDCG@oracle", "Den@10", "MAP@20", "Recall", "nDCG"):
        assert len(found[name]["systems"]) == 5, name
    assert found["Cov"]["systems"]["oracle"]["raters"]["judge"]["value"] == 1


@pytest.mark.parametrize(("seconds", "verdict"), [(MOST_SECONDS, "holds"), (5.1, "MISSED")])
def test_the_bar_is_met_or_missed(seconds: float, verdict: str) -> None:
    figures = {"seconds": seconds, "reading": 1.0, "numbers": 8, "peak_mb": 200.0, "ratings": 144}
    assert lines({**asdict(QUICK), **figures}).splitlines()[1].endswith(verdict)
