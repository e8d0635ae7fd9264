"""Trials of drafts: a copy of a judge with a changed guideline or prompt, on development queries.

The copy is asked only about development queries that people labelled and the judge itself has
answered, so both are compared on the same units. Evaluation and audit queries stay untouched.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from annotation.adjudication.disputes import counted_labels
from annotation.campaigns.sampling import DEVELOPMENT
from annotation.models import Assignment, Campaign, QuerySampling, Rater
from judging.judge_file.template import FileError
from judging.judges import JudgeError, params_under, read_judge_file
from judging.models import Judge
from judging.prompts.perturbations import DRAFT, GUIDELINE
from judging.prompts.template import PromptError, read_prompt, sha256_of
from judging.runs.ledger import assignments_of
from judging.runs.planning import plan_copies
from judging.runs.prompts import prompt_for
from judging.trials.perturbed_judges import COPIED_FIELDS, MAX_BASE_LENGTH

PROMPT = "prompt"
WITHOUT_PROMPT = ("lexical", "scripted")
_NAMES_GUIDELINE = re.compile(r"\b(guideline|instructions)\b")


class DraftError(ValueError):
    """A draft cannot be tried. The message says why and what to do."""


@dataclass(frozen=True)
class DraftText:
    """The text of a draft: its number, whether it is a `guideline` or a `prompt`, and its words."""

    number: int
    kind: str
    text: str


def check_text(judge: Judge, kind: str, text: str) -> None:
    """Check a draft's text for a judge. Raises DraftError."""
    if judge.backend in WITHOUT_PROMPT:
        raise DraftError(f"judge {judge} reads no prompt; choose a judge that asks a model")
    if kind != PROMPT:
        return
    try:
        if judge.file:
            read_judge_file(text, judge.protocol_file_id)
        else:
            read_prompt(text)
    except FileError as error:
        where = f"line {error.line}: " if error.line else ""
        raise DraftError(f"the judge file: {where}{error}") from error
    except PromptError as error:
        raise DraftError(f"the prompt: {error}") from error


def check_shown(judge: Judge, campaign: Campaign) -> None:
    """Check that a judge is shown the guideline. Raises DraftError."""
    text = prompt_for(judge, campaign)
    shown = _NAMES_GUIDELINE.search(text) if judge.file else "{guideline}" in text
    if not shown:
        raise DraftError(
            f"the prompt of judge {judge} does not show the guideline; choose another judge, or "
            "draft a change of its prompt"
        )


def draft_assignments(campaign: Campaign, base: Judge) -> list[Assignment]:
    """Return the assignments for a draft: the judge's answers about development queries.

    People have labelled their items. Raises DraftError if there are none.
    """
    drawn = QuerySampling.objects.filter(campaign=campaign, role=DEVELOPMENT)
    if not drawn.exists():
        raise DraftError(
            f"{campaign} has no development queries, and drafts are tried only on these; create a "
            "campaign with a share of queries for development"
        )
    labels = counted_labels(campaign).filter(
        response__assignment__rater__kind=Rater.Kind.HUMAN,
        unit__item__query__in=drawn.values("query"),
    )
    items = set(labels.values_list("unit__item", flat=True).distinct())
    if not items:
        raise DraftError(
            f"nobody has labelled the development queries of {campaign} yet; ask people first"
        )
    rows = assignments_of(campaign, base).filter(
        item__in=items, status=Assignment.Status.DONE, replicate=0
    )
    found = list(rows.select_related("item").order_by("item__position", "id"))
    if not found:
        raise DraftError(
            f"judge {base} has not answered the development queries that people labelled; run it "
            "over the campaign first"
        )
    return found


def ensure_draft_trial(campaign: Campaign, base: Judge, draft: DraftText) -> Judge:
    """Return the trial of a draft's text, created with its assignments if needed.

    No request is sent before a run. Raises DraftError.
    """
    if base.base_id is not None:
        raise DraftError(f"judge {base} is itself a trial; choose the judge that it tests")
    check_text(base, draft.kind, draft.text)
    if draft.kind == GUIDELINE:
        check_shown(base, campaign)
    rows = draft_assignments(campaign, base)
    with transaction.atomic():
        trial = _find(base, draft) or _create(base, draft)
        plan_copies(campaign, trial, rows)
    return trial


def _variation(draft: DraftText) -> dict[str, object]:
    found: dict[str, object] = {"kind": DRAFT, "draft": draft.number, "seed": 0}
    return found | ({GUIDELINE: draft.text} if draft.kind == GUIDELINE else {})


def _texts(base: Judge, draft: DraftText) -> tuple[str, str]:
    """Return the trial's own prompt and judge file."""
    if draft.kind == GUIDELINE:
        return base.prompt, base.file
    return ("", draft.text) if base.file else (draft.text, "")


def _find(base: Judge, draft: DraftText) -> Judge | None:
    prompt, file = _texts(base, draft)
    same = trials_of_draft(base, draft.number).filter(prompt=prompt, file=file)
    variation = _variation(draft)
    return next((trial for trial in same if trial.variation == variation), None)


def trials_of_draft(base: Judge, number: int) -> QuerySet[Judge]:
    """Return the trials of a draft with a judge, the newest first: one for each text tried."""
    rows = Judge.objects.filter(base=base, variation__kind=DRAFT, variation__draft=number)
    return rows.select_related("rater", "base__rater").order_by("-pk")


def _create(base: Judge, draft: DraftText) -> Judge:
    prompt, file = _texts(base, draft)
    copied = {name: getattr(base, name) for name in COPIED_FIELDS}
    copied |= {"file": file, "file_sha256": sha256_of(file) if file else ""}
    trial = Judge(
        rater=Rater.objects.create(name=_free_name(base, draft), kind=Rater.Kind.TRIAL),
        base=base,
        variation=_variation(draft),
        prompt=prompt,
        prompt_name=base.prompt_name if prompt == base.prompt else DRAFT,
        prompt_sha256=sha256_of(prompt) if prompt else "",
        params={name: value for name, value in _params(base, file).items() if name != "samples"},
        **copied,
    )
    trial.save()
    return trial


def _params(base: Judge, file: str) -> dict[str, Any]:
    """Return the trial's parameters, which follow the file. Raises DraftError."""
    if file == base.file:
        return dict(base.params)
    try:
        return params_under(base, file)
    except JudgeError as error:
        raise DraftError(str(error)) from error


def _free_name(base: Judge, draft: DraftText) -> str:
    name = f"{base.rater.name[:MAX_BASE_LENGTH]}~{DRAFT}-{draft.number}"
    if not Rater.objects.filter(name=name).exists():
        return name
    return f"{name}~{hashlib.sha256(draft.text.encode()).hexdigest()[:8]}"
