"""Trials: a judge under a perturbation, created once and named after the judge that it tests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction

from annotation.models import Campaign, Item, Rater
from annotation.presentation import present, schema
from annotation.registry import get_protocol
from judging.models import Judge, JudgeRun
from judging.prompts.perturbations import FAMILIES, KINDS, read_paraphrase
from judging.prompts.perturbations import VERSION as ATTACKS_VERSION
from judging.prompts.template import sha256_of
from judging.runs.ledger import assignments_of
from judging.runs.prompts import prompt_for
from judging.trial_effects import asks_for_mass, summarise_masses
from tandem.protocols.base import kinds_of

COPIED_FIELDS = (
    "team",
    "backend",
    "model",
    "base_url",
    "api_key_env",
    "granularity",
    "family",
    "file",
    "file_sha256",
    "protocol_file_id",
)
MAX_BASE_LENGTH = 100
Perturbation = dict[str, Any]


class TrialError(ValueError):
    """A trial cannot be created. The message says what is wrong and what to do."""


def kind_problems(campaign: Campaign, base: Judge) -> dict[str, str]:
    """Return why each kind of trial is impossible, empty if it is possible."""
    return {
        kind: KIND_CHECKS[kind](campaign, base) if kind in KIND_CHECKS else "" for kind in KINDS
    }


def ensure_trials(
    campaign: Campaign, base: Judge, kind: str, seed: int = 0, prompt: str = ""
) -> list[Judge]:
    """Return the trials of one kind, and create them if needed. Each family of attacks has one.

    `prompt` is a checked text that replaces the built-in paraphrase. Raises TrialError.
    """
    return [_stored(trial) for trial in find_trials(campaign, base, kind, seed, prompt)]


def find_trials(
    campaign: Campaign, base: Judge, kind: str, seed: int = 0, prompt: str = ""
) -> list[Judge]:
    """Return the trials of one kind. Missing ones are created in memory, but not stored.

    Raises TrialError.
    """
    _check(campaign, base, kind, prompt)
    text = base.prompt
    if kind == "paraphrase":
        task = get_protocol(campaign)
        text = prompt or read_paraphrase(task.slug, task.version)
    if kind != "inject":
        return [_trial(base, {"kind": kind, "seed": seed}, text)]
    return [
        _trial(base, {"kind": kind, "family": name, "version": ATTACKS_VERSION, "seed": seed}, text)
        for name in FAMILIES
    ]


def _check(campaign: Campaign, base: Judge, kind: str, prompt: str) -> None:
    if base.base_id is not None:
        raise TrialError(f"judge {base} is itself a trial; name the judge that it tests")
    if not assignments_of(campaign, base).filter(status="done").exists():
        raise TrialError(f"judge {base} has answered nothing in {campaign}; run it first")
    wrong = KIND_CHECKS[kind](campaign, base) if kind in KIND_CHECKS else ""
    if wrong and not (kind == "paraphrase" and prompt and not base.file):
        raise TrialError(f"{kind}: {wrong}")
    last = JudgeRun.objects.filter(campaign=campaign, judge=base).order_by("pk").last()
    if last and last.prompt_sha256 != sha256_of(prompt_for(base, campaign)):
        raise TrialError(
            f"the prompt of {campaign.protocol} has changed since judge {base} ran; create a new "
            "judge, run it and test that one"
        )


def _trial(base: Judge, variation: Perturbation, prompt: str) -> Judge:
    """Return the stored trial, or an unsaved one with an unsaved rater."""
    same = Judge.objects.select_related("rater", "base").filter(base=base, variation=variation)
    if (there := same.filter(prompt=prompt).first()) is not None:
        return there
    return Judge(
        rater=Rater(name=_free_name(base, variation, prompt), kind=Rater.Kind.TRIAL),
        base=base,
        variation=variation,
        prompt=prompt,
        prompt_name=base.prompt_name if prompt == base.prompt else "paraphrase",
        prompt_sha256=sha256_of(prompt) if prompt else "",
        params={name: value for name, value in base.params.items() if name != "samples"},
        **{name: getattr(base, name) for name in COPIED_FIELDS},
    )


def _stored(trial: Judge) -> Judge:
    if trial.pk is None:
        with transaction.atomic():
            trial.rater.save()
            trial.save()
    return trial


def _free_name(base: Judge, variation: Perturbation, prompt: str) -> str:
    """Return `judge~kind`, with a digest of the perturbation if that name is taken."""
    parts = [variation["kind"], *([variation["family"]] if "family" in variation else [])]
    name = "~".join([base.rater.name[:MAX_BASE_LENGTH], *parts])
    if not Rater.objects.filter(name=name).exists():
        return name
    canonical = json.dumps([base.pk, variation, prompt], sort_keys=True)
    return f"{name}~{hashlib.sha256(canonical.encode()).hexdigest()[:8]}"


def _check_pair(campaign: Campaign, base: Judge) -> str:
    pairs = "pair" in kinds_of(schema(campaign, "judges").variables)
    return "" if pairs else f"{campaign.protocol} has no pairs; leave it out"


def _check_text(campaign: Campaign, base: Judge) -> str:
    first = Item.objects.filter(campaign=campaign).order_by("position").first()
    texts = present(first).texts if first else ()
    return "" if texts else f"{campaign.protocol} shows no texts; leave it out"


def _check_other_query(campaign: Campaign, base: Judge) -> str:
    if wrong := _check_text(campaign, base):
        return wrong
    queries = Item.objects.filter(campaign=campaign).order_by().values("query").distinct().count()
    return "" if queries > 1 else f"{campaign} has only one query; leave it out"


def _has_own_prompt(campaign: Campaign, base: Judge) -> str:
    if base.file:
        return (
            f"judge {base} is from a judge file; create a second judge from a file in other words, "
            "and compare the two"
        )
    own = f"judge {base} has a prompt of its own; give its paraphrase with --prompt"
    return own if base.prompt else ""


def _check_masses(campaign: Campaign, base: Judge) -> str:
    if not asks_for_mass(base):
        return f"judge {base} asks for no log probabilities, so it has no label mass; leave it out"
    masses = summarise_masses(campaign, base)
    known = masses["n"] and not masses["unknown"]
    return "the server reports the label mass with every answer; leave it out" if known else ""


KIND_CHECKS: Mapping[str, Callable[[Campaign, Judge], str]] = {
    "unconstrained": _check_masses,
    "swapped": _check_pair,
    "paraphrase": _has_own_prompt,
    "empty": _check_text,
    "random": _check_other_query,
    "inject": _check_text,
}
