"""Trials: a judge under a perturbation, created once and named after the judge that it tests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction

from annotation.models import Campaign, Item, Rater
from annotation.presentation import present, schema
from annotation.protocols.base import kinds_of
from annotation.registry import declared
from judging.models import Judge, JudgeRun
from judging.prompts.perturbations import FAMILIES, KINDS, paraphrase_of
from judging.prompts.perturbations import VERSION as ATTACKS_VERSION
from judging.prompts.template import sha256_of
from judging.robustness.effects import asks_for_mass, masses_of
from judging.runs.ledger import rows_of
from judging.runs.lifecycle import prompt_of

COPIED = ("backend", "model", "base_url", "api_key_env", "granularity")
LONGEST_BASE = 100
Variation = dict[str, Any]


class TrialError(ValueError):
    """A trial that cannot be made: what is wrong, and what to do."""


def possible_kinds(campaign: Campaign, base: Judge) -> dict[str, str]:
    """Why a kind of trial cannot be made, by kind; empty where it can."""
    return {kind: LACKS[kind](campaign, base) if kind in LACKS else "" for kind in KINDS}


def trials_of(
    campaign: Campaign, base: Judge, kind: str, seed: int = 0, prompt: str = ""
) -> list[Judge]:
    """The trials of one kind, made at first need: one, or one for each family of attacks.

    `prompt` is a checked text that takes the place of our own rewording. Raises TrialError.
    """
    _check(campaign, base, kind, prompt)
    text = base.prompt
    if kind == "paraphrase":
        task = declared(campaign)
        text = prompt or paraphrase_of(task.slug, task.version)
    if kind != "inject":
        return [_trial(base, {"kind": kind, "seed": seed}, text)]
    return [
        _trial(base, {"kind": kind, "family": name, "version": ATTACKS_VERSION, "seed": seed}, text)
        for name in FAMILIES
    ]


def _check(campaign: Campaign, base: Judge, kind: str, prompt: str) -> None:
    if base.base_id is not None:
        raise TrialError(f"judge {base} is itself a trial; name the judge that it tries")
    if not rows_of(campaign, base).filter(status="done").exists():
        raise TrialError(f"judge {base} has answered nothing in {campaign}; run it first")
    wrong = LACKS[kind](campaign, base) if kind in LACKS else ""
    if wrong and not (kind == "paraphrase" and prompt):
        raise TrialError(f"{kind}: {wrong}")
    last = JudgeRun.objects.filter(campaign=campaign, judge=base).order_by("pk").last()
    if last and last.prompt_sha256 != sha256_of(prompt_of(base, campaign)):
        raise TrialError(
            f"the prompt of {campaign.protocol} has changed since judge {base} ran; make a new "
            "judge, run it and try that one"
        )


def _trial(base: Judge, variation: Variation, prompt: str) -> Judge:
    same = Judge.objects.select_related("rater", "base").filter(base=base, variation=variation)
    if (there := same.filter(prompt=prompt).first()) is not None:
        return there
    with transaction.atomic():
        name = _free_name(base, variation, prompt)
        trial = Judge(
            rater=Rater.objects.create(name=name, kind=Rater.Kind.TRIAL),
            base=base,
            variation=variation,
            prompt=prompt,
            prompt_name=base.prompt_name if prompt == base.prompt else "paraphrase",
            prompt_sha256=sha256_of(prompt) if prompt else "",
            params={name: value for name, value in base.params.items() if name != "samples"},
            **{name: getattr(base, name) for name in COPIED},
        )
        trial.save()
    return trial


def _free_name(base: Judge, variation: Variation, prompt: str) -> str:
    """`judge~kind`, with a digest of what is varied where that name is taken."""
    parts = [variation["kind"], *([variation["family"]] if "family" in variation else [])]
    name = "~".join([base.rater.name[:LONGEST_BASE], *parts])
    if not Rater.objects.filter(name=name).exists():
        return name
    canonical = json.dumps([base.pk, variation, prompt], sort_keys=True)
    return f"{name}~{hashlib.sha256(canonical.encode()).hexdigest()[:8]}"


def _no_pair(campaign: Campaign, base: Judge) -> str:
    pairs = "pair" in kinds_of(schema(campaign).variables)
    return "" if pairs else f"{campaign.protocol} has no pairs; leave it out"


def _no_text(campaign: Campaign, base: Judge) -> str:
    first = Item.objects.filter(campaign=campaign).order_by("position").first()
    texts = present(first).texts if first else ()
    return "" if texts else f"{campaign.protocol} shows no texts; leave it out"


def _no_other(campaign: Campaign, base: Judge) -> str:
    if wrong := _no_text(campaign, base):
        return wrong
    queries = Item.objects.filter(campaign=campaign).order_by().values("query").distinct().count()
    return "" if queries > 1 else f"{campaign} has one query alone; leave it out"


def _own_prompt(campaign: Campaign, base: Judge) -> str:
    own = f"judge {base} has a prompt of its own; give its rewording with --prompt"
    return own if base.prompt else ""


def _no_masses(campaign: Campaign, base: Judge) -> str:
    if not asks_for_mass(base):
        return f"judge {base} asks for no log probabilities, so no label mass is told; leave it out"
    masses = masses_of(campaign, base)
    known = masses["n"] and not masses["unknown"]
    return "the server tells the label mass with every answer; leave it out" if known else ""


LACKS: Mapping[str, Callable[[Campaign, Judge], str]] = {
    "unconstrained": _no_masses,
    "swapped": _no_pair,
    "paraphrase": _own_prompt,
    "empty": _no_text,
    "random": _no_other,
    "inject": _no_text,
}
