"""Decisions of vLLM itself: of a tiny Qwen3, and of a tiny Llama, of which it takes none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annotation.models import Assignment, Label
from judging.backends.vllm_server import KEY_VARIABLE
from judging.judges import Definition, define
from judging.models import JudgeRun
from judging.params import read_params
from tests.judging.cast import campaign_of, command
from tests.vllm import serving

pytestmark = pytest.mark.processes


def decide(tmp_path: Path, model: str, protocol: str, *params: str) -> tuple[JudgeRun, str]:
    """A run of a decision judge over a server with this model, and what it says."""
    serving.start(serving.judge("starter", model))
    define(Definition("d", "decisions", model, serving.started().url, KEY_VARIABLE,
                      params=read_params(params)))  # fmt: skip
    study = campaign_of(tmp_path, protocol)
    said = command("run_judge", "--campaign", study.name, "--judge", "d")
    return JudgeRun.objects.get(judge__rater__name="d"), said


def facts_of(run: JudgeRun) -> dict[str, Any]:
    return dict(run.manifest["probe"]["facts"])


def test_every_question_gets_the_probability_of_each_code(
    db: None, deciding_model: str, tmp_path: Path
) -> None:
    run, _ = decide(tmp_path, deciding_model, "grounding-relevance", "mass_floor=0.01")
    facts = facts_of(run)
    assert (run.state, run.failures, facts["form"]) == ("done", {}, "systemone")
    assert facts["version"].startswith("0.")
    labels = {(each.unit.key, each.variable): each for each in Label.objects.all()}
    relevant = [each for (_, name), each in labels.items() if name == "relevant"]
    assert len(relevant) == 2
    for each in labels.values():
        assert each.meta is not None
        shares = each.meta["probabilities"]
        assert sum(shares.values()) == pytest.approx(1, abs=1e-6)
        assert each.value == max(shares, key=shares.get)
        assert 0.01 <= each.meta["mass"] <= 1
    asked = {key for (key, name), each in labels.items() if each.value == "yes"}
    assert {key for key, name in labels if name == "use"} == asked
    # One token for each question.
    assert run.completion_tokens == len(labels)


def test_a_scale_is_asked_as_a_score(db: None, deciding_model: str, tmp_path: Path) -> None:
    run, _ = decide(tmp_path, deciding_model, "rubric-passage", "mass_floor=0.01")
    assert run.failures == {}
    labels = list(Label.objects.all())
    assert labels
    for each in labels:
        assert each.meta is not None
        shares = each.meta["probabilities"]
        assert list(shares) == list("012345")
        expected = sum(int(code) * p for code, p in shares.items())
        assert each.score == pytest.approx(expected, abs=1e-6)


def test_probability_that_is_mostly_elsewhere_gives_no_label(
    db: None, deciding_model: str, tmp_path: Path
) -> None:
    """The model favours yes and no, and letters only a little."""
    run, _ = decide(tmp_path, deciding_model, "key-point-recall")
    rows = Assignment.objects.filter(rater__name="d")
    assert run.failures == {"off-label": rows.count()}
    assert not Label.objects.exists()


def test_a_model_that_cannot_decide_is_read_by_its_first_token(
    db: None, model: str, tmp_path: Path
) -> None:
    run, said = decide(tmp_path, model, "grounding-relevance")
    facts = facts_of(run)
    assert facts["form"] == "first-token"
    assert facts["tried"] == {"systemone": "status 501", "decisions": "status 404"}
    assert "read from the first token" in said
    # Its random weights put next to nothing on yes and no.
    assert set(run.failures) == {"off-label"}
