"""The reference lists every key of a report of measures, and no other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotation.models import Rater
from docs._reference.measures import KEYS, SAME_AGAIN, keys_of
from judging.models import Judge
from tests.analysis.conftest import run
from tests.analysis.evaluation import test_declared as declared
from tests.analysis.evaluation.test_command import label as said
from tests.analysis.evaluation.test_command import measured, ratings, report
from tests.cast import write_lines

pytestmark = pytest.mark.django_db


def test_the_documented_keys_are_those_of_full_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = [said("k1", "k1", "grounded", "no"), said("k2", "k2", "grounded", "yes", "judge")]
    labels.append({**said("k2", "k2", "key", "agree", "judge"), "rater": "of keys"})
    measured(tmp_path, "key-point-verification", labels)
    found = keys_of(report)
    for rater in Rater.objects.filter(kind="judge"):
        Judge.objects.create(rater=rater, backend="openai", model="one")
    found |= keys_of(json.loads(run("measures", "--campaign", "c", "--resamples", "2")))
    run("create_campaign", "p", "--protocol", "rubric-passage", "--batch", "b",
        "--option", "sampling=all")  # fmt: skip
    run("import_labels", str(write_lines(tmp_path / "p.jsonl", ratings())), "--campaign", "p")
    bounds = ("--option", "unrated=bounds")
    found |= keys_of(json.loads(run("measures", "--campaign", "p", "--resamples", "2", *bounds)))
    run("create_campaign", "r", "--protocol", "report-coverage", "--batch", "b",
        "--option", "variables=answerable,rating")  # fmt: skip
    rated = [
        said(item, f"q{n}", "rating", n % 6, rater)
        for item in ("o", "b")
        for n in range(10)
        for rater in ("ada", "judge")
    ]
    rated.append(said("o", "q0", "answerable", "no"))
    run("import_labels", str(write_lines(tmp_path / "r.jsonl", rated)), "--campaign", "r")
    run("create_campaign", "t", "--protocol", "question-typing", "--batch", "b")
    typed = [said("t", "t", "valid", "no")]
    run("import_labels", str(write_lines(tmp_path / "t.jsonl", typed)), "--campaign", "t")
    options = ("--passages", "people@p", "--slices", "t", "--resamples", "2")
    found |= keys_of(json.loads(run("measures", "--campaign", "r", *options)))
    declared.declare(monkeypatch)
    declared.study(tmp_path, list(declared.labels(("ada",)))[3:])
    found |= keys_of(declared.measured())
    assert found - set(KEYS) == set()
    assert set(KEYS) - found == set()


def test_a_repeated_block_refers_to_one_that_is_documented() -> None:
    assert all(
        any(key.startswith(shown.removesuffix("[]")) for key in KEYS)
        for shown in SAME_AGAIN.values()
    )
