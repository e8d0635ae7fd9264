"""Label mass, and the unconstrained sample that measures it if the server hides it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.models import Campaign
from judging.backends.base import Answer, Request
from judging.judge_backends import build_backend
from judging.manifest import manifest_of
from judging.models import Judge
from judging.prompts.request import Preparer
from judging.prompts.template import read_prompt
from judging.runs.ledger import assignments_of
from judging.runs.planning import TrialSample, plan_trial, trial_sample_for
from judging.runs.prompts import prompt_for
from judging.trial_effects import mass_warning, summarise_masses
from judging.trials.perturbed_judges import TrialError, ensure_trials
from tests.judging.answers.test_logprobs import logprobs_of
from tests.judging.cast import judge, run_scripted

LEAST_UNITS = 200

FORM = "response_format"


def scoring(name: str = "base", **params: Any) -> Judge:
    given = {"logprobs": 5} | params
    return judge(
        name, "openai", model="m", base_url="http://127.0.0.1:9/v1", granularity="unit",
        params=given,
    )  # fmt: skip


def saying(**shares: float) -> Any:
    """The answer no to each question, with these probabilities at the label."""

    def script(request: Request) -> Answer:
        pieces = ('{"evidence": [], "answerable": "', ("no", shares), '"}')
        return Answer('{"evidence": [], "answerable": "no"}', logprobs=logprobs_of(*pieces))

    return script


HIDDEN = saying(yes=0.3, no=0.7)
LOW = saying(yes=0.1, no=0.3, The=0.5, A=0.1)
HIGH = saying(yes=0.2, no=0.75, The=0.05)


def unconstrained(campaign: Campaign, base: Judge) -> Judge:
    trial = ensure_trials(campaign, base, "unconstrained")[0]
    plan_trial(campaign, trial, TrialSample(items=2))
    return trial


def body_for(campaign: Campaign, rater: Judge) -> dict[str, Any]:
    """The body of the judge's first request."""
    backend = build_backend(rater)
    preparer = Preparer(campaign, rater, read_prompt(prompt_for(rater, campaign)), backend)
    row = assignments_of(campaign, rater).select_related("item__campaign", "item__query")[0]
    sent = backend.encode(preparer.prepare(row).request)  # type: ignore[attr-defined]
    return dict(json.loads(sent))


def test_the_unconstrained_sample_gets_the_same_prompt(campaign: Campaign) -> None:
    base = scoring()
    run_scripted(campaign, base, HIDDEN)
    trial = unconstrained(campaign, base)
    before, sent = body_for(campaign, base), body_for(campaign, trial)
    assert FORM in before
    assert FORM not in sent
    assert sent["logprobs"] is True
    assert sent["messages"][0] == before["messages"][0]


def test_the_unconstrained_sample_has_two_percent_of_the_items_or_the_minimum(
    campaign: Campaign,
) -> None:
    base = scoring()
    run_scripted(campaign, base, HIDDEN)
    draw = trial_sample_for(unconstrained(campaign, base), None)
    assert (draw.items, draw.share, LEAST_UNITS) == (None, 0.02, 200)
    assert trial_sample_for(ensure_trials(campaign, base, "again")[0], 7) == TrialSample(7, 0.05)


def test_a_low_mass_is_flagged_with_a_warning(campaign: Campaign) -> None:
    base = scoring()
    run_scripted(campaign, base, HIDDEN)
    trial = unconstrained(campaign, base)
    run_scripted(campaign, trial, LOW)
    masses = summarise_masses(campaign, trial)
    assert masses == {"n": 6, "median": 0.4, "low": 6, "unknown": {}, "flagged": True}
    assert "half of 6 labels had less than 0.40" in mass_warning(masses)


def test_a_high_mass_is_not_flagged(campaign: Campaign) -> None:
    base = scoring()
    run_scripted(campaign, base, HIGH)
    masses = summarise_masses(campaign, base)
    assert (masses["median"], masses["flagged"]) == (pytest.approx(0.95), False)
    assert mass_warning(masses) == ""


def test_a_hidden_mass_is_unknown_with_its_reason_and_never_1(campaign: Campaign) -> None:
    base = scoring()
    run_scripted(campaign, base, HIDDEN)
    masses = summarise_masses(campaign, base)
    assert (masses["n"], masses["median"], masses["flagged"]) == (0, None, None)
    assert masses["unknown"] == {"the server gives only the probabilities of the codes": 12}


def test_the_manifest_contains_label_masses(campaign: Campaign) -> None:
    base = scoring()
    run, _, _ = run_scripted(campaign, base, HIDDEN)
    run_scripted(campaign, unconstrained(campaign, base), LOW)
    manifest = manifest_of(run)
    assert manifest["label_mass"]["median"] is None
    assert manifest["controls"][0]["label_mass"]["median"] == 0.4


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("params", "script", "why"),
    [
        ({"logprobs": 0}, HIDDEN, "asks for no log probabilities"),
        ({}, HIGH, "reports the label mass with every answer"),
    ],
)
def test_the_unconstrained_sample_is_refused_if_useless(
    campaign: Campaign, params: dict[str, Any], script: Any, why: str
) -> None:
    base = scoring(**params)
    run_scripted(campaign, base, script)
    with pytest.raises(TrialError, match=why):
        ensure_trials(campaign, base, "unconstrained")
